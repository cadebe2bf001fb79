// The pass over the values of a stream with AVX2: a vector of columns at a time, down the rows. Each operation rounds on its own. The functions are those
// of look_amd64.go.

#include "textflag.h"

// Registers: SI the row, CX rows left, DX from one to the next in bytes, DI the lanes. Y15 which columns there are, Y14 the row before, Y13 all bits but the
// sign. Y0 the least, Y1 the greatest, Y2 the longest step, Y3 how many are equal to the one before, Y4 how many of these are the least or the greatest.
#define BEGIN(load) \
	MOVQ    from+0(FP), SI;    \
	MOVQ    rows+8(FP), CX;    \
	MOVQ    apart+16(FP), DX;  \
	MOVQ    mask+24(FP), AX;   \
	MOVQ    before+32(FP), BX; \
	MOVQ    to+40(FP), DI;     \
	VMOVDQU (AX), Y15;         \
	load    (BX), Y15, Y14;    \
	VMOVUPS (DI), Y0;          \
	VMOVUPS 32(DI), Y1;        \
	VMOVUPS 64(DI), Y2;        \
	VMOVDQU 96(DI), Y3;        \
	VMOVDQU 128(DI), Y4;       \
	VPCMPEQD Y13, Y13, Y13

#define END \
	VMOVUPS Y0, (DI);    \
	VMOVUPS Y1, 32(DI);  \
	VMOVUPS Y2, 64(DI);  \
	VMOVDQU Y3, 96(DI);  \
	VMOVDQU Y4, 128(DI); \
	VZEROUPPER;          \
	RET

// LOOK takes the row in Y11. Y12, Y5 and Y6 are free.
#define LOOK(sub, and, less, more, compare, count) \
	sub     Y14, Y11, Y12;    \
	and     Y13, Y12, Y12;    \
	more    Y12, Y2, Y2;      \
	compare $0, Y14, Y11, Y12; \
	count   Y12, Y3, Y3;      \
	compare $0, Y0, Y11, Y5;  \
	compare $0, Y1, Y11, Y6;  \
	VORPS   Y5, Y6, Y6;       \
	VANDPS  Y6, Y12, Y12;     \
	count   Y12, Y4, Y4;      \
	less    Y11, Y0, Y0;      \
	more    Y11, Y1, Y1;      \
	VMOVAPS Y11, Y14

// TOTAL adds float64 values, less their shift, to a sum and to one of squares.
#define TOTAL(v, shift, sum, square) \
	VSUBPD shift, v, v;       \
	VADDPD v, sum, sum;       \
	VMULPD v, v, v;           \
	VADDPD v, square, square

// func look8(from *float32, rows, apart int, mask *[8]int32, before *float32, to *lanes32)
TEXT ·look8(SB), NOSPLIT, $0-48
	BEGIN(VMASKMOVPS)
	VPSRLD  $1, Y13, Y13
	VMOVUPS 224(DI), Y7
	VMOVUPS 256(DI), Y8
	VMOVUPS 288(DI), Y9
	VMOVUPS 320(DI), Y10

row8:
	VMASKMOVPS   (SI), Y15, Y11
	LOOK(VSUBPS, VANDPS, VMINPS, VMAXPS, VCMPPS, VPSUBD)
	VCVTPS2PD    X11, Y12
	VEXTRACTF128 $1, Y11, X11
	VCVTPS2PD    X11, Y11
	TOTAL(Y12, 160(DI), Y7, Y9)
	TOTAL(Y11, 192(DI), Y8, Y10)
	ADDQ         DX, SI
	DECQ         CX
	JNZ          row8
	VMOVUPS      Y7, 224(DI)
	VMOVUPS      Y8, 256(DI)
	VMOVUPS      Y9, 288(DI)
	VMOVUPS      Y10, 320(DI)
	END

