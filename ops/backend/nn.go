package backend

import "github.com/robocache/robocache/tensor"

// NN has the operations for neural networks. Each method prepares a job that package nn has built and checked. If
// Working is BF16, all backends give the same bits: the job's comment defines the order of sums, and everything else is
// IEEE arithmetic in float32, where each operation rounds, with the functions in internal/fp32. In tensors the last
// dimension is contiguous, the row stride is a multiple of 8 elements, and widths are multiples of 16.
type NN interface {
	// Working returns the dtype for activations and for the weight copies that products read: BF16, or F32 if the
	// backend computes in float32.
	Working() tensor.DType
	// MatMul is a matrix product with its epilogue.
	MatMul(*MatMulJob) (Plan, error)
	// Norm is a LayerNorm that does not follow a product.
	Norm(*NormJob) (Plan, error)
	// NormBackward is the gradient of Norm.
	NormBackward(*NormBackwardJob) (Plan, error)
	// Attention is attention for all heads.
	Attention(*AttentionJob) (Plan, error)
	// AttentionBackward is the gradient of Attention.
	AttentionBackward(*AttentionBackwardJob) (Plan, error)
	// WeightGradient computes the gradients of weights for one batch.
	WeightGradient(*WeightGradientJob) (Plan, error)
	// GradientNorm adds gradients and sums their squares.
	GradientNorm(*GradientNormJob) (Plan, error)
	// AdamW is an optimiser step.
	AdamW(*AdamWJob) (Plan, error)
	// Tokens converts a batch of windows into a network's input and targets.
	Tokens(*TokensJob) (Plan, error)
	// Noise adds noise to the chunks of a training batch.
	Noise(*NoiseJob) (Plan, error)
	// Sample is one step from noise to a chunk.
	Sample(*SampleJob) (Plan, error)
	// Embed looks up rows in tables.
	Embed(*EmbedJob) (Plan, error)
	// Loss compares a prediction with its target.
	Loss(*LossJob) (Plan, error)
}
