package nntest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"matmul", matMul}) }

// part is what follows a product.
type part uint32

const (
	plain part = 1 << iota
	strided
	withBias
	withPre
	withReLU
	withGELU
	gateReLU
	gateGELU
	withDropout
	withResidual
	positional // Residual has fewer rows
	residualNorm
	withNorm
	normBack
	withAfter
	withSum
	withOut
	outDropout
)

type matMulCase struct {
	name    string
	m, n, k int
	with    part
}

// matMulCases are each part alone, what a transformer's layers use, and shapes around the tiles.
func matMulCases() (list []matMulCase) {
	add := func(name string, m, n, k int, with part) {
		list = append(list, matMulCase{fmt.Sprintf("%s/%dx%dx%d", name, m, n, k), m, n, k, with})
	}
	both := func(name string, m, n, k int, with part) {
		add("nt/"+name, m, n, k, with)
		add("nn/"+name, m, n, k, with|plain)
	}
	for _, m := range []int{1, 31, 63, 64, 65, 129} {
		both("rows", m, 80, 48, withOut)
		add("rows_norm", m, 80, 48, withNorm|withOut|withSum)
		add("rows_back", m, 80, 48, plain|normBack|withOut|withSum)
	}
	for _, n := range []int{16, 64, 112, 128, 144, 256, 1024} {
		both("columns", 33, n, 32, withOut|withSum|withBias)
	}
	for _, n := range []int{16, 64, 96, 128, 176, 256, 288, 512} {
		add("columns_norm", 33, n, 32, withOut|withSum|withBias|withNorm)
		add("columns_back", 70, n, 32, plain|withOut|withSum|normBack)
	}
	for _, k := range []int{16, 32, 48, 64, 80, 128, 192, 256, 320, 1024} {
		both("depth", 33, 48, k, withSum)
		add("depth_norm", 33, 144, k, withSum|withNorm)
		add("depth_back", 33, 144, k, plain|withSum|normBack)
	}
	// As many tiles as make a large matrix: see ops/cuda.
	both("large", 2176, 1024, 16, withOut|withBias|withReLU)
	both("large_rows", 2150, 1040, 80, withSum)
	both("large_gate", 2150, 1040, 16, withOut|gateReLU)
	both("gate", 70, 112, 48, withOut|withBias|withReLU|gateReLU|strided)
	for i, p := range []part{withBias, withPre | withGELU, withReLU, withGELU, gateReLU, gateGELU, withDropout, withResidual, withResidual | positional, withResidual | residualNorm,
		withAfter, outDropout} {
		both(fmt.Sprintf("part%d", i), 66, 48, 32, p|withSum|withOut)
	}
	// A post-norm layer, forward and backward.
	add("in", 70, 64, 32, withBias|withResidual|positional|withSum|withOut)
	add("qkv", 70, 192, 64, withBias|withOut|strided)
	add("attention_out", 70, 64, 64, withBias|withDropout|withResidual|withNorm|withSum|withOut)
	add("ffn_in", 70, 128, 64, withBias|withReLU|withDropout|withOut)
	add("ffn_out", 70, 64, 128, withBias|withDropout|withResidual|residualNorm|withNorm|withSum|withOut)
	add("ffn_out_wide", 70, 256, 128, withBias|withResidual|residualNorm|withNorm|withSum|withOut|strided)
	add("ffn_out_back", 70, 128, 64, plain|gateReLU|withDropout|withOut)
	add("ffn_in_back", 70, 64, 128, plain|withResidual|normBack|withSum|withOut|outDropout)
	add("ffn_in_back_wide", 70, 256, 128, plain|withResidual|normBack|withSum|withOut|outDropout|strided)
	add("attention_back", 70, 64, 64, plain|withOut)
	add("qkv_back", 70, 64, 192, plain|withResidual|normBack|withSum|withOut)
	add("out_back", 70, 64, 32, plain|normBack|withSum|withOut)
	// Few rows, so wide and deep that ops/cuda makes the norm apart.
	add("few_rows_norm", 70, 512, 512, withBias|withDropout|withResidual|withNorm|withSum|withOut)
	add("few_rows_back", 70, 512, 512, plain|withResidual|normBack|withSum|withOut|outDropout)
	// A pre-norm layer with GELU.
	add("pre_in", 70, 64, 32, withBias|withResidual|positional|withNorm|withSum|withOut)
	add("pre_attention_out", 70, 64, 64, withBias|withDropout|withResidual|withNorm|withSum|withOut)
	add("pre_ffn_in", 70, 128, 64, withBias|withPre|withGELU|withDropout|withOut)
	add("pre_ffn_out_back", 70, 128, 64, plain|gateGELU|withDropout|withOut)
	add("pre_ffn_in_back", 70, 64, 128, plain|normBack|withAfter|withSum|withOut|outDropout)
	rest := withBias | withDropout | withResidual | residualNorm | withAfter | withSum | withOut | outDropout | strided
	both("everything", 130, 176, 80, rest|withPre|withGELU|gateReLU)
	for _, n := range []int{48, 112, 176, 512} {
		add("everything_norm", 130, n, 80, rest&^(withAfter|outDropout)|withNorm)
		add("everything_back", 130, n, 80, rest|plain|normBack)
	}
	return list
}

