package nntest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"tokens", tokens}) }

// stream is a source of a batch, with its values on the host. Ticks that do not count have NaN, because the job must not read them.
type stream struct {
	backend.TokenSource
	values []float64
	counts []bool
}

// stream makes a source. With valid set, about one tick in five is not valid; with pad set, about one in seven is padding.
func (m *Maker) stream(s backend.TokenSource, dtype tensor.DType, batch int, valid, pad bool) stream {
	out := stream{TokenSource: s, values: m.normal(batch*s.Ticks*s.D, 2, 1), counts: make([]bool, batch*s.Ticks)}
	if dtype == tensor.BF16 {
		for i, x := range out.values {
			out.values[i] = float64(tensor.BF16FromF64(x).F32())
		}
	}
	v, p := repeated(1, batch*s.Ticks), repeated(0, batch*s.Ticks)
	for i := range v {
		if m.rng.IntN(5) == 0 && valid {
			v[i] = 0
		}
		if m.rng.IntN(7) == 0 && pad {
			p[i] = 1
		}
		if out.counts[i] = v[i] != 0 && (p[i] == 0 || !s.SkipPad); !out.counts[i] {
			for c := range s.D {
				out.values[i*s.D+c] = math.NaN()
			}
		}
	}
	out.Values = m.Of(dtype, out.values, batch, s.Ticks, s.D)
	if valid {
		out.Valid = m.Of(tensor.U8, v, batch, s.Ticks)
	}
	if pad {
		out.Pad = m.Of(tensor.U8, p, batch, s.Ticks)
	}
	return out
}

// tokensCase is a case for Tokens. The target is the second source, or a further stream if targetD > 0, which is its number of
// columns. If relative is set, the target is also the reference.
type tokensCase struct {
	b, t, width int
	sources     []backend.TokenSource
	target      bool
	targetD     int
	relative    bool
	masks       bool
}

func tokens(t *testing.T, b *Bench) {
	src := func(ticks, d, token, column int) backend.TokenSource {
		return backend.TokenSource{Ticks: ticks, D: d, Token: token, Column: column, SkipPad: column%2 == 0}
	}
	for i, c := range []tokensCase{
		{b: 1, t: 1, width: 16, sources: []backend.TokenSource{src(1, 1, 0, 0)}},
		{b: 20, t: 10, width: 64, sources: []backend.TokenSource{src(10, 26, 0, 0), src(7, 26, 2, 26), src(1, 3, 9, 55)}, target: true, relative: true, masks: true},
		{b: 2, t: 4, width: 16, sources: []backend.TokenSource{src(9, 5, -3, 0), src(9, 7, 1, 8)}, target: true, masks: true},
		{b: 2, t: 33, width: 256, sources: []backend.TokenSource{src(33, 256, 0, 0)}},
		{b: 5, t: 20, width: 528, sources: []backend.TokenSource{src(20, 520, 0, 0), src(20, 6, 0, 520)}, target: true, relative: true},
		{b: 20, t: 10, width: 48, sources: []backend.TokenSource{src(10, 32, 0, 0), src(8, 16, 1, 32)}, target: true, relative: true, masks: true},
		{b: 3, t: 2, width: 16, sources: []backend.TokenSource{src(2, 3, 0, 1)}, target: true, targetD: 780, relative: true, masks: true},
		{b: 4, t: 2, width: 16, sources: []backend.TokenSource{src(2, 8, 0, 0)}, target: true, targetD: 300, relative: true, masks: true},
		{b: 2, t: 3, width: 1040, sources: []backend.TokenSource{src(3, 1030, 0, 1), src(2, 600, 0, 1031)}, target: true, masks: true},
	} {
		b.Case(t, fmt.Sprintf("%dx%dx%d", c.b, c.t, c.width), func(t *testing.T) { c.run(t, b, uint64(i)) })
	}
	for _, d := range []int{4, 8} {
		b.Case(t, fmt.Sprintf("far from 0 in %d", d), func(t *testing.T) { farTokens(t, b, d) })
	}
	for _, d := range []int{4, 8} { // the second width is whole chunks
		b.Case(t, fmt.Sprintf("not finite in %d", d), func(t *testing.T) { badTokens(t, b, d) })
	}
}

