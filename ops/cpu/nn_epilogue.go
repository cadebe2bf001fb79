package cpu

import (
	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// working lists the types for activations and for the working copies of weights.
type working interface{ float32 | tensor.BFloat16 }

// widen converts x to float32. narrow rounds v to the working type.
func widen[W working](x W) float32 {
	switch x := any(x).(type) {
	case tensor.BFloat16:
		return x.F32()
	case float32:
		return x
	}
	panic("no working type")
}

func narrow[W working](v float32) (x W) {
	switch p := any(&x).(type) {
	case *tensor.BFloat16:
		*p = tensor.BF16FromF32(v)
	case *float32:
		*p = v
	}
	return x
}

// epilogue applies the steps after the product in a MatMulJob, one row at a time. A worker gets a block's rows in ascending order,
// and calls ended after the last row.
type epilogue[W working] struct {
	job                          *backend.MatMulJob
	bias                         []float32
	pre, gate, out               matrix[W]
	residual, after, sum         matrix[float32]
	dgamma, dbeta                matrix[float32]
	residualNorm, norm, normBack *norm
	dropout, outDropout          dropout
}

// epilogueScratch is one worker's memory. v is the current row, with N columns.
type epilogueScratch struct {
	v, s, t       []float32
	dgamma, dbeta quarters
}

func newEpilogueScratch(job *backend.MatMulJob) epilogueScratch {
	row := func() []float32 { return make([]float32, job.N) }
	s := epilogueScratch{v: row(), s: row(), t: row()}
	if job.NormBack != nil {
		s.dgamma, s.dbeta = newQuarters(job.N), newQuarters(job.N)
	}
	return s
}

func newEpilogue[W working](job *backend.MatMulJob, errs *[]error) *epilogue[W] {
	return &epilogue[W]{
		job: job, bias: elementsOf[float32](job.Bias, errs),
		pre: matrixOf[W](job.Pre, errs), gate: matrixOf[W](job.Gate, errs), out: matrixOf[W](job.Out, errs),
		residual: matrixOf[float32](job.Residual, errs), after: matrixOf[float32](job.After, errs), sum: matrixOf[float32](job.Sum, errs),
		dgamma: matrixOf[float32](job.DGamma, errs), dbeta: matrixOf[float32](job.DBeta, errs),
		residualNorm: normOf(job.ResidualNorm, errs), norm: normOf(job.Norm, errs), normBack: normOf(job.NormBack, errs),
		dropout: dropoutOf(job.Dropout, errs), outDropout: dropoutOf(job.OutDropout, errs),
	}
}

// begin runs before the first row.
func (e *epilogue[W]) begin() {
	e.dropout.begin()
	e.outDropout.begin()
}

// row applies the epilogue to row m of the product, which is in s.v, and writes the results.
func (e *epilogue[W]) row(m int, s *epilogueScratch) {
	j, v := e.job, s.v
	if e.bias != nil {
		fast.add(v, e.bias)
	}
	if e.pre.there() {
		store(e.pre.row(m, j.N), v)
	}
	switch j.Activation {
	case backend.ActivationReLU:
		fast.relu(v)
	case backend.ActivationGELU:
		for i, x := range v {
			v[i] = fp32.GELU(x)
		}
	}
	if e.gate.there() {
		gate(v, e.gate.row(m, j.N), j.GateOf)
	}
	e.dropout.row(m, v)
	if e.residual.there() {
		r := e.residual.row(m%j.Residual.Dim(0), j.N)
		if n := e.residualNorm; n != nil {
			normed(s.t, r, n.mean[m], n.rstd[m], n.gamma, n.beta)
			r = s.t
		}
		fast.add(v, r)
	}
	if n := e.norm; n != nil {
		if e.sum.there() {
			copy(e.sum.row(m, j.N), v)
		}
		n.mean[m], n.rstd[m] = statistics(v, s.t, j.Eps)
		normed(v, v, n.mean[m], n.rstd[m], n.gamma, n.beta)
	}
	if n := e.normBack; n != nil {
		normBack(v, n.z.row(m, j.N), n.mean[m], n.rstd[m], n.gamma, s.dgamma.of(m), s.dbeta.of(m), s.s, s.t)
	}
	if e.after.there() {
		fast.add(v, e.after.row(m, j.N))
	}
	if e.sum.there() && e.norm == nil {
		copy(e.sum.row(m, j.N), v)
	}
	if e.out.there() {
		e.outDropout.row(m, v)
		store(e.out.row(m, j.N), v)
	}
}

// ended writes the sums for a block of NormRows rows.
func (e *epilogue[W]) ended(block int, s *epilogueScratch) {
	if e.normBack != nil {
		s.dgamma.take(e.dgamma.row(block, e.job.N))
		s.dbeta.take(e.dbeta.row(block, e.job.N))
	}
}

// gate multiplies a row by an activation's gradient at g.
func gate[W working](v []float32, g []W, of backend.Activation) {
	if list, ok := any(g).([]float32); ok && of == backend.ActivationReLU {
		fast.gate(v, list)
		return
	}
	for i, x := range g {
		switch g := widen(x); {
		case of == backend.ActivationGELU:
			v[i] = float32(v[i] * fp32.GELUGrad(g))
		case !(g > 0):
			v[i] = 0
		}
	}
}

// store rounds a row to the working type.
func store[W working](to []W, v []float32) {
	if list, ok := any(to).([]float32); ok {
		copy(list, v)
		return
	}
	for i, x := range v {
		to[i] = narrow[W](x)
	}
}

// dropout is a backend.Dropout bound to host memory; state is nil if there is none.
type dropout struct {
	state []int64
	dropoutNumbers
}

// dropoutNumbers determines which elements are dropped, and the multiplier for the others.
type dropoutNumbers struct {
	seed                  uint64
	step, site, threshold uint32
	scale                 float32
}

func dropoutOf(d backend.Dropout, errs *[]error) dropout {
	if d.Rate == 0 {
		return dropout{}
	}
	return dropout{elementsOf[int64](d.State, errs), dropoutNumbers{seed: d.Seed, site: d.Site, threshold: fp32.Threshold(d.Rate), scale: 1 / (1 - d.Rate)}}
}

// begin reads the training step from the state.
func (d *dropout) begin() {
	if d.state != nil {
		d.step = uint32(d.state[backend.StateStep])
	}
}

// row applies dropout to row m.
func (d *dropout) row(m int, v []float32) {
	if d.state != nil {
		fast.dropout(v, uint64(m)*uint64(len(v))/4, &d.dropoutNumbers)
	}
}
