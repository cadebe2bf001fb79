package nntest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
)

// matrix locates a matrix in an output's elements: rows are pitch elements apart and begin at from.
type matrix struct {
	values      []float64
	pitch, from int
	columns     int
}

func (m matrix) row(r int) []float64 { return m.values[r*m.pitch+m.from:][:m.columns] }

// check compares the outputs with float64 results. Elements outside the outputs must be unchanged.
func (c matMulCase) check(t *testing.T, d *Bench, got map[string][]float64) {
	has := func(p part) bool { return c.with&p != 0 }
	of := func(values []float64, columns int) matrix {
		if has(strided) {
			return matrix{values, columns + 24, 16, columns}
		}
		return matrix{values, columns, 0, columns}
	}
	want := map[string][]float64{}
	for _, name := range []string{"Pre", "Sum", "Out"} {
		list := make([]float64, len(got[name]))
		for i := range list {
			list[i] = math.NaN()
		}
		want[name] = list
	}
	put := func(name string, m int, row []float64) {
		if got[name] != nil {
			copy(of(want[name], c.n).row(m), row)
		}
	}
	in := func(name string, m int) []float64 { return of(got[name], c.n).row(m) }
	sizes := make([]float64, c.m*c.n) // sums of the absolute values of each product's terms
	dgamma, dbeta := make([]float64, len(got["DGamma"])), make([]float64, len(got["DGamma"]))
	mean, rstd := make([]float64, c.m), make([]float64, c.m)
	row, size := make([]float64, c.n), 0.0
	rate, outRate := c.rate(2, matMulSite), c.rate(3, matMulOutSite)
	b := of(got["B"], c.k)
	if has(plain) {
		b = of(got["B"], c.n)
	}
	for m := range c.m {
		clear(row)
		c.product(row, sizes[m*c.n:][:c.n], of(got["A"], c.k).row(m), b)
		size = max(size, slices.Max(sizes[m*c.n:][:c.n]))
		if has(withBias) {
			for n, b := range got["Bias"] {
				row[n] += b
			}
		}
		put("Pre", m, row)
		for n, v := range row {
			switch {
			case has(withReLU):
				row[n] = max(v, 0)
			case has(withGELU):
				row[n] *= 0.5 * (1 + math.Erf(v/math.Sqrt2))
			}
		}
		if has(gateReLU | gateGELU) {
			for n, g := range in("Gate", m) {
				switch {
				case has(gateGELU):
					row[n] *= 0.5*(1+math.Erf(g/math.Sqrt2)) + g*math.Exp(-g*g/2)/math.Sqrt(2*math.Pi)
				case g <= 0:
					row[n] = 0
				}
			}
		}
		if has(withDropout) {
			drop(row, rate, matMulSite, m*c.n)
		}
		if has(withResidual) {
			r := m
			if has(positional) {
				r %= 27
			}
			for n, z := range in("Residual", r) {
				if has(residualNorm) {
					z = (z-got["ResidualMean"][m])*got["ResidualRstd"][m]*got["ResidualGamma"][n] + got["ResidualBeta"][n]
				}
				row[n] += z
			}
		}
		if has(withNorm) {
			put("Sum", m, row)
			for _, v := range row {
				mean[m] += v / float64(c.n)
			}
			for _, v := range row {
				rstd[m] += (v - mean[m]) * (v - mean[m]) / float64(c.n)
			}
			rstd[m] = 1 / math.Sqrt(rstd[m]+1e-5)
			for n, v := range row {
				row[n] = (v-mean[m])*rstd[m]*got["Gamma"][n] + got["Beta"][n]
			}
		}
		if has(normBack) {
			c.back(got, row, m, in("Z", m), dgamma, dbeta)
		}
		if has(withAfter) {
			for n, x := range in("After", m) {
				row[n] += x
			}
		}
		if !has(withNorm) {
			put("Sum", m, row)
		}
		if has(outDropout) {
			drop(row, outRate, matMulOutSite, m*c.n)
		}
		put("Out", m, row)
	}
	eps := math.Ldexp(1, -8)
	if !d.Exact() {
		eps = math.Ldexp(1, -20)
	}
	same := func(name string, bound func(i int) float64) {
		if got[name] == nil {
			return
		}
		g := got[name]
		for i, w := range want[name] {
			if math.IsNaN(w) {
				require.True(t, math.IsNaN(g[i]), "%s[%d], beside the matrix, was written", name, i)
				g[i], want[name][i] = 0, 0
			}
		}
		Within(t, name, g, want[name], bound)
	}
	if c.with&^(plain|withBias|withReLU|withSum|withOut|ties) == 0 {
		product := func(i int) float64 { return math.Ldexp(float64(c.k), -24) * (sizes[i] + 4) }
		same("Sum", product)
		same("Out", func(i int) float64 { return product(i) + eps*math.Abs(want["Out"][i]) })
		return
	}
	wide := math.Ldexp(float64(c.k), -24)*size*64 + 1e-4 // the norm divides by small numbers and multiplies by large ones
	for _, name := range []string{"Sum", "Out", "Pre"} {
		same(name, func(i int) float64 { return wide + max(eps, 1e-4)*math.Abs(want[name][i]) })
	}
	if has(withNorm) {
		Within(t, "Mean", got["Mean"], mean, func(int) float64 { return wide })
		Within(t, "Rstd", got["Rstd"], rstd, func(i int) float64 { return wide * (1 + rstd[i]*rstd[i]) })
	}
	if has(normBack) {
		Within(t, "DGamma", got["DGamma"], dgamma, func(i int) float64 { return 64 * wide })
		Within(t, "DBeta", got["DBeta"], dbeta, func(i int) float64 { return 64 * wide })
	}
}

