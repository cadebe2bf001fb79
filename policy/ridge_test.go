package policy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rowsOf are random inputs of several scales, and what a linear rule with noise makes of them.
func rowsOf(n int) (x, y [][]float64) {
	r := rand.New(rand.NewPCG(3, 4))
	for range n {
		in := []float64{r.NormFloat64(), 100 + 30*r.NormFloat64(), 0.01 * r.NormFloat64(), 7}
		in[2] += 0.001 * in[0]
		x = append(x, in)
		y = append(y, []float64{2*in[0] - 0.1*in[1] + 0.1*r.NormFloat64(), 50*in[2] + 3})
	}
	return x, y
}

func gramOf(x, y [][]float64) *gram {
	g := newGram(len(x[0]), len(y[0]))
	for i := range x {
		g.add(x[i], y[i])
	}
	return g
}

func predict(fit, x []float64, outputs int) []float64 {
	p := append([]float64{}, fit[:outputs]...)
	for i, v := range x {
		for k := range p {
			p[k] += v * fit[(i+1)*outputs+k]
		}
	}
	return p
}

// The squares that sums give are those of the rows, one by one.
func TestSquaresOfSumsAreThoseOfRows(t *testing.T) {
	x, y := rowsOf(200)
	fit, err := gramOf(x[:120], y[:120]).regression().ridge(3)
	require.NoError(t, err)
	want := 0.0
	for i := 120; i < 200; i++ {
		for k, v := range predict(fit, x[i], 2) {
			want += (v - y[i][k]) * (v - y[i][k])
		}
	}
	assert.InEpsilon(t, want, gramOf(x[120:], y[120:]).squared(fit), 1e-6)
}

// No other coefficients have less error and penalty: the gradient is 0.
func TestRidgeMinimisesErrorAndPenalty(t *testing.T) {
	x, y := rowsOf(150)
	g := gramOf(x, y)
	for _, lambda := range []float64{1, 100} {
		fit, err := g.regression().ridge(lambda)
		require.NoError(t, err)
		cost := func(f []float64) float64 {
			c := g.squared(f)
			for i := range 3 {
				mean := g.at(i+1, 0) / g.n
				std2 := g.at(i+1, i+1)/g.n - mean*mean
				for k := range 2 {
					c += lambda * std2 * f[(i+1)*2+k] * f[(i+1)*2+k]
				}
			}
			return c
		}
		least := cost(fit)
		for i := range fit {
			if i/2 == 4 {
				assert.Zero(t, fit[i], "an input that does not vary has no coefficient")
				continue
			}
			for _, by := range []float64{-1e-3, 1e-3} {
				other := append([]float64{}, fit...)
				other[i] += by * max(math.Abs(fit[i]), 1e-3)
				assert.GreaterOrEqual(t, cost(other), least-1e-9*least, i)
			}
		}
	}
}

// Lambda is what leaves the least error in the folds: little of clean data, much of noise.
func TestLambdaFollowsTheNoise(t *testing.T) {
	x, y := rowsOf(300)
	r := rand.New(rand.NewPCG(1, 1))
	folds := func(noise float64) (list []*gram) {
		for f := range 3 {
			g := newGram(4, 2)
			for i := f * 100; i < f*100+100; i++ {
				g.add(x[i], []float64{y[i][0] + noise*r.NormFloat64(), y[i][1] + noise*r.NormFloat64()})
			}
			list = append(list, g)
		}
		return list
	}
	clean, _, err := chosen(folds(0))
	require.NoError(t, err)
	noisy, _, err := chosen(folds(1000))
	require.NoError(t, err)
	assert.Equal(t, 1.0, clean)
	assert.Greater(t, noisy, 100.0)
	middle, _, err := chosen(folds(0)[:1])
	require.NoError(t, err)
	assert.InEpsilon(t, math.Pow(10, 2.5), middle, 1e-12)
	_, fit, err := chosen([]*gram{newGram(4, 2), newGram(4, 2)})
	require.NoError(t, err)
	assert.Equal(t, make([]float64, 10), fit, "of nothing")
}
