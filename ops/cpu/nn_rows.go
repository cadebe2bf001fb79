package cpu

import (
	"errors"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// blocksOf counts the blocks for m rows, if a block has `each` rows.
func blocksOf(m, each int) int { return (m + each - 1) / each }

// scratch allocates n float32 values for each worker.
func (b *Backend) scratch(n int) [][]float32 {
	list := make([][]float32, b.workers)
	for i := range list {
		list[i] = make([]float32, n)
	}
	return list
}

// plan returns a plan for a network job.
func (b *Backend) plan(bound backend.Bound, errs []error, tasks ...*task) (*nnPlan, error) {
	return &nnPlan{boundPlan: boundPlan{bound: bound}, backend: b, tasks: tasks}, errors.Join(errs...)
}

// Norm plans a LayerNorm.
func (b *Backend) Norm(job *backend.NormJob) (backend.Plan, error) {
	return byWorking(b, job, planNorm[tensor.BFloat16], planNorm[float32])
}

func planNorm[W working](b *Backend, job *backend.NormJob) (backend.Plan, error) {
	var errs []error
	n, out, sum := normOf(&job.Norm, &errs), matrixOf[W](job.Out, &errs), matrixOf[float32](job.Sum, &errs)
	rows := b.scratch(job.N)
	return b.plan(job.Bound(), errs, &task{pieces: blocksOf(job.M, backend.NormRows), do: func(block, worker int) {
		v := rows[worker]
		for m := block * backend.NormRows; m < min((block+1)*backend.NormRows, job.M); m++ {
			z := n.z.row(m, job.N)
			n.mean[m], n.rstd[m] = statistics(z, v, job.Eps)
			normed(v, z, n.mean[m], n.rstd[m], n.gamma, n.beta)
			if sum.there() {
				copy(sum.row(m, job.N), v)
			}
			if out.there() {
				store(out.row(m, job.N), v)
			}
		}
	}})
}

// NormBackward plans the gradients of Norm.
func (b *Backend) NormBackward(job *backend.NormBackwardJob) (backend.Plan, error) {
	return byWorking(b, job, planNormBackward[tensor.BFloat16], planNormBackward[float32])
}

func planNormBackward[W working](b *Backend, job *backend.NormBackwardJob) (backend.Plan, error) {
	var errs []error
	f32 := func(t *tensor.Tensor) matrix[float32] { return matrixOf[float32](t, &errs) }
	n, g, after, sum, out := normOf(&job.Norm, &errs), f32(job.G), f32(job.After), f32(job.Sum), matrixOf[W](job.Out, &errs)
	dgamma, dbeta, drop := f32(job.DGamma), f32(job.DBeta), dropoutOf(job.OutDropout, &errs)
	rows := b.scratch(3 * job.N)
	sums := make([][2]quarters, b.workers)
	for i := range sums {
		sums[i] = [2]quarters{newQuarters(job.N), newQuarters(job.N)}
	}
	p, err := b.plan(job.Bound(), errs, &task{pieces: blocksOf(job.M, backend.NormRows), do: func(block, worker int) {
		r, q := rows[worker], sums[worker]
		v, s, t := r[:job.N], r[job.N:2*job.N], r[2*job.N:]
		for m := block * backend.NormRows; m < min((block+1)*backend.NormRows, job.M); m++ {
			copy(v, g.row(m, job.N))
			normBack(v, n.z.row(m, job.N), n.mean[m], n.rstd[m], n.gamma, q[0].of(m), q[1].of(m), s, t)
			if after.there() {
				for i, x := range after.row(m, job.N) {
					v[i] += x
				}
			}
			if sum.there() {
				copy(sum.row(m, job.N), v)
			}
			if out.there() {
				drop.row(m, v)
				store(out.row(m, job.N), v)
			}
		}
		q[0].take(dgamma.row(block, job.N))
		q[1].take(dbeta.row(block, job.N))
	}})
	if err != nil {
		return nil, err
	}
	p.begin = drop.begin
	return p, nil
}

// Embed plans a network's first layer, which adds position rows and table rows.
func (b *Backend) Embed(job *backend.EmbedJob) (backend.Plan, error) {
	var errs []error
	f32 := func(t *tensor.Tensor) matrix[float32] { return matrixOf[float32](t, &errs) }
	position, table, out, g, dtable := f32(job.Position), f32(job.Table), f32(job.Out), f32(job.G), f32(job.DTable)
	id := elementsOf[int32](job.ID, &errs)
	var fault atomic.Uint64
	work := &task{pieces: blocksOf(job.M, backend.EmbedRows), do: func(block, _ int) {
		for m := block * backend.EmbedRows; m < min((block+1)*backend.EmbedRows, job.M); m++ {
			v := out.row(m, job.N)
			if !table.there() {
				copy(v, position.row(m%job.T, job.N))
				continue
			}
			if i := int(id[m/job.T]); i >= 0 && i < job.V {
				copy(v, table.row(i, job.N))
			} else {
				clear(v)
				lower(&fault, backend.MakeFault(0, m/job.T, 0))
			}
			if position.there() {
				for c, x := range position.row(m%job.T, job.N) {
					v[c] += x
				}
			}
		}
	}}
	if job.Backward {
		rows := b.scratch(job.N)
		work = &task{pieces: job.V, do: func(v, worker int) {
			sum, own := dtable.row(v, job.N), rows[worker]
			clear(sum)
			for first := 0; first < job.M; first += backend.EmbedRows {
				clear(own)
				for m := first; m < min(first+backend.EmbedRows, job.M); m++ {
					if int(id[m/job.T]) == v {
						for c, x := range g.row(m, job.N) {
							own[c] += x
						}
					}
				}
				for c, x := range own {
					sum[c] += x
				}
			}
		}}
	}
	p, err := b.plan(job.Bound(), errs, work)
	if err != nil {
		return nil, err
	}
	p.begin = func() { fault.Store(uint64(backend.NoFault)) }
	p.end = func() error { return job.FaultError(backend.Fault(fault.Load())) }
	return p, nil
}
