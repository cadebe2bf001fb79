// Products of float32 matrices with AVX2 and FMA, and with AVX-512; the bits are the same. The functions are those of nn_arithmetic_amd64.go.

#include "textflag.h"

// Registers: DI c, SI a, DX b, CX k, R8 a's rows, R9 a's step, R10 b's rows and R11 c's, in bytes; R12 rows left. In a tile: AX and BX the first and
// the fourth row of a, R13 the row of b, R14 k left. Y0 and Y1 a row of b, Y2 and Y3 elements of a, Y4 to Y15 the sums.

#define ZERO(a, b) VXORPS a, a, a; VXORPS b, b, b
#define ROW(at, x, a, b) VBROADCASTSS at, x; VFMADD231PS Y0, x, a; VFMADD231PS Y1, x, b
#define BEGIN MOVQ SI, AX; LEAQ (SI)(R8*2), BX; ADDQ R8, BX; MOVQ DX, R13; MOVQ CX, R14
#define ROWOFB VMOVUPS (R13), Y0; VMOVUPS 32(R13), Y1
#define NEXT ADDQ R9, AX; ADDQ R9, BX; ADDQ R10, R13; DECQ R14

// func productAVX2(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, rows int, add bool)
TEXT ·productAVX2(SB), NOSPLIT, $0-121
	MOVQ c_base+0(FP), DI
	MOVQ ldc+24(FP), R11
	MOVQ a_base+32(FP), SI
	MOVQ lda+56(FP), R8
	MOVQ step+64(FP), R9
	MOVQ b_base+72(FP), DX
	MOVQ ldb+96(FP), R10
	MOVQ k+104(FP), CX
	MOVQ rows+112(FP), R12
	SHLQ $2, R8
	SHLQ $2, R9
	SHLQ $2, R10
	SHLQ $2, R11

six:
	CMPQ R12, $6
	JLT  four
	CMPB add+120(FP), $0
	JNE  old6
	ZERO(Y4, Y5)
	ZERO(Y6, Y7)
	ZERO(Y8, Y9)
	ZERO(Y10, Y11)
	ZERO(Y12, Y13)
	ZERO(Y14, Y15)
	JMP  begin6

old6:
	LEAQ (DI)(R11*2), BX
	ADDQ R11, BX
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS (DI)(R11*1), Y6
	VMOVUPS 32(DI)(R11*1), Y7
	VMOVUPS (DI)(R11*2), Y8
	VMOVUPS 32(DI)(R11*2), Y9
	VMOVUPS (BX), Y10
	VMOVUPS 32(BX), Y11
	VMOVUPS (BX)(R11*1), Y12
	VMOVUPS 32(BX)(R11*1), Y13
	VMOVUPS (BX)(R11*2), Y14
	VMOVUPS 32(BX)(R11*2), Y15

begin6:
	BEGIN

loop6:
	ROWOFB
	ROW((AX), Y2, Y4, Y5)
	ROW((AX)(R8*1), Y3, Y6, Y7)
	ROW((AX)(R8*2), Y2, Y8, Y9)
	ROW((BX), Y3, Y10, Y11)
	ROW((BX)(R8*1), Y2, Y12, Y13)
	ROW((BX)(R8*2), Y3, Y14, Y15)
	NEXT
	JNZ  loop6
	LEAQ (DI)(R11*2), BX
	ADDQ R11, BX
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, (DI)(R11*1)
	VMOVUPS Y7, 32(DI)(R11*1)
	VMOVUPS Y8, (DI)(R11*2)
	VMOVUPS Y9, 32(DI)(R11*2)
	VMOVUPS Y10, (BX)
	VMOVUPS Y11, 32(BX)
	VMOVUPS Y12, (BX)(R11*1)
	VMOVUPS Y13, 32(BX)(R11*1)
	VMOVUPS Y14, (BX)(R11*2)
	VMOVUPS Y15, 32(BX)(R11*2)
	LEAQ (BX)(R11*2), DI
	ADDQ R11, DI
	LEAQ (SI)(R8*4), SI
	LEAQ (SI)(R8*2), SI
	SUBQ $6, R12
	JMP  six

four:
	CMPQ R12, $4
	JLT  two
	CMPB add+120(FP), $0
	JNE  old4
	ZERO(Y4, Y5)
	ZERO(Y6, Y7)
	ZERO(Y8, Y9)
	ZERO(Y10, Y11)
	JMP  begin4

old4:
	LEAQ (DI)(R11*2), BX
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS (DI)(R11*1), Y6
	VMOVUPS 32(DI)(R11*1), Y7
	VMOVUPS (BX), Y8
	VMOVUPS 32(BX), Y9
	VMOVUPS (BX)(R11*1), Y10
	VMOVUPS 32(BX)(R11*1), Y11

begin4:
	BEGIN

