package nntest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"noise", noise}) }

// noiseCase is a case for Noise and Sample: b rows of t tokens, with chunks of c tokens of a values at a column. An embedding has e
// columns, for each of k levels.
type noiseCase struct{ b, t, c, a, column, e, k int }

func noise(t *testing.T, b *Bench) {
	for i, c := range []noiseCase{{1, 1, 1, 1, 0, 1, 1}, {3, 18, 16, 2, 20, 64, 10}, {70, 5, 2, 7, 3, 6, 3}, {9, 33, 31, 26, 11, 16, 1000}} {
		b.Case(t, fmt.Sprintf("%dx%dx%d", c.b, c.c, c.a), func(t *testing.T) { c.noise(t, b, uint64(i)) })
		for _, s := range []backend.SampleStep{{Level: 0}, {KeepX: 1, KeepV: 0.5, Limit: 0.75, FromY: 1, Level: -1},
			{KeepX: 0.5, KeepV: -0.25, Limit: 1, FromX: 0.3, FromY: 0.6, Noise: 0.2, Level: c.k - 1}} {
			b.Case(t, fmt.Sprintf("sample %dx%dx%d to %d by %g", c.b, c.c, c.a, s.Level, s.KeepV), func(t *testing.T) { c.sample(t, b, uint64(i), s) })
		}
	}
}

func (c noiseCase) width() int { return (c.column + c.a + c.e + 15) &^ 15 }

// chunks makes the part that both jobs have. The input is 7 at first, except for the tokens before the chunks.
func (c noiseCase) chunks(m *Maker) (ch backend.Chunks, input, embedding []float64) {
	embedding, input = m.normal(c.k*c.e, 1, 0), m.normal(c.b*c.t*c.width(), 1, 0)
	for i, v := range input {
		input[i] = float64(tensor.BF16FromF64(v).F32())
	}
	ch = backend.Chunks{B: c.b, T: c.t, C: c.c, A: c.a, Column: c.column, Seed: 5<<40 + 7}
	ch.Input, ch.Embedding = m.Of(0, input, c.b*c.t, c.width()), m.Of(tensor.F32, embedding, c.k, c.e)
	m.InOut("input", ch.Input)
	return ch, input, embedding
}

// inputs checks the input: the values and the embedding in their columns, and the other columns unchanged.
func (c noiseCase) inputs(t *testing.T, b *Bench, got, input, embedding []float64, level func(row int) int, value func(clean, a int) float64) {
	want := slices.Clone(input)
	for row := range c.b {
		for i := range c.c {
			to := want[(row*c.t+c.t-c.c+i)*c.width()+c.column:]
			for a := range c.a {
				to[a] = value(row*c.c+i, a)
			}
			copy(to[c.a:c.a+c.e], embedding[level(row)*c.e:])
		}
	}
	Within(t, "input", got, want, func(i int) float64 { return (b.rounding() + 1e-6) * (math.Abs(want[i]) + 1) })
}

const noiseStep = 6

