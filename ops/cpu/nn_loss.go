package cpu

import (
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// loss is a Loss bound to host memory.
type loss[W working] struct {
	job        *backend.LossJob
	prediction matrix[float32]
	target     matrix[float32]
	class      []int32
	weights    []float32
	grad       matrix[W]
	partials   []float32
	losses     []float32
	state      []int64
	rows       [][]float32
	n          float32 // the number of elements or rows that count
	fault      atomic.Uint64
}

// Loss plans a loss between a prediction and its target, with the loss's gradient.
func (b *Backend) Loss(job *backend.LossJob) (backend.Plan, error) {
	return byWorking(b, job, planLoss[tensor.BFloat16], planLoss[float32])
}

func planLoss[W working](b *Backend, job *backend.LossJob) (backend.Plan, error) {
	var errs []error
	list := func(t *tensor.Tensor) []float32 { return elementsOf[float32](t, &errs) }
	p := &loss[W]{
		job: job, prediction: matrixOf[float32](job.Prediction, &errs), target: matrixOf[float32](job.Target, &errs), class: elementsOf[int32](job.Class, &errs),
		weights: list(job.Weights), grad: matrixOf[W](job.Grad, &errs), partials: list(job.Partials), losses: list(job.Losses), state: elementsOf[int64](job.State, &errs),
		rows: b.scratch(2 * job.N),
	}
	plan, err := b.plan(job.Bound(), errs, &task{pieces: blocksOf(job.M, backend.LossRows), do: p.block})
	if err != nil {
		return nil, err
	}
	plan.begin, plan.end = p.begin, p.end
	return plan, nil
}

// begin counts the elements or rows that count.
func (p *loss[W]) begin() {
	p.fault.Store(uint64(backend.NoFault))
	switch {
	case p.job.Kind == backend.LossCrossEntropy:
		n := 0
		for m := range p.job.M {
			if p.counts(m) {
				n++
			}
		}
		p.n = float32(n)
	case p.weights != nil:
		p.n = float32(p.state[backend.StateValid])
	default:
		p.n = float32(p.job.M * p.job.N)
	}
}

// counts reports whether row m counts in a cross-entropy.
func (p *loss[W]) counts(m int) bool {
	c := int(p.class[m])
	if c >= p.job.N {
		lower(&p.fault, backend.MakeFault(0, m, 0))
	}
	return c >= 0 && c < p.job.N && (p.weights == nil || p.weights[m] != 0)
}

// block computes the partial sum for a block of rows.
func (p *loss[W]) block(block, worker int) {
	j := p.job
	v, g := p.rows[worker][:j.N], p.rows[worker][j.N:]
	sum := float32(0)
	for m := block * backend.LossRows; m < min((block+1)*backend.LossRows, j.M); m++ {
		if j.Kind == backend.LossCrossEntropy {
			sum += p.entropy(m, v, g)
		} else {
			p.distance(m, v, g)
			sum += rowSum(v)
		}
		if p.grad.there() {
			out := p.grad.row(m, j.Grad.Dim(1))
			clear(out)
			store(out, g)
		}
	}
	p.partials[block] = sum
}

// distance computes the losses and gradients for row m.
func (p *loss[W]) distance(m int, v, g []float32) {
	j := p.job
	x, t, each := p.prediction.row(m, j.N), p.target.row(m, j.N), j.N/j.RowsPerItem
	one, two := 1/p.n, 2/p.n
	for i := range v {
		v[i], g[i] = 0, 0
		if p.weights != nil && p.weights[m*j.RowsPerItem+i/each] == 0 {
			continue
		}
		d := x[i] - t[i]
		if j.Kind == backend.LossMSE {
			v[i], g[i] = float32(d*d), float32(d*two)
			continue
		}
		v[i] = math.Float32frombits(math.Float32bits(d) &^ (1 << 31))
		switch {
		case d > 0:
			g[i] = one
		case d < 0:
			g[i] = -one
		}
	}
}

// entropy computes row m's cross-entropy gradients and returns its loss.
func (p *loss[W]) entropy(m int, e, g []float32) float32 {
	clear(g)
	if !p.counts(m) {
		return 0
	}
	x, class := p.prediction.row(m, p.job.N), p.class[m]
	most := x[0]
	for _, v := range x {
		most = max(most, v)
	}
	for i, v := range x {
		e[i] = fp32.Exp(v - most)
	}
	s, one := rowSum(e), 1/p.n
	for i, v := range e {
		q := v / s
		if i == int(class) {
			q--
		}
		g[i] = float32(q * one)
	}
	return fp32.Log(s) - (x[class] - most)
}

// end adds the partial sums and writes the loss.
func (p *loss[W]) end() error {
	l := float32(0)
	if p.n > 0 {
		l = rowSum(p.partials[:blocksOf(p.job.M, backend.LossRows)]) / p.n
	}
	step := p.state[backend.StateStep]
	p.losses[(step-1)%int64(len(p.losses))] = l
	if l-l != 0 && p.state[backend.StateBad] == 0 {
		p.state[backend.StateBad] = step
	}
	return p.job.FaultError(backend.Fault(p.fault.Load()))
}
