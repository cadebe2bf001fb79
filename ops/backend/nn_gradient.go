package backend

import "github.com/robocache/robocache/tensor"

// WeightGradientJob adds up the gradients of weights over rows, each item at its Offset of Gradient. Rows and columns of zeros give zeros. The sums
// of a backend that works in bfloat16 are made so:
//
//   - The rows of a product are divided into splits of SplitRows rows each, the last one of fewer; there may be fewer than Splits. An element of
//     DYᵀ·X is of each split a sum by the tensor cores' rule, 16 products a time from the split's first row on; rows beyond M are zero, up to a
//     multiple of GradientRows. The splits' sums are added in pairs: s and s+1 of all even s, then the sums of s and s+2, and so on. The sum of a
//     column of DY is the same with ones for X.
//   - A column sum is four sums from 0, number i of the rows i, i+4 and so on in order, and then ((s0+s1)+s2)+s3.
type WeightGradientJob struct {
	Splits   int            // 8 at most
	Gradient *tensor.Tensor // [P] F32, of which the items' elements are written
	Products []ProductGradient
	Sums     []ColumnSum
}

// ProductGradient is the gradient of a weight [N,K] of Y = X·Wᵀ + b: DYᵀ·X, rows Stride elements apart, and the sums of DY's columns.
type ProductGradient struct {
	DY, X      *tensor.Tensor // [M,N] and [M,K] Working
	M, N, K    int
	Offset     int // in Gradient, a multiple of 16, as are Stride and BiasOffset
	Stride     int
	BiasOffset int // -1 for none
}

// ColumnSum is the sum of the rows of X [R,N] F32; a row of it may be several of a matrix.
type ColumnSum struct {
	X      *tensor.Tensor
	R, N   int
	Offset int
}

// GradientRows is of how many rows a product's splits are multiples.
const GradientRows = 64

// SplitRows is of how many rows of m each of so many splits makes a product's sums, the last one of fewer.
func SplitRows(m, splits int) int {
	return (m + GradientRows*splits - 1) / (GradientRows * splits) * GradientRows
}

// GradientNormJob adds the gradients of all ranks in order, for the elements From to To-1, multiplies each sum by Scale, and adds up their squares.
//
// The squares of a chunk of NormChunk elements are added by 256 threads: thread t adds those of elements 1024i+4t+c, i and then c ascending, from 0.
// The threads' sums are folded in halves: that of thread t and that of t+128, for t below 128; then t and t+64, and so on to t and t+1.
type GradientNormJob struct {
	Gradients []*tensor.Tensor // of each rank [P] F32
	From, To  int              // multiples of NormChunk, or P
	Scale     float32          // each sum is multiplied by it: 1/ranks
	Sum       *tensor.Tensor   // [P] F32, written
	Squares   []*tensor.Tensor // of every rank [ceil(P/NormChunk)] F32, written: sums over NormChunk elements, the same in all
}

// NormChunk is of how many elements GradientNorm makes a sum of squares.
const NormChunk = 4096

// AdamWJob is a step of AdamW (Loshchilov and Hutter 2019) for the elements From to To-1 of one flat space of parameters, with torch's formula for a
// single tensor. An element with gradient g takes it by these operations, each rounded:
//
//	p = p * decay
//	m = m + (1-Beta1) * (g-m)
//	v = v*Beta2 + (1-Beta2)*g*g            (from the left)
//	p = p - step * (m / (sqrt(v)/root + Eps))
//
// where 1-Beta1 and 1-Beta2 are computed in float64, and then rounded. Row s-1 of Schedule, or its last, has the numbers of step s, F32, computed by
// the host in float64 and then rounded: step = lr/(1-Beta1^s), root = sqrt(1-Beta2^s), decay = 1 - lr*weight decay, and 0.
//
// The gradient is the sum of Gradients as GradientNormJob makes it. With Squares, the norm of all gradients is known before: the square root of the
// sum of Squares, where thread t of 256 adds those of the numbers t, t+256 and so on in order, from 0, and the threads' sums are folded as those of
// GradientNorm are. If MaxNorm is above 0, g is multiplied by min(1, MaxNorm/(norm+1e-6)), as torch.nn.utils.clip_grad_norm_ does.
//
// While StateBad is set nothing is written. A norm that is not finite is written, and sets StateBad to the step, or to 1 before the first; nothing
// else is written. Without Squares an element whose gradient is not finite stays as it is, and StateBad is set once all others are done.
type AdamWJob struct {
	Params, M, V *tensor.Tensor   // [P] F32
	Gradients    []*tensor.Tensor // as GradientNormJob's; or its Sum alone, with Scale 1, if Squares is there
	Scale        float32
	From, To     int
	Working      []*tensor.Tensor // [P], of every rank: the Working copies, written; none if Working is F32
	Copies       []*tensor.Tensor // [P] F32: Params of the other ranks, written
	Schedule     *tensor.Tensor   // [S,4] F32
	State        *tensor.Tensor   // [StateWords] i64
	Beta1, Beta2 float64
	Eps          float32
	MaxNorm      float32        // gradients are scaled down to this norm; 0 for never
	Squares      *tensor.Tensor // [ceil(P/NormChunk)] F32, written by all ranks
	Norm         *tensor.Tensor // [1] F32, written: the norm, if Squares is there
}
