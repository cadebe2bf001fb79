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

// stepCase is a case for GradientNorm or AdamW. The step updates elements from..to-1 of p.
type stepCase struct {
	name        string
	ranks       int
	p, from, to int
	squares     bool    // the job has sums of squares, so it computes a norm
	maxNorm     float64 // the limit, as a multiple of the gradient's norm
	state       [2]int64
	bad         float64 // value of element from+3 of the gradient, if not 0
	copies      bool
	largest     bool                    // the gradient begins with the largest float32 numbers and is not scaled
	elements    func(chunk, i int) bool // reports whether an element of a chunk is not 0: threeOf or oneOf; nil means all
	few         uint64                  // if not 0, a seed for fewSquares
	average     bool                    // the job has an average
	batches     int                     // in a step; 0 means 1
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
	{ranks: 1, p: 1024, to: 1024},
	{ranks: 1, p: 2048, to: 2048},
	{ranks: 1, p: 4096 + 3072, to: 4096 + 3072},
	{ranks: 1, p: 4096 * 64, to: 4096 * 64, elements: threeOf},
	{ranks: 1, p: 4096 * 16, to: 4096 * 16, elements: oneOf},
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
	{name: "norm roundings, 0", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 3016},
	{name: "norm roundings, 1", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 909},
	{name: "norm roundings, 2", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 1182},
	{name: "norm roundings, 3", ranks: 1, p: 4096 * 257, from: 4096 * 256, to: 4096 * 257, state: [2]int64{2, 0}, squares: true, few: 2535},
	{name: "average", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 0}, average: true},
	{name: "average, in part", ranks: 2, p: 9008, from: 4096, to: 9008, state: [2]int64{3, 0}, squares: true, copies: true, average: true},
	{name: "bad before, with an average", ranks: 1, p: 48, to: 48, state: [2]int64{2, 1}, average: true},
	{name: "average with an infinite gradient", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 0}, bad: math.Inf(1), average: true},
	{name: "batches", ranks: 1, p: 48, to: 48, state: [2]int64{8, 0}, batches: 4, average: true},
	{name: "batches before a step", ranks: 1, p: 48, to: 48, state: [2]int64{3, 0}, batches: 4},
	{name: "bad before", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 7}},
	{name: "bad before, with a norm", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 1}, squares: true},
	{name: "an infinite gradient", ranks: 1, p: 40960, from: 4096, to: 40960, state: [2]int64{2, 0}, bad: math.Inf(-1), copies: true},
	{name: "a gradient that is no number", ranks: 2, p: 4128, to: 4128, state: [2]int64{2, 0}, bad: math.NaN()},
	{name: "the largest gradient", ranks: 1, p: 48, to: 48, state: [2]int64{2, 0}, largest: true},
	{name: "a norm that is no number", ranks: 1, p: 40960, to: 40960, state: [2]int64{2, 0}, squares: true, bad: math.NaN(), maxNorm: 1},
	{name: "a norm too large", ranks: 1, p: 4128, to: 4128, state: [2]int64{2, 0}, squares: true, bad: 1e30},
}

const testScale = 0x1.333334p-2 // 0.3, as float32

