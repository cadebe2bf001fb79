// The pass over the values of a stream with AVX2: a vector of columns at a time, down the rows. Each operation rounds on its own. The functions are those
// of look_amd64.go.

#include "textflag.h"

// Registers: SI the row, CX rows left, DX from one to the next in bytes, DI the lanes. Y15 which columns there are, Y14 the row before, Y13 all bits but the
// sign. Y0 the least, Y1 the greatest, Y2 the longest step, Y3 the shift, Y4 how many are equal to the one before.
#define BEGIN(load) \
	MOVQ from+0(FP), SI;    \
	MOVQ rows+8(FP), CX;    \
	MOVQ apart+16(FP), DX;  \
	MOVQ mask+24(FP), AX;   \
	MOVQ before+32(FP), BX; \
	MOVQ to+40(FP), DI;     \
	VMOVDQU (AX), Y15;      \
	load    (BX), Y15, Y14; \
	VMOVUPS (DI), Y0;       \
	VMOVUPS 32(DI), Y1;     \
	VMOVUPS 64(DI), Y2;     \
	VMOVUPS 96(DI), Y3;     \
	VMOVDQU 128(DI), Y4

#define END \
	VMOVUPS Y0, (DI);    \
	VMOVUPS Y1, 32(DI);  \
	VMOVUPS Y2, 64(DI);  \
	VMOVDQU Y4, 128(DI); \
	VZEROUPPER;          \
	RET

// TOTAL adds float64 values, less their shift, to a sum and to one of squares.
#define TOTAL(v, shift, sum, square) \
	VSUBPD shift, v, v;       \
	VADDPD v, sum, sum;       \
	VMULPD v, v, v;           \
	VADDPD v, square, square

// func look8(from *float32, rows, apart int, mask *[8]int32, before *float32, to *lanes32)
TEXT ·look8(SB), NOSPLIT, $0-48
	BEGIN(VMASKMOVPS)
	VPCMPEQD     Y13, Y13, Y13
	VPSRLD       $1, Y13, Y13
	VCVTPS2PD    X3, Y5
	VEXTRACTF128 $1, Y3, X6
	VCVTPS2PD    X6, Y6
	VMOVUPS      160(DI), Y7
	VMOVUPS      192(DI), Y8
	VMOVUPS      224(DI), Y9
	VMOVUPS      256(DI), Y10

row8:
	VMASKMOVPS   (SI), Y15, Y11
	VSUBPS       Y14, Y11, Y12
	VANDPS       Y13, Y12, Y12
	VMAXPS       Y12, Y2, Y2
	VCMPPS       $0, Y14, Y11, Y12
	VPSUBD       Y12, Y4, Y4
	VMINPS       Y11, Y0, Y0
	VMAXPS       Y11, Y1, Y1
	VMOVAPS      Y11, Y14
	VCVTPS2PD    X11, Y12
	VEXTRACTF128 $1, Y11, X11
	VCVTPS2PD    X11, Y11
	TOTAL(Y12, Y5, Y7, Y9)
	TOTAL(Y11, Y6, Y8, Y10)
	ADDQ         DX, SI
	DECQ         CX
	JNZ          row8
	VMOVUPS      Y7, 160(DI)
	VMOVUPS      Y8, 192(DI)
	VMOVUPS      Y9, 224(DI)
	VMOVUPS      Y10, 256(DI)
	END

// func look4(from *float64, rows, apart int, mask *[4]int64, before *float64, to *lanes64)
TEXT ·look4(SB), NOSPLIT, $0-48
	BEGIN(VMASKMOVPD)
	VPCMPEQD Y13, Y13, Y13
	VPSRLQ   $1, Y13, Y13
	VMOVUPS  160(DI), Y7
	VMOVUPS  192(DI), Y9

row4:
	VMASKMOVPD (SI), Y15, Y11
	VSUBPD     Y14, Y11, Y12
	VANDPD     Y13, Y12, Y12
	VMAXPD     Y12, Y2, Y2
	VCMPPD     $0, Y14, Y11, Y12
	VPSUBQ     Y12, Y4, Y4
	VMINPD     Y11, Y0, Y0
	VMAXPD     Y11, Y1, Y1
	VMOVAPD    Y11, Y14
	TOTAL(Y11, Y3, Y7, Y9)
	ADDQ       DX, SI
	DECQ       CX
	JNZ        row4
	VMOVUPS    Y7, 160(DI)
	VMOVUPS    Y9, 192(DI)
	END

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
