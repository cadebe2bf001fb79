package backend

import "github.com/robocache/robocache/tensor"

// NormJob is a separate LayerNorm, computed as in MatMulJob. It reads Norm.Z, writes Norm.Mean and Norm.Rstd, and
// writes the norm to Sum [M,N] F32 and Out [M,N] Working. Sum or Out may be nil.
type NormJob struct {
	M, N     int
	Eps      float32
	Norm     NormStats
	Out, Sum *tensor.Tensor
}

// NormBackwardJob is the gradient of NormJob, computed as in MatMulJob. G [M,N] F32 is the gradient of the norm. The
// gradient of Z, plus After [M,N] F32, goes to Sum [M,N] F32 and, with OutDropout, to Out [M,N] Working. After, Sum and
// Out may be nil, and Sum may be G. DGamma and DBeta are [ceil(M/NormRows),N] F32.
type NormBackwardJob struct {
	M, N          int
	G             *tensor.Tensor
	Norm          NormStats
	DGamma, DBeta *tensor.Tensor
	After         *tensor.Tensor
	Sum, Out      *tensor.Tensor
	OutDropout    Dropout
}

// EmbedJob computes Out[m] = Position[m mod T] + Table[ID[m / T]]. If Position or Table is nil, Out is the other one.
// An ID outside 0 to V-1 is a fault and gives a row of zeros.
//
// If G is the gradient of Out, WeightGradient computes the gradient of Position. With Backward, this job computes the
// gradient of Table instead: row v in DTable is the sum over the rows m in G with ID v. Within each block of EmbedRows
// consecutive m it adds them from 0, m ascending; then it adds the blocks' sums, ascending.
type EmbedJob struct {
	M, N, T  int
	V        int            // rows in the table
	Position *tensor.Tensor // [T,N] F32
	Table    *tensor.Tensor // [V,N] F32
	ID       *tensor.Tensor // [ceil(M/T)] i32
	Out      *tensor.Tensor // [M,N] F32, written
	Backward bool
	G        *tensor.Tensor // [M,N] F32
	DTable   *tensor.Tensor // [V,N] F32, written
}

// EmbedRows is the number of rows in one partial sum of Embed.
const EmbedRows = 32

// FaultError converts a fault into a *ValueError, or nil for NoFault. The fault's position is the index of an ID.
func (j *EmbedJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	return &ValueError{Op: "Embed", Arg: "ID", Row: f.Position(), Kind: ErrNumber}
}

// LossKind is the formula for a loss.
type LossKind uint8

// The losses: the squared difference, the absolute difference, and the cross-entropy of each row's class.
const (
	LossMSE LossKind = iota
	LossL1
	LossCrossEntropy
)

// LossJob compares a prediction with its target, like torch's mse_loss, l1_loss and cross_entropy. The loss is the mean
// over all values that count, or over all rows for a cross-entropy. Grad is its gradient. If nothing counts, both are
// 0.
//
// Weights select the values that count: item i in row m, with columns i*N/RowsPerItem to (i+1)*N/RowsPerItem-1, counts
// if Weights[m*RowsPerItem+i] is 1. For a cross-entropy RowsPerItem is 1, and the row's class must also be valid. The
// number n is M*N without Weights, word StateValid in State with Weights, and the number of rows that count for a
// cross-entropy. If a loss is not finite, the step goes to word StateBad.
//
// With prediction p and target t, each operation rounded:
//
//	MSE: d = p-t; the value's loss is d*d, its gradient d*(2/n)
//	L1:  d = p-t; |d|, and 1/n with the sign of d, or 0 if d is 0
//	cross-entropy, m the greatest p in a row: s = the sum of e = Exp(p-m); the row's loss is Log(s)-(p[class]-m), its gradient (e/s - 1)*(1/n) in
//	the column of the class and (e/s)*(1/n) in the others
//
// NormStats defines the order of a sum over a row's columns; values that do not count are 0 in it. A partial sum adds
// the sums from LossRows rows, ascending. The total adds the partial sums in the order from NormStats. The loss is the
// total divided by n.
type LossJob struct {
	Kind       LossKind
	M, N       int            // N columns are used
	Prediction *tensor.Tensor // [M, width] F32
	Target     *tensor.Tensor // [M,N] F32
	// Class [M] i32 is for a cross-entropy. A row with a class below 0 does not count. A class of N and above is a
	// fault and does not count either.
	Class       *tensor.Tensor
	RowsPerItem int
	Weights     *tensor.Tensor // [M*RowsPerItem] F32, 1 or 0; nil is 1
	Grad        *tensor.Tensor // [M, width] Working, written, with 0 in unused columns; nil if only the loss is needed
	Partials    *tensor.Tensor // [ceil(M/LossRows)] F32, scratch
	Losses      *tensor.Tensor // [S] F32: element (step-1) mod S is written
	State       *tensor.Tensor
}

// LossRows is the number of rows in one partial sum of Loss.
const LossRows = 32

// FaultError converts a fault into a *ValueError, or nil for NoFault. The fault's position is the row of a class.
func (j *LossJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	return &ValueError{Op: "Loss", Arg: "Class", Row: f.Position(), Kind: ErrNumber}
}
