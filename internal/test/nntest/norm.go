package nntest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"norm", norms}) }

// normal draws n normally distributed numbers times scale plus shift, rounded to float32.
func (m *Maker) normal(n int, scale, shift float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(m.rng.NormFloat64()*scale + shift))
	}
	return list
}

// rounding returns the largest relative error of rounding a float32 result to the Working dtype.
func (b *Bench) rounding() float64 {
	if b.NN.Working() == tensor.BF16 {
		return 0x1p-8
	}
	return 0
}

// state returns the state tensor of a training step, with the given first words.
func (m *Maker) state(words ...float64) *tensor.Tensor {
	return m.Of(tensor.I64, append(words, make([]float64, backend.StateWords-len(words))...), backend.StateWords)
}

var normShapes = []struct{ m, n int }{{1, 16}, {3, 128}, {64, 256}, {65, 144}, {130, 48}, {40, 512}, {2, 1040}, {4, 16}, {13, 48}, {22, 16}, {31, 144}}

func norms(t *testing.T, b *Bench) {
	for i, s := range normShapes {
		b.Case(t, fmt.Sprintf("%dx%d", s.m, s.n), func(t *testing.T) { norm(t, b, uint64(i), s.m, s.n) })
		for _, sparse := range []bool{false, true} {
			b.Case(t, fmt.Sprintf("backward %dx%d %v", s.m, s.n, sparse), func(t *testing.T) { normBackward(t, b, uint64(i), s.m, s.n, sparse) })
		}
	}
	b.Case(t, "constant rows", func(t *testing.T) {
		got := b.Same(t, 1, func(m *Maker) (backend.Plan, error) {
			j := &backend.NormJob{M: 1, N: 32, Eps: 1e-5, Sum: m.Out("sum", tensor.F32, 1, 32), Norm: backend.NormStats{Z: m.Of(tensor.F32, repeated(3, 32), 1, 32),
				Mean: m.Out("mean", tensor.F32, 1), Rstd: m.Out("rstd", tensor.F32, 1), Gamma: m.Of(tensor.F32, repeated(2, 32), 32), Beta: m.Of(tensor.F32, repeated(7, 32), 32)}}
			return m.NN().Norm(j)
		})
		assert.Equal(t, repeated(7, 32), got["sum"])
		assert.InEpsilon(t, 1/math.Sqrt(1e-5), got["rstd"][0], 1e-6)
	})
}

func repeated(x float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = x
	}
	return list
}

// moments returns a row's mean and 1/sqrt(variance+eps).
func moments(z []float64, eps float64) (mean, rstd float64) {
	for _, x := range z {
		mean += x / float64(len(z))
	}
	variance := 0.0
	for _, x := range z {
		variance += (x - mean) * (x - mean) / float64(len(z))
	}
	return mean, 1 / math.Sqrt(variance+eps)
}

func norm(t *testing.T, b *Bench, seed uint64, rows, n int) {
	var z, gamma, beta []float64
	got := b.Same(t, seed, func(m *Maker) (backend.Plan, error) {
		z, gamma, beta = m.normal(rows*n, 2, 3), m.normal(n, 1, 0), m.normal(n, 1, 0)
		j := &backend.NormJob{M: rows, N: n, Eps: 1e-5, Out: m.Out("out", 0, rows, n), Norm: backend.NormStats{Z: m.Of(tensor.F32, z, rows, n),
			Mean: m.Out("mean", tensor.F32, rows), Rstd: m.Out("rstd", tensor.F32, rows), Gamma: m.Of(tensor.F32, gamma, n), Beta: m.Of(tensor.F32, beta, n)}}
		if seed%2 == 0 {
			j.Sum = m.Out("sum", tensor.F32, rows, n)
		}
		return m.NN().Norm(j)
	})
	want := map[string][]float64{}
	for m := range rows {
		mean, rstd := moments(z[m*n:][:n], 1e-5)
		want["mean"], want["rstd"] = append(want["mean"], mean), append(want["rstd"], rstd)
		for i, x := range z[m*n:][:n] {
			want["out"] = append(want["out"], (x-mean)*rstd*gamma[i]+beta[i])
		}
	}
	near := func(name string, with float64) func(int) float64 {
		return func(i int) float64 { return with*math.Abs(want[name][i]) + 1e-5 }
	}
	Within(t, "mean", got["mean"], want["mean"], near("mean", 1e-6))
	Within(t, "rstd", got["rstd"], want["rstd"], near("rstd", 1e-5))
	Within(t, "out", got["out"], want["out"], near("out", b.rounding()))
	if sum, there := got["sum"]; there {
		Within(t, "sum", sum, want["out"], near("out", 0))
	}
}

