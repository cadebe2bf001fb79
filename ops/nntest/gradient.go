package nntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"gradient", gradients}) }

func gradients(t *testing.T, d *Bench) {
	for i, c := range weightCases() {
		d.Case(t, "weights/"+c.name, func(t *testing.T) { c.check(t, d.Same(t, uint64(i), c.job)) })
	}
	for i, c := range normCases {
		d.Case(t, fmt.Sprintf("norm/%d", i), func(t *testing.T) { c.check(t, d.Same(t, uint64(i), c.norm)) })
	}
	for i, c := range adamWCases {
		d.Case(t, "adamw/"+c.name, func(t *testing.T) { c.check(t, d.Same(t, uint64(i), c.adamW)) })
	}
}

// weightCase is a WeightGradient. All that lies in Gradient between the items is left as it was.
type weightCase struct {
	name     string
	splits   int
	products []productShape
	sums     [][2]int // rows and columns
}

type productShape struct {
	m, n, k int
	with    productWith
}

type productWith uint8

const (
	bias    productWith = 1 << iota
	apart               // activations lie between other columns, and rows of the weight apart
	zeroEnd             // the last 16 columns of both are padding
)

func weightCases() (list []weightCase) {
	add := func(name string, splits int, products []productShape, sums ...[2]int) {
		list = append(list, weightCase{name, splits, products, sums})
	}
	for _, m := range []int{1, 16, 17, 63, 64, 65, 128, 200, 321} {
		add(fmt.Sprintf("rows%d", m), 1+m%4, []productShape{{m, 48, 32, bias}})
	}
	for splits := 1; splits <= 8; splits++ {
		add(fmt.Sprintf("splits%d", splits), splits, []productShape{{64*splits - 20, 32, 16, bias}}, [2]int{21, 32})
	}
	for _, n := range []int{16, 64, 80, 128, 144, 272} {
		add(fmt.Sprintf("weight%dx48", n), 2, []productShape{{70, n, 48, bias | apart}})
		add(fmt.Sprintf("weight48x%d", n), 2, []productShape{{70, 48, n, bias | zeroEnd}})
		add(fmt.Sprintf("weight%dx256", n), 1, []productShape{{40, n, 160, 0}})
	}
	for _, rows := range []int{1, 7, 8, 9, 33} {
		add(fmt.Sprintf("sums%d", rows), 3, nil, [2]int{rows, 16}, [2]int{rows, 1040})
	}
	add("large", 3, []productShape{{150, 144, 144, bias | apart}, {150, 208, 336, bias}, {150, 128, 256, 0}})
	for wide := 160; wide < 256; wide += 16 {
		add(fmt.Sprintf("large144x%d", wide), 1, []productShape{{20, 144, wide, apart}})
	}
	// All of a layer at once, and what is beside layers.
	add("layer", 4, []productShape{{300, 192, 64, bias}, {300, 64, 64, bias | apart}, {300, 128, 64, bias}, {300, 64, 128, bias}, {300, 256, 256, bias},
		{12, 32, 64, bias | zeroEnd}, {300, 64, 16, 0}},
		[2]int{5, 64}, [2]int{6, 1024})
	return list
}

// places are where the items lie in Gradient: offsets, and where the bias of each product lies.
func (c weightCase) places() (offsets, biases, strides []int, p int) {
	for _, s := range c.products {
		stride := s.k
		if s.with&apart != 0 {
			stride += 16
		}
		offsets, strides, biases = append(offsets, p), append(strides, stride), append(biases, -1)
		p += s.n*stride + 16
		if s.with&bias != 0 {
			biases[len(biases)-1] = p
			p += s.n
		}
	}
	for _, s := range c.sums {
		offsets = append(offsets, p)
		p += s[1] + 16
	}
	return offsets, biases, strides, p
}