func (c tokensCase) run(t *testing.T, b *Bench, seed uint64) {
	var s []stream
	var scale, shift, relative, targetScale, targetShift, targetRelative []float64
	used, target := 0, 0
	got := b.Same(t, seed, func(m *Maker) (backend.Plan, error) {
		s, used = nil, 0
		j := &backend.TokensJob{B: c.b, T: c.t, Input: m.Out("input", 0, c.b*c.t, c.width), State: m.state(41, 0, 99)}
		m.InOut("state", j.State)
		for i, source := range c.sources {
			dtype := []tensor.DType{tensor.BF16, tensor.F32}[(i+int(seed))%2]
			if used = max(used, min(source.Column+source.D, c.width)); source.Column+source.D > c.width {
				source.D = c.width - source.Column
			}
			s = append(s, m.stream(source, dtype, c.b, c.masks, c.masks))
			j.Sources = append(j.Sources, s[i].TokenSource)
		}
		scale, shift, relative = m.normal(used, 1, 0), m.normal(used, 1, 0), repeated(-1, used)
		j.Width, j.Scale, j.Shift = used, m.Of(tensor.F32, scale, used), m.Of(tensor.F32, shift, used)
		if c.targetD > 0 {
			s = append(s, m.stream(backend.TokenSource{Ticks: 3, D: c.targetD}, tensor.F32, c.b, c.masks, c.masks))
		}
		target = min(1, len(s)-1)
		d := s[target].D
		targetScale, targetShift, targetRelative = m.normal(d, 1, 0), m.normal(d, 1, 0), repeated(-1, d)
		if c.relative {
			valid := make([]float64, len(s[target].counts))
			for i, counts := range s[target].counts {
				if counts {
					valid[i] = 1
				}
			}
			j.Reference = backend.Reference{Values: s[target].Values, Valid: m.Of(tensor.U8, valid, c.b, s[target].Ticks), Tick: s[target].Ticks / 2}
			for i := range relative {
				if i%3 != 0 {
					relative[i] = float64(i % d)
				}
			}
			for i := range targetRelative {
				targetRelative[i] = float64(d - 1 - i)
			}
			j.Relative, j.TargetRelative = m.Of(tensor.I32, relative, used), m.Of(tensor.I32, targetRelative, d)
		}
		if c.target {
			ticks := s[target].Ticks
			j.Target, j.TargetScale, j.TargetShift = &s[target].TokenSource, m.Of(tensor.F32, targetScale, d), m.Of(tensor.F32, targetShift, d)
			j.Targets, j.Weights = m.Out("targets", tensor.F32, c.b*ticks, d), m.Out("weights", tensor.F32, c.b*ticks)
		}
		return m.NN().Tokens(j)
	})
	y := &s[target]
	reference := func(row, column int) float64 { return y.values[(row*y.Ticks+y.Ticks/2)*y.D+column] }
	known := func(row int) bool { // reports whether the row's reference counts
		return !c.relative || !math.IsNaN(reference(row, 0))
	}
	r := func(row int, column float64) float64 {
		if column < 0 || !known(row) {
			return 0
		}
		return reference(row, int(column))
	}
	input := make([]float64, c.b*c.t*c.width)
	for i := range c.sources {
		for at, x := range s[i].values {
			row, tick, column := at/s[i].D/s[i].Ticks, at/s[i].D%s[i].Ticks, s[i].Column+at%s[i].D
			if token := s[i].Token + tick; token >= 0 && token < c.t && s[i].counts[at/s[i].D] {
				input[(row*c.t+token)*c.width+column] = (x - r(row, relative[column]) - shift[column]) * scale[column]
			}
		}
	}
	Within(t, "input", got["input"], input, func(i int) float64 { return b.rounding()*math.Abs(input[i]) + 2e-5 })
	count := 0
	if c.target {
		targets, weights := make([]float64, len(y.values)), make([]float64, len(y.counts))
		for at, x := range y.values {
			if row := at / y.D / y.Ticks; y.counts[at/y.D] && known(row) {
				targets[at] = (x - r(row, targetRelative[at%y.D]) - targetShift[at%y.D]) * targetScale[at%y.D]
				weights[at/y.D] = 1
				count++
			}
		}
		assert.Equal(t, weights, got["weights"])
		Within(t, "targets", got["targets"], targets, func(int) float64 { return 2e-5 })
	}
	assert.Equal(t, []float64{42, 0, float64(count), 0, 0, 0, 0, 0}, got["state"])
}

// farTokens normalises columns with values far from 0 and a small spread. Shift is subtracted before the multiplication by the scale,
// so no digits are lost.
func farTokens(t *testing.T, b *Bench, d int) {
	const batch, ticks = 3, 2
	var values []float64
	shift, scale := repeated(2.5, d), repeated(4096, d)
	got := b.Same(t, 1, func(m *Maker) (backend.Plan, error) {
		values = m.normal(batch*ticks*d, 1.0/4096, 2.5)
		s := backend.TokenSource{Values: m.Of(tensor.F32, values, batch, ticks, d), Ticks: ticks, D: d}
		j := &backend.TokensJob{B: batch, T: ticks, Width: d, Input: m.Out("input", 0, batch*ticks, 16), State: m.state(1, 0), Sources: []backend.TokenSource{s}, Target: &s}
		m.InOut("state", j.State)
		j.Scale, j.Shift = m.Of(tensor.F32, scale, d), m.Of(tensor.F32, shift, d)
		j.TargetScale, j.TargetShift = j.Scale, j.Shift
		j.Targets, j.Weights = m.Out("targets", tensor.F32, batch*ticks, d), m.Out("weights", tensor.F32, batch*ticks)
		return m.NN().Tokens(j)
	})
	targets, input := make([]float64, len(values)), make([]float64, batch*ticks*16)
	for i, x := range values {
		targets[i] = (x - 2.5) * 4096 // exact in float32
		input[i/d*16+i%d] = targets[i]
	}
	assert.Equal(t, targets, got["targets"])
	Within(t, "input", got["input"], input, func(i int) float64 { return b.rounding() * math.Abs(input[i]) })
}

