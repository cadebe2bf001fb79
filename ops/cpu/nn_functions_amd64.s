// Powers, random numbers and the optimiser's step of rows of float32 with AVX2 and FMA, a multiple of 16 elements. The functions are those of
// nn_arithmetic_amd64.go; where the bits are those of plain Go, each operation rounds on its own.

#include "textflag.h"

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
	VEXTRACTF128 $1, Y0, X1
	VADDPS      X1, X0, X0
	VHADDPS     X0, X0, X0
	VHADDPS     X0, X0, X0
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
	VMOVQ        AX, X0
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
