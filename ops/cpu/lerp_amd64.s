// Linear interpolation of rows of features, and conversions of them, with AVX2 and F16C. Each operation rounds on its own;
// none of these uses FMA. The functions are those of lerp_amd64.go.

#include "textflag.h"

// Registers: DI dst, SI src, BX the item, CX items left, DX features, R9 from the first sample to the second in bytes;
// R8 the target's features, R10 and R11 the two samples', R12 the feature at hand, R13 the last at which a whole vector begins.
// Y15 the weight, Y10 what LERP has found, Y14 0x7fff, Y13 1, Y12 0x40 and Y11 0xffff0000, the same in all lanes.

// A load widens 8 numbers to Y registers, or 4 to X registers; LOAD1 one. A store rounds 8, 4 or 1 of Y0 or X0.
#define LOAD_F32(p, y) VMOVUPS (p)(R12*4), y
#define LOAD_F16(p, y) VCVTPH2PS (p)(R12*2), y
#define LOAD_BF16(p, y) VPMOVZXWD (p)(R12*2), y; VPSLLD $16, y, y
#define LOAD1_F32(p, x) VMOVSS (p)(R12*4), x
#define LOAD1_F16(p, x) MOVWLZX (p)(R12*2), AX; VMOVD AX, x; VCVTPH2PS x, x
#define LOAD1_BF16(p, x) MOVWLZX (p)(R12*2), AX; SHLL $16, AX; VMOVD AX, x

// ROUND leaves the bfloat16 of v in the lower halves of t's lanes: bits + 0x7fff + (bits>>16 & 1), or a NaN's made quiet.
#define ROUND(v, t, u, bias, one, quiet) \
	VPSRLD    $16, v, u;    \
	VPAND     one, u, t;    \
	VPADDD    bias, t, t;   \
	VPADDD    v, t, t;      \
	VPSRLD    $16, t, t;    \
	VPOR      quiet, u, u;  \
	VCMPPS    $3, v, v, v;  \
	VPBLENDVB v, u, t, t

#define STORE8_F32 VMOVUPS Y0, (R8)(R12*4)
#define STORE4_F32 VMOVUPS X0, (R8)(R12*4)
#define STORE1_F32 VMOVSS X0, (R8)(R12*4)
#define STORE8_F16 VCVTPS2PH $0, Y0, (R8)(R12*2)
#define STORE4_F16 VCVTPS2PH $0, X0, (R8)(R12*2)
#define STORE1_F16 VCVTPS2PH $0, X0, X0; VPEXTRW $0, X0, (R8)(R12*2)
#define STORE8_BF16 ROUND(Y0, Y1, Y2, Y14, Y13, Y12); VPACKUSDW Y1, Y1, Y1; VPERMQ $8, Y1, Y1; VMOVDQU X1, (R8)(R12*2)
#define STORE4_BF16 ROUND(X0, X1, X2, X14, X13, X12); VPACKUSDW X1, X1, X1; VMOVQ X1, (R8)(R12*2)
#define STORE1_BF16 ROUND(X0, X1, X2, X14, X13, X12); VPEXTRW $0, X1, (R8)(R12*2)

#define BROADCAST(n, x, y) MOVL $n, AX; VMOVD AX, x; VPBROADCASTD x, y
#define CONSTANTS BROADCAST(0x7fff, X14, Y14); BROADCAST(1, X13, Y13); BROADCAST(0x40, X12, Y12)

#define ARGS \
	MOVQ dst+0(FP), DI;    \
	MOVQ src+8(FP), SI;    \
	MOVQ items+16(FP), BX; \
	MOVQ count+24(FP), CX; \
	MOVQ n+32(FP), DX;     \
	MOVQ gap+40(FP), R9;   \
	CONSTANTS