func (c weightCase) job(m *Maker) (backend.Plan, error) {
	offsets, biases, strides, p := c.places()
	job := &backend.WeightGradientJob{Splits: c.splits, Gradient: m.Out("gradient", tensor.F32, p)}
	side := func(name string, rows, columns int, with productWith) *tensor.Tensor {
		wide := columns
		if with&apart != 0 {
			wide += 24
		}
		list := make([]float64, rows*wide)
		for i := range list {
			if with&zeroEnd == 0 || i%wide < wide-16 {
				list[i] = float64(tensor.BF16FromF64(m.Rand().NormFloat64()).F32())
			}
		}
		t := m.Of(0, list, rows, wide)
		if with&apart != 0 {
			var err error
			m.InOut(name, t)
			t, err = t.Slice(1, 16, 16+columns)
			require.NoError(m.t, err)
			return t
		}
		m.InOut(name, t)
		return t
	}
	for i, s := range c.products {
		dy, x := side(fmt.Sprint("dy", i), s.m, s.n, s.with), side(fmt.Sprint("x", i), s.m, s.k, s.with)
		job.Products = append(job.Products, backend.ProductGradient{DY: dy, X: x, M: s.m, N: s.n, K: s.k,
			Offset: offsets[i], Stride: strides[i], BiasOffset: biases[i]})
	}
	for i, s := range c.sums {
		list := make([]float64, s[0]*s[1])
		for i := range list {
			list[i] = float64(float32(m.Rand().NormFloat64()))
		}
		x := m.Of(tensor.F32, list, s[0], s[1])
		m.InOut(fmt.Sprint("sum", i), x)
		job.Sums = append(job.Sums, backend.ColumnSum{X: x, R: s[0], N: s[1], Offset: offsets[len(c.products)+i]})
	}
	return m.NN().WeightGradient(job)
}

// check compares with sums in float64.
func (c weightCase) check(t *testing.T, got map[string][]float64) {
	offsets, biases, strides, p := c.places()
	want, size := make([]float64, p), make([]float64, p) // size is of the terms
	for i := range want {
		want[i] = math.NaN()
	}
	begin := func(at int) { want[at], size[at] = 0, 0 }
	add := func(at int, v float64) { want[at] += v; size[at] += math.Abs(v) }
	for i, s := range c.products {
		wideN, wideK, from := s.n, s.k, 0
		if s.with&apart != 0 {
			wideN, wideK, from = s.n+24, s.k+24, 16
		}
		dy, x := got[fmt.Sprint("dy", i)], got[fmt.Sprint("x", i)]
		for n := range s.n {
			at := offsets[i] + n*strides[i]
			for k := range s.k {
				begin(at + k)
				for m := range s.m {
					add(at+k, dy[m*wideN+from+n]*x[m*wideK+from+k])
				}
			}
			if at := biases[i] + n; biases[i] >= 0 {
				begin(at)
				for m := range s.m {
					add(at, dy[m*wideN+from+n])
				}
			}
		}
	}
	for i, s := range c.sums {
		for n := range s[1] {
			at := offsets[len(c.products)+i] + n
			begin(at)
			for r := range s[0] {
				add(at, got[fmt.Sprint("sum", i)][r*s[1]+n])
			}
		}
	}
	gradient := got["gradient"]
	for i, w := range want {
		if math.IsNaN(w) {
			require.True(t, math.IsNaN(gradient[i]), "gradient[%d], which no item has, is %v", i, gradient[i])
			gradient[i], want[i] = 0, 0
		}
	}
	Within(t, "gradient", gradient, want, func(i int) float64 { return 100 * size[i] * 0x1p-24 })
}

// stepCase is a GradientNorm or an AdamW.
type stepCase struct {
	name        string
	ranks       int
	p, from, to int
	squares     bool    // there are some, whose sum is known
	maxNorm     float64 // in norms
	state       [2]int64
	bad         float64 // is element from+3 of the gradient, if it is not 0
	copies      bool
	sparse      bool   // of each chunk three elements are not 0: see fewOf
	few         uint64 // a seed: few squares are not 0, see fewSquares
}

var normCases = []stepCase{
	{ranks: 1, p: 16, to: 16},
	{ranks: 1, p: 4096, to: 4096},
	{ranks: 2, p: 4096*2 + 1040, to: 4096*2 + 1040},
	{ranks: 3, p: 4096*3 + 32, from: 4096, to: 4096 * 3},
	{ranks: 2, p: 4096*2 + 32, from: 8192, to: 4096*2 + 32},
	{ranks: 1, p: 4128, to: 4128, bad: math.Inf(1)},
	{ranks: 4, p: 4096 + 48, to: 4096 + 48},
	{ranks: 5, p: 4096*2 + 32, from: 4096, to: 4096*2 + 32},
	{ranks: 1, p: 4096 * 64, to: 4096 * 64, sparse: true},
}

