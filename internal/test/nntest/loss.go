package nntest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"loss", losses}) }

// lossCase is a case for Loss. A matrix has width columns; n of them are used. A row has `items` parts with a weight each. If
// weighted is set, some weights are 0.
type lossCase struct {
	kind        backend.LossKind
	m, n, width int
	items       int
	weighted    bool
	noGrad      bool
	lone        bool // one row of every 32 counts, in one of four places in turn, so that its sum is a partial sum of the kernel
}

func losses(t *testing.T, b *Bench) {
	for i, c := range []lossCase{
		{kind: backend.LossMSE, m: 1, n: 1, width: 16, items: 1},
		{kind: backend.LossMSE, m: 100, n: 26, width: 32, items: 1, weighted: true},
		{kind: backend.LossL1, m: 33, n: 26, width: 32, items: 1, weighted: true},
		{kind: backend.LossL1, m: 4, n: 300, width: 304, items: 30, weighted: true},
		{kind: backend.LossMSE, m: 4, n: 300, width: 304, items: 30},
		{kind: backend.LossMSE, m: 1100, n: 7, width: 16, items: 7, weighted: true, noGrad: true},
		{kind: backend.LossMSE, m: 4200, n: 2, width: 16, items: 1},
		{kind: backend.LossMSE, m: 3, n: 5, width: 16, items: 1},
		{kind: backend.LossL1, m: 4, n: 4, width: 16, items: 1},
		{kind: backend.LossMSE, m: 500, n: 125, width: 128, items: 1, weighted: true, lone: true},
		{kind: backend.LossL1, m: 300, n: 133, width: 144, items: 1, weighted: true, lone: true},
		{kind: backend.LossCrossEntropy, m: 300, n: 133, width: 144, items: 1, weighted: true, lone: true},
		{kind: backend.LossCrossEntropy, m: 1, n: 2, width: 16, items: 1},
		{kind: backend.LossCrossEntropy, m: 65, n: 10, width: 16, items: 1, weighted: true},
		{kind: backend.LossCrossEntropy, m: 40, n: 257, width: 272, items: 1},
	} {
		b.Case(t, fmt.Sprintf("%d %dx%d", c.kind, c.m, c.n), func(t *testing.T) { c.run(t, b, uint64(i)) })
	}
	b.Case(t, "nothing counts", func(t *testing.T) {
		got := b.Same(t, 1, func(m *Maker) (backend.Plan, error) {
			return m.NN().Loss(m.small(&backend.LossJob{Kind: backend.LossMSE, Target: m.Normal(tensor.F32, 1, 2, 16), Weights: m.Of(tensor.F32, []float64{0, 0}, 2)}, m.state(1)))
		})
		assert.Equal(t, repeated(0, 32), got["grad"])
		assert.Zero(t, got["losses"][0])
		assert.Zero(t, got["state"][backend.StateBad])
	})
	b.Case(t, "not finite", func(t *testing.T) {
		for _, bad := range []float64{0, 3} { // the step that was the first bad one before; 0 means none
			got := b.Same(t, 1, func(m *Maker) (backend.Plan, error) {
				target := m.normal(32, 1, 0)
				target[17] = math.Inf(1)
				return m.NN().Loss(m.small(&backend.LossJob{Kind: backend.LossMSE, Target: m.Of(tensor.F32, target, 2, 16)}, m.state(7, bad)))
			})
			assert.True(t, math.IsInf(got["losses"][0], 1))
			assert.Equal(t, map[float64]float64{0: 7, 3: 3}[bad], got["state"][backend.StateBad])
		}
	})
	b.Case(t, "not finite in a class", func(t *testing.T) {
		for _, bad := range []float64{math.Inf(1), math.NaN()} {
			got := b.Same(t, 1, func(m *Maker) (backend.Plan, error) {
				j := m.small(&backend.LossJob{Kind: backend.LossCrossEntropy, Class: m.Of(tensor.I32, []float64{3, 4}, 2)}, m.state(7))
				p := m.normal(32, 1, 0)
				p[20], p[21] = bad, math.Inf(-1)
				j.Prediction = m.Of(tensor.F32, p, 2, 16)
				return m.NN().Loss(j)
			})
			assert.True(t, math.IsNaN(got["losses"][0]))
			assert.EqualValues(t, 7, got["state"][backend.StateBad])
		}
	})
	b.Case(t, "no such class", func(t *testing.T) {
		var of [2]map[string][]float64
		for i, class := range []float64{-1, 16} {
			got, err := b.Do(t, 1, func(m *Maker) (backend.Plan, error) {
				return m.NN().Loss(m.small(&backend.LossJob{Kind: backend.LossCrossEntropy, Class: m.Of(tensor.I32, []float64{3, class}, 2), Weights: m.Of(tensor.F32, []float64{1, 1}, 2)}, m.state(1)))
			})
			of[i] = got
			if class < 0 {
				require.NoError(t, err)
				continue
			}
			var e *backend.ValueError
			require.True(t, errors.As(err, &e), "%v", err)
			assert.Equal(t, backend.ValueError{Op: "Loss", Arg: "Class", Row: 1, Kind: backend.ErrNumber}, *e)
		}
		assert.Equal(t, of[0], of[1], "neither counts")
	})
}

