package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// noiseChunks converts a job's chunks for a kernel's parameter, and returns the number of blocks with a thread for each column.
func noiseChunks(c *backend.Chunks) (ptx.NoiseChunks, int) {
	e := c.Embedding.Dim(1)
	return ptx.NoiseChunks{Input: address(c.Input), InputStep: elementStep(c.Input),
		Embedding: address(c.Embedding), EmbeddingStep: elementStep(c.Embedding), Seed: c.Seed, B: uint32(c.B), T: uint32(c.T), First: uint32(c.T - c.C), A: uint32(c.A), Column: uint32(c.Column), Width: uint32(e),
	}, blocksOfRows(c.B*c.C*(c.A+e), ptx.NoiseThreads)
}

func (b *gpu) Noise(job *backend.NoiseJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	chunks, blocks := noiseChunks(&job.Chunks)
	return p.checked(p.Add(b.bind("noise", backend.LaunchDependent, blocks, ptx.NoiseThreads, 0, &ptx.NoiseParams{
		Chunks: chunks, Draws: address(job.Draws), DrawCount: uint32(job.Draws.Len()), Levels: address(job.Levels),
		Clean: address(job.Clean), CleanStep: elementStep(job.Clean), Counts: address(job.Counts),
		Targets: address(job.Targets), TargetStep: elementStep(job.Targets), Weights: address(job.Weights), State: address(job.State),
	})))
}

func (b *gpu) Sample(job *backend.SampleJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	chunks, blocks := noiseChunks(&job.Chunks)
	return p.checked(p.Add(b.bind("sample", backend.LaunchDependent, blocks, ptx.NoiseThreads, 0, &ptx.SampleParams{
		Chunks: chunks, Prediction: address(job.Prediction), PredictionStep: elementStep(job.Prediction),
		Sample: address(job.Sample), SampleStep: elementStep(job.Sample), KeepX: job.KeepX, KeepV: job.KeepV, Limit: job.Limit,
		FromX: job.FromX, FromY: job.FromY, Noise: job.Noise, Level: int32(job.Level), Site: job.Site,
	})))
}
