package nntest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"matmul", matMul}) }

// part is a set of options for a matrix product and the operations that follow it.
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
	positional // Residual has fewer rows than the product and is repeated
	residualNorm
	withNorm
	normBack
	withAfter
	withSum
	withOut
	outDropout
	ties    // sums are midpoints of two bfloat16 numbers, and the bias is so small that float32 rounds it away
	middles // products are 0, and the last operation gives a midpoint of two bfloat16 numbers after rounding to float32
)

// The dropout's step, seed and sites use all bits of their types, because every bit must count.
const (
	matMulStep    = 0xb5297a4d
	matMulSeed    = 0x9e3779b97f4a7c15
	matMulSite    = 0x68e31da4
	matMulOutSite = 0x1b56c4e9
)

type matMulCase struct {
	name    string
	m, n, k int
	with    part
}

// matMulCases returns the cases: each option alone, the products of transformer layers, and shapes around the tile sizes.
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
	for _, n := range []int{16, 64, 96, 128, 176, 256, 288, 400, 512} {
		add("columns_norm", 33, n, 32, withOut|withSum|withBias|withNorm)
		add("columns_back", 70, n, 32, plain|withOut|withSum|normBack)
	}
	for _, k := range []int{16, 32, 48, 64, 80, 128, 192, 256, 320, 528, 1024} {
		both("depth", 33, 48, k, withSum)
		add("depth_norm", 33, 144, k, withSum|withNorm)
		add("depth_back", 33, 144, k, plain|withSum|normBack)
	}
	for _, m := range []int{33, 48, 63, 64, 65} { // the ends of the matrices inside a deep tile
		both("deep", m, m+16-m%16, 560, withOut)
	}
	for _, k := range []int{16, 64, 128, 208, 320} {
		for _, n := range []int{48, 112, 272} {
			add("depth_norm", 17, n, k, withSum|withNorm)
			add("depth_back", 17, n, k, plain|withSum|normBack)
		}
	}
	for _, c := range [][2]int{{64, 208}, {128, 208}, {256, 208}, {512, 112}} { // whole tiles, not in the first step
		add("whole_norm", 17, c[0], c[1], withSum|withNorm)
		add("whole_back", 17, c[0], c[1], plain|withSum|normBack)
		add("zeros_norm", 64, c[0], 16, withSum|withNorm|ties)
		add("middles_norm", 64, c[0], 16, withResidual|withNorm|withSum|withOut|middles)
		add("middles_back", 64, c[0], 16, plain|normBack|withAfter|withSum|withOut|outDropout|middles)
	}
	both("middles", 64, 64, 16, withAfter|withOut|outDropout|middles)
	both("middles_bias", 64, 64, 16, withBias|withDropout|withOut|middles)
	// So many tiles that ops/cuda uses its kernel for large matrices.
	both("large", 8192, 144, 16, withOut|withBias|withReLU|ties)
	both("large_rows", 8150, 144, 16, withSum)
	both("large_depth", 5, 16272, 272, withOut)
	both("large_gate", 8076, 144, 16, withOut|gateReLU)
	both("gate", 70, 112, 48, withOut|withBias|withReLU|gateReLU|strided)
	// Each row of a kernel's lane is the last of the matrix in one case, and the first after the end in another.
	for i, m := range []int{4, 9, 13, 18, 22, 27, 31, 32, 36, 41, 50, 59} {
		tail := withBias | withDropout | withResidual | residualNorm | withAfter | withSum | withOut | outDropout
		both("tail", m, 48, 16, tail|withPre|withReLU|gateReLU)
		both("tail_gate", 2*m, 48, 16, withOut|gateReLU)
		for _, n := range []int{48, 112, 176, 272} {
			if n == 48 || i < 8 {
				add("tail_norm", m, n, 16, tail&^(withAfter|outDropout)|withNorm)
				add("tail_back", m, n, 16, tail|plain|normBack)
			}
		}
	}
	for i := range 8 { // the rows that a lane loads in advance, which may belong to the next tile
		both("tail_next", 68+8*i, 48, 16, withSum|withOut|gateReLU)
		add("tail_next_back", 68+8*i, 48, 16, plain|normBack|withSum)
		add("tail_next_back", 34+4*i, 112, 16, plain|normBack|withSum)
		add("tail_next_back", 36+8*i, 176, 16, plain|normBack|withSum)
	}
	for i := range 4 { // each of four random words has a probability that is just kept
		both("words", 64+i, 112, 16, withSum|withOut|withDropout|outDropout)
	}
	both("ties", 70, 112, 32, withOut|withBias|ties)
	both("ties_relu", 70, 112, 16, withOut|withBias|withReLU|ties)
	both("ties_relu", 70, 48, 16, withOut|withSum|withBias|withReLU|ties)
	for i, p := range []part{withBias, withBias | withPre | withGELU, withReLU, withGELU, gateReLU, gateGELU, withDropout, withResidual, withResidual | positional, withResidual | residualNorm,
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
	// Few rows, with so many columns and such a depth that ops/cuda computes the norm in a separate kernel.
	add("few_rows_norm", 70, 512, 512, withBias|withDropout|withResidual|withNorm|withSum|withOut)
	add("few_rows_back", 70, 512, 512, plain|withResidual|normBack|withSum|withOut|outDropout)
	// Rows for small tiles, less and more deep than their ring.
	for i, k := range []int{48, 256, 448, 464, 1040} {
		add("nt/small", 18+2*i, 80, k, withBias|withPre|withGELU|withDropout|withResidual|withSum|withOut)
		add("nt/small_gate", 17+3*i, 48, k, withReLU|gateReLU|withResidual|residualNorm|withAfter|withOut|outDropout|strided)
	}
	// A pre-norm layer with GELU.
	add("pre_in", 70, 64, 32, withBias|withResidual|positional|withNorm|withSum|withOut)
	add("pre_attention_out", 70, 64, 64, withBias|withDropout|withResidual|withNorm|withSum|withOut)
	add("pre_ffn_in", 70, 128, 64, withBias|withPre|withGELU|withDropout|withOut)
	add("pre_ffn_out_back", 70, 128, 64, plain|gateGELU|withDropout|withOut)
	add("pre_ffn_in_back", 70, 64, 128, plain|normBack|withAfter|withSum|withOut|outDropout)
	rest := withBias | withDropout | withResidual | residualNorm | withAfter | withSum | withOut | outDropout | strided
	both("everything", 130, 176, 80, rest|withPre|withGELU|gateReLU)
	both("large_everything", 63, 16272, 16, rest|withPre|withReLU|gateReLU)
	for i := range 7 { // the end of the matrix inside large tiles: the last row in a lane is also covered by large_everything
		both("large_tail", 34+4*i, 16272, 16, rest|withPre|withReLU|gateReLU)
	}
	both("large_gelu", 13, 16272, 16, withBias|withPre|withGELU|gateGELU|withResidual|positional|withOut)
	for _, n := range []int{48, 112, 176, 512} {
		add("everything_norm", 130, n, 80, rest&^(withAfter|outDropout)|withNorm)
		add("everything_back", 130, n, 80, rest|plain|normBack)
	}
	return list
}