loop4:
	ROWOFB
	ROW((AX), Y2, Y4, Y5)
	ROW((AX)(R8*1), Y3, Y6, Y7)
	ROW((AX)(R8*2), Y2, Y8, Y9)
	ROW((BX), Y3, Y10, Y11)
	NEXT
	JNZ  loop4
	LEAQ (DI)(R11*2), BX
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, (DI)(R11*1)
	VMOVUPS Y7, 32(DI)(R11*1)
	VMOVUPS Y8, (BX)
	VMOVUPS Y9, 32(BX)
	VMOVUPS Y10, (BX)(R11*1)
	VMOVUPS Y11, 32(BX)(R11*1)
	LEAQ (DI)(R11*4), DI
	LEAQ (SI)(R8*4), SI
	SUBQ $4, R12

two:
	CMPQ R12, $2
	JLT  one
	CMPB add+120(FP), $0
	JNE  old2
	ZERO(Y4, Y5)
	ZERO(Y6, Y7)
	JMP  begin2

old2:
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS (DI)(R11*1), Y6
	VMOVUPS 32(DI)(R11*1), Y7

begin2:
	BEGIN

loop2:
	ROWOFB
	ROW((AX), Y2, Y4, Y5)
	ROW((AX)(R8*1), Y3, Y6, Y7)
	NEXT
	JNZ  loop2
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, (DI)(R11*1)
	VMOVUPS Y7, 32(DI)(R11*1)
	LEAQ (DI)(R11*2), DI
	LEAQ (SI)(R8*2), SI
	SUBQ $2, R12

one:
	TESTQ R12, R12
	JLE  done
	CMPB add+120(FP), $0
	JNE  old1
	ZERO(Y4, Y5)
	JMP  begin1

old1:
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5

begin1:
	BEGIN

loop1:
	ROWOFB
	ROW((AX), Y2, Y4, Y5)
	NEXT
	JNZ  loop1
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)

done:
	VZEROUPPER
	RET

// A transposition's four columns of eight rows: the halves of Y0 to Y3 are rows, those of four and those of the next four.
#define EIGHT(rows, rows4, to) \
	VMOVUPS     (rows), X0;                   \
	VINSERTF128 $1, (rows4), Y0, Y0;          \
	VMOVUPS     (rows)(R8*1), X1;             \
	VINSERTF128 $1, (rows4)(R8*1), Y1, Y1;    \
	VMOVUPS     (rows)(R8*2), X2;             \
	VINSERTF128 $1, (rows4)(R8*2), Y2, Y2;    \
	VMOVUPS     (rows)(R9*1), X3;             \
	VINSERTF128 $1, (rows4)(R9*1), Y3, Y3;    \
	VUNPCKLPS   Y1, Y0, Y4;                   \
	VUNPCKHPS   Y1, Y0, Y5;                   \
	VUNPCKLPS   Y3, Y2, Y6;                   \
	VUNPCKHPS   Y3, Y2, Y7;                   \
	VSHUFPS     $0x44, Y6, Y4, Y0;            \
	VSHUFPS     $0xEE, Y6, Y4, Y1;            \
	VSHUFPS     $0x44, Y7, Y5, Y2;            \
	VSHUFPS     $0xEE, Y7, Y5, Y3;            \
	VMOVUPS     Y0, to(DI);                 \
	VMOVUPS     Y1, (to+64)(DI);              \
	VMOVUPS     Y2, (to+128)(DI);             \
	VMOVUPS     Y3, (to+192)(DI)