func normBackward(t *testing.T, b *Bench, seed uint64, rows, n int, sparse bool) {
	var z, g, gamma, after []float64
	const step = 0xb5297a4d
	drop := backend.Dropout{Seed: 0x9e3779b97f4a7c15, Site: 0x68e31da4}
	drop.Rate = rateOf(drop.Seed, step, drop.Site, rows*n, int(seed), 2)
	if seed%3 == 0 {
		drop.Rate = 0
	}
	blocks := (rows + backend.NormRows - 1) / backend.NormRows
	got := b.Same(t, seed, func(m *Maker) (backend.Plan, error) {
		z, g, gamma, after = m.normal(rows*n, 2, 1), m.normal(rows*n, 1, 0), m.normal(n, 1, 0), m.normal(rows*n, 1, 0)
		var mean, rstd []float64
		for r := range rows {
			a, s := moments(z[r*n:][:n], 1e-5)
			mean, rstd = append(mean, a), append(rstd, s)
		}
		drop := drop
		drop.State = m.state(step)
		j := &backend.NormBackwardJob{M: rows, N: n, G: m.Of(tensor.F32, g, rows, n), Norm: backend.NormStats{Z: m.Of(tensor.F32, z, rows, n),
			Mean: m.Of(tensor.F32, mean, rows), Rstd: m.Of(tensor.F32, rstd, rows), Gamma: m.Of(tensor.F32, gamma, n)},
			DGamma: m.Out("dgamma", tensor.F32, blocks, n), DBeta: m.Out("dbeta", tensor.F32, blocks, n), OutDropout: drop}
		if !sparse {
			j.After, j.Sum = m.Of(tensor.F32, after, rows, n), m.Out("sum", tensor.F32, rows, n)
		}
		if !sparse || seed%2 == 0 {
			j.Out = m.Out("out", 0, rows, n)
		} else {
			j.Sum = m.Out("sum", tensor.F32, rows, n)
		}
		return m.NN().NormBackward(j)
	})
	dz := make([]float64, rows*n)
	dgamma, dbeta := make([]float64, blocks*n), make([]float64, blocks*n)
	for r := range rows {
		mean, rstd := moments(z[r*n:][:n], 1e-5)
		var meanH, meanHX float64
		for i := range n {
			x, h := (z[r*n+i]-mean)*rstd, g[r*n+i]*gamma[i]
			meanH += h / float64(n)
			meanHX += h * x / float64(n)
			dgamma[r/backend.NormRows*n+i] += g[r*n+i] * x
			dbeta[r/backend.NormRows*n+i] += g[r*n+i]
		}
		for i := range n {
			dz[r*n+i] = rstd * (g[r*n+i]*gamma[i] - meanH - (z[r*n+i]-mean)*rstd*meanHX)
			if !sparse {
				dz[r*n+i] += after[r*n+i]
			}
		}
	}
	Within(t, "dgamma", got["dgamma"], dgamma, func(int) float64 { return 1e-3 })
	Within(t, "dbeta", got["dbeta"], dbeta, func(int) float64 { return 1e-4 })
	if sum, there := got["sum"]; there {
		Within(t, "sum", sum, dz, func(i int) float64 { return 1e-5 * (1 + math.Abs(dz[i])) })
	}
	if out, there := got["out"]; there {
		for i := range dz {
			if fp32.Dropped(drop.Seed, step, drop.Site, uint64(i), drop.Rate) {
				dz[i] = 0
			}
			dz[i] /= float64(1 - drop.Rate)
		}
		Within(t, "out", out, dz, func(i int) float64 { return (b.rounding()+1e-5)*math.Abs(dz[i]) + 2e-5 })
	}
}
