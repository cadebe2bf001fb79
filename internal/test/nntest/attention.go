package nntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"attention", attention}) }

// attentionCase is a case for Attention and AttentionBackward.
type attentionCase struct {
	name                string
	b, heads, width     int
	tq, tk              int
	causal, pad, packed bool    // packed: Q, K and V are columns of one matrix; so are O and DO, and DQ, DK and DV
	blind               bool    // all keys of the first batch row are padding
	rate                float32 // dropout rate
	steep               bool    // scores reach hundreds and grow from key to key
	flat                bool    // all scores are 0; each output is 259, the midpoint of two bfloat16 numbers, after rounding to float32
	values              special // sets the inputs, instead of random ones
	stairs              bool    // in head h, every fourth group of 8 queries from group h on has scores that grow by key; others are 0
}

func attentionCases() (list []attentionCase) {
	add := func(c attentionCase) {
		c.name = fmt.Sprintf("%s/%dx%dx%dx%dx%d", c.name, c.b, c.heads, c.tq, c.tk, c.width)
		list = append(list, c)
	}
	for _, width := range []int{32, 64} {
		for _, t := range []int{1, 2, 16, 31, 32, 33, 127, 128, 129} {
			add(attentionCase{name: "square", b: 1, heads: 2, width: width, tq: t, tk: t, packed: true})
		}
		for _, c := range [][2]int{{1, 70}, {70, 1}, {33, 100}, {100, 33}, {5, 300}, {300, 5}} {
			add(attentionCase{name: "cross", b: 2, heads: 1, width: width, tq: c[0], tk: c[1]})
			add(attentionCase{name: "cross_dropout", b: 1, heads: 2, width: width, tq: c[0], tk: c[1], rate: 0.2})
		}
		// The float32 reciprocal of 41 is too small. The dropout rate is so small that no probability is dropped.
		add(attentionCase{name: "flat", b: 1, heads: 1, width: width, tq: 32, tk: 41, flat: true})
		add(attentionCase{name: "flat_dropout", b: 1, heads: 1, width: width, tq: 32, tk: 41, flat: true, rate: 0x1p-30})
		add(attentionCase{name: "stairs", b: 1, heads: 4, width: width, tq: 40, tk: 72, stairs: true})
		add(attentionCase{name: "stairs", b: 1, heads: 4, width: width, tq: 40, tk: 72, stairs: true, rate: 0.2})
		for _, t := range []int{16, 17, 24, 25} { // the keys that do not exist begin at each of a lane's keys
			add(attentionCase{name: "edge", b: 1, heads: 1, width: width, tq: 3, tk: t})
			add(attentionCase{name: "edge_dropout", b: 1, heads: 1, width: width, tq: 3, tk: t, rate: 0.2})
		}
		for _, t := range []int{36, 44, 52, 60, 258, 266, 274, 282} { // the last query is each of those that a lane loads at once
			add(attentionCase{name: "edge_queries", b: 1, heads: 1, width: width, tq: t, tk: 5})
			add(attentionCase{name: "edge_queries_dropout", b: 1, heads: 1, width: width, tq: t, tk: 5, rate: 0.2})
		}
		for _, rate := range []float32{0, 0x1p-30} {
			add(attentionCase{name: fmt.Sprintf("middles%v", rate > 0), b: 1, heads: 1, width: width, tq: 16, tk: 32, rate: rate, values: middleGradients})
			add(attentionCase{name: fmt.Sprintf("raised%v", rate > 0), b: 1, heads: 1, width: width, tq: 32, tk: 33, rate: rate, values: raised})
			// 3 or 6 warps, with queries in each part of the second batch of row statistics.
			add(attentionCase{name: fmt.Sprintf("sharp%v", rate > 0), b: 2, heads: 1, width: width, tq: 460, tk: 70, rate: rate, values: sharp})
		}
		add(attentionCase{name: "middle_factor", b: 1, heads: 1, width: width, tq: 1, tk: 32, rate: middleRate(), values: middleGradients})
		for i := range 4 * 64 / width {
			add(attentionCase{name: fmt.Sprint("word", i), b: 1, heads: 8, width: width, tq: 32, tk: 32, rate: wordRate(i%4, i/4, 8, 32)})
		}
		add(attentionCase{name: "blind_dropout", b: 2, heads: 1, width: width, tq: 3, tk: 5, pad: true, blind: true, rate: 0.2})
		for _, t := range []int{1, 17, 40, 130} {
			add(attentionCase{name: "causal", b: 1, heads: 2, width: width, tq: t, tk: t, causal: true, packed: true})
			add(attentionCase{name: "padded", b: 3, heads: 1, width: width, tq: t, tk: t, pad: true, packed: true, blind: true})
			add(attentionCase{name: "causal_padded", b: 3, heads: 2, width: width, tq: t, tk: t, causal: true, pad: true, packed: true})
			add(attentionCase{name: "dropout", b: 1, heads: 2, width: width, tq: t, tk: t, rate: 0.3, packed: true})
		}
		add(attentionCase{name: "causal_cross", b: 1, heads: 1, width: width, tq: 50, tk: 90, causal: true})
		add(attentionCase{name: "causal_cross", b: 1, heads: 1, width: width, tq: 90, tk: 50, causal: true})
		add(attentionCase{name: "dropout_odd", b: 2, heads: 1, width: width, tq: 9, tk: 43, rate: 0.1, pad: true})
		add(attentionCase{name: "steep", b: 1, heads: 2, width: width, tq: 70, tk: 150, steep: true})
		add(attentionCase{name: "steep_all", b: 2, heads: 1, width: width, tq: 100, tk: 100, steep: true, pad: true, causal: true, rate: 0.5, packed: true})
	}
	add(attentionCase{name: "policy", b: 2, heads: 2, width: 32, tq: 250, tk: 250, packed: true})
	add(attentionCase{name: "square", b: 1, heads: 1, width: 32, tq: 256, tk: 256, packed: true})
	add(attentionCase{name: "square", b: 1, heads: 1, width: 64, tq: 257, tk: 257, packed: true})
	add(attentionCase{name: "long", b: 1, heads: 1, width: 32, tq: 600, tk: 600, causal: true, packed: true})
	return list
}