// ITEM sets up the next item: a lerpItem is from, to and a, 8 bytes each. The samples of the item AHEAD of it, or its own at the end,
// are what FETCH asks for: R14 and AX.
#define AHEAD 4
#define ITEM(srcSize, dstSize) \
	MOVQ         0(BX), R10;               \
	MOVQ         8(BX), R8;                \
	VXORPS       X15, X15, X15;            \
	VCVTSD2SS    16(BX), X15, X15;         \
	VBROADCASTSS X15, Y15;                 \
	LEAQ         (AHEAD*24)(BX), R14;      \
	CMPQ         CX, $AHEAD;               \
	CMOVQLE      BX, R14;                  \
	MOVQ         0(R14), R14;              \
	ADDQ         $24, BX;                  \
	LEAQ         (SI)(R10*srcSize), R10;   \
	LEAQ         (DI)(R8*dstSize), R8;     \
	LEAQ         (R10)(R9*srcSize), R11;   \
	LEAQ         (SI)(R14*srcSize), R14;   \
	LEAQ         (R14)(R9*srcSize), AX;    \
	XORL         R12, R12

#define FETCH(srcSize) PREFETCHT0 (R14)(R12*srcSize); PREFETCHT0 (AX)(R12*srcSize)

// LERP leaves v0 + a*(v1-v0) in v0, and bits in odd where that less itself is not 0: where it is not finite.
#define LERP(v0, v1, a, odd) VSUBPS v0, v1, v1; VMULPS a, v1, v1; VADDPS v1, v0, v0; VSUBPS v0, v0, v1; VPOR v1, odd, odd

// ROWS makes all items: vectors of 8 features, of 4 below 8, one by one below 4. The last vector may overlap the one before.
#define ROWS(srcSize, dstSize, LOAD, LOAD1, STORE8, STORE4, STORE1) \
	ARGS;                     \
	VPXOR Y10, Y10, Y10;      \
item:                         \
	ITEM(srcSize, dstSize);   \
	LEAQ -8(DX), R13;         \
	TESTQ R13, R13;           \
	JLT  narrow;              \
eight:                        \
	FETCH(srcSize);           \
	LOAD(R10, Y0);            \
	LOAD(R11, Y1);            \
	LERP(Y0, Y1, Y15, Y10);   \
	STORE8;                   \
	ADDQ $8, R12;             \
	CMPQ R12, R13;            \
	JLE  eight;               \
	CMPQ R12, DX;             \
	JGE  next;                \
	MOVQ R13, R12;            \
	JMP  eight;               \
narrow:                       \
	FETCH(srcSize);           \
	ADDQ $4, R13;             \
	JLT  one;                 \
four:                         \
	LOAD(R10, X0);            \
	LOAD(R11, X1);            \
	LERP(X0, X1, X15, X10);   \
	STORE4;                   \
	ADDQ $4, R12;             \
	CMPQ R12, DX;             \
	JGE  next;                \
	MOVQ R13, R12;            \
	JMP  four;                \
one:                          \
	LOAD1(R10, X0);           \
	LOAD1(R11, X1);           \
	LERP(X0, X1, X15, X10);   \
	STORE1;                   \
	INCQ R12;                 \
	CMPQ R12, DX;             \
	JLT  one;                 \
next:                         \
	DECQ CX;                  \
	JNZ  item;                \
	VPTEST Y10, Y10;          \
	SETEQ ret+48(FP);         \
	VZEROUPPER;               \
	RET

// CONVERT makes n numbers of another type, as ROWS goes through a row.
#define CONVERT(LOAD, LOAD1, STORE8, STORE4, STORE1) \
	MOVQ dst+0(FP), R8;  \
	MOVQ src+8(FP), R10; \
	MOVQ n+16(FP), DX;   \
	CONSTANTS;           \
	XORL R12, R12;       \
	LEAQ -8(DX), R13;    \
	TESTQ R13, R13;      \
	JLT  narrow;         \
eight:                   \
	LOAD(R10, Y0);       \
	STORE8;              \
	ADDQ $8, R12;        \
	CMPQ R12, R13;       \
	JLE  eight;          \
	CMPQ R12, DX;        \
	JGE  done;           \
	MOVQ R13, R12;       \
	JMP  eight;          \
