package backend

import "github.com/robocache/robocache/tensor"

// NN is what a backend has for networks: each method prepares a job of theirs, which package nn has put together and checked. Backends whose Working
// dtype is BF16 give the same bits: the job's comment says in which order sums are made, and all else is IEEE arithmetic in float32, each operation
// rounded, with the functions of internal/fp32. Tensors have their last dimension contiguous and rows as far apart as they like, a multiple of 8 elements;
// widths are multiples of 16.
type NN interface {
	// Working is the dtype of activations and of the copies of weights that products take: BF16, or F32 of a backend that computes in it.
	Working() tensor.DType
	// MatMul is a product and what follows it.
	MatMul(*MatMulJob) (Plan, error)
	// Norm is a LayerNorm that follows no product.
	Norm(*NormJob) (Plan, error)
	// NormBackward is its gradient.
	NormBackward(*NormBackwardJob) (Plan, error)
	// Attention is the attention of all heads.
	Attention(*AttentionJob) (Plan, error)
	// AttentionBackward is its gradient.
	AttentionBackward(*AttentionBackwardJob) (Plan, error)
	// WeightGradient makes the gradients of weights of one batch.
	WeightGradient(*WeightGradientJob) (Plan, error)
	// GradientNorm adds up gradients and their squares.
	GradientNorm(*GradientNormJob) (Plan, error)
	// AdamW is a step of the optimiser.
	AdamW(*AdamWJob) (Plan, error)
	// Tokens makes a network's input and targets of a batch of windows.
	Tokens(*TokensJob) (Plan, error)
	// Embed looks rows up in tables.
	Embed(*EmbedJob) (Plan, error)
	// Loss compares a prediction with its target.
	Loss(*LossJob) (Plan, error)
}
