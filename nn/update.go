package nn

import (
	"context"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// update makes a rank's plans for the optimiser: the rank adds up the ranks' gradients for its part of the parameters, updates
// that part and writes it to all ranks. measure computes the gradients' norm; all ranks run it before any runs apply. It is nil
// if no norm is needed. Both are nil if there are fewer parts than ranks. group is the number of ranks. With NCCL, which adds up
// the gradients before, ranks has only this rank.
func (s *Step) update(ctx context.Context, ranks []*Step, rank, group int) (err error) {
	c := &compiler{Step: s, ctx: ctx, nn: s.model.nn, room: 1<<63 - 1}
	t, m := s.opts.Train, s.model
	from, to := s.part(len(ranks), rank)
	job := backend.AdamWJob{
		Params: m.params, M: m.m, V: m.v, Batches: t.batches(), Scale: 1 / float32(group), From: from, To: to,
		Schedule: c.upload(t.table()), State: s.state, Beta1: t.Beta1, Beta2: t.Beta2, Eps: float32(t.Eps), MaxNorm: float32(t.MaxNorm),
	}
	if t.EMA > 0 {
		job.Average = m.average
	}
	for i := range ranks {
		job.Gradients = append(job.Gradients, ranks[i].sum)
		k := (rank + 1 + i) % len(ranks) // so that the ranks write to different ranks at a time
		if r := ranks[k].model; r.working != r.params {
			job.Working = append(job.Working, r.working)
		}
		if k != rank {
			job.Copies = append(job.Copies, ranks[k].model.params)
		}
	}
	// The norm is needed for clipping. With several ranks it also shows every rank a number that is not finite in another's
	// gradient.
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

// part returns the range from..to-1 of the arena's elements that a rank updates.
func (s *Step) part(ranks, rank int) (from, to int) {
	n := (s.model.chunks() + ranks - 1) / ranks * backend.NormChunk
	return min(rank*n, s.model.size), min((rank+1)*n, s.model.size)
}

// chunks returns the number of sums of squares for the arena.
func (m *Model) chunks() int { return (m.size + backend.NormChunk - 1) / backend.NormChunk }
