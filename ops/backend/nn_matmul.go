package backend

import "github.com/robocache/robocache/tensor"

// MatMulJob is a product and what follows it, in this order, all in float32. Fields that are nil or zero are left out.
//
//	v = A·Bᵀ, B [N,K] as torch keeps weights; or A·B, B [K,N], if Plain. An element's sum goes by the tensor cores' rule, 16 products a time from k = 0
//	v += Bias
//	Pre = v; v = Activation(v)
//	v = v where Gate > 0, else 0 (GateOf ReLU); v *= GELU'(Gate) (GateOf GELU)
//	v = Dropout(v)
//	v += Residual: an F32 element of row m mod its rows, or that element's norm (ResidualNorm)
//	Norm:     Sum = v; its statistics are written; v = the norm, which goes to Out as it is
//	NormBack: v is a norm's gradient g: with x = (z-mean)*rstd and h = g*gamma, v = rstd*((h - mean(h)) - x*mean(h*x)); DGamma and DBeta are written
//	v += After
//	Sum = v, if not written before; Out = OutDropout(v)
//
// ReLU is 0 where v is 0 or less, else v, which may not be a number. NormStats has the order of a row's sum. DGamma and DBeta are the sums of g*x and g over
// the rows of a block: four sums from 0 of a quarter of the rows each, rows ascending; then the second, the third and the fourth are added to the first.
// A job has Norm, and then is not Plain and has no After and OutDropout, or NormBack, and then is Plain, or neither. With one of them N is MaxNormWidth or
// less, there is Sum, and there is no Pre, Activation or Gate. Sum may be Residual, if that has a row for each, or After of a job without a norm; nothing else
// that is written overlaps what is read.
type MatMulJob struct {
	A, B    *tensor.Tensor // Working; [M,K]
	Plain   bool
	M, N, K int

	Bias         *tensor.Tensor // [N] F32
	Pre          *tensor.Tensor // [M,N] Working, written
	Activation   Activation
	Gate         *tensor.Tensor // [M,N] Working
	GateOf       Activation
	Dropout      Dropout
	Residual     *tensor.Tensor // [R,N] F32, of which row m mod R counts; R is M or less
	ResidualNorm *NormStats     // of which Z is Residual
	Norm         *NormStats     // Z nil: Sum stands for it; Mean and Rstd are written
	Eps          float32
	NormBack     *NormStats
	DGamma       *tensor.Tensor // [ceil(M/NormRows),N] F32, written, of blocks of NormRows rows
	DBeta        *tensor.Tensor
	After        *tensor.Tensor // [M,N] F32
	Sum          *tensor.Tensor // [M,N] F32, written; nil
	Out          *tensor.Tensor // [M,N] Working, written; nil
	OutDropout   Dropout
}
