package cpu

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// fastWeightGradient is a WeightGradient of float32.
func (b *Backend) fastWeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	var errs []error
	gradient := elementsOf[float32](job.Gradient, &errs)
	var pieces []func()
	for _, g := range job.Products {
		dy, x := matrixOf[float32](g.DY, &errs), matrixOf[float32](g.X, &errs)
		pieces = append(pieces, func() {
			for n := range g.N {
				at, bias := gradient[g.Offset+n*g.Stride:][:g.K], float32(0)
				clear(at)
				for m := range g.M {
					d := dy.row(m, g.N)[n]
					bias += d
					for k, x := range x.row(m, g.K) {
						at[k] += float32(d * x)
					}
				}
				if g.BiasOffset >= 0 {
					gradient[g.BiasOffset+n] = bias
				}
			}
		})
	}
	for _, s := range job.Sums {
		x := matrixOf[float32](s.X, &errs)
		pieces = append(pieces, func() { sumColumns(gradient[s.Offset:][:s.N], x, s.R) })
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	work := &task{pieces: len(pieces), do: func(i, _ int) { pieces[i]() }}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{work}}, nil
}
