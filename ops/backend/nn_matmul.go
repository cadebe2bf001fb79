package backend

import "github.com/robocache/robocache/tensor"

// MatMulJob is a matrix product and the steps after it, in this order, all in float32. A step is skipped if its field
// is nil or zero.
//
//	v = A·Bᵀ, B [N,K] like weights in torch; or A·B, B [K,N], if Plain. Sums use the tensor cores' rule, 16 products at a time from k = 0
//	v += Bias
//	Pre = v; v = Activation(v)
//	v = v where Gate > 0, else 0 (GateOf ReLU); v *= GELU'(Gate) (GateOf GELU)
//	v = Dropout(v)
//	v += Residual: an F32 element in row m mod its rows, or that element's norm (ResidualNorm)
//	Norm:     Sum = v; its statistics are written; v = the norm, which goes to Out unchanged
//	NormBack: v is a norm's gradient g: with x = (z-mean)*rstd and h = g*gamma, v = rstd*((h - mean(h)) - x*mean(h*x)); DGamma and DBeta are written
//	v += After
//	Sum = v, if not written before; Out = OutDropout(v)
//
// ReLU is 0 if v is 0 or less, else v; so NaN stays NaN. NormStats defines the order of a row's sum. DGamma and DBeta
// are the sums of g*x and g over the rows in a block. Each is four sums from 0, one per quarter of the rows, rows
// ascending; the second, third and fourth are then added to the first.
//
// A job has at most one of Norm and NormBack. With Norm it is not Plain and has no After and no OutDropout; with
// NormBack it is Plain. With either, N is at most MaxNormWidth, Sum is set, and Pre, Activation and Gate are not. Sum
// may be the same tensor as Residual if Residual has all M rows, or as After if the job has no norm. No other output
// overlaps an input.
type MatMulJob struct {
	A, B    *tensor.Tensor // Working; [M,K]
	Plain   bool
	Still   bool // the work just before the job does not write B, which may then be read early
	M, N, K int

	Bias         *tensor.Tensor // [N] F32
	Pre          *tensor.Tensor // [M,N] Working, written
	Activation   Activation
	Gate         *tensor.Tensor // [M,N] Working
	GateOf       Activation
	Dropout      Dropout
	Residual     *tensor.Tensor // [R,N] F32, read in row m mod R; R is M or less
	ResidualNorm *NormStats     // its Z is Residual
	Norm         *NormStats     // Z is nil, because Sum replaces it; Mean and Rstd are written
	Eps          float32
	NormBack     *NormStats
	DGamma       *tensor.Tensor // [ceil(M/NormRows),N] F32, written, one row per block with NormRows rows
	DBeta        *tensor.Tensor
	After        *tensor.Tensor // [M,N] F32
	Sum          *tensor.Tensor // [M,N] F32, written; may be nil
	Out          *tensor.Tensor // [M,N] Working, written; may be nil
	OutDropout   Dropout
}