func matMul(t *testing.T, d *Bench) {
	for i, c := range matMulCases() {
		t.Run(c.name, func(t *testing.T) { c.check(t, d, d.Same(t, uint64(i), c.job)) })
	}
}

// job makes the case's job. What it reads is given back too.
func (c matMulCase) job(m *Maker) (backend.Plan, error) {
	has := func(p part) bool { return c.with&p != 0 }
	// rows makes a matrix, which lies between other columns if it is strided: all of them are looked at.
	rows := func(name string, make func(shape ...int) *tensor.Tensor, rows, columns int) *tensor.Tensor {
		if !has(strided) {
			t := make(rows, columns)
			m.InOut(name, t)
			return t
		}
		t := make(rows, columns+24)
		m.InOut(name, t)
		part, err := t.Slice(1, 16, 16+columns)
		require.NoError(m.t, err)
		return part
	}
	in := func(name string, dtype tensor.DType, scale float64, r, columns int) *tensor.Tensor {
		return rows(name, func(shape ...int) *tensor.Tensor { return m.Normal(dtype, scale, shape...) }, r, columns)
	}
	out := func(name string, dtype tensor.DType, r, columns int) *tensor.Tensor {
		return rows(name, func(shape ...int) *tensor.Tensor { return m.Out(name, dtype, shape...) }, r, columns)
	}
	list := func(name string, scale float64, n int) *tensor.Tensor {
		t := m.Normal(tensor.F32, scale, n)
		m.InOut(name, t)
		return t
	}
	found := func(name string, n int, about float64) *tensor.Tensor {
		values := make([]float64, n)
		for i := range values {
			values[i] = about + float64(float32(m.Rand().NormFloat64()*0.1))
		}
		t := m.Of(tensor.F32, values, n)
		m.InOut(name, t)
		return t
	}
	j := &backend.MatMulJob{M: c.m, N: c.n, K: c.k, Plain: has(plain), Eps: 1e-5, A: in("A", 0, 1, c.m, c.k)}
	if j.Plain {
		j.B = in("B", 0, 1/math.Sqrt(float64(c.k)), c.k, c.n)
	} else {
		j.B = in("B", 0, 1/math.Sqrt(float64(c.k)), c.n, c.k)
	}
	state := m.Of(tensor.I64, []float64{3, 0, 0, 0, 0, 0, 0, 0}, backend.StateWords)
	if has(withBias) {
		j.Bias = list("Bias", 1, c.n)
	}
	if has(withPre) {
		j.Pre = out("Pre", 0, c.m, c.n)
	}
	if has(withReLU) {
		j.Activation = backend.ActivationReLU
	}
	if has(withGELU) {
		j.Activation = backend.ActivationGELU
	}
	if has(gateReLU | gateGELU) {
		j.Gate, j.GateOf = in("Gate", 0, 1, c.m, c.n), backend.ActivationReLU
		if has(gateGELU) {
			j.GateOf = backend.ActivationGELU
		}
	}
	if has(withDropout) {
		j.Dropout = backend.Dropout{Rate: 0.25, Seed: 7<<32 | 5, Site: 2, State: state}
	}
	if has(outDropout) {
		j.OutDropout = backend.Dropout{Rate: 0.1, Seed: 7<<32 | 5, Site: 4, State: state}
	}
	if has(withResidual) {
		r := c.m
		if has(positional) {
			r = 27
		}
		j.Residual = in("Residual", tensor.F32, 1, r, c.n)
	}
	if has(residualNorm) {
		j.ResidualNorm = &backend.NormStats{Z: j.Residual, Mean: found("ResidualMean", c.m, 0), Rstd: found("ResidualRstd", c.m, 1), Gamma: list("ResidualGamma", 1, c.n), Beta: list("ResidualBeta", 1, c.n)}
	}
	if has(withNorm) {
		j.Norm = &backend.NormStats{Mean: m.Out("Mean", tensor.F32, c.m), Rstd: m.Out("Rstd", tensor.F32, c.m), Gamma: list("Gamma", 1, c.n), Beta: list("Beta", 1, c.n)}
	}
	if has(normBack) {
		j.NormBack = &backend.NormStats{Z: in("Z", tensor.F32, 1, c.m, c.n), Mean: found("Mean", c.m, 0), Rstd: found("Rstd", c.m, 1), Gamma: list("Gamma", 1, c.n), Beta: list("Beta", 1, c.n)}
		blocks := (c.m + backend.NormRows - 1) / backend.NormRows
		j.DGamma, j.DBeta = m.Out("DGamma", tensor.F32, blocks, c.n), m.Out("DBeta", tensor.F32, blocks, c.n)
	}
	if has(withAfter) {
		j.After = in("After", tensor.F32, 1, c.m, c.n)
	}
	if has(withSum) {
		j.Sum = out("Sum", tensor.F32, c.m, c.n)
	}
	if has(withOut) {
		j.Out = out("Out", 0, c.m, c.n)
	}
	return m.NN().MatMul(j)
}

