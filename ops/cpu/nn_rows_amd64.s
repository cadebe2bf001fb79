// Rows of float32 with AVX2 and FMA, a multiple of 16 elements. The functions are those of nn_arithmetic_amd64.go.

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