func (c noiseCase) noise(t *testing.T, b *Bench, seed uint64) {
	var input, embedding, levels, clean, draws []float64
	counts := make([]float64, c.b*c.c)
	got := b.Same(t, seed, func(m *Maker) (backend.Plan, error) {
		j := &backend.NoiseJob{}
		j.Chunks, input, embedding = c.chunks(m)
		levels, clean, draws = m.normal(4*c.k, 1, 0), m.normal(c.b*c.c*c.a, 1, 0), make([]float64, 37)
		for i := range draws {
			draws[i] = float64(m.Rand().IntN(c.k))
		}
		for i := range counts {
			counts[i] = float64(i % 3 % 2)
		}
		j.Draws, j.Levels = m.Of(tensor.I32, draws, len(draws)), m.Of(tensor.F32, levels, c.k, 4)
		j.Clean, j.Counts = m.Of(tensor.F32, clean, c.b*c.c, c.a), m.Of(tensor.F32, counts, len(counts))
		j.Targets, j.Weights = m.Of(tensor.F32, repeated(0, c.b*c.t*c.a), c.b*c.t, c.a), m.Of(tensor.F32, repeated(0, c.b*c.t), c.b*c.t)
		m.InOut("targets", j.Targets)
		m.InOut("weights", j.Weights)
		j.State = m.state(noiseStep)
		return m.NN().Noise(j)
	})
	word := func(site uint32, n int) uint32 { return fp32.Words(5<<40+7, noiseStep, site, uint64(n/4))[n%4] }
	level := func(row int) int {
		return int(draws[uint64(word(backend.NoiseSite+1, row))*uint64(len(draws))>>32])
	}
	z := func(n int) float64 { return float64(fp32.Normal(word(backend.NoiseSite, n))) }
	c.inputs(t, b, got["input"], input, embedding, level, func(clean0, a int) float64 {
		n, l := clean0*c.a+a, levels[4*level(clean0/c.c):]
		return clean[n]*l[0] + z(n)*l[1]
	})
	targets, weights := repeated(0, c.b*c.t*c.a), repeated(0, c.b*c.t)
	for row := range c.b {
		for i := range c.c {
			to := row*c.t + c.t - c.c + i
			weights[to] = counts[row*c.c+i]
			for a := range c.a {
				n, l := (row*c.c+i)*c.a+a, levels[4*level(row):]
				targets[to*c.a+a] = clean[n]*l[2] + z(n)*l[3]
			}
		}
	}
	assert.Equal(t, weights, got["weights"])
	Within(t, "targets", got["targets"], targets, func(i int) float64 { return 1e-6 * (math.Abs(targets[i]) + 1) })
}

func (c noiseCase) sample(t *testing.T, b *Bench, seed uint64, s backend.SampleStep) {
	const site = 3
	first := s.KeepX == 0
	var input, embedding, x, v []float64
	width := (c.a + 15) &^ 15
	got := b.Same(t, seed, func(m *Maker) (backend.Plan, error) {
		j := &backend.SampleJob{SampleStep: s, Site: site}
		j.Chunks, input, embedding = c.chunks(m)
		if c.b == 3 && c.t > c.c { // two rows observe the same
			n := c.t * c.width()
			copy(input[n:2*n], input[:n])
			j.Input = m.Of(0, input, c.b*c.t, c.width())
			m.out[0].t = j.Input
		}
		x, v = m.normal(c.b*c.c*c.a, 1, 0), m.normal(c.b*c.t*width, 1, 0)
		j.Sample = m.Of(tensor.F32, x, c.b*c.c, c.a)
		m.InOut("sample", j.Sample)
		if !first {
			j.Prediction = m.Of(tensor.F32, v, c.b*c.t, width)
		}
		return m.NN().Sample(j)
	})
	want := make([]float64, len(x))
	for n := range want {
		row, i, a := n/c.a/c.c, n/c.a%c.c, n%c.a
		hash := uint32(2166136261)
		for k := range (c.t - c.c) * c.width() {
			if k%c.width() < c.column {
				hash = (hash ^ uint32(tensor.BF16FromF64(input[row*c.t*c.width()+k]))) * 16777619
			}
		}
		number := i*c.a + a
		z := float64(fp32.Normal(fp32.Words(5<<40+7, hash, site, uint64(number/4))[number%4]))
		y := x[n]*float64(s.KeepX) + v[(row*c.t+c.t-c.c+i)*width+a]*float64(s.KeepV)
		y = min(max(y, -float64(s.Limit)), float64(s.Limit))
		if want[n] = x[n]*float64(s.FromX) + y*float64(s.FromY) + z*float64(s.Noise); first {
			want[n] = z
		}
	}
	Within(t, "sample", got["sample"], want, func(i int) float64 { return 1e-6 * (math.Abs(want[i]) + 1) })
	if first && c.b == 3 {
		assert.Equal(t, got["sample"][:c.c*c.a], got["sample"][c.c*c.a:2*c.c*c.a], "equal observations have equal noise")
		assert.NotEqual(t, got["sample"][:c.c*c.a], got["sample"][2*c.c*c.a:], "other observations have other noise")
	}
	if s.Level < 0 {
		assert.Equal(t, len(input), len(got["input"]))
		Within(t, "input", got["input"], input, func(i int) float64 { return 0 })
		return
	}
	c.inputs(t, b, got["input"], input, embedding, func(int) int { return s.Level }, func(clean, a int) float64 { return want[clean*c.a+a] })
}