// func look4(from *float64, rows, apart int, mask *[4]int64, before *float64, to *lanes64)
TEXT ·look4(SB), NOSPLIT, $0-48
	BEGIN(VMASKMOVPD)
	VPSRLQ  $1, Y13, Y13
	VMOVUPS 192(DI), Y7
	VMOVUPS 224(DI), Y9

row4:
	VMASKMOVPD (SI), Y15, Y11
	LOOK(VSUBPD, VANDPD, VMINPD, VMAXPD, VCMPPD, VPSUBQ)
	TOTAL(Y11, 160(DI), Y7, Y9)
	ADDQ       DX, SI
	DECQ       CX
	JNZ        row4
	VMOVUPS    Y7, 192(DI)
	VMOVUPS    Y9, 224(DI)
	END

// func beyond8(from *float32, steps, apart int, limits *[8]float32, mask *[8]int32) int
TEXT ·beyond8(SB), NOSPLIT, $0-48
	MOVQ     from+0(FP), SI
	MOVQ     steps+8(FP), CX
	MOVQ     apart+16(FP), DX
	MOVQ     limits+24(FP), BX
	MOVQ     mask+32(FP), AX
	VMOVDQU  (AX), Y15
	VMOVUPS  (BX), Y0
	VPCMPEQD Y13, Y13, Y13
	VPSRLD   $1, Y13, Y13
	VMASKMOVPS (SI), Y15, Y14
	XORQ     AX, AX

step8:
	ADDQ     DX, SI
	VMASKMOVPS (SI), Y15, Y11
	VSUBPS   Y14, Y11, Y12
	VANDPS   Y13, Y12, Y12
	VCMPPS   $30, Y0, Y12, Y12
	VPTEST   Y12, Y12
	JNZ      found8
	VMOVAPS  Y11, Y14
	INCQ     AX
	CMPQ     AX, CX
	JLT      step8

found8:
	MOVQ     AX, ret+40(FP)
	VZEROUPPER
	RET

// func beyond4(from *float64, steps, apart int, limits *[4]float64, mask *[4]int64) int
TEXT ·beyond4(SB), NOSPLIT, $0-48
	MOVQ     from+0(FP), SI
	MOVQ     steps+8(FP), CX
	MOVQ     apart+16(FP), DX
	MOVQ     limits+24(FP), BX
	MOVQ     mask+32(FP), AX
	VMOVDQU  (AX), Y15
	VMOVUPS  (BX), Y0
	VPCMPEQD Y13, Y13, Y13
	VPSRLQ   $1, Y13, Y13
	VMASKMOVPD (SI), Y15, Y14
	XORQ     AX, AX

step4:
	ADDQ     DX, SI
	VMASKMOVPD (SI), Y15, Y11
	VSUBPD   Y14, Y11, Y12
	VANDPD   Y13, Y12, Y12
	VCMPPD   $30, Y0, Y12, Y12
	VPTEST   Y12, Y12
	JNZ      found4
	VMOVAPS  Y11, Y14
	INCQ     AX
	CMPQ     AX, CX
	JLT      step4

found4:
	MOVQ     AX, ret+40(FP)
	VZEROUPPER
	RET

// func sum4(a, b *float64, n int) float64
//
// The sum of the products of n numbers, a multiple of 8.
TEXT ·sum4(SB), NOSPLIT, $0-32
	MOVQ   a+0(FP), SI
	MOVQ   b+8(FP), DI
	MOVQ   n+16(FP), CX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1

eight:
	VMOVUPD      (SI), Y2
	VMOVUPD      32(SI), Y3
	VMULPD       (DI), Y2, Y2
	VMULPD       32(DI), Y3, Y3
	VADDPD       Y2, Y0, Y0
	VADDPD       Y3, Y1, Y1
	ADDQ         $64, SI
	ADDQ         $64, DI
	SUBQ         $8, CX
	JNZ          eight
	VADDPD       Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, ret+24(FP)
	VZEROUPPER
	RET
