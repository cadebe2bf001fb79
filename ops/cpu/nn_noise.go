package cpu

import (
	"math/bits"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// chunks is a backend.Chunks bound to host memory.
type chunks[W working] struct {
	*backend.Chunks
	input     matrix[W]
	embedding matrix[float32]
}

func chunksOf[W working](c *backend.Chunks, errs *[]error) chunks[W] {
	return chunks[W]{c, matrixOf[W](c.Input, errs), matrixOf[float32](c.Embedding, errs)}
}

// write writes a token of row b's chunk: its values and the embedding of a level.
func (c *chunks[W]) write(b, i, level int, values func(a int) float32) {
	e := c.Embedding.Dim(1)
	row := c.input.row(b*c.T+c.T-c.C+i, c.Column+c.A+e)[c.Column:]
	for a := range c.A {
		row[a] = narrow[W](values(a))
	}
	store(row[c.A:], c.embedding.row(level, e))
}

// Noise plans the noise in a training batch.
func (b *Backend) Noise(job *backend.NoiseJob) (backend.Plan, error) {
	return byWorking(b, job, planNoise[tensor.BFloat16], planNoise[float32])
}

func planNoise[W working](b *Backend, job *backend.NoiseJob) (backend.Plan, error) {
	var errs []error
	f32 := func(t *tensor.Tensor) matrix[float32] { return matrixOf[float32](t, &errs) }
	chunk, levels, clean, targets := chunksOf[W](&job.Chunks, &errs), f32(job.Levels), f32(job.Clean), f32(job.Targets)
	counts, weights := elementsOf[float32](job.Counts, &errs), elementsOf[float32](job.Weights, &errs)
	draws, state := elementsOf[int32](job.Draws, &errs), elementsOf[int64](job.State, &errs)
	return b.plan(job.Bound(), errs, &task{pieces: job.B, do: func(b, _ int) {
		step := uint32(state[backend.StateStep])
		word := func(site uint32, number int) uint32 {
			return fp32.Words(job.Seed, step, site, uint64(number/4))[number%4]
		}
		at, _ := bits.Mul32(word(backend.NoiseSite+1, b), uint32(len(draws)))
		level := int(draws[at])
		l := levels.row(level, 4)
		for i := range job.C {
			x, to := clean.row(b*job.C+i, job.A), b*job.T+job.T-job.C+i
			target := targets.row(to, job.A)
			weights[to] = counts[b*job.C+i]
			chunk.write(b, i, level, func(a int) float32 {
				z := fp32.Normal(word(backend.NoiseSite, (b*job.C+i)*job.A+a))
				target[a] = float32(x[a]*l[2]) + float32(z*l[3])
				return float32(x[a]*l[0]) + float32(z*l[1])
			})
		}
	}})
}

// Sample plans one step from noise to chunks.
func (b *Backend) Sample(job *backend.SampleJob) (backend.Plan, error) {
	return byWorking(b, job, planSample[tensor.BFloat16], planSample[float32])
}

func planSample[W working](b *Backend, job *backend.SampleJob) (backend.Plan, error) {
	var errs []error
	chunk := chunksOf[W](&job.Chunks, &errs)
	prediction, sample := matrixOf[float32](job.Prediction, &errs), matrixOf[float32](job.Sample, &errs)
	return b.plan(job.Bound(), errs, &task{pieces: job.B, do: func(b, _ int) {
		first := job.T - job.C
		hash := uint32(0)
		if !prediction.there() || job.Noise != 0 {
			hash = 2166136261
			for t := range first {
				for _, x := range chunk.input.row(b*job.T+t, job.Column) {
					hash = (hash ^ uint32(tensor.BF16FromF32(widen(x)))) * 16777619
				}
			}
		}
		z := func(number int) float32 {
			return fp32.Normal(fp32.Words(job.Seed, hash, job.Site, uint64(number/4))[number%4])
		}
		for i := range job.C {
			x := sample.row(b*job.C+i, job.A)
			for a := range x {
				if !prediction.there() {
					x[a] = z(i*job.A + a)
					continue
				}
				y := float32(x[a]*job.KeepX) + float32(prediction.row(b*job.T+first+i, job.A)[a]*job.KeepV)
				if y > job.Limit {
					y = job.Limit
				} else if y < -job.Limit {
					y = -job.Limit
				}
				x[a] = float32(x[a]*job.FromX) + float32(y*job.FromY)
				if job.Noise != 0 {
					x[a] += float32(z(i*job.A+a) * job.Noise)
				}
			}
			if job.Level >= 0 {
				chunk.write(b, i, job.Level, func(a int) float32 { return x[a] })
			}
		}
	}})
}