narrow:                  \
	ADDQ $4, R13;        \
	JLT  one;            \
four:                    \
	LOAD(R10, X0);       \
	STORE4;              \
	ADDQ $4, R12;        \
	CMPQ R12, DX;        \
	JGE  done;           \
	MOVQ R13, R12;       \
	JMP  four;           \
one:                     \
	LOAD1(R10, X0);      \
	STORE1;              \
	INCQ R12;            \
	CMPQ R12, DX;        \
	JLT  one;            \
done:                    \
	VZEROUPPER;          \
	RET

// func lerpF32F32(dst, src *float32, items *lerpItem, count, n, gap int) bool
TEXT ·lerpF32F32(SB), NOSPLIT, $0-49
	ROWS(4, 4, LOAD_F32, LOAD1_F32, STORE8_F32, STORE4_F32, STORE1_F32)

// func lerpF32F16(dst *tensor.Float16, src *float32, items *lerpItem, count, n, gap int) bool
TEXT ·lerpF32F16(SB), NOSPLIT, $0-49
	ROWS(4, 2, LOAD_F32, LOAD1_F32, STORE8_F16, STORE4_F16, STORE1_F16)

// func lerpF32BF16(dst *tensor.BFloat16, src *float32, items *lerpItem, count, n, gap int) bool
TEXT ·lerpF32BF16(SB), NOSPLIT, $0-49
	ROWS(4, 2, LOAD_F32, LOAD1_F32, STORE8_BF16, STORE4_BF16, STORE1_BF16)

// func lerpF16F32(dst *float32, src *tensor.Float16, items *lerpItem, count, n, gap int) bool
TEXT ·lerpF16F32(SB), NOSPLIT, $0-49
	ROWS(2, 4, LOAD_F16, LOAD1_F16, STORE8_F32, STORE4_F32, STORE1_F32)

// func lerpF16F16(dst, src *tensor.Float16, items *lerpItem, count, n, gap int) bool
TEXT ·lerpF16F16(SB), NOSPLIT, $0-49
	ROWS(2, 2, LOAD_F16, LOAD1_F16, STORE8_F16, STORE4_F16, STORE1_F16)

// func lerpF16BF16(dst *tensor.BFloat16, src *tensor.Float16, items *lerpItem, count, n, gap int) bool
TEXT ·lerpF16BF16(SB), NOSPLIT, $0-49
	ROWS(2, 2, LOAD_F16, LOAD1_F16, STORE8_BF16, STORE4_BF16, STORE1_BF16)

// func lerpBF16F32(dst *float32, src *tensor.BFloat16, items *lerpItem, count, n, gap int) bool
TEXT ·lerpBF16F32(SB), NOSPLIT, $0-49
	ROWS(2, 4, LOAD_BF16, LOAD1_BF16, STORE8_F32, STORE4_F32, STORE1_F32)

// func lerpBF16F16(dst *tensor.Float16, src *tensor.BFloat16, items *lerpItem, count, n, gap int) bool
TEXT ·lerpBF16F16(SB), NOSPLIT, $0-49
	ROWS(2, 2, LOAD_BF16, LOAD1_BF16, STORE8_F16, STORE4_F16, STORE1_F16)

// PAIRS makes the numbers of two vectors of bfloat16, v and w, in place, without widening them in order: those in the upper
// halves of the lanes and those in the lower are made apart. A NaN needs no care here: its lower 16 bits are 0, as those of the
// samples are, and arithmetic has made it quiet.
#define PAIRS(v, w, vl, wl, t, a, bias, one, upper, odd) \
	VPSLLD   $16, v, vl;         \
	VPSLLD   $16, w, wl;         \
	VPAND    upper, v, v;        \
	VPAND    upper, w, w;        \
	LERP(vl, wl, a, odd);        \
	LERP(v, w, a, odd);          \
	VPSRLD   $16, vl, t;         \
	VPAND    one, t, t;          \
	VPADDD   bias, t, t;         \
	VPADDD   t, vl, vl;          \
	VPSRLD   $16, vl, vl;        \
	VPSRLD   $16, v, t;          \
	VPAND    one, t, t;          \
	VPADDD   bias, t, t;         \
	VPADDD   t, v, v;            \
	VPBLENDW $0xaa, v, vl, v