// func transposeAVX2(dst, src []float32, ld, k int)
TEXT ·transposeAVX2(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ ld+48(FP), R8
	MOVQ k+56(FP), CX
	SHLQ $2, R8
	LEAQ (R8)(R8*2), R9
	LEAQ (SI)(R8*4), AX
	LEAQ (AX)(R8*4), BX
	LEAQ (BX)(R8*4), DX

columns:
	EIGHT(SI, AX, 0)
	EIGHT(BX, DX, 32)
	ADDQ $16, SI
	ADDQ $16, AX
	ADDQ $16, BX
	ADDQ $16, DX
	ADDQ $256, DI
	SUBQ $4, CX
	JG   columns
	VZEROUPPER
	RET

// func packAVX2(dst, src []float32, ld, rows int)
TEXT ·packAVX2(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ ld+48(FP), R8
	MOVQ rows+56(FP), CX
	SHLQ $2, R8

rows:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    R8, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     rows
	VZEROUPPER
	RET

// Registers as above but for AX and BX, which are the first row of a and the ninth, R12, R15 and R14, which are three, five and seven of its rows, and CX,
// which is the end of b. Z0 is a row of b, Z16 to Z31 are the sums.

// func tilesAVX512(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, tiles int, add bool)
TEXT ·tilesAVX512(SB), NOSPLIT, $0-121
	MOVQ  c_base+0(FP), DI
	MOVQ  ldc+24(FP), R11
	MOVQ  a_base+32(FP), SI
	MOVQ  lda+56(FP), R8
	MOVQ  step+64(FP), R9
	MOVQ  b_base+72(FP), DX
	MOVQ  ldb+96(FP), R10
	MOVQ  k+104(FP), CX
	SHLQ  $2, R8
	SHLQ  $2, R9
	SHLQ  $2, R10
	SHLQ  $2, R11
	IMULQ R10, CX
	ADDQ  DX, CX
	LEAQ  (R8)(R8*2), R12
	LEAQ  (R8)(R8*4), R15
	LEAQ  (R12)(R8*4), R14

tile:
	CMPB add+120(FP), $0
	JNE  old
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23
	VPXORQ Z24, Z24, Z24
	VPXORQ Z25, Z25, Z25
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	VPXORQ Z29, Z29, Z29
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31
	JMP  begin

old:
	MOVQ DI, AX
	VMOVUPS (AX), Z16
	ADDQ    R11, AX
	VMOVUPS (AX), Z17
	ADDQ    R11, AX
	VMOVUPS (AX), Z18
	ADDQ    R11, AX
	VMOVUPS (AX), Z19
	ADDQ    R11, AX
	VMOVUPS (AX), Z20
	ADDQ    R11, AX
	VMOVUPS (AX), Z21
	ADDQ    R11, AX
	VMOVUPS (AX), Z22
	ADDQ    R11, AX
	VMOVUPS (AX), Z23
	ADDQ    R11, AX
	VMOVUPS (AX), Z24
	ADDQ    R11, AX
	VMOVUPS (AX), Z25
	ADDQ    R11, AX
	VMOVUPS (AX), Z26
	ADDQ    R11, AX
	VMOVUPS (AX), Z27
	ADDQ    R11, AX
	VMOVUPS (AX), Z28
	ADDQ    R11, AX
	VMOVUPS (AX), Z29
	ADDQ    R11, AX
	VMOVUPS (AX), Z30
	ADDQ    R11, AX
	VMOVUPS (AX), Z31
	ADDQ    R11, AX

begin:
	MOVQ SI, AX
	LEAQ (SI)(R8*8), BX
	MOVQ DX, R13

loop:
	VMOVUPS (R13), Z0
	VFMADD231PS.BCST (AX), Z0, Z16
	VFMADD231PS.BCST (AX)(R8*1), Z0, Z17
	VFMADD231PS.BCST (AX)(R8*2), Z0, Z18
	VFMADD231PS.BCST (AX)(R12*1), Z0, Z19
	VFMADD231PS.BCST (AX)(R8*4), Z0, Z20
	VFMADD231PS.BCST (AX)(R15*1), Z0, Z21
	VFMADD231PS.BCST (AX)(R12*2), Z0, Z22
	VFMADD231PS.BCST (AX)(R14*1), Z0, Z23
	VFMADD231PS.BCST (BX), Z0, Z24
	VFMADD231PS.BCST (BX)(R8*1), Z0, Z25
	VFMADD231PS.BCST (BX)(R8*2), Z0, Z26
	VFMADD231PS.BCST (BX)(R12*1), Z0, Z27
	VFMADD231PS.BCST (BX)(R8*4), Z0, Z28
	VFMADD231PS.BCST (BX)(R15*1), Z0, Z29
	VFMADD231PS.BCST (BX)(R12*2), Z0, Z30
	VFMADD231PS.BCST (BX)(R14*1), Z0, Z31
	ADDQ R9, AX
	ADDQ R9, BX
	ADDQ R10, R13
	CMPQ R13, CX
	JNE  loop
	VMOVUPS Z16, (DI)
	ADDQ    R11, DI
	VMOVUPS Z17, (DI)
	ADDQ    R11, DI
	VMOVUPS Z18, (DI)
	ADDQ    R11, DI
	VMOVUPS Z19, (DI)
	ADDQ    R11, DI
	VMOVUPS Z20, (DI)
	ADDQ    R11, DI
	VMOVUPS Z21, (DI)
	ADDQ    R11, DI
	VMOVUPS Z22, (DI)
	ADDQ    R11, DI
	VMOVUPS Z23, (DI)
	ADDQ    R11, DI
	VMOVUPS Z24, (DI)
	ADDQ    R11, DI
	VMOVUPS Z25, (DI)
	ADDQ    R11, DI
	VMOVUPS Z26, (DI)
	ADDQ    R11, DI
	VMOVUPS Z27, (DI)
	ADDQ    R11, DI
	VMOVUPS Z28, (DI)
	ADDQ    R11, DI
	VMOVUPS Z29, (DI)
	ADDQ    R11, DI
	VMOVUPS Z30, (DI)
	ADDQ    R11, DI
	VMOVUPS Z31, (DI)
	ADDQ    R11, DI
	LEAQ (SI)(R8*8), SI
	LEAQ (SI)(R8*8), SI
	DECQ tiles+112(FP)
	JNZ  tile
	VZEROUPPER
	RET
