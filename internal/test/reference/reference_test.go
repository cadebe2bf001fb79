package reference_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	. "github.com/robocache/robocache/internal/test/reference"
)

// TestGradientsAreCentralDifferences compares the gradients with central differences for every element of every input. With steps of
// 1e-5, their error is 1e-10 times the third derivative, plus 1e-11 from rounding.
func TestGradientsAreCentralDifferences(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	normal := func(rows, columns int) *Matrix {
		m := New(rows, columns)
		for i := range m.V {
			m.V[i] = random.NormFloat64()
		}
		return m
	}
	target := normal(6, 6).V
	mse := func(tape *Tape, y *Matrix) float64 { return tape.MSE(y, target, nil) }
	half := func(i int) float64 { return float64(i%3) / 2 }
	heads := Heads{B: 2, Heads: 2}
	causal := Heads{B: 2, Heads: 1, Causal: true, Pad: func(b, k int) bool { return b == 1 && k == 0 }, Factor: half}
	for name, c := range map[string]struct {
		in   []*Matrix
		loss func(tape *Tape, in []*Matrix) float64
	}{
		"linear":   {[]*Matrix{normal(6, 4), normal(6, 4), normal(1, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Linear(in[0], in[1], in[2])) }},
		"no bias":  {[]*Matrix{normal(6, 4), normal(6, 4)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Linear(in[0], in[1], nil)) }},
		"add":      {[]*Matrix{normal(6, 6), normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Add(in[0], in[1])) }},
		"position": {[]*Matrix{normal(6, 6), normal(3, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Add(in[0], in[1])) }},
		"twice":    {[]*Matrix{normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Add(in[0], p.GELU(in[0]))) }},
		"rows": {[]*Matrix{normal(6, 6), normal(4, 6)}, func(p *Tape, in []*Matrix) float64 {
			return mse(p, p.AddRows(in[0], in[1], func(i int) int { return i / 3 * 2 }))
		}},
		"relu":      {[]*Matrix{normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.ReLU(in[0])) }},
		"gelu":      {[]*Matrix{normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.GELU(in[0])) }},
		"dropout":   {[]*Matrix{normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Times(in[0], half)) }},
		"norm":      {[]*Matrix{normal(6, 6), normal(1, 6), normal(1, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Norm(in[0], in[1], in[2], 1e-5)) }},
		"last":      {[]*Matrix{normal(18, 6)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Last(in[0], 3)) }},
		"attention": {[]*Matrix{normal(6, 18)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Attention(in[0], in[0], heads)) }},
		"causal":    {[]*Matrix{normal(6, 18)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Attention(in[0], in[0], causal)) }},
		"cross":     {[]*Matrix{normal(6, 6), normal(10, 12)}, func(p *Tape, in []*Matrix) float64 { return mse(p, p.Attention(in[0], in[1], heads)) }},
		"some":      {[]*Matrix{normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return p.MSE(in[0], target, func(i int) bool { return i%4 > 0 }) }},
		"l1":        {[]*Matrix{normal(6, 6)}, func(p *Tape, in []*Matrix) float64 { return p.L1(in[0], target, func(i int) bool { return i%4 > 0 }) }},
		"classes":   {[]*Matrix{normal(3, 6)}, func(p *Tape, in []*Matrix) float64 { return p.CrossEntropy(in[0], []int{5, -1, 2}) }},
	} {
		t.Run(name, func(t *testing.T) {
			tape := &Tape{}
			c.loss(tape, c.in)
			tape.Backward()
			most := 0.0
			for at, m := range c.in {
				for i, v := range m.V {
					const h = 1e-5
					m.V[i] = v + h
					up := c.loss(&Tape{}, c.in)
					m.V[i] = v - h
					down := c.loss(&Tape{}, c.in)
					m.V[i] = v
					assert.InDelta(t, (up-down)/(2*h), m.G[i], 1e-6*(math.Abs(m.G[i])+0.01), "input %d, element %d", at, i)
					most = max(most, math.Abs(m.G[i]))
				}
			}
			assert.NotZero(t, most)
		})
	}
}

func TestAdamWGoesDown(t *testing.T) {
	a := AdamW{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.01}
	p, m, v := a.Step(1, 2, 0, 0, 0.5)
	assert.InDelta(t, 2-0.1*0.01*2-0.1, p, 1e-8, "the first step is the rate, whatever the gradient")
	for step := 2; step < 400; step++ {
		p, m, v = a.Step(step, p, m, v, 2*(p-1))
	}
	assert.InDelta(t, 1, p, 0.05)
}