// product adds a row of the product to row, and the absolute values of its terms to sizes.
func (c matMulCase) product(row, sizes, a []float64, b matrix) {
	if c.with&plain != 0 {
		for k, x := range a {
			for n, y := range b.row(k) {
				row[n] += x * y
				sizes[n] += math.Abs(x * y)
			}
		}
		return
	}
	for n := range row {
		for k, y := range b.row(n) {
			row[n] += a[k] * y
			sizes[n] += math.Abs(a[k] * y)
		}
	}
}

// back replaces row, the gradient after the norm of row m, by the gradient before it, in float64. It adds the gradients of gamma and
// beta to dgamma and dbeta.
func (c matMulCase) back(got map[string][]float64, row []float64, m int, z, dgamma, dbeta []float64) {
	meanH, meanHX := 0.0, 0.0
	mean, rstd, gamma := got["Mean"][m], got["Rstd"][m], got["Gamma"]
	x := func(n int) float64 { return (z[n] - mean) * rstd }
	for n, g := range row {
		h := g * gamma[n]
		meanH += h / float64(c.n)
		meanHX += h * x(n) / float64(c.n)
		dgamma[m/backend.NormRows*c.n+n] += g * x(n)
		dbeta[m/backend.NormRows*c.n+n] += g
	}
	for n, g := range row {
		row[n] = rstd * (g*gamma[n] - meanH - x(n)*meanHX)
	}
}

// rate returns a dropout rate for the case between 2^-(n+1) and 2^-n.
func (c matMulCase) rate(n int, site uint32) float32 {
	return rateOf(matMulSeed, matMulStep, site, c.m*c.n, c.m+c.n/16, n)
}

// drop applies dropout to the elements of a row. first is the index of its first element.
func drop(row []float64, rate float32, site uint32, first int) {
	for i := range row {
		row[i] /= 1 - float64(rate)
		if fp32.Dropped(matMulSeed, matMulStep, site, uint64(first+i), rate) {
			row[i] = 0
		}
	}
}
