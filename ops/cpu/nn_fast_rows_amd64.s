// Rows of float32 with AVX2 and FMA, a multiple of 16 elements. The functions are those of nn_fast_amd64.go.

#include "textflag.h"

// TOTAL leaves the sum of a's lanes in the first of x, a's lower half.
#define TOTAL(a, x, t) VEXTRACTF128 $1, a, t; VADDPS t, x, x; VHADDPS x, x, x; VHADDPS x, x, x

// func addAVX2(dst, x []float32)
TEXT ·addAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	XORL AX, AX
	JMP  more

loop:
	VMOVUPS (DI)(AX*4), Y0
	VADDPS  (SI)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX

more:
	CMPQ AX, CX
	JLT  loop
	VZEROUPPER
	RET

// func reluAVX2(x []float32)
TEXT ·reluAVX2(SB), NOSPLIT, $0-24
	MOVQ   x_base+0(FP), DI
	MOVQ   x_len+8(FP), CX
	XORL   AX, AX
	VXORPS Y1, Y1, Y1

loop:
	VMOVUPS (DI)(AX*4), Y0
	VCMPPS  $2, Y1, Y0, Y2
	VANDNPS Y0, Y2, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func gateAVX2(x, gate []float32)
TEXT ·gateAVX2(SB), NOSPLIT, $0-48
	MOVQ   x_base+0(FP), DI
	MOVQ   x_len+8(FP), CX
	MOVQ   gate_base+24(FP), SI
	XORL   AX, AX
	VXORPS Y1, Y1, Y1