var adamWCases = []stepCase{
	{name: "first", ranks: 1, p: 1040, to: 1040, state: [2]int64{1, 0}},
	{name: "second", ranks: 1, p: 32, to: 32, state: [2]int64{2, 0}},
	{name: "last of the schedule", ranks: 1, p: 48, to: 48, state: [2]int64{3, 0}},
	{name: "behind the schedule", ranks: 1, p: 48, to: 48, state: [2]int64{1000, 0}},
	{name: "before the first", ranks: 1, p: 48, to: 48},
	{name: "two ranks", ranks: 2, p: 9000 / 16 * 16, from: 4096, to: 8192, state: [2]int64{2, 0}, copies: true},
	{name: "three ranks", ranks: 3, p: 9008, from: 8192, to: 9008, state: [2]int64{2, 0}, copies: true},
	{name: "norm", ranks: 1, p: 9008, to: 9008, state: [2]int64{2, 0}, squares: true},
	{name: "clipped", ranks: 1, p: 9008, to: 9008, state: [2]int64{2, 0}, squares: true, maxNorm: 0.25},
	{name: "not clipped", ranks: 1, p: 9008, from: 4096, to: 9008, state: [2]int64{2, 0}, squares: true, maxNorm: 4, copies: true},
	{name: "norm of many chunks", ranks: 1, p: 4096 * 300, from: 4096 * 299, to: 4096 * 300, state: [2]int64{2, 0}, squares: true, maxNorm: 0.5},
	{name: "roundings of the norm, 0", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 3016},
	{name: "roundings of the norm, 1", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 909},
	{name: "roundings of the norm, 2", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 1182},
	{name: "roundings of the norm, 3", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 2535},
	{name: "bad before", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 7}},
	{name: "bad before, with a norm", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 1}, squares: true},
	{name: "an infinite gradient", ranks: 1, p: 40960, from: 4096, to: 40960, state: [2]int64{2, 0}, bad: math.Inf(-1), copies: true},
	{name: "a gradient that is no number", ranks: 2, p: 4128, to: 4128, state: [2]int64{2, 0}, bad: math.NaN()},
	{name: "a norm that is no number", ranks: 1, p: 40960, to: 40960, state: [2]int64{2, 0}, squares: true, bad: math.NaN(), maxNorm: 1},
	{name: "a norm too large", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 0}, squares: true, bad: 1e30},
}

const testScale = 0x1.333334p-2 // 0.3, as float32

// of makes the gradients of all ranks.
func (c stepCase) of(m *Maker) (list []*tensor.Tensor) {
	for r := range c.ranks {
		all := make([]float64, c.p)
		for i := range all {
			if c.sparse && !fewOf(i/backend.NormChunk, i%backend.NormChunk) {
				continue
			}
			if i%16 < 13 { // the others are padding
				all[i] = float64(float32(m.Rand().NormFloat64() * 0.01))
			}
		}
		if c.bad != 0 && r == c.ranks-1 {
			all[c.from+3] = c.bad
		}
		t := m.Of(tensor.F32, all, c.p)
		m.InOut(fmt.Sprint("gradient", r), t)
		list = append(list, t)
	}
	return list
}

// fewOf reports whether an element of a chunk is one of three: two that a thread adds one after the other, and one of a thread whose sum its own meets, at
// another distance from chunk to chunk.
func fewOf(chunk, i int) bool {
	part, thread, c := i/1024, i%1024/4, i%4
	own := chunk / 8 * 4
	return thread == own && part == chunk%4 && c/2 == chunk/4%2 || thread == own^1<<(chunk%8) && part == 0 && c == 0
}

func (c stepCase) norm(m *Maker) (backend.Plan, error) {
	job := &backend.GradientNormJob{Gradients: c.of(m), From: c.from, To: c.to, Scale: testScale,
		Sum: m.Out("sum", tensor.F32, c.p)}
	for r := range c.ranks {
		job.Squares = append(job.Squares, m.Out(fmt.Sprint("squares", r), tensor.F32, chunks(c.p)))
	}
	return m.NN().GradientNorm(job)
}

func chunks(p int) int { return (p + backend.NormChunk - 1) / backend.NormChunk }

// gradients are the sums that are wanted.
func (c stepCase) gradients(got map[string][]float64, scale float64) (g, size []float64) {
	g, size = make([]float64, c.p), make([]float64, c.p)
	for r := range c.ranks {
		for i, x := range got[fmt.Sprint("gradient", r)] {
			g[i] += x * scale
			size[i] += math.Abs(x * scale)
		}
	}
	return g, size
}

