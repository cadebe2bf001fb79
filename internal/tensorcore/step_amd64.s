// Steps of Hopper's rule for 8 columns at once, with AVX2: see step_amd64.go.

#include "textflag.h"

// Registers: DI the 8 sums, SI the row's factors, 4 bytes each, BX the columns', 32 bytes a row, CX steps left, AX steps done.
// A factor is a significand in the lower half of a lane and an exponent in the upper one.
// Y0 the sums, Y1 the largest exponents, Y5 those and one in the upper halves, Y6 and Y7 what is added, Y15 0x0000ffff.

// LARGEST takes the sum of two exponents into the upper halves of Y1. What becomes of the lower halves does not matter.
#define LARGEST(k) \
	VPBROADCASTD (4*k)(SI), Y2;      \
	VPADDW       (32*k)(BX), Y2, Y2; \
	VPMAXSW      Y2, Y1, Y1

// ADD cuts a product, which has 26 bits after its binary point, and adds it to s.
#define ADD(k, s) \
	VPBROADCASTD (4*k)(SI), Y2;  \
	VMOVDQU      (32*k)(BX), Y3; \
	VPADDW       Y3, Y2, Y4;     \
	VPSUBW       Y4, Y5, Y4;     \
	VPSRLD       $16, Y4, Y4;    \
	VPAND        Y15, Y2, Y2;    \
	VPMADDWD     Y3, Y2, Y2;     \
	VPABSD       Y2, Y3;         \
	VPSRLVD      Y4, Y3, Y3;     \
	VPSIGND      Y2, Y3, Y3;     \
	VPADDD       Y3, s, s

// ROUND leaves in xout 4 sums of Y6 and Y7, whose halves are x6 and x7, times 2 to the exponents in x1 less 25, cut to 24 bits.
#define ROUND(x6, x7, x1, xout) \
	VCVTDQ2PD    x6, Y8;         \
	VCVTDQ2PD    x7, Y9;         \
	VADDPD       Y9, Y8, Y8;     \
	VPMOVSXDQ    x1, Y9;         \
	VPADDQ       Y12, Y9, Y9;    \
	VPSLLQ       $52, Y9, Y9;    \
	VMULPD       Y9, Y8, Y8;     \
	VPAND        Y11, Y8, Y8;    \
	VCVTPD2PSY   Y8, xout

#define LANES(n, x, y) MOVL $n, DX; VMOVD DX, x; VPBROADCASTD x, y
#define QUADS(n, x, y) MOVQ $n, DX; VMOVQ DX, x; VPBROADCASTQ x, y

// func steps8AVX2(acc *[8]float32, a *Decoded, b *[8]Decoded, n int) int
TEXT ·steps8AVX2(SB), NOSPLIT, $0-40
	MOVQ    acc+0(FP), DI
	MOVQ    a+8(FP), SI
	MOVQ    b+16(FP), BX
	MOVQ    n+24(FP), CX
	XORL    AX, AX
	VMOVDQU (DI), Y0
	LANES(0xffff, X15, Y15)
	LANES(255, X14, Y14)
	LANES(1, X13, Y13)
	QUADS(998, X12, Y12)                // 1023 - 25
	QUADS(0xffffffffe0000000, X11, Y11) // all but the last 29 bits of a float64's significand

step:
	VPBROADCASTD (SI), Y1
	VPADDW       (BX), Y1, Y1
	LARGEST(1)
	LARGEST(2)
	LARGEST(3)
	LARGEST(4)
	LARGEST(5)
	LARGEST(6)
	LARGEST(7)
	LARGEST(8)
	LARGEST(9)
	LARGEST(10)
	LARGEST(11)
	LARGEST(12)
	LARGEST(13)
	LARGEST(14)
	LARGEST(15)
	VPSRAD       $16, Y1, Y1

	// The addends: Y8 their exponents, those of what is not finite far above, and Y9 their significands with 2 more bits.
	VPSRLD   $23, Y0, Y8
	VPAND    Y14, Y8, Y8
	VPCMPEQD Y14, Y8, Y10
	VPSLLD   $12, Y10, Y10
	VPSRLD   $1, Y10, Y10      // 0x7ffff800
	VPXOR    Y7, Y7, Y7
	VPCMPGTD Y7, Y8, Y9
	VPSRLD   $31, Y9, Y9
	VPSLLD   $23, Y9, Y9
	VPSLLD   $9, Y0, Y7
	VPSRLD   $9, Y7, Y7
	VPOR     Y7, Y9, Y9
	VPSLLD   $2, Y9, Y9
	VPMAXSD  Y13, Y8, Y8
	VPSRLD   $1, Y14, Y7       // 127
	VPSUBD   Y7, Y8, Y8
	VPOR     Y10, Y8, Y10
	VPMAXSD  Y10, Y1, Y1
	LANES(2048, X7, Y7)
	VPCMPGTD Y7, Y1, Y7
	VPTEST   Y7, Y7
	JNZ      done

	VPSUBD   Y8, Y1, Y8
	VPSRLVD  Y8, Y9, Y9
	VPOR     Y13, Y0, Y8
	VPSIGND  Y8, Y9, Y7
	VPADDD   Y13, Y1, Y5
	VPSLLD   $16, Y5, Y5
	VPXOR    Y6, Y6, Y6
	ADD(0, Y6)
	ADD(1, Y6)
	ADD(2, Y6)
	ADD(3, Y6)
	ADD(4, Y6)
	ADD(5, Y6)
	ADD(6, Y6)
	ADD(7, Y6)
	ADD(8, Y7)
	ADD(9, Y7)
	ADD(10, Y7)
	ADD(11, Y7)
	ADD(12, Y7)
	ADD(13, Y7)
	ADD(14, Y7)
	ADD(15, Y7)

	// A sum is 0 or at least 2 to the (largest exponent less 25): where that may be subnormal it is not for ROUND.
	LANES(-101, X8, Y8)
	VPCMPGTD Y1, Y8, Y8
	VPTEST   Y8, Y8
	JNZ      small

round:
	ROUND(X6, X7, X1, X10)
	VEXTRACTI128 $1, Y6, X6
	VEXTRACTI128 $1, Y7, X7
	VEXTRACTI128 $1, Y1, X1
	ROUND(X6, X7, X1, X9)
	VINSERTI128  $1, X9, Y10, Y0
	ADDQ         $64, SI
	ADDQ         $512, BX
	INCQ         AX
	DECQ         CX
	JNZ          step

done:
	VMOVDQU Y0, (DI)
	VZEROUPPER
	MOVQ    AX, ret+32(FP)
	RET

small:
	VPADDD   Y6, Y7, Y9
	VPXOR    Y10, Y10, Y10
	VPCMPEQD Y10, Y9, Y9
	VPANDN   Y8, Y9, Y9
	VPTEST   Y9, Y9
	JZ       round
	JMP      done

// func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
