package cpu

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// fastWeightGradient is a WeightGradient of float32.
func (b *Backend) fastWeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	var errs []error
	partials := matrixOf[float32](job.Partials, &errs)
	var pieces []func()
	for split := range job.Splits {
		for _, g := range job.Products {
			dy, x, per := matrixOf[float32](g.DY, &errs), matrixOf[float32](g.X, &errs), backend.SplitRows(g.M, job.Splits)
			pieces = append(pieces, func() {
				out := partials.row(split, job.Partials.Dim(1))
				for n := range g.N {
					at, bias := out[g.Offset+n*g.Stride:][:g.K], float32(0)
					clear(at)
					for m := split * per; m < min((split+1)*per, g.M); m++ {
						d := dy.row(m, g.N)[n]
						bias += d
						for k, x := range x.row(m, g.K) {
							at[k] += float32(d * x)
						}
					}
					if g.BiasOffset >= 0 {
						out[g.BiasOffset+n] = bias
					}
				}
			})
		}
		for _, s := range job.Sums {
			x := matrixOf[float32](s.X, &errs)
			pieces = append(pieces, func() {
				sumColumns(partials.row(split, job.Partials.Dim(1))[s.Offset:][:s.N], x, s.R, job.Splits, split)
			})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	work := &task{pieces: len(pieces), do: func(i, _ int) { pieces[i]() }}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{work}}, nil
}
