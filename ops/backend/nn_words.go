package backend

import "github.com/robocache/robocache/tensor"

// NormRows is the number of rows in one block of partial sums for a LayerNorm's gradients.
const NormRows = 64

// MaxNormWidth is the largest N for a LayerNorm in a MatMul.
const MaxNormWidth = 512

// Words in State, a tensor with StateWords i64 that holds the state of training.
const (
	StateStep = iota // the current step, from 1; Tokens adds 1
	// StateBad is not 0 after a value was not finite: AdamW then leaves parameters and moments unchanged until the host
	// writes 0.
	StateBad
	StateValid  // the number of target values in the batch that count: Tokens sets it, Loss divides by it
	StateTicket // 0 between launches
	StateWords  = 8
)

// Dropout removes random elements from a matrix and multiplies the others by 1/(1-Rate). The element in row m and
// column n of N has the number m*N+n. internal/fp32.Dropped decides by seed, step, site and number if an element is
// removed. The zero value removes no element.
type Dropout struct {
	Rate  float32
	Seed  uint64
	Site  uint32         // a different number for each place in a network
	State *tensor.Tensor // [StateWords] i64
}

// Activation is a function that is applied to each element.
type Activation uint8

// The activations. GELU uses the error function, like torch's default.
const (
	ActivationNone Activation = iota
	ActivationReLU
	ActivationGELU
)

// NormStats has the input and statistics of a LayerNorm: its input Z [M,N] F32, and for each row the mean and rstd =
// 1/sqrt(variance+eps), [M] F32. The norm of an element z is (z-mean)*rstd*gamma+beta, each operation rounded.
//
// A sum over a row with N numbers has this order. 32 sums begin at 0, and sum l adds columns 128i+4l to 128i+4l+3, i
// ascending. Then the upper half is added to the lower: sum l+d to sum l, for d = 16, 8, 4, 2, 1. A mean is a sum
// divided by N; the variance is the mean of (z-mean)*(z-mean).
type NormStats struct {
	Z, Mean, Rstd *tensor.Tensor
	Gamma, Beta   *tensor.Tensor // [N] F32
}