// of makes the gradients of all ranks.
func (c stepCase) of(m *Maker) (list []*tensor.Tensor) {
	for r := range c.ranks {
		all := make([]float64, c.p)
		for i := range all {
			if !c.near(i) || c.elements != nil && !c.elements(i/backend.NormChunk, i%backend.NormChunk) {
				continue
			}
			for i%16 < 13 { // the last 3 of 16 columns are padding
				all[i] = float64(float32(m.Rand().NormFloat64() * 0.01))
				if c.elements == nil || squareRoundsUp(float32(all[i])*c.scale()) {
					break
				}
			}
		}
		for i := 0; c.largest && i < 4; i++ {
			all[i] = math.Copysign(math.MaxFloat32, float64(i%2)-0.5)
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

// near reports whether element i is in the step's range, or at most a chunk away from it. The other elements are 0, because a million
// random numbers take too long.
func (c stepCase) near(i int) bool {
	return i >= c.from-backend.NormChunk && i < c.to+backend.NormChunk
}

func (c stepCase) scale() float32 {
	if c.largest {
		return 1
	}
	return testScale
}

// squareRoundsUp reports whether rounding x² to float32 gives a larger number. Truncation would then give another one.
func squareRoundsUp(x float32) bool {
	exact := float64(x) * float64(x) // exact, because the product has 48 bits
	return float64(float32(exact)) > exact
}

// oneOf reports whether element i is the only one in its chunk that is not 0. The chunks take the 16 elements of one thread in turn.
func oneOf(chunk, i int) bool {
	part, thread, c := i/1024, i%1024/4, i%4
	return part == chunk%4 && c == chunk/4%4 && thread == 0
}

// threeOf reports whether element i is one of three in its chunk that are not 0: two that one thread adds, and one of another thread.
// The distance between the two threads changes from chunk to chunk.
func threeOf(chunk, i int) bool {
	part, thread, c := i/1024, i%1024/4, i%4
	own := chunk / 8 * 36
	return thread == own && part == chunk%4 && c/2 == chunk/4%2 || thread == own^1<<(chunk%8) && part == 0 && c == 0
}

func (c stepCase) norm(m *Maker) (backend.Plan, error) {
	job := &backend.GradientNormJob{Gradients: c.of(m), From: c.from, To: c.to, Scale: c.scale(),
		Sum: m.Out("sum", tensor.F32, c.p)}
	for r := range c.ranks {
		job.Squares = append(job.Squares, m.Out(fmt.Sprint("squares", r), tensor.F32, chunks(c.p)))
	}
	return m.NN().GradientNorm(job)
}

func chunks(p int) int { return (p + backend.NormChunk - 1) / backend.NormChunk }

// gradients returns the expected sums over the ranks, and the sums of the absolute values.
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
	g, size := c.gradients(got, float64(c.scale()))
	for i := range c.p {
		inside := i >= c.from && i < c.to
		if s := got["sum"][i]; inside && !math.IsInf(g[i], 0) {
			assert.LessOrEqual(t, math.Abs(s-g[i]), 50*size[i]*0x1p-24, "sum %d", i)
		} else if inside {
			assert.Equal(t, g[i], s)
		} else {
			assert.True(t, math.IsNaN(s), "sum %d, from another rank, is %v", i, s)
		}
	}
	for r := 1; r < c.ranks; r++ {
		assert.Equal(t, fmt.Sprint(got["squares0"]), fmt.Sprint(got[fmt.Sprint("squares", r)]), "those of rank %d", r) // some are NaN
	}
	for i, s := range got["squares0"] {
		lo, hi := i*backend.NormChunk, min((i+1)*backend.NormChunk, c.p)
		if lo < c.from || lo >= c.to {
			assert.True(t, math.IsNaN(s), "squares %d, from another rank, are %v", i, s)
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

// The optimiser's settings. Step s of the schedule has the learning rate s/1000, the weight decay 0.1 and the share 1/s.
const (
	testBeta1, testBeta2 = 0.9, 0.99
	testEps              = 1e-6
	testSteps            = 3
)

func (c stepCase) adamW(m *Maker) (backend.Plan, error) {
	job := &backend.AdamWJob{Gradients: c.of(m), From: c.from, To: c.to, Scale: c.scale(), Beta1: testBeta1, Beta2: testBeta2, Eps: testEps, Batches: max(c.batches, 1)}
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
			if c.near(i) {
				list[i] = float64(float32(f(m.Rand().NormFloat64()) * scale))
			}
		}
		return list
	}
	id := func(x float64) float64 { return x }
	job.Params, job.M, job.V = inOut("params", random(1, id)), inOut("m", random(0.01, id)), inOut("v", random(0.0001, math.Abs))
	if c.average {
		job.Average = inOut("average", random(1, id))
	}
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
		schedule = append(schedule, s/1000/(1-math.Pow(testBeta1, s)), math.Sqrt(1-math.Pow(testBeta2, s)), 1-s/1000*0.1, 1/s)
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

// fewSquares returns sums of squares that are 0 except for a few, which the threads of a reduction add to each other. Each addition
// rounds up. If one truncated, the norm would differ; for most sums the square root would hide that. The seeds were found by a
// search. The seed modulo 4 selects the group of 32 threads for the first addition.
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

// squaresOf returns the sums of squares for the job: fewSquares, or a different number for each chunk, with the bad value's square in
// the middle one.
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

// checkStep compares the outputs with a float64 step.
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
	g, _ := c.gradients(got, float64(c.scale())*clip)
	s := float64(min(max(c.state[0]/int64(max(c.batches, 1)), 1), testSteps))
	before := func(name string) []float64 { return slices.Clone(got[name+" before"]) }
	p, m, v, average := before("params"), before("m"), before("v"), before("average")
	for i := c.from; i < c.to && !still; i++ {
		if math.IsInf(g[i], 0) || math.IsNaN(g[i]) {
			continue
		}
		lr := s / 1000
		m[i] = testBeta1*m[i] + (1-testBeta1)*g[i]
		v[i] = float64(float32(testBeta2*v[i] + (1-testBeta2)*g[i]*g[i])) // may be infinite
		p[i] = p[i]*(1-lr*0.1) - lr*(m[i]/(1-math.Pow(testBeta1, s)))/(math.Sqrt(v[i]/(1-math.Pow(testBeta2, s)))+testEps)
	}
	near := func(name string, want []float64, size float64) {
		Within(t, name, got[name], want, func(i int) float64 {
			if still || i < c.from || i >= c.to || i%16 >= 13 {
				return 0
			}
			return size * max(1, math.Abs(want[i]))
		})
	}
	near("params", p, 2e-6)
	near("m", m, 1e-8)
	near("v", v, 1e-9)
	for i := c.from; i < c.to && c.average && !still; i++ {
		average[i] += (p[i] - average[i]) / s
	}
	if c.average {
		near("average", average, 2e-6)
	}
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