// check compares what was written with the same in float64, and wants nothing written beside it.
func (c matMulCase) check(t *testing.T, d *Bench, got map[string][]float64) {
	has := func(p part) bool { return c.with&p != 0 }
	pitch := func(columns int) (pitch, from int) {
		if has(strided) {
			return columns + 24, 16
		}
		return columns, 0
	}
	at := func(name string, row, column, columns int) float64 {
		p, from := pitch(columns)
		return got[name][row*p+from+column]
	}
	normOf := func(prefix string, z float64, m, n int) float64 {
		return (z-got[prefix+"Mean"][m])*got[prefix+"Rstd"][m]*got[prefix+"Gamma"][n] + got[prefix+"Beta"][n]
	}
	want := map[string][]float64{}
	put := func(name string, m, n int, v float64) {
		p, from := pitch(c.n)
		if want[name] == nil {
			want[name] = make([]float64, c.m*p)
			for i := range want[name] {
				want[name][i] = math.NaN()
			}
		}
		want[name][m*p+from+n] = v
	}
	sizes := make([]float64, c.m*c.n) // of the product's terms
	dgamma, dbeta := make([]float64, len(got["DGamma"])), make([]float64, len(got["DGamma"]))
	mean, rstd := make([]float64, c.m), make([]float64, c.m)
	row, size := make([]float64, c.n), 0.0
	for m := range c.m {
		for n := range row {
			v := 0.0
			for k := range c.k {
				b := 0.0
				if has(plain) {
					b = at("B", k, n, c.n)
				} else {
					b = at("B", n, k, c.k)
				}
				p := at("A", m, k, c.k) * b
				v += p
				sizes[m*c.n+n] += math.Abs(p)
			}
			size = max(size, sizes[m*c.n+n])
			if has(withBias) {
				v += got["Bias"][n]
			}
			if has(withPre) {
				put("Pre", m, n, v)
			}
			switch {
			case has(withReLU):
				v = max(v, 0)
			case has(withGELU):
				v *= 0.5 * (1 + math.Erf(v/math.Sqrt2))
			}
			if has(gateReLU | gateGELU) {
				g := at("Gate", m, n, c.n)
				switch {
				case has(gateGELU):
					v *= 0.5*(1+math.Erf(g/math.Sqrt2)) + g*math.Exp(-g*g/2)/math.Sqrt(2*math.Pi)
				case g <= 0:
					v = 0
				}
			}
			if has(withDropout) {
				v = drop(v, 0.25, 2, m*c.n+n)
			}
			if has(withResidual) {
				r := m
				if has(positional) {
					r %= 27
				}
				z := at("Residual", r, n, c.n)
				if has(residualNorm) {
					z = normOf("Residual", z, m, n)
				}
				v += z
			}
			row[n] = v
		}
		if has(withNorm) {
			for n, v := range row {
				put("Sum", m, n, v)
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
			c.back(got, row, m, func(n int) float64 { return at("Z", m, n, c.n) }, dgamma, dbeta)
		}
		for n, v := range row {
			if has(withAfter) {
				v += at("After", m, n, c.n)
			}
			if !has(withNorm) {
				put("Sum", m, n, v)
			}
			if has(outDropout) {
				v = drop(v, 0.1, 4, m*c.n+n)
			}
			put("Out", m, n, v)
		}
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
	if c.with&^(plain|withBias|withReLU|withSum|withOut) == 0 {
		product := func(i int) float64 { return math.Ldexp(float64(c.k), -24) * (sizes[i] + 4) }
		same("Sum", product)
		same("Out", func(i int) float64 { return product(i) + eps*math.Abs(want["Out"][i]) })
		return
	}
	wide := math.Ldexp(float64(c.k), -24)*size*64 + 1e-4 // norms divide by small numbers, and multiply by large ones
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

// back is the gradient of a norm, in float64.
func (c matMulCase) back(got map[string][]float64, row []float64, m int, z func(n int) float64, dgamma, dbeta []float64) {
	meanH, meanHX := 0.0, 0.0
	x := func(n int) float64 { return (z(n) - got["Mean"][m]) * got["Rstd"][m] }
	for n, g := range row {
		h := g * got["Gamma"][n]
		meanH += h / float64(c.n)
		meanHX += h * x(n) / float64(c.n)
		dgamma[m/backend.NormRows*c.n+n] += g * x(n)
		dbeta[m/backend.NormRows*c.n+n] += g
	}
	for n, g := range row {
		row[n] = got["Rstd"][m] * (g*got["Gamma"][n] - meanH - x(n)*meanHX)
	}
}

// drop is dropout at step 3.
func drop(v float64, rate float32, site uint32, number int) float64 {
	if fp32.Dropped(7<<32|5, 3, site, uint64(number), rate) {
		return 0
	}
	return v / (1 - float64(rate))
}