func attention(t *testing.T, d *Bench) {
	for i, c := range attentionCases() {
		d.Case(t, c.name, func(t *testing.T) {
			w := c.make(uint64(i))
			w.solve()
			t.Run("forward", func(t *testing.T) { w.checkForward(t, d, d.Same(t, uint64(i), w.forward)) })
			t.Run("backward", func(t *testing.T) { w.checkBackward(t, d, d.Same(t, uint64(i), w.backward)) })
		})
	}
}

// attentionData has a case's inputs, which bfloat16 represents exactly, and the float64 results. Each list has an element for each
// head of each batch row, with a matrix in row-major order.
type attentionData struct {
	attentionCase
	scale       float32
	q, k, v, do [][]float64 // [b*heads] of [t*width]
	pad         []float64   // [b,tk]
	o, logSum   [][]float64
	dq, dk, dv  [][]float64
	// Sums of absolute values. The error bounds are multiples of them.
	absO, absDQ, absDK, absDV [][]float64
}

const attentionStep, attentionSeed, attentionSite = 0xb5297a4d, 0x9e3779b97f4a7c15, 0x68e31da4

func (c attentionCase) make(seed uint64) *attentionData {
	rng := rand.New(rand.NewPCG(seed, 2))
	w := &attentionData{attentionCase: c, scale: float32(1 / math.Sqrt(float64(c.width)))}
	values := func(t int, scale func(row int) float64) [][]float64 {
		list := make([][]float64, c.b*c.heads)
		for i := range list {
			list[i] = make([]float64, t*c.width)
			for k := range list[i] {
				list[i][k] = float64(tensor.BF16FromF64(rng.NormFloat64() * scale(k/c.width)).F32())
			}
		}
		return list
	}
	one := func(int) float64 { return 1 }
	w.q, w.v, w.do = values(c.tq, one), values(c.tk, one), values(c.tq, one)
	w.k = values(c.tk, func(row int) float64 {
		if c.steep {
			return float64(row) / 2
		}
		return 1
	})
	if c.stairs {
		for h := range w.q {
			for i := range w.q[h] {
				w.q[h][i] = map[bool]float64{true: 1}[i/c.width/8%4 == h%4]
			}
			for i := range w.k[h] {
				w.k[h][i] = float64(i/c.width/4) / 4
			}
		}
	}
	if c.values != nil {
		c.values(w, rng)
	}
	for h := range w.q {
		if c.flat { // the sum of a column of values is 259 * tk
			clear(w.q[h])
			for i := range w.v[h] {
				w.v[h][i] = []float64{255, 257 + 3*float64(c.tk), 256}[min(i/c.width, 2)]
			}
		}
	}
	w.pad = make([]float64, c.b*c.tk)
	for i := range w.pad {
		if c.pad && rng.IntN(3) == 0 || c.blind && i < c.tk {
			w.pad[i] = 1
		}
	}
	return w
}