// badTokens puts a value that is not finite into each place that can have one, in sources with d columns, and checks the error.
func badTokens(t *testing.T, b *Bench, d int) {
	const batch, ticks = 30, 5
	nan, inf := math.NaN(), math.Inf(-1)
	type place struct {
		stream, row, tick, column int
		value                     float64
	}
	for _, c := range []struct {
		at  []place
		arg string
	}{
		{[]place{{0, 2, 1, 3, nan}}, "Sources[0].Values"},
		{[]place{{1, 0, 4, 0, inf}}, "Sources[1].Values"},
		{[]place{{1, 0, 4, 0, nan}, {0, 2, 4, 2, inf}, {0, 2, 4, 3, nan}}, "Sources[0].Values"},
		{[]place{{0, 29, 4, 2, inf}}, "Sources[0].Values"},
		{[]place{{1, 13, 0, 3, nan}}, "Sources[1].Values"},
		{[]place{{2, 1, 3, 1, nan}}, "Target.Values"},
		{[]place{{2, 27, 0, 0, inf}}, "Target.Values"},
		{[]place{{3, 22, 2, 1, inf}}, "Reference.Values"},
		{[]place{{3, 1, 2, 1, nan}}, "Reference.Values"},
		{[]place{{3, 1, 2, 0, nan}, {3, 1, 1, 1, nan}}, ""}, // the job does not use these values
	} {
		for _, before := range []float64{0, 6} {
			got, err := b.Do(t, 1, func(m *Maker) (backend.Plan, error) {
				j := &backend.TokensJob{B: batch, T: ticks, Width: 2 * d, Input: m.Out("input", 0, batch*ticks, 16), State: m.state(9, before)}
				m.InOut("state", j.State)
				relative := repeated(-1, 2*d)
				relative[1], relative[2*d-1] = 1, 1
				j.Scale, j.Shift, j.Relative = m.Of(tensor.F32, repeated(1, 2*d), 2*d), m.Of(tensor.F32, repeated(0, 2*d), 2*d), m.Of(tensor.I32, relative, 2*d)
				values := func(stream int) *tensor.Tensor {
					list := m.normal(batch*ticks*d, 1, 0)
					for _, p := range c.at {
						if p.stream == stream {
							list[(p.row*ticks+p.tick)*d+p.column] = p.value
						}
					}
					return m.Of([]tensor.DType{tensor.F32, tensor.BF16}[stream%2], list, batch, ticks, d)
				}
				j.Sources = []backend.TokenSource{{Values: values(0), Ticks: ticks, D: d}, {Values: values(1), Ticks: ticks, D: d, Column: d}}
				j.Target = &backend.TokenSource{Values: values(2), Ticks: ticks, D: d}
				j.TargetScale, j.TargetShift = m.Of(tensor.F32, repeated(1, d), d), m.Of(tensor.F32, repeated(0, d), d)
				j.Targets, j.Weights = m.Out("targets", tensor.F32, batch*ticks, d), m.Out("weights", tensor.F32, batch*ticks)
				j.Reference = backend.Reference{Values: values(3), Tick: 2}
				return m.NN().Tokens(j)
			})
			bad := before
			if c.arg == "" {
				assert.NoError(t, err)
			} else {
				p := c.at[len(c.at)-1]
				if len(c.at) > 1 {
					p = c.at[1]
				}
				var e *backend.ValueError
				require.True(t, errors.As(err, &e), "%v", err)
				assert.Equal(t, backend.ValueError{Op: "Tokens", Arg: c.arg, Row: p.row, Index: p.tick, Column: p.column, Kind: backend.ErrValue}, *e)
				assert.ErrorContains(t, err, fmt.Sprintf("%s: value is not finite at row %d, tick %d, column %d", c.arg, p.row, p.tick, p.column))
				if before == 0 {
					bad = 10
				}
			}
			assert.Equal(t, []float64{10, bad, float64(batch * ticks * d), 0, 0, 0, 0, 0}, got["state"])
		}
	}
}