#define PAIRS8 PAIRS(X0, X1, X2, X3, X4, X15, X14, X13, X11, X10)

// func lerpBF16BF16(dst, src *tensor.BFloat16, items *lerpItem, count, n, gap int) bool
TEXT ·lerpBF16BF16(SB), NOSPLIT, $0-49
	ARGS
	BROADCAST(0xffff0000, X11, Y11)
	VPXOR Y10, Y10, Y10
item:
	ITEM(2, 2)
	LEAQ    -16(DX), R13
	TESTQ   R13, R13
	JLT     below16
sixteen:
	FETCH(2)
	VMOVDQU (R10)(R12*2), Y0
	VMOVDQU (R11)(R12*2), Y1
	PAIRS(Y0, Y1, Y2, Y3, Y4, Y15, Y14, Y13, Y11, Y10)
	VMOVDQU Y0, (R8)(R12*2)
	ADDQ    $16, R12
	CMPQ    R12, R13
	JLE     sixteen
	CMPQ    R12, DX
	JGE     next
	MOVQ    R13, R12
	JMP     sixteen
below16:
	FETCH(2)
	ADDQ    $8, R13
	JLT     below8
eight:
	VMOVDQU (R10)(R12*2), X0
	VMOVDQU (R11)(R12*2), X1
	PAIRS8
	VMOVDQU X0, (R8)(R12*2)
	ADDQ    $8, R12
	CMPQ    R12, DX
	JGE     next
	MOVQ    R13, R12
	JMP     eight
below8:
	ADDQ    $4, R13
	JLT     one
four:
	VMOVQ   (R10)(R12*2), X0
	VMOVQ   (R11)(R12*2), X1
	PAIRS8
	VMOVQ   X0, (R8)(R12*2)
	ADDQ    $4, R12
	CMPQ    R12, DX
	JGE     next
	MOVQ    R13, R12
	JMP     four
one:
	MOVWLZX (R10)(R12*2), AX
	VMOVD   AX, X0
	MOVWLZX (R11)(R12*2), AX
	VMOVD   AX, X1
	PAIRS8
	VPEXTRW $0, X0, (R8)(R12*2)
	INCQ    R12
	CMPQ    R12, DX
	JLT     one
next:
	DECQ    CX
	JNZ     item
	VPTEST  Y10, Y10
	SETEQ   ret+48(FP)
	VZEROUPPER
	RET

// func convertF32F16(dst *tensor.Float16, src *float32, n int)
TEXT ·convertF32F16(SB), NOSPLIT, $0-24
	CONVERT(LOAD_F32, LOAD1_F32, STORE8_F16, STORE4_F16, STORE1_F16)

// func convertF32BF16(dst *tensor.BFloat16, src *float32, n int)
TEXT ·convertF32BF16(SB), NOSPLIT, $0-24
	CONVERT(LOAD_F32, LOAD1_F32, STORE8_BF16, STORE4_BF16, STORE1_BF16)

// func convertF16F32(dst *float32, src *tensor.Float16, n int)
TEXT ·convertF16F32(SB), NOSPLIT, $0-24
	CONVERT(LOAD_F16, LOAD1_F16, STORE8_F32, STORE4_F32, STORE1_F32)

// func convertBF16F32(dst *float32, src *tensor.BFloat16, n int)
TEXT ·convertBF16F32(SB), NOSPLIT, $0-24
	CONVERT(LOAD_BF16, LOAD1_BF16, STORE8_F32, STORE4_F32, STORE1_F32)

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
