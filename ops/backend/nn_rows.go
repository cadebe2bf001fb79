package backend

import "github.com/robocache/robocache/tensor"

// NormJob is a LayerNorm by itself, as MatMulJob has it: Norm.Z is read, Mean and Rstd are written, and the norm goes to Sum [M,N] F32 and Out [M,N] Working,
// each of which may be nil.
type NormJob struct {
	M, N     int
	Eps      float32
	Norm     NormStats
	Out, Sum *tensor.Tensor
}

// NormBackwardJob is its gradient, as MatMulJob has it: G [M,N] F32 is the gradient of the norm, and v, after After [M,N] F32 was added, that of Z: it goes to
// Sum [M,N] F32 and, with OutDropout, to Out [M,N] Working. After, Sum and Out may be nil, and Sum may be G. DGamma and DBeta are [ceil(M/NormRows),N] F32.
type NormBackwardJob struct {
	M, N          int
	G             *tensor.Tensor
	Norm          NormStats
	DGamma, DBeta *tensor.Tensor
	After         *tensor.Tensor
	Sum, Out      *tensor.Tensor
	OutDropout    Dropout
}

// EmbedJob makes Out[m] = Position[m mod T] + Table[ID[m / T]], either of which may be nil: the other alone then. An ID that is not from 0 to V-1 is a fault,
// and stands for a row of zeros.
//
// Of the gradient G of Out, WeightGradient makes that of Position; with Backward the job makes that of Table instead: row v of DTable is the sum of the rows m
// of G whose ID is v, ascending, from 0 within each block of EmbedRows consecutive m, and the blocks' sums ascending.
type EmbedJob struct {
	M, N, T  int
	V        int            // rows of the table
	Position *tensor.Tensor // [T,N] F32
	Table    *tensor.Tensor // [V,N] F32
	ID       *tensor.Tensor // [ceil(M/T)] i32
	Out      *tensor.Tensor // [M,N] F32, written
	Backward bool
	G        *tensor.Tensor // [M,N] F32
	DTable   *tensor.Tensor // [V,N] F32, written
}

// EmbedRows is of how many rows Embed makes a sum.
const EmbedRows = 32

// FaultError unpacks a fault of the job: its position is that of an ID.
func (j *EmbedJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	return &ValueError{Op: "Embed", Arg: "ID", Row: f.Position(), Kind: ErrNumber}
}

// LossKind is how a prediction is compared.
type LossKind uint8

// The losses: of each value that counts the square, the absolute value, or of each row the cross-entropy of its class.
const (
	LossMSE LossKind = iota
	LossL1
	LossCrossEntropy
)

// LossJob compares a prediction with its target: the loss is the mean over all values that count (of all rows, for a cross-entropy), and Grad its
// gradient: torch's mse_loss, l1_loss and cross_entropy. Where nothing counts both are 0.
//
// A row of M counts as its weights say: item i, columns i*N/RowsPerItem to (i+1)*N/RowsPerItem-1, by Weights[m*RowsPerItem+i]; of a cross-entropy, whose
// RowsPerItem is 1, by its class too. The number n of what counts is M*N of a loss without Weights, word StateValid of State of one with them, and of a
// cross-entropy the rows that count. A loss that is not finite goes to word StateBad.
//
// With p the prediction and t the target, each operation rounded:
//
//	MSE: d = p-t; the loss of the value is d*d, its gradient d*(2/n)
//	L1:  d = p-t; |d|, and 1/n with the sign of d, or 0 where d is 0
//	cross-entropy, m the greatest of a row: s = the sum of e = Exp(p-m); the loss of the row is Log(s)-(p[class]-m), its gradient (e/s - 1)*(1/n) in the
//	column of the class and (e/s)*(1/n) in the others
//
// A sum over a row's columns goes by the order of NormStats; values that do not count are 0 in it. A partial sum adds the sums of LossRows rows, ascending;
// the sum of all goes by the order of NormStats over the partial sums. The loss is it divided by n.
type LossJob struct {
	Kind        LossKind
	M, N        int            // N columns are in use
	Prediction  *tensor.Tensor // [M, width] F32
	Target      *tensor.Tensor // [M,N] F32
	Class       *tensor.Tensor // [M] i32, of a cross-entropy; below 0 does not count, N and above is a fault and does not count
	RowsPerItem int
	Weights     *tensor.Tensor // [M*RowsPerItem] F32, 1 or 0; nil is 1
	Grad        *tensor.Tensor // [M, width] Working, written, with 0 in columns that are not in use; nil if only the loss is wanted
	Partials    *tensor.Tensor // [ceil(M/LossRows)] F32, scratch
	Losses      *tensor.Tensor // [S] F32: that of step (step-1) mod S is written
	State       *tensor.Tensor
}

// LossRows is of how many rows Loss makes a partial sum.
const LossRows = 32

// FaultError unpacks a fault of the job: its position is that of a class.
func (j *LossJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	return &ValueError{Op: "Loss", Arg: "Class", Row: f.Position(), Kind: ErrNumber}
}
