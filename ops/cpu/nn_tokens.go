package cpu

import (
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// tokens is a Tokens bound to host memory.
type tokens[W working] struct {
	job       *backend.TokensJob
	sources   []tokenSource
	target    tokenSource
	reference tokenSource
	input     affine
	output    affine
	inputs    matrix[W]
	targets   matrix[float32]
	weights   []float32
	state     []int64
	rows      [][]float32 // one row per worker
	valid     atomic.Int64
	fault     atomic.Uint64
}

// tokenSource is a backend.TokenSource bound to host memory.
type tokenSource struct {
	*backend.TokenSource
	class      backend.Fault // class of its faults
	values     values
	valid, pad []uint8
}

// affine holds the scaling that converts values to inputs or targets.
type affine struct {
	scale, shift []float32
	relative     []int32
}

// Tokens plans a network's input and targets for a batch of windows.
func (b *Backend) Tokens(job *backend.TokensJob) (backend.Plan, error) {
	return byWorking(b, job, planTokens[tensor.BFloat16], planTokens[float32])
}

func planTokens[W working](b *Backend, job *backend.TokensJob) (backend.Plan, error) {
	var errs []error
	list := func(t *tensor.Tensor) []float32 { return elementsOf[float32](t, &errs) }
	source := func(s *backend.TokenSource, class backend.Fault) tokenSource {
		v, err := newValues(s.Values)
		errs = append(errs, err)
		return tokenSource{s, class, v, elementsOf[uint8](s.Valid, &errs), elementsOf[uint8](s.Pad, &errs)}
	}
	p := &tokens[W]{
		job: job, inputs: matrixOf[W](job.Input, &errs), targets: matrixOf[float32](job.Targets, &errs), weights: list(job.Weights), state: elementsOf[int64](job.State, &errs),
		input:  affine{list(job.Scale), list(job.Shift), elementsOf[int32](job.Relative, &errs)},
		output: affine{list(job.TargetScale), list(job.TargetShift), elementsOf[int32](job.TargetRelative, &errs)},
	}
	for i := range job.Sources {
		p.sources = append(p.sources, source(&job.Sources[i], backend.FaultToken.InStream(i)))
	}
	width := job.Input.Dim(1)
	if job.Target != nil {
		p.target = source(job.Target, backend.FaultTarget)
		width = max(width, job.Target.D)
	}
	if r := job.Reference; r.Values != nil {
		p.reference = source(&backend.TokenSource{Values: r.Values, Valid: r.Valid, Ticks: r.Values.Dim(1), D: r.Values.Dim(2)}, backend.FaultReference)
		width = max(width, r.Values.Dim(2))
	}
	p.rows = b.scratch(2 * width)
	plan, err := b.plan(job.Bound(), errs, &task{pieces: job.B, do: p.row})
	if err != nil {
		return nil, err
	}
	plan.begin = func() {
		p.valid.Store(0)
		p.fault.Store(uint64(backend.NoFault))
	}
	plan.end = func() error {
		p.state[backend.StateStep]++
		p.state[backend.StateValid] = p.valid.Load()
		f := backend.Fault(p.fault.Load())
		if f != backend.NoFault && p.state[backend.StateBad] == 0 {
			p.state[backend.StateBad] = p.state[backend.StateStep]
		}
		return job.FaultError(f)
	}
	return plan, nil
}

// counts reports whether a tick is valid and not padding.
func (s *tokenSource) counts(b, tick int) bool {
	return (s.valid == nil || s.valid[b*s.Valid.Stride(0)+tick*s.Valid.Stride(1)] != 0) &&
		(!s.SkipPad || s.pad == nil || s.pad[b*s.Pad.Stride(0)+tick*s.Pad.Stride(1)] == 0)
}

// tick returns the values at a tick.
func (s *tokenSource) tick(buf []float32, b, tick int) []float32 {
	return s.values.narrow(buf, b*s.Values.Stride(0)+tick*s.Values.Stride(1), s.D)
}

// check returns x, and records a fault if x is not finite.
func (p *tokens[W]) check(s *tokenSource, b, tick, column int, x float32) float32 {
	if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
		lower(&p.fault, s.class|backend.MakeFault(0, (b*s.Ticks+tick)*s.D+column, 0))
	}
	return x
}

// row computes row b of the batch.
func (p *tokens[W]) row(b, worker int) {
	j := p.job
	half := len(p.rows[worker]) / 2
	buf, against := p.rows[worker][:half], p.rows[worker][half:]
	for t := range j.T {
		clear(p.inputs.row(b*j.T+t, j.Input.Dim(1)))
	}
	known := p.reference.TokenSource == nil || p.reference.counts(b, j.Reference.Tick)
	clear(against)
	if p.reference.TokenSource != nil && known {
		copy(against, p.reference.tick(buf, b, j.Reference.Tick))
	}
	r := func(a *affine, c int) float32 {
		if a.relative == nil || a.relative[c] < 0 || !known {
			return 0
		}
		return p.check(&p.reference, b, j.Reference.Tick, int(a.relative[c]), against[a.relative[c]])
	}
	for i := range p.sources {
		s := &p.sources[i]
		for tick := max(0, -s.Token); tick < min(s.Ticks, j.T-s.Token); tick++ {
			if !s.counts(b, tick) {
				continue
			}
			out := p.inputs.row(b*j.T+s.Token+tick, j.Width)[s.Column:]
			for c, x := range s.tick(buf, b, tick) {
				x = p.check(s, b, tick, c, x)
				out[c] = narrow[W](p.input.apply(s.Column+c, x, r(&p.input, s.Column+c)))
			}
		}
	}
	if j.Target == nil {
		return
	}
	for tick := range j.Target.Ticks {
		out, at := p.targets.row(b*j.Target.Ticks+tick, j.Target.D), b*j.Target.Ticks+tick
		clear(out)
		p.weights[at] = 0
		if !known || !p.target.counts(b, tick) {
			continue
		}
		p.weights[at] = 1
		p.valid.Add(int64(j.Target.D))
		for c, x := range p.target.tick(buf, b, tick) {
			out[c] = p.output.apply(c, p.check(&p.target, b, tick, c, x), r(&p.output, c))
		}
	}
}

func (a *affine) apply(c int, x, r float32) float32 {
	return (x - r - a.shift[c]) * a.scale[c]
}
