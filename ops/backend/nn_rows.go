package backend

import "github.com/robocache/robocache/tensor"

// NormJob is a LayerNorm by itself: Norm.Z is read, Mean and Rstd are written, and Out [M,N] Working, and Sum [M,N] F32 if it is not nil.
type NormJob struct {
	M, N     int
	Eps      float32
	Norm     NormStats
	Out, Sum *tensor.Tensor
}

// NormBackwardJob is its gradient, as MatMulJob has it: G [M,N] F32 is the gradient of the norm, Sum and Out that of Z.
type NormBackwardJob struct {
	M, N          int
	G             *tensor.Tensor
	Norm          NormStats
	DGamma, DBeta *tensor.Tensor
	After         *tensor.Tensor
	Sum, Out      *tensor.Tensor
	OutDropout    Dropout
}

// TokensJob makes a network's input and its targets of a batch of windows, and advances the step. Input column c of token t of row b is
// (x - r)*Scale[c] + Shift[c], where x is that of the source which has the column, 0 where it is not valid or the token has none, and r is the reference: column
// Relative[c] of the tick Reference of the source ReferenceSource, or 0 where Relative[c] is -1. A value that is not finite is a fault, and sets StateBad.
type TokensJob struct {
	B, T      int
	Sources   []TokenSource
	Width     int            // columns in use; those up to Input's width are 0
	Scale     *tensor.Tensor // [Width] F32
	Shift     *tensor.Tensor
	Relative  *tensor.Tensor // [Width] i32
	Reference Reference
	Input     *tensor.Tensor // [B*T, width] Working, written

	Target         *TokenSource   // nil without targets; Ticks are those of Targets
	TargetScale    *tensor.Tensor // [D] F32, and so on, D columns of a tick
	TargetShift    *tensor.Tensor
	TargetRelative *tensor.Tensor
	Targets        *tensor.Tensor // [B*C, D] F32, written
	Weights        *tensor.Tensor // [B*C] F32, written: 1 where the target counts, else 0

	State *tensor.Tensor
}

// TokenSource is a stream of a batch: Values [B,Ticks,D], Valid and Pad [B,Ticks] u8 or nil; a tick counts where it is valid, and is not padded if SkipPad.
type TokenSource struct {
	Values, Valid, Pad *tensor.Tensor // Values F32 or BF16, strided
	SkipPad            bool
	Ticks, D           int
	Token              int // of the first tick; the others follow
	Column             int // of the first of the D columns
}

// Reference is where the values lie that others are relative to.
type Reference struct {
	Values *tensor.Tensor // [B,Ticks,D] F32 or BF16
	Valid  *tensor.Tensor // [B,Ticks] u8, or nil; a row whose reference is not valid has no targets that count, and 0 for it
	Tick   int
}

// EmbedJob makes Out[m] = Position[m mod T] + Table[ID[m / T]], F32, either of which may be nil. An ID that is not in the table is a fault. Of the gradient
// [M,N] of Out WeightGradient makes that of Position; Backward says that this job makes that of Table: DTable = sums over the rows of G, m ascending.
type EmbedJob struct {
	M, N, T  int
	Position *tensor.Tensor // [T,N] F32
	Table    *tensor.Tensor // [V,N] F32
	ID       *tensor.Tensor // [ceil(M/T)] i32
	Out      *tensor.Tensor // [M,N] F32, written
	Backward bool
	G        *tensor.Tensor // [M,N] F32
	DTable   *tensor.Tensor // [V,N] F32, written
}

// LossKind is how a prediction is compared.
type LossKind uint8

// The losses: of each value that counts the square, the absolute value, or of each row the cross-entropy of its class.
const (
	LossMSE LossKind = iota
	LossL1
	LossCrossEntropy
)

// LossJob compares a prediction with its target: the loss is the mean over all values that count (of all rows, for the cross-entropy), and Grad its
// gradient. A loss that is not finite sets StateBad.
type LossJob struct {
	Kind        LossKind
	M, N        int            // N columns are in use
	Prediction  *tensor.Tensor // [M, width] F32
	Target      *tensor.Tensor // [M,N] F32
	Class       *tensor.Tensor // [M] i32, of a cross-entropy; -1 does not count
	RowsPerItem int            // a row of Prediction has so many rows of Weights: N/RowsPerItem columns each
	Weights     *tensor.Tensor // [M*RowsPerItem] F32, 1 or 0; nil is 1
	Grad        *tensor.Tensor // [M, width] Working, written; nil if only the loss is wanted
	Partials    *tensor.Tensor // [ceil(M/LossRows)] F32, scratch
	Losses      *tensor.Tensor // [S] F32: that of step (step-1) mod S is written
	State       *tensor.Tensor
}

// LossRows is of how many rows Loss makes a partial sum.
const LossRows = 32