func (c stepCase) check(t *testing.T, got map[string][]float64) {
	if got["params"] != nil {
		c.checkStep(t, got)
		return
	}
	g, size := c.gradients(got, testScale)
	for i := range c.p {
		inside := i >= c.from && i < c.to
		if s := got["sum"][i]; inside && !math.IsInf(g[i], 0) {
			assert.LessOrEqual(t, math.Abs(s-g[i]), 50*size[i]*0x1p-24, "sum %d", i)
		} else if inside {
			assert.Equal(t, g[i], s)
		} else {
			assert.True(t, math.IsNaN(s), "sum %d, of another rank, is %v", i, s)
		}
	}
	for r := 1; r < c.ranks; r++ {
		assert.Equal(t, fmt.Sprint(got["squares0"]), fmt.Sprint(got[fmt.Sprint("squares", r)]), "those of rank %d", r) // of which some are no numbers
	}
	for i, s := range got["squares0"] {
		lo, hi := i*backend.NormChunk, min((i+1)*backend.NormChunk, c.p)
		if lo < c.from || lo >= c.to {
			assert.True(t, math.IsNaN(s), "squares %d, of another rank, are %v", i, s)
			continue
		}
		want := 0.0
		for _, x := range g[lo:hi] {
			want += x * x
		}
		if math.IsInf(want, 0) {
			assert.Equal(t, want, s)
		} else {
			assert.InEpsilon(t, want, s, 1e-5)
		}
	}
}

// The schedule of the cases: step s has the learning rate s/1000, and weight decay 0.1.
const (
	testBeta1, testBeta2 = 0.9, 0.99
	testEps              = 1e-6
	testSteps            = 3
)

func (c stepCase) adamW(m *Maker) (backend.Plan, error) {
	job := &backend.AdamWJob{Gradients: c.of(m), From: c.from, To: c.to, Scale: testScale, Beta1: testBeta1, Beta2: testBeta2, Eps: testEps}
	inOut := func(name string, list []float64) *tensor.Tensor {
		for i := range list {
			if i%16 >= 13 {
				list[i] = 0
			}
		}
		t := m.Of(tensor.F32, list, c.p)
		before := m.Of(tensor.F32, list, c.p)
		m.InOut(name, t)
		m.InOut(name+" before", before)
		return t
	}
	random := func(scale float64, f func(float64) float64) []float64 {
		list := make([]float64, c.p)
		for i := range list {
			list[i] = float64(float32(f(m.Rand().NormFloat64()) * scale))
		}
		return list
	}
	id := func(x float64) float64 { return x }
	job.Params, job.M, job.V = inOut("params", random(1, id)), inOut("m", random(0.01, id)), inOut("v", random(0.0001, math.Abs))
	if m.NN().Working() != tensor.F32 {
		for r := range c.ranks {
			job.Working = append(job.Working, m.Out(fmt.Sprint("working", r), 0, c.p))
		}
	}
	if c.copies {
		for r := range c.ranks {
			job.Copies = append(job.Copies, m.Out(fmt.Sprint("copy", r), tensor.F32, c.p))
		}
	}
	var schedule []float64
	for s := 1.0; s <= testSteps; s++ {
		schedule = append(schedule, s/1000/(1-math.Pow(testBeta1, s)), math.Sqrt(1-math.Pow(testBeta2, s)), 1-s/1000*0.1, 0)
	}
	job.Schedule = m.Of(tensor.F32, schedule, testSteps, 4)
	state := make([]float64, backend.StateWords)
	state[backend.StateStep], state[backend.StateBad] = float64(c.state[0]), float64(c.state[1])
	job.State = m.Of(tensor.I64, state, backend.StateWords)
	m.InOut("state", job.State)
	if c.squares {
		job.Squares, job.Norm = m.Of(tensor.F32, c.squaresOf(), chunks(c.p)), m.Out("norm", tensor.F32, 1)
		if job.MaxNorm = 1; c.bad == 0 {
			job.MaxNorm = float32(c.maxNorm * c.wantNorm())
		}
	}
	return m.NN().AdamW(job)
}