loop:
	VCMPPS  $1, (SI)(AX*4), Y1, Y2
	VANDPS  (DI)(AX*4), Y2, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func scaleAVX2(x []float32, by float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-28
	MOVQ         x_base+0(FP), DI
	MOVQ         x_len+8(FP), CX
	VBROADCASTSS by+24(FP), Y1
	XORL         AX, AX

loop:
	VMULPS  (DI)(AX*4), Y1, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// TURN leaves in a to d the first elements, the second and so on of what four lanes have there; t, u, v and w are scratch.
#define TURN(a, b, c, d, t, u, v, w) \
	VUNPCKLPS b, a, t;        \
	VUNPCKHPS b, a, u;        \
	VUNPCKLPS d, c, v;        \
	VUNPCKHPS d, c, w;        \
	VSHUFPS   $0x44, v, t, a; \
	VSHUFPS   $0xEE, v, t, b; \
	VSHUFPS   $0x44, w, u, c; \
	VSHUFPS   $0xEE, w, u, d

// func sumAVX2(x []float32) float32
TEXT ·sumAVX2(SB), NOSPLIT, $128-28
	MOVQ    x_base+0(FP), SI
	MOVQ    x_len+8(FP), CX
	VXORPS  Y0, Y0, Y0
	VMOVUPS Y0, 0(SP)
	VMOVUPS Y0, 32(SP)
	VMOVUPS Y0, 64(SP)
	VMOVUPS Y0, 96(SP)
	XORL    BX, BX
	SUBQ    $32, CX
	JLT     half

loop:
	VMOVUPS     (SI), X0
	VMOVUPS     16(SI), X1
	VMOVUPS     32(SI), X2
	VMOVUPS     48(SI), X3
	VINSERTF128 $1, 64(SI), Y0, Y0
	VINSERTF128 $1, 80(SI), Y1, Y1
	VINSERTF128 $1, 96(SI), Y2, Y2
	VINSERTF128 $1, 112(SI), Y3, Y3
	TURN(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	VADDPS      0(SP)(BX*1), Y0, Y0
	VADDPS      Y1, Y0, Y0
	VADDPS      Y2, Y0, Y0
	VADDPS      Y3, Y0, Y0
	VMOVUPS     Y0, 0(SP)(BX*1)
	ADDQ        $128, SI
	ADDL        $32, BX
	ANDL        $127, BX
	SUBQ        $32, CX
	JGE         loop

half:
	ADDQ    $32, CX
	JLE     halves
	VMOVUPS (SI), X0
	VMOVUPS 16(SI), X1
	VMOVUPS 32(SI), X2
	VMOVUPS 48(SI), X3
	TURN(X0, X1, X2, X3, X4, X5, X6, X7)
	VADDPS  0(SP)(BX*1), X0, X0
	VADDPS  X1, X0, X0
	VADDPS  X2, X0, X0
	VADDPS  X3, X0, X0
	VMOVUPS X0, 0(SP)(BX*1)

halves:
	VMOVUPS      0(SP), Y0
	VMOVUPS      32(SP), Y1
	VADDPS       64(SP), Y0, Y0
	VADDPS       96(SP), Y1, Y1
	VADDPS       Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VPERMILPS    $0x4E, X0, X1
	VADDPS       X1, X0, X0
	VPERMILPS    $0xB1, X0, X1
	VADDSS       X1, X0, X0
	VMOVSS       X0, ret+24(FP)
	VZEROUPPER
	RET

// func squaresAVX2(dst, x []float32, less float32)
TEXT ·squaresAVX2(SB), NOSPLIT, $0-52
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	VBROADCASTSS less+48(FP), Y2
	XORL         AX, AX

loop:
	VMOVUPS (SI)(AX*4), Y1
	VSUBPS  Y2, Y1, Y1
	VMULPS  Y1, Y1, Y1
	VMOVUPS Y1, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func dotAVX2(a, b []float32) float32
TEXT ·dotAVX2(SB), NOSPLIT, $0-52
	MOVQ   a_base+0(FP), SI
	MOVQ   a_len+8(FP), CX
	MOVQ   b_base+24(FP), DI
	XORL   AX, AX
	VXORPS Y0, Y0, Y0

loop:
	VMOVUPS     (SI)(AX*4), Y1
	VFMADD231PS (DI)(AX*4), Y1, Y0
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         loop
	TOTAL(Y0, X0, X1)
	VMOVSS      X0, ret+48(FP)
	VZEROUPPER
	RET

// func maxAVX2(x []float32) float32
TEXT ·maxAVX2(SB), NOSPLIT, $0-28
	MOVQ    x_base+0(FP), SI
	MOVQ    x_len+8(FP), CX
	MOVL    $8, AX
	VMOVUPS (SI), Y0
	JMP     more

loop:
	VMAXPS (SI)(AX*4), Y0, Y0
	ADDQ   $8, AX

more:
	CMPQ         AX, CX
	JLT          loop
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, ret+24(FP)
	VZEROUPPER
	RET

// func normAVX2(dst, z, gamma, beta []float32, mean, rstd float32)
TEXT ·normAVX2(SB), NOSPLIT, $0-104
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	MOVQ         z_base+24(FP), SI
	MOVQ         gamma_base+48(FP), R8
	MOVQ         beta_base+72(FP), R9
	VBROADCASTSS mean+96(FP), Y1
	VBROADCASTSS rstd+100(FP), Y2
	XORL         AX, AX

loop:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS  Y1, Y0, Y0
	VMULPS  Y2, Y0, Y0
	VMULPS  (R8)(AX*4), Y0, Y0
	VADDPS  (R9)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func normPartsAVX2(s, t, g, z, gamma []float32, mean, rstd float32)
TEXT ·normPartsAVX2(SB), NOSPLIT, $0-128
	MOVQ         s_base+0(FP), R9
	MOVQ         s_len+8(FP), CX
	MOVQ         t_base+24(FP), R10
	MOVQ         g_base+48(FP), DI
	MOVQ         z_base+72(FP), SI
	MOVQ         gamma_base+96(FP), R8
	VBROADCASTSS mean+120(FP), Y1
	VBROADCASTSS rstd+124(FP), Y2
	XORL         AX, AX

loop:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS  Y1, Y0, Y0
	VMULPS  Y2, Y0, Y0
	VMOVUPS (DI)(AX*4), Y3
	VMULPS  (R8)(AX*4), Y3, Y3
	VMOVUPS Y3, (R9)(AX*4)
	VMULPS  Y3, Y0, Y0
	VMOVUPS Y0, (R10)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func normSumsAVX2(dGamma, dBeta, g, z []float32, mean, rstd float32)
TEXT ·normSumsAVX2(SB), NOSPLIT, $0-104
	MOVQ         dGamma_base+0(FP), R9
	MOVQ         dGamma_len+8(FP), CX
	MOVQ         dBeta_base+24(FP), R10
	MOVQ         g_base+48(FP), DI
	MOVQ         z_base+72(FP), SI
	VBROADCASTSS mean+96(FP), Y1
	VBROADCASTSS rstd+100(FP), Y2
	XORL         AX, AX

loop:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS  Y1, Y0, Y0
	VMULPS  Y2, Y0, Y0
	VMOVUPS (DI)(AX*4), Y3
	VMULPS  Y0, Y3, Y0
	VADDPS  (R9)(AX*4), Y0, Y0
	VMOVUPS Y0, (R9)(AX*4)
	VADDPS  (R10)(AX*4), Y3, Y3
	VMOVUPS Y3, (R10)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func normGradAVX2(g, s, z []float32, mean, rstd, h, hx float32)
TEXT ·normGradAVX2(SB), NOSPLIT, $0-88
	MOVQ         g_base+0(FP), DI
	MOVQ         g_len+8(FP), CX
	MOVQ         s_base+24(FP), R8
	MOVQ         z_base+48(FP), SI
	VBROADCASTSS mean+72(FP), Y1
	VBROADCASTSS rstd+76(FP), Y2
	VBROADCASTSS h+80(FP), Y6
	VBROADCASTSS hx+84(FP), Y7
	XORL         AX, AX

loop:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS  Y1, Y0, Y0
	VMULPS  Y2, Y0, Y0
	VMULPS  Y7, Y0, Y0
	VMOVUPS (R8)(AX*4), Y3
	VSUBPS  Y6, Y3, Y3
	VSUBPS  Y0, Y3, Y3
	VMULPS  Y2, Y3, Y3
	VMOVUPS Y3, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func softGradAVX2(dp, p []float32, delta, scale float32)
TEXT ·softGradAVX2(SB), NOSPLIT, $0-56
	MOVQ         dp_base+0(FP), DI
	MOVQ         dp_len+8(FP), CX
	MOVQ         p_base+24(FP), SI
	VBROADCASTSS delta+48(FP), Y1
	VBROADCASTSS scale+52(FP), Y2
	XORL         AX, AX

loop:
	VMOVUPS (DI)(AX*4), Y0
	VSUBPS  Y1, Y0, Y0
	VMULPS  (SI)(AX*4), Y0, Y0
	VMULPS  Y2, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func addRowsAVX2(sum, x []float32, ld, rows int)
TEXT ·addRowsAVX2(SB), NOSPLIT, $0-64
	MOVQ    sum_base+0(FP), DI
	MOVQ    x_base+24(FP), SI
	MOVQ    ld+48(FP), R8
	MOVQ    rows+56(FP), CX
	SHLQ    $2, R8
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1

loop:
	VADDPS  (SI), Y0, Y0
	VADDPS  32(SI), Y1, Y1
	ADDQ    R8, SI
	DECQ    CX
	JNZ     loop
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// The powers of two are those of Taylor's series in f*ln 2, f from -1/2 to 1/2, with eight terms; below 2^-126 they are 0.
DATA exp2<>+0(SB)/4, $0x39218489  // ln2^6/720 = 1.5403530e-4
DATA exp2<>+4(SB)/4, $0x3aaec3ff  // ln2^5/120 = 1.3333558e-3
DATA exp2<>+8(SB)/4, $0x3c1d955b  // ln2^4/24  = 9.6181291e-3
DATA exp2<>+12(SB)/4, $0x3d635847 // ln2^3/6   = 5.5504109e-2
DATA exp2<>+16(SB)/4, $0x3e75fdf0 // ln2^2/2   = 2.4022651e-1
DATA exp2<>+20(SB)/4, $0x3f317218 // ln2       = 6.9314718e-1
DATA exp2<>+24(SB)/4, $0x3f800000 // 1
DATA exp2<>+28(SB)/4, $0xc2fc0000 // -126
DATA exp2<>+32(SB)/4, $0x377fe5fe // ln2^7/5040 = 1.5252734e-5
GLOBL exp2<>(SB), RODATA|NOPTR, $36

// func exp2AVX2(x []float32, scale, less float32) float32
TEXT ·exp2AVX2(SB), NOSPLIT, $0-36
	MOVQ         x_base+0(FP), DI
	MOVQ         x_len+8(FP), CX
	VBROADCASTSS scale+24(FP), Y1
	VBROADCASTSS less+28(FP), Y2
	VBROADCASTSS exp2<>+0(SB), Y8
	VBROADCASTSS exp2<>+4(SB), Y9
	VBROADCASTSS exp2<>+8(SB), Y10
	VBROADCASTSS exp2<>+12(SB), Y11
	VBROADCASTSS exp2<>+16(SB), Y12
	VBROADCASTSS exp2<>+20(SB), Y13
	VBROADCASTSS exp2<>+24(SB), Y14
	VBROADCASTSS exp2<>+28(SB), Y15
	VBROADCASTSS exp2<>+32(SB), Y6
	XORL         AX, AX
	VXORPS       Y0, Y0, Y0

loop:
	VMOVUPS     (DI)(AX*4), Y3
	VFMSUB213PS Y2, Y1, Y3       // x*scale - less
	VCMPPS      $5, Y15, Y3, Y7  // not below -126
	VROUNDPS    $8, Y3, Y4
	VSUBPS      Y4, Y3, Y3
	VCVTPS2DQ   Y4, Y4
	VPSLLD      $23, Y4, Y4
	VMOVAPS     Y6, Y5
	VFMADD213PS Y8, Y3, Y5
	VFMADD213PS Y9, Y3, Y5
	VFMADD213PS Y10, Y3, Y5
	VFMADD213PS Y11, Y3, Y5
	VFMADD213PS Y12, Y3, Y5
	VFMADD213PS Y13, Y3, Y5
	VFMADD213PS Y14, Y3, Y5
	VPADDD      Y4, Y5, Y5
	VANDPS      Y7, Y5, Y5
	VMOVUPS     Y5, (DI)(AX*4)
	VADDPS      Y5, Y0, Y0
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         loop
	TOTAL(Y0, X0, X1)
	VMOVSS      X0, ret+32(FP)
	VZEROUPPER
	RET

// func adamWAVX2(params, m, v, g []float32, by *adamWNumbers) bool
TEXT ·adamWAVX2(SB), NOSPLIT, $0-105
	MOVQ         params_base+0(FP), DI
	MOVQ         params_len+8(FP), CX
	MOVQ         m_base+24(FP), SI
	MOVQ         v_base+48(FP), R8
	MOVQ         g_base+72(FP), R9
	MOVQ         by+96(FP), BX
	VBROADCASTSS 0(BX), Y8   // clip
	VBROADCASTSS 4(BX), Y9   // take1
	VBROADCASTSS 8(BX), Y10  // take2
	VBROADCASTSS 12(BX), Y11 // beta2
	VBROADCASTSS 16(BX), Y12 // keep
	VBROADCASTSS 20(BX), Y13 // step
	VBROADCASTSS 24(BX), Y14 // root
	VBROADCASTSS 28(BX), Y15 // eps
	VPCMPEQD     Y7, Y7, Y7
	VPSLLD       $24, Y7, Y7
	VPSRLD       $1, Y7, Y7  // the exponent of infinity and of what is no number
	VPXOR        Y6, Y6, Y6
	XORL         AX, AX

loop:
	VMULPS    (R9)(AX*4), Y8, Y0
	VPAND     Y7, Y0, Y5
	VPCMPEQD  Y7, Y5, Y5         // where the gradient is not finite
	VPOR      Y5, Y6, Y6
	VMOVUPS   (SI)(AX*4), Y1
	VSUBPS    Y1, Y0, Y2
	VMULPS    Y2, Y9, Y2
	VADDPS    Y2, Y1, Y2         // m
	VBLENDVPS Y5, Y1, Y2, Y1
	VMOVUPS   Y1, (SI)(AX*4)
	VMOVUPS   (R8)(AX*4), Y3
	VMULPS    Y3, Y11, Y4
	VMULPS    Y0, Y10, Y1
	VMULPS    Y0, Y1, Y1
	VADDPS    Y1, Y4, Y4         // v
	VBLENDVPS Y5, Y3, Y4, Y3
	VMOVUPS   Y3, (R8)(AX*4)
	VSQRTPS   Y4, Y4
	VDIVPS    Y14, Y4, Y4
	VADDPS    Y15, Y4, Y4
	VDIVPS    Y4, Y2, Y2
	VMULPS    Y2, Y13, Y2
	VMOVUPS   (DI)(AX*4), Y0
	VMULPS    Y0, Y12, Y1
	VSUBPS    Y2, Y1, Y1
	VBLENDVPS Y5, Y0, Y1, Y0
	VMOVUPS   Y0, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       loop
	VPTEST    Y6, Y6
	SETNE     ret+104(FP)
	VZEROUPPER
	RET

// func mulAVX2(dst, x []float32)
TEXT ·mulAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	XORL AX, AX

loop:
	VMOVUPS (DI)(AX*4), Y0
	VMULPS  (SI)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// What Philox multiplies by, what its keys grow by, and how far four counters are from the first.
DATA philox<>+0(SB)/8, $0xd2511f53
DATA philox<>+8(SB)/8, $0xcd9e8d57
DATA philox<>+16(SB)/4, $0x9e3779b9
DATA philox<>+20(SB)/4, $0xbb67ae85
DATA philox<>+24(SB)/4, $0x80000000
DATA philox<>+28(SB)/4, $0
DATA philox<>+32(SB)/8, $0
DATA philox<>+40(SB)/8, $1
DATA philox<>+48(SB)/8, $2
DATA philox<>+56(SB)/8, $3
GLOBL philox<>(SB), RODATA|NOPTR, $64

// ROUND is one of Philox's, of four counters whose words are the lower halves of Y0 to Y3's lanes; what is in the upper ones is of no meaning.
#define ROUND(a, b, c, d, p, q) \
	VPMULUDQ Y4, a, p; \
	VPMULUDQ Y5, c, q; \
	VPXOR    Y6, b, a; \
	VPXOR    Y7, d, c; \
	VPSRLQ   $32, q, b; \
	VPSRLQ   $32, p, d; \
	VPXOR    b, a, a;  \
	VPXOR    d, c, c;  \
	VPADDD   Y8, Y6, Y6; \
	VPADDD   Y9, Y7, Y7

// func dropoutAVX2(v []float32, quad uint64, by *dropoutNumbers)
TEXT ·dropoutAVX2(SB), NOSPLIT, $0-40
	MOVQ         v_base+0(FP), DI
	MOVQ         v_len+8(FP), CX
	MOVQ         quad+24(FP), AX
	MOVQ         by+32(FP), BX
	VPBROADCASTQ philox<>+0(SB), Y4
	VPBROADCASTQ philox<>+8(SB), Y5
	VPBROADCASTD philox<>+16(SB), Y8
	VPBROADCASTD philox<>+20(SB), Y9
	VPBROADCASTD philox<>+24(SB), Y12
	VPBROADCASTD 16(BX), Y10
	VPXOR        Y12, Y10, Y10
	VBROADCASTSS 20(BX), Y11

loop:
	MOVQ         AX, X0
	VPBROADCASTQ X0, Y0
	VPADDQ       philox<>+32(SB), Y0, Y0
	VPSRLQ       $32, Y0, Y1
	VPBROADCASTD 8(BX), Y2
	VPBROADCASTD 12(BX), Y3
	VPBROADCASTD 0(BX), Y6
	VPBROADCASTD 4(BX), Y7
	ROUND(Y0, Y1, Y2, Y3, Y13, Y14)
	ROUND(Y0, Y14, Y2, Y13, Y3, Y1)
	ROUND(Y0, Y1, Y2, Y3, Y13, Y14)
	ROUND(Y0, Y14, Y2, Y13, Y3, Y1)
	ROUND(Y0, Y1, Y2, Y3, Y13, Y14)
	ROUND(Y0, Y14, Y2, Y13, Y3, Y1)
	ROUND(Y0, Y1, Y2, Y3, Y13, Y14)
	ROUND(Y0, Y14, Y2, Y13, Y3, Y1)
	ROUND(Y0, Y1, Y2, Y3, Y13, Y14)
	ROUND(Y0, Y14, Y2, Y13, Y3, Y1)
	VPSLLQ       $32, Y1, Y1
	VPSLLQ       $32, Y3, Y3
	VPBLENDD     $0xAA, Y1, Y0, Y0
	VPBLENDD     $0xAA, Y3, Y2, Y2
	VPUNPCKLQDQ  Y2, Y0, Y1
	VPUNPCKHQDQ  Y2, Y0, Y3
	VPERM2I128   $0x20, Y3, Y1, Y0
	VPERM2I128   $0x31, Y3, Y1, Y2
	VPXOR        Y12, Y0, Y0
	VPXOR        Y12, Y2, Y2
	VPCMPGTD     Y0, Y10, Y0 // left out
	VPCMPGTD     Y2, Y10, Y2
	VMULPS       (DI), Y11, Y1
	VMULPS       32(DI), Y11, Y3
	VANDNPS      Y1, Y0, Y0
	VANDNPS      Y3, Y2, Y2
	VMOVUPS      Y0, (DI)
	VMOVUPS      Y2, 32(DI)
	ADDQ         $64, DI
	ADDQ         $4, AX
	SUBQ         $16, CX
	JG           loop
	VZEROUPPER
	RET