func matMul(t *testing.T, d *Bench) {
	for i, c := range matMulCases() {
		d.Case(t, c.name, func(t *testing.T) { c.check(t, d, d.Same(t, uint64(i), c.job)) })
	}
}

// job returns the case's plan. It marks the inputs as outputs too, so that check can read them.
func (c matMulCase) job(m *Maker) (backend.Plan, error) {
	has := func(p part) bool { return c.with&p != 0 }
	// rows makes a matrix. If the case is strided, the matrix is columns of a wider one, and all columns are compared.
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
	// mixed makes a matrix of normally distributed numbers. If other returns true for element i, its number is used instead.
	mixed := func(name string, dtype tensor.DType, r, columns int, other func(i int) (float64, bool)) *tensor.Tensor {
		return rows(name, func(shape ...int) *tensor.Tensor {
			n, _ := tensor.NumElements(shape...)
			values := make([]float64, n)
			for i := range values {
				v, ok := other(i)
				if !ok {
					v = m.Rand().NormFloat64()
				}
				values[i] = float64(tensor.BF16FromF64(v).F32())
			}
			return m.Of(dtype, values, shape...)
		}, r, columns)
	}
	sign := func() float64 { return float64(m.Rand().IntN(2)*2 - 1) }
	of := func(name string, value func(i int) float64) *tensor.Tensor {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = value(i)
		}
		t := m.Of(tensor.F32, values, c.n)
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
	j := &backend.MatMulJob{M: c.m, N: c.n, K: c.k, Plain: has(plain), Still: c.m%2 == 0, Eps: 1e-5}
	shape := [2]int{c.n, c.k}
	if j.Plain {
		shape = [2]int{c.k, c.n}
	}
	if has(ties) {
		whole := func() float64 { return math.Round(m.Rand().NormFloat64() * 10) }
		// In every seventh row only the first product is not 0. It is a tiny negative number, which tensor cores round to +0.
		j.A = mixed("A", 0, c.m, c.k, func(i int) (float64, bool) {
			if i/c.k%7 == 6 {
				return map[bool]float64{true: -0x1p-75}[i%c.k == 0], true
			}
			return whole(), true
		})
		j.B = mixed("B", 0, shape[0], shape[1], func(i int) (float64, bool) {
			if i/shape[1] == 0 && j.Plain || i%c.k == 0 && !j.Plain {
				return 0x1p-75, true
			}
			return whole(), true
		})
	} else if has(middles) {
		j.A, j.B = mixed("A", 0, c.m, c.k, func(int) (float64, bool) { return 0, true }), in("B", 0, 1, shape[0], shape[1])
	} else {
		j.A, j.B = in("A", 0, 1, c.m, c.k), in("B", 0, 1/math.Sqrt(float64(c.k)), shape[0], shape[1])
	}
	state := m.Of(tensor.I64, []float64{matMulStep, 0, 0, 0, 0, 0, 0, 0}, backend.StateWords)
	switch {
	case has(ties) && !has(withNorm):
		j.Bias = of("Bias", func(i int) float64 { return sign() * []float64{0x1p-20, 0x1p-20, 0}[i%3] })
	case has(withBias) && has(middles):
		j.Bias = of("Bias", func(i int) float64 { return middleOf(c.rate(2, matMulSite), i) })
	case has(withBias) && has(withGELU): // a third of the numbers is far from 0
		j.Bias = of("Bias", func(i int) float64 { return m.Rand().NormFloat64() * []float64{1, 1, 12}[i%3] })
	case has(withBias):
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
		j.Gate = mixed("Gate", 0, c.m, c.n, func(i int) (float64, bool) {
			return m.Rand().NormFloat64() * []float64{0, 12}[m.Rand().IntN(2)], m.Rand().IntN(3) == 0
		})
		j.GateOf = backend.ActivationReLU
		if has(gateGELU) {
			j.GateOf = backend.ActivationGELU
		}
	}
	if has(withDropout) {
		j.Dropout = backend.Dropout{Rate: c.rate(2, matMulSite), Seed: matMulSeed, Site: matMulSite, State: state}
	}
	if has(outDropout) {
		j.OutDropout = backend.Dropout{Rate: c.rate(3, matMulOutSite), Seed: matMulSeed, Site: matMulOutSite, State: state}
	}
	if has(withResidual) && !has(middles) {
		r := c.m
		if has(positional) {
			r = 27
		}
		j.Residual = in("Residual", tensor.F32, 1, r, c.n)
	}
	if has(residualNorm) {
		j.ResidualNorm = &backend.NormStats{Z: j.Residual, Mean: found("ResidualMean", c.m, 0), Rstd: found("ResidualRstd", c.m, 1), Gamma: list("ResidualGamma", 1, c.n), Beta: list("ResidualBeta", 1, c.n)}
	}
	if has(withNorm) && has(middles) {
		row, gamma := middleRow(c.n, j.Eps)
		j.Residual = mixed("Residual", tensor.F32, c.m, c.n, func(i int) (float64, bool) { return row[i%c.n], true })
		j.Norm = &backend.NormStats{Mean: m.Out("Mean", tensor.F32, c.m), Rstd: m.Out("Rstd", tensor.F32, c.m), Gamma: of("Gamma", func(i int) float64 { return gamma[i] }),
			Beta: of("Beta", func(int) float64 { return 0 })}
	} else if has(withNorm) {
		j.Norm = &backend.NormStats{Mean: m.Out("Mean", tensor.F32, c.m), Rstd: m.Out("Rstd", tensor.F32, c.m), Gamma: of("Gamma", func(i int) float64 { return m.Rand().NormFloat64() * []float64{1, 1, 0x1p-30}[i%3] })}
		// A third of the columns is the midpoint of two bfloat16 numbers plus far smaller terms, so that an earlier rounding changes
		// the result.
		j.Norm.Beta = of("Beta", func(i int) float64 {
			return []float64{m.Rand().NormFloat64(), m.Rand().NormFloat64(), sign() * 0x1.03p0}[i%3]
		})
	}
	if has(normBack) {
		j.NormBack = &backend.NormStats{Z: in("Z", tensor.F32, 1, c.m, c.n), Mean: found("Mean", c.m, 0), Rstd: found("Rstd", c.m, 1), Gamma: list("Gamma", 1, c.n), Beta: list("Beta", 1, c.n)}
		blocks := (c.m + backend.NormRows - 1) / backend.NormRows
		j.DGamma, j.DBeta = m.Out("DGamma", tensor.F32, blocks, c.n), m.Out("DBeta", tensor.F32, blocks, c.n)
	}
	if has(withAfter) && has(middles) {
		values := make([]float64, c.m*c.n)
		for i := range values {
			values[i] = middleOf(c.rate(3, matMulOutSite), i%c.n)
		}
		j.After = m.Of(tensor.F32, values, c.m, c.n)
		m.InOut("After", j.After)
	} else if has(withAfter) {
		j.After = mixed("After", tensor.F32, c.m, c.n, func(int) (float64, bool) { return sign() * 0x1p-30, m.Rand().IntN(3) == 0 })
	}
	if has(withSum) {
		j.Sum = out("Sum", tensor.F32, c.m, c.n)
	}
	if has(withOut) {
		j.Out = out("Out", 0, c.m, c.n)
	}
	return m.NN().MatMul(j)
}