// fewSquares are not 0 where threads that are folded meet, each addition one that rounds the sum up: if one were cut, the norm would be another, which the
// square root hides of most sums. The seeds were looked for; the seed's last bits say which of four groups of threads meets at the first fold.
func (c stepCase) fewSquares() []float64 {
	r := rand.New(rand.NewPCG(c.few, 1))
	list := make([]float64, chunks(c.p))
	for _, i := range []int{0, 1, 2, 4, 8, 16, 32, 64, 96, 256} {
		list[i] = float64(float32(r.Float64() / 16))
	}
	group := 32 * int(c.few%4)
	list[group] = float64(float32(list[group]) + float32(1+r.Float64()))
	list[group+128] = float64(float32(r.Float64()))
	return list
}

// squaresOf are made up: of each chunk others, or few, or what is bad.
func (c stepCase) squaresOf() []float64 {
	if c.few > 0 {
		return c.fewSquares()
	}
	list := make([]float64, chunks(c.p))
	for i := range list {
		list[i] = float64(float32(0.25 + math.Sin(float64(i))/8))
	}
	if c.bad != 0 {
		list[len(list)/2] = c.bad * c.bad
	}
	return list
}

func (c stepCase) wantNorm() float64 {
	sum := 0.0
	for _, x := range c.squaresOf() {
		sum += x
	}
	return math.Sqrt(sum)
}

// checkStep compares with a step in float64.
func (c stepCase) checkStep(t *testing.T, got map[string][]float64) {
	badNorm := c.squares && c.bad != 0
	state := got["state"]
	assert.Equal(t, []float64{float64(c.state[0]), 0, 0}, []float64{state[backend.StateStep], state[backend.StateValid], state[backend.StateTicket]})
	switch {
	case c.state[1] != 0:
		assert.EqualValues(t, c.state[1], state[backend.StateBad])
	case c.bad != 0:
		assert.EqualValues(t, max(c.state[0], 1), state[backend.StateBad])
	default:
		assert.Zero(t, state[backend.StateBad])
	}
	clip := 1.0
	if c.squares && c.state[1] == 0 {
		if norm := got["norm"][0]; badNorm {
			assert.True(t, math.IsNaN(norm) || math.IsInf(norm, 0), "norm %v", norm)
		} else {
			assert.InEpsilon(t, c.wantNorm(), norm, 1e-6)
		}
		if c.maxNorm > 0 {
			clip = min(1, c.maxNorm*c.wantNorm()/(c.wantNorm()+1e-6))
		}
	} else if c.squares {
		assert.True(t, math.IsNaN(got["norm"][0]), "norm was written")
	}
	still := c.state[1] != 0 || badNorm
	g, _ := c.gradients(got, testScale*clip)
	s := float64(min(max(c.state[0], 1), testSteps))
	before := func(name string) []float64 { return slices.Clone(got[name+" before"]) }
	p, m, v := before("params"), before("m"), before("v")
	for i := c.from; i < c.to && !still; i++ {
		if math.IsInf(g[i], 0) || math.IsNaN(g[i]) {
			continue
		}
		lr := s / 1000
		m[i] = testBeta1*m[i] + (1-testBeta1)*g[i]
		v[i] = testBeta2*v[i] + (1-testBeta2)*g[i]*g[i]
		p[i] = p[i]*(1-lr*0.1) - lr*(m[i]/(1-math.Pow(testBeta1, s)))/(math.Sqrt(v[i]/(1-math.Pow(testBeta2, s)))+testEps)
	}
	near := func(size float64) func(int) float64 {
		return func(i int) float64 {
			if still || i < c.from || i >= c.to || i%16 >= 13 {
				return 0
			}
			return size
		}
	}
	Within(t, "params", got["params"], p, near(2e-6))
	Within(t, "m", got["m"], m, near(1e-8))
	Within(t, "v", got["v"], v, near(1e-9))
	for r := range c.ranks {
		for name, of := range map[string]func(float32) float64{
			"working": func(x float32) float64 { return float64(tensor.BF16FromF32(x).F32()) },
			"copy":    func(x float32) float64 { return float64(x) },
		} {
			list := got[fmt.Sprint(name, r)]
			for i := range list {
				if still || i < c.from || i >= c.to {
					require.True(t, math.IsNaN(list[i]), "%s%d[%d] was written: %v", name, r, i, list[i])
				} else {
					require.Equal(t, of(float32(got["params"][i])), list[i], "%s%d[%d]", name, r, i)
				}
			}
		}
	}
}
