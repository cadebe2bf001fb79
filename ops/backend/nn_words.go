package backend

import "github.com/robocache/robocache/tensor"

// NormRows is of how many rows a block makes the partial sums of a LayerNorm's gradients.
const NormRows = 64

// MaxNormWidth is the largest N of a LayerNorm in a MatMul.
const MaxNormWidth = 512

// TrainState names the words of the State of a step: a tensor of StateWords i64.
const (
	StateStep   = iota // the step under way, from 1; Tokens adds 1
	StateBad           // not 0 once a value was not finite: AdamW and its moments stay as they are until the host writes 0
	StateValid         // target values of the batch that count: Tokens sets it, Loss divides by it
	StateTicket        // 0 between launches
	StateWords  = 8
)

// Dropout leaves out elements of a matrix at random and multiplies the others by 1/(1-Rate). The element in row m and column n of N columns is number
// m*N+n; which are left out is said by internal/fp32.Dropped of seed, step, site and number. The zero value leaves out none.
type Dropout struct {
	Rate  float32
	Seed  uint64
	Site  uint32         // each place in a network has its own
	State *tensor.Tensor // [StateWords] i64
}

// Activation is a function of each element.
type Activation uint8

// The activations. GELU is that of the error function, as torch's default.
const (
	ActivationNone Activation = iota
	ActivationReLU
	ActivationGELU
)

// NormStats are what a LayerNorm has found: Z [M,N] F32 before it, and of each row the mean and 1/sqrt(variance+eps), [M] F32. The norm of element z is
// (z-mean)*rstd*gamma+beta, each operation rounded.
//
// The sum of a row of N numbers is made of 32 sums from 0, of which number l adds columns 128i+4l to 128i+4l+3, i ascending; then the upper half of them is
// added to the lower, number l+d to l, d = 16, 8, 4, 2, 1. A mean is a sum divided by N; the variance is the mean of (z-mean)*(z-mean).
type NormStats struct {
	Z, Mean, Rstd *tensor.Tensor
	Gamma, Beta   *tensor.Tensor // [N] F32
}
