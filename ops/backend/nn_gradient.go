package backend

import "github.com/robocache/robocache/tensor"

// WeightGradientJob sums the gradients of weights over rows and writes each item at its Offset in Gradient. Rows and
// columns with zeros give zeros. If the backend works in bfloat16, the sums have this order:
//
//   - A product's rows are divided into splits with SplitRows rows each, the last one with fewer; there may be fewer splits than Splits. Within a
//     split, an element of DYᵀ·X is a sum by the tensor cores' rule, 16 products at a time from the split's first row; rows beyond M count as
//     zero, up to a multiple of GradientRows. The splits' sums are added in pairs: s and s+1 for all even s, then the sums at s and s+2, and so on.
//     A column sum of DY is the same with ones for X.
//   - A [ColumnSum] is four sums from 0, where sum i adds the rows i, i+4 and so on in order; the result is ((s0+s1)+s2)+s3.
type WeightGradientJob struct {
	Splits   int            // at most 8
	Gradient *tensor.Tensor // [P] F32, written in the items' elements only
	Products []ProductGradient
	Sums     []ColumnSum
}

// ProductGradient is the gradient of a weight [N,K] in Y = X·Wᵀ + b: DYᵀ·X, with rows Stride elements apart, and the
// column sums of DY.
type ProductGradient struct {
	DY, X      *tensor.Tensor // [M,N] and [M,K] Working
	M, N, K    int
	Offset     int // in Gradient, a multiple of 16, like Stride and BiasOffset
	Stride     int
	BiasOffset int // -1 for no bias
}

// ColumnSum is the sum over the rows of X [R,N] F32. One such row may be several rows of a matrix.
type ColumnSum struct {
	X      *tensor.Tensor
	R, N   int
	Offset int
}

// GradientRows is the unit for splits: each split has a multiple of GradientRows rows.
const GradientRows = 64

// SplitRows returns the number of rows in each split if m rows are divided into splits. The last split may have fewer.
func SplitRows(m, splits int) int {
	return (m + GradientRows*splits - 1) / (GradientRows * splits) * GradientRows
}

// GradientNormJob adds the gradients from all ranks in order, for the elements From to To-1, multiplies each sum by
// Scale, and sums the squares.
//
// 256 threads sum the squares in a chunk with NormChunk elements. Thread t adds the elements 1024i+4t+c, i and then c
// ascending, from 0. The threads' sums are folded in halves: thread t adds the sum from thread t+128, for t below 128;
// then from t+64, and so on to t+1.
type GradientNormJob struct {
	Gradients []*tensor.Tensor // [P] F32 from each rank
	From, To  int              // multiples of NormChunk, or P
	Scale     float32          // the factor for each sum: 1/ranks
	Sum       *tensor.Tensor   // [P] F32, written
	// Squares has one tensor [ceil(P/NormChunk)] F32 per rank, written with the same numbers: the sum of squares in
	// each chunk.
	Squares []*tensor.Tensor
}

// NormChunk is the number of elements in one sum of squares.
const NormChunk = 4096

// AdamWJob is one step of AdamW (Loshchilov and Hutter 2019) for the elements From to To-1 in a flat vector of
// parameters, with torch's formula for a single tensor. An element with gradient g is updated by these operations, each
// rounded:
//
//	p = p * decay
//	m = m + (1-Beta1) * (g-m)
//	v = v*Beta2 + (1-Beta2)*g*g            (from the left)
//	p = p - step * (m / (sqrt(v)/root + Eps))
//
// 1-Beta1 and 1-Beta2 are computed in float64 and then rounded. Row s-1 in Schedule, or the last row, has the numbers
// for step s, F32, which the host computes in float64 and then rounds: step = lr/(1-Beta1^s), root = sqrt(1-Beta2^s),
// decay = 1 - lr*weight decay, and share. The state counts batches: s is StateStep divided by Batches, rounded down. If
// Average is set, a = a + share * (p-a) follows for each element, and a is the moving average of its parameter.
//
// The gradient is the sum over Gradients, as in GradientNormJob. If Squares is set, the norm over all gradients is
// computed first: the square root of the sum over Squares. Thread t of 256 adds the numbers t, t+256 and so on in
// order, from 0, and the threads' sums are folded as in GradientNorm. If MaxNorm is above 0, g is multiplied by min(1,
// MaxNorm/(norm+1e-6)), as in torch.nn.utils.clip_grad_norm_.
//
// While StateBad is set, nothing is written. If the norm is not finite, it is written and StateBad is set to the step,
// or to 1 before the first step; nothing else is written. Without Squares, an element with a gradient that is not
// finite stays unchanged, and StateBad is set after all others are done.
type AdamWJob struct {
	Params, M, V *tensor.Tensor   // [P] F32
	Average      *tensor.Tensor   // [P] F32, or nil
	Batches      int              // the number of batches in a step, at least 1
	Gradients    []*tensor.Tensor // as in GradientNormJob; or only its Sum, with Scale 1, if Squares is set
	Scale        float32
	From, To     int
	Working      []*tensor.Tensor // [P] for every rank: the Working copies, written; empty if Working is F32
	Copies       []*tensor.Tensor // [P] F32: the Params on the other ranks, written
	Schedule     *tensor.Tensor   // [S,4] F32
	State        *tensor.Tensor   // [StateWords] i64
	Beta1, Beta2 float64
	Eps          float32
	MaxNorm      float32        // gradients are scaled down to this norm; 0 disables it
	Squares      *tensor.Tensor // [ceil(P/NormChunk)] F32, written by all ranks
	Norm         *tensor.Tensor // [1] F32, written: the norm, if Squares is set
}