// solve computes the outputs and gradients in float64 by the formulas.
func (w *attentionData) solve() {
	n := w.b * w.heads
	list := func(t, width int) [][]float64 {
		l := make([][]float64, n)
		for i := range l {
			l[i] = make([]float64, t*width)
		}
		return l
	}
	w.o, w.logSum, w.dq, w.dk, w.dv = list(w.tq, w.width), list(w.tq, 1), list(w.tq, w.width), list(w.tk, w.width), list(w.tk, w.width)
	w.absO, w.absDQ, w.absDK, w.absDV = list(w.tq, w.width), list(w.tq, w.width), list(w.tk, w.width), list(w.tk, w.width)
	for h := range n {
		for t := range w.tq {
			w.query(h, t)
		}
	}
}

// query computes query t's output, and adds its contributions to the gradients. h is the index of the batch row and the head.
func (w *attentionData) query(h, t int) {
	row := func(m [][]float64, i int) []float64 { return m[h][i*w.width:][:w.width] }
	dot := func(a, b []float64) (s float64) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	q, do, o, absO, dq, absDQ := row(w.q, t), row(w.do, t), row(w.o, t), row(w.absO, t), row(w.dq, t), row(w.absDQ, t)
	s, most := make([]float64, w.tk), math.Inf(-1)
	for k := range s {
		s[k] = math.Inf(-1)
		if w.pad[h/w.heads*w.tk+k] == 0 && !(w.causal && k > t) {
			s[k] = dot(q, row(w.k, k)) * float64(w.scale)
			most = max(most, s[k])
		}
	}
	if most == math.Inf(-1) {
		w.logSum[h][t] = math.Inf(1)
		return
	}
	sum, factor := 0.0, 1/(1-float64(w.rate))
	for k := range s {
		s[k] = math.Exp(s[k] - most)
		sum += s[k]
	}
	w.logSum[h][t] = most*math.Log2E + math.Log2(sum)
	kept, delta, absDelta := make([]float64, w.tk), 0.0, 0.0
	for k := range s {
		s[k] /= sum
		kept[k] = factor
		if w.rate > 0 && fp32.Dropped(attentionSeed, attentionStep, attentionSite, uint64((h*w.tq+t)*w.tk+k), w.rate) {
			kept[k] = 0
		}
		for i, v := range row(w.v, k) {
			o[i] += s[k] * kept[k] * v
			absO[i] += s[k] * kept[k] * math.Abs(v)
		}
	}
	for i, o := range o {
		delta += o * do[i]
		absDelta += absO[i] * math.Abs(do[i])
	}
	for k := range s {
		if s[k] == 0 {
			continue
		}
		p, key, dk, absDK, dv, absDV := s[k]*kept[k], row(w.k, k), row(w.dk, k), row(w.absDK, k), row(w.dv, k), row(w.absDV, k)
		g := kept[k] * dot(do, row(w.v, k))
		d := s[k] * (g - delta) * float64(w.scale)
		abs := s[k] * (math.Abs(g) + absDelta) * float64(w.scale)
		for i := range w.width {
			dq[i] += d * key[i]
			dk[i] += d * q[i]
			dv[i] += p * do[i]
			absDQ[i] += abs * math.Abs(key[i])
			absDK[i] += abs * math.Abs(q[i])
			absDV[i] += p * math.Abs(do[i])
		}
	}
}

// flat returns matrices per head as one matrix [b*t, heads*width].
func (w *attentionData) flat(values [][]float64, t int) []float64 {
	list := make([]float64, len(values)*t*w.width)
	for h, from := range values {
		for i := range t {
			copy(list[((h/w.heads*t+i)*w.heads+h%w.heads)*w.width:][:w.width], from[i*w.width:][:w.width])
		}
	}
	return list
}

// tensors returns matrices with t[i] rows per batch row and head: inputs if values[i] is not nil, otherwise outputs. If the case is
// packed, they are columns of one matrix.
func (w *attentionData) tensors(m *Maker, name string, t []int, values ...[][]float64) (list []*tensor.Tensor) {
	d := w.heads * w.width
	if !w.packed {
		for i, v := range values {
			switch {
			case v == nil:
				list = append(list, m.Out(fmt.Sprint(name, i), 0, w.b*t[i], d))
			default:
				list = append(list, m.Of(0, w.flat(v, t[i]), w.b*t[i], d))
			}
		}
		return list
	}
	const left, right = 8, 16
	columns := left + len(values)*d + right
	all := make([]float64, w.b*t[0]*columns)
	for i := range all {
		all[i] = math.NaN()
	}
	for i, v := range values {
		for k, x := range w.flat(v, t[0]) {
			all[k/d*columns+left+i*d+k%d] = x
		}
	}
	whole := m.Of(0, all, w.b*t[0], columns)
	m.InOut(name, whole)
	for i := range values {
		part, err := whole.Slice(1, left+i*d, left+(i+1)*d)
		require.NoError(m.t, err)
		list = append(list, part)
	}
	return list
}

