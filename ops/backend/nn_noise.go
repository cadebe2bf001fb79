package backend

import "github.com/robocache/robocache/tensor"

// Chunks locates the noisy chunks in a network's input, for flow matching and diffusion. A row in the batch has T tokens. The last C
// are a chunk, with A values each, in Input's columns Column to Column+A-1. The next E columns have the noise level's embedding.
type Chunks struct {
	B, T, C, A int
	Column     int
	Input      *tensor.Tensor // [B*T, width] Working; only the columns above are written, and only in the last C tokens of a row
	Embedding  *tensor.Tensor // [K,E] F32, one row per level
	Seed       uint64
}

// NoiseJob makes a training batch for a network that removes noise. For each row in the batch it draws a level k, and for each value
// in the row's chunk a normally distributed number z. With x from Clean, each operation rounded:
//
//	input:  x*Levels[k][0] + z*Levels[k][1]
//	target: x*Levels[k][2] + z*Levels[k][3]
//
// With words from fp32.Words(Seed, step, site, number/4)[number%4], z is fp32.Normal of the word at site NoiseSite, where number is
// (b*C+i)*A+a for row b, token i of the chunk and column a. k is Draws[word * len(Draws) / 2^32] at site NoiseSite+1, where
// number is b.
type NoiseJob struct {
	Chunks
	Draws  *tensor.Tensor // [N] i32 below K
	Levels *tensor.Tensor // [K,4] F32
	Clean  *tensor.Tensor // [B*C,A] F32
	Counts *tensor.Tensor // [B*C] F32
	// Targets [B*T,A] F32 and Weights [B*T] F32, which is Counts, are written in the last C rows of every T. The others must be 0.
	Targets, Weights *tensor.Tensor
	State            *tensor.Tensor
}

// NoiseSite is the site of the noise in training. Sites of dropout count from 0.
const NoiseSite = 1 << 31

// SampleJob is one step from noise to a chunk, by the prediction of a network. If Prediction is nil, it is the first step, and the
// sample is noise: x = z. Otherwise v is the prediction and x the sample so far, and with each operation rounded:
//
//	y = x*KeepX + v*KeepV, limited to -Limit..Limit
//	x = (x*FromX + y*FromY) + z*Noise
//
// z is fp32.Normal of fp32.Words(Seed, h, Site, number/4)[number%4] with number = i*A+a, as in NoiseJob, but without the row b.
// h is the hash FNV-1a of the other tokens' columns 0 to Column-1, as bfloat16 words. So equal observations give equal samples in any
// batch. If Noise is 0, the last term is left out.
type SampleJob struct {
	Chunks
	SampleStep
	Site       uint32
	Prediction *tensor.Tensor // [B*T, width] F32, of which A columns are used
	Sample     *tensor.Tensor // [B*C,A] F32
}

// SampleStep has the coefficients of a SampleJob and the level of the sample that it makes. A level below 0 means that the sample is
// the result; then Input is not written.
type SampleStep struct {
	KeepX, KeepV, Limit, FromX, FromY, Noise float32
	Level                                    int
}

// Bound lists the job's tensors.
func (j *NoiseJob) Bound() Bound {
	b := Bound{op: "Noise"}
	b.add("Input", j.Input)
	b.add("Targets", j.Targets)
	b.add("Weights", j.Weights)
	b.outputs()
	b.add("Embedding", j.Embedding)
	b.add("Draws", j.Draws)
	b.add("Levels", j.Levels)
	b.add("Clean", j.Clean)
	b.add("Counts", j.Counts)
	b.add("State", j.State)
	return b
}

// Bound lists the job's tensors.
func (j *SampleJob) Bound() Bound {
	b := Bound{op: "Sample"}
	b.add("Input", j.Input)
	b.add("Sample", j.Sample)
	b.outputs()
	b.add("Embedding", j.Embedding)
	b.add("Prediction", j.Prediction)
	return b
}
