package nn

import (
	"context"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// update makes the optimiser's step of a rank: the ranks' gradients are added, and each rank does it for a part of the parameters, which it writes to
// all. measure is the plan of the gradients' norm, which all ranks have done before any has apply; it is nil where no norm is wanted, and both are
// where there are fewer parts than ranks. group is how many ranks there are; those of NCCL, which adds up the gradients first, are each alone in ranks.
func (s *Step) update(ctx context.Context, ranks []*Step, rank, group int) (err error) {
	c := &compiler{Step: s, ctx: ctx, nn: s.model.nn, room: 1<<63 - 1}
	t, m := s.opts.Train, s.model
	from, to := s.part(len(ranks), rank)
	job := backend.AdamWJob{
		Params: m.params, M: m.m, V: m.v, Scale: 1 / float32(group), From: from, To: to,
		Schedule: c.upload(t.table()), State: s.state, Beta1: t.Beta1, Beta2: t.Beta2, Eps: float32(t.Eps), MaxNorm: float32(t.MaxNorm),
	}
	for i := range ranks {
		job.Gradients = append(job.Gradients, ranks[i].sum)
		k := (rank + 1 + i) % len(ranks) // so that not all ranks write to the same one at a time
		if r := ranks[k].model; r.working != r.params {
			job.Working = append(job.Working, r.working)
		}
		if k != rank {
			job.Copies = append(job.Copies, ranks[k].model.params)
		}
	}
	// The norm is wanted to clip; and with several ranks so that a number that is not finite in the gradient of one is seen by all.
	if t.MaxNorm > 0 || group > 1 {
		sum := c.alloc(tensor.F32, m.size)
		s.norm = c.zeros(tensor.F32, 1)
		job.Squares, job.Norm = s.squares, s.norm
		norm := backend.GradientNormJob{Gradients: job.Gradients, From: from, To: to, Scale: job.Scale, Sum: sum}
		for _, r := range ranks {
			norm.Squares = append(norm.Squares, r.squares)
		}
		job.Gradients, job.Scale = []*tensor.Tensor{sum}, 1
		if c.err == nil && from < to {
			s.measure, c.err = c.nn.GradientNorm(&norm)
		}
	}
	if c.err == nil && from < to {
		s.apply, c.err = c.nn.AdamW(&job)
	}
	return c.err
}

// part is which elements of the arena a rank of so many does the optimiser's step for.
func (s *Step) part(ranks, rank int) (from, to int) {
	n := (s.model.chunks() + ranks - 1) / ranks * backend.NormChunk
	return min(rank*n, s.model.size), min((rank+1)*n, s.model.size)
}

// chunks is how many sums of squares there are of the arena.
func (m *Model) chunks() int { return (m.size + backend.NormChunk - 1) / backend.NormChunk }
