package backend

import "github.com/robocache/robocache/tensor"

// WeightGradientJob adds up the gradients of weights over rows: each item gives Splits partial sums, of the rows from split*ceil(M/Splits) on, at Offset of
// row split of Partials.
type WeightGradientJob struct {
	Splits   int
	Partials *tensor.Tensor // [Splits,P] F32
	Products []ProductGradient
	Sums     []ColumnSum
}

// ProductGradient is the gradient of a weight [N,K] of Y = X·Wᵀ + b: DYᵀ·X, rows Stride elements apart, and the sums of DY's columns.
type ProductGradient struct {
	DY, X      *tensor.Tensor // [M,N] and [M,K] Working
	M, N, K    int
	Offset     int // in Partials, a multiple of 16
	Stride     int
	BiasOffset int // -1 for none
}

// ColumnSum is the sum of the rows of X [R,N] F32; a row of it may be several of a matrix.
type ColumnSum struct {
	X      *tensor.Tensor
	R, N   int
	Offset int
}

// GradientNormJob adds the partial sums of all ranks in order, rank by rank and split by split, for the elements From to To-1, and adds up their squares.
type GradientNormJob struct {
	Partials []*tensor.Tensor // of each rank [Splits,P] F32
	From, To int              // multiples of NormChunk, or P
	Scale    float32          // each sum is multiplied by it: 1/ranks
	Sum      *tensor.Tensor   // [P] F32, written
	Squares  *tensor.Tensor   // [ceil(P/NormChunk)] F32, written: sums over NormChunk elements
}

// NormChunk is of how many elements GradientNorm makes a sum of squares.
const NormChunk = 4096

// AdamWJob is a step of AdamW (Loshchilov and Hutter 2019, in torch's form) for the elements From to To-1 of one flat space of parameters. Row step-1 of
// Schedule, or its last, has {learning rate, 1/(1-beta1^step), 1/(1-beta2^step), 0}, F32, computed by the host.
type AdamWJob struct {
	Params, M, V     *tensor.Tensor   // [P] F32
	Partials         []*tensor.Tensor // as GradientNormJob's; or its Sum alone, [1,P], if Squares is there
	Scale            float32
	From, To         int
	Working          []*tensor.Tensor // [P], of every rank: the Working copies, written; none if Working is F32
	Copies           []*tensor.Tensor // [P] F32: Params of the other ranks, written
	Schedule         *tensor.Tensor   // [S,4] F32
	State            *tensor.Tensor   // [StateWords] i64
	Beta1, Beta2     float32
	Eps, WeightDecay float32
	MaxNorm          float32        // gradients are scaled down to this norm; 0 for never
	Squares          *tensor.Tensor // of all ranks [ceil(P/NormChunk)] F32
	Norm             *tensor.Tensor // [1] F32, written: the norm, if Squares is there
}