// small fills in a loss job for two rows of 16 columns.
func (m *Maker) small(j *backend.LossJob, state *tensor.Tensor) *backend.LossJob {
	j.M, j.N, j.RowsPerItem, j.State = 2, 16, 1, state
	j.Prediction, j.Grad, j.Partials, j.Losses = m.Normal(tensor.F32, 1, 2, 16), m.Out("grad", 0, 2, 16), m.Of(tensor.F32, []float64{0}, 1), m.Out("losses", tensor.F32, 1)
	m.InOut("state", state)
	return j
}

func (c lossCase) run(t *testing.T, b *Bench, seed uint64) {
	const step, ring = 12, 5
	var p, y, weights, class []float64
	count := 0
	got := b.Same(t, seed, func(m *Maker) (backend.Plan, error) {
		p, y, class, weights = m.normal(c.m*c.width, 2, 0), m.normal(c.m*c.n, 2, 0), m.ids(c.m, c.n), repeated(1, c.m*c.items)
		for i := range class {
			class[i] -= float64(i % 3 % 2) // some are -1
		}
		count = 0
		for i := range weights {
			if c.weighted && !c.lone && i%3 == 1 || c.lone && i%32 != i/32%4 {
				weights[i] = 0
			}
			if weights[i] != 0 {
				count += c.n / c.items
			}
		}
		// A gradient that is the midpoint of two bfloat16 numbers after rounding to float32.
		middle := float64(float32(0x1.03p0 * float64(count) / 2 / math.Exp2(math.Floor(math.Log2(float64(count))))))
		for i := range y {
			x := &p[i/c.n*c.width+i%c.n]
			switch {
			case c.n > 1 && i%5 == 0:
				*x = y[i] // a difference of 0
			case c.kind == backend.LossMSE && i%5 == 1:
				*x, y[i] = middle*float64(i/5%2*2-1), 0
			}
		}
		j := &backend.LossJob{Kind: c.kind, M: c.m, N: c.n, Prediction: m.Of(tensor.F32, p, c.m, c.width), RowsPerItem: c.items,
			Partials: m.Out("partials", tensor.F32, (c.m+backend.LossRows-1)/backend.LossRows), Losses: m.Out("losses", tensor.F32, ring), State: m.state(step, 0, float64(count))}
		m.InOut("state", j.State)
		if !c.noGrad {
			j.Grad = m.Out("grad", 0, c.m, c.width)
		}
		if c.weighted {
			j.Weights = m.Of(tensor.F32, weights, len(weights))
		}
		if c.kind == backend.LossCrossEntropy {
			j.Class = m.Of(tensor.I32, class, c.m)
		} else {
			j.Target = m.Of(tensor.F32, y, c.m, c.n)
		}
		return m.NN().Loss(j)
	})
	loss, grad := c.want(p, y, weights, class, count)
	assert.InEpsilon(t, loss, got["losses"][(step-1)%ring], 1e-5)
	for i, l := range got["losses"] {
		assert.True(t, i == (step-1)%ring || math.IsNaN(l), "another place in the ring was written")
	}
	assert.Equal(t, []float64{step, 0, float64(count), 0, 0, 0, 0, 0}, got["state"])
	if !c.noGrad {
		Within(t, "grad", got["grad"], grad, func(i int) float64 { return (b.rounding() + 2e-5) * math.Abs(grad[i]) })
	}
}

// want returns the loss and its gradient in float64.
func (c lossCase) want(p, y, weights, class []float64, count int) (loss float64, grad []float64) {
	grad = make([]float64, c.m*c.width)
	if c.kind == backend.LossCrossEntropy {
		count = 0
		for m := range c.m {
			if class[m] >= 0 && weights[m] != 0 {
				count++
			}
		}
	}
	n := float64(count)
	for m := range c.m {
		row, out := p[m*c.width:][:c.n], grad[m*c.width:]
		if c.kind == backend.LossCrossEntropy {
			if class[m] < 0 || weights[m] == 0 {
				continue
			}
			sum := 0.0
			for _, x := range row {
				sum += math.Exp(x)
			}
			for i, x := range row {
				out[i] = math.Exp(x) / sum / n
			}
			k := int(class[m])
			out[k] = (math.Exp(row[k])/sum - 1) / n
			loss += (math.Log(sum) - row[k]) / n
			continue
		}
		for i, x := range row {
			d := x - y[m*c.n+i]
			if weights[m*c.items+i/(c.n/c.items)] == 0 {
				continue
			}
			if c.kind == backend.LossMSE {
				loss, out[i] = loss+d*d/n, 2*d/n
				continue
			}
			loss += math.Abs(d) / n
			if d != 0 {
				out[i] = math.Copysign(1/n, d)
			}
		}
	}
	return loss, grad
}