func (w *attentionData) job(m *Maker) *backend.AttentionJob {
	k, v := clonePadded(w, w.k), clonePadded(w, w.v)
	in := w.tensors(m, "QKV", []int{w.tq, w.tk, w.tk}, w.q, k, v)
	j := &backend.AttentionJob{B: w.b, Heads: w.heads, Width: w.width, TQ: w.tq, TK: w.tk, Scale: w.scale, Causal: w.causal, Q: in[0], K: in[1], V: in[2]}
	if w.pad != nil && (w.attentionCase.pad || w.blind) {
		j.Pad = m.Of(tensor.U8, w.pad, w.b, w.tk)
	}
	if w.rate > 0 {
		state := m.Of(tensor.I64, []float64{attentionStep, 0, 0, 0, 0, 0, 0, 0}, backend.StateWords)
		j.Dropout = backend.Dropout{Rate: w.rate, Seed: attentionSeed, Site: attentionSite, State: state}
	}
	return j
}

// clonePadded returns a copy of the keys or values with NaN for keys that are padding, because no query may read them.
func clonePadded(w *attentionData, values [][]float64) [][]float64 {
	list := make([][]float64, len(values))
	for h, from := range values {
		list[h] = append([]float64{}, from...)
		for i := range list[h] {
			if w.pad[h/w.heads*w.tk+i/w.width] != 0 {
				list[h][i] = math.NaN()
			}
		}
	}
	return list
}

func (w *attentionData) forward(m *Maker) (backend.Plan, error) {
	j := w.job(m)
	j.O = w.tensors(m, "O", []int{w.tq}, nil)[0]
	j.LogSum = m.Out("LogSum", tensor.F32, w.b, w.heads, w.tq)
	return m.NN().Attention(j)
}

func (w *attentionData) backward(m *Maker) (backend.Plan, error) {
	j := &backend.AttentionBackwardJob{AttentionJob: *w.job(m)}
	in := w.tensors(m, "O", []int{w.tq, w.tq}, w.o, w.do)
	j.O, j.DO = in[0], in[1]
	var logs []float64
	for _, l := range w.logSum {
		logs = append(logs, l...)
	}
	j.LogSum = m.Of(tensor.F32, logs, w.b, w.heads, w.tq)
	out := w.tensors(m, "D", []int{w.tq, w.tk, w.tk}, nil, nil, nil)
	j.DQ, j.DK, j.DV = out[0], out[1], out[2]
	return m.NN().AttentionBackward(j)
}

// part returns matrix i of the n that tensors returned for a name, as rows [b*t, heads*width].
func (w *attentionData) part(got map[string][]float64, name string, i, n, t int) []float64 {
	if !w.packed {
		return got[fmt.Sprint(name, i)]
	}
	d := w.heads * w.width
	columns, all := 8+n*d+16, got[name]
	var list []float64
	for r := range w.b * t {
		list = append(list, all[r*columns+8+i*d:][:d]...)
	}
	return list
}

func (w *attentionData) checkForward(t *testing.T, d *Bench, got map[string][]float64) {
	eps := d.epsilon()
	want, abs := w.flat(w.o, w.tq), w.flat(w.absO, w.tq)
	Within(t, "O", w.part(got, "O", 0, 1, w.tq), want, func(i int) float64 { return eps*(abs[i]+math.Abs(want[i]))*w.scores() + underflow })
	for h, list := range w.logSum {
		for i, v := range list {
			g := got["LogSum"][h*w.tq+i]
			if g != v && !(math.Abs(g-v) <= eps*w.scores()*(1+math.Abs(v)/64)) {
				t.Fatalf("LogSum[%d,%d]: got %v, want %v", h, i, g, v)
			}
		}
	}
}

// epsilon returns the relative rounding error of the device's Working dtype, with a margin for the sums.
func (b *Bench) epsilon() float64 {
	if b.Exact() {
		return 0x1.1p-8
	}
	return 0x1p-18
}

// scores returns the factor by which large float32 scores increase the error.
func (w *attentionData) scores() float64 {
	if w.steep {
		return 4
	}
	return 1
}

func (w *attentionData) checkBackward(t *testing.T, d *Bench, got map[string][]float64) {
	eps := d.epsilon() * w.scores()
	check := func(name string, i, t1 int, want, abs [][]float64) {
		list, bound := w.flat(want, t1), w.flat(abs, t1)
		Within(t, name, w.part(got, "D", i, 3, t1), list, func(i int) float64 { return eps*(2*bound[i]+math.Abs(list[i])) + underflow })
	}
	check("DQ", 0, w.tq, w.dq, w.absDQ)
	check("DK", 1, w.tk, w.dk, w.absDK)
	check("DV", 2, w.tk, w.dv, w.absDV)
}

// underflow bounds the absolute error of numbers that are too small for float32.
const underflow = 1e-30
