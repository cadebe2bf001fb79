package opstest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// gradientLiterals tests small cases with gradients written down, on every clock and for every dtype. All numbers are exact in each
// dtype.
func (s *suite) gradientLiterals(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	gap := ops.ResampleOptions{MaxGap: ops.Within(2 * time.Second), FillGaps: true}
	held := ops.ResampleOptions{Interp: ops.InterpPrevious, Edge: ops.EdgeHold, Tolerance: ops.Within(time.Second), FillGaps: true}
	for _, c := range []struct {
		name              string
		times, x, g, want []float64
		opts              ops.ResampleOptions
		floats            bool // the targets are not representable on an int64 clock
	}{
		{"weights", []float64{0, 1, 3}, []float64{0, .5, .5, 1.5, 3}, []float64{1, 2, 4, 16, 32}, []float64{4, 15, 36}, ops.ResampleOptions{}, false},
		{"clamped", []float64{0, 1, 3}, []float64{-5, -1, 4, 9}, []float64{1, 2, 4, 8}, []float64{3, 0, 12}, ops.ResampleOptions{}, false},
		{"filled", []float64{0, 1, 3}, []float64{-1, 0, 3, 4}, []float64{1, 2, 4, 8}, []float64{2, 0, 4}, ops.ResampleOptions{Edge: ops.EdgeFill}, false},
		{"held", []float64{0, 1, 3}, []float64{-1, 0, 3, 4}, []float64{1, 2, 4, 8}, []float64{2, 0, 12}, ops.ResampleOptions{Edge: ops.EdgeHold}, false},
		{"extrapolated", []float64{0, 2, 4}, []float64{-1, 2, 5}, []float64{2, 8, 4}, []float64{3, 5, 6}, ops.ResampleOptions{Edge: ops.EdgeExtrapolate}, false},
		{"extrapolated past samples of one time", []float64{0, 0, 2, 4, 4, 4}, []float64{-1, 0, 4, 5}, []float64{2, 1, 8, 4}, []float64{0, 4, -3, 6, 0, 8}, ops.ResampleOptions{Edge: ops.EdgeExtrapolate}, false},
		{"nowhere to go on", []float64{1, 1}, []float64{0, 1, 2}, []float64{1, 2, 4}, []float64{1, 6}, ops.ResampleOptions{Edge: ops.EdgeExtrapolate}, false},
		{"previous extrapolated", []float64{0, 2, 4}, []float64{-1, 3, 5}, []float64{1, 2, 4}, []float64{1, 2, 4}, ops.ResampleOptions{Interp: ops.InterpPrevious, Edge: ops.EdgeExtrapolate}, false},
		{"previous", []float64{0, 1, 3}, []float64{0, .5, 2, 2.5}, []float64{1, 2, 4, 8}, []float64{3, 12, 0}, ops.ResampleOptions{Interp: ops.InterpPrevious}, false},
		{"next", []float64{0, 1, 3}, []float64{0, .5, 2, 2.5}, []float64{1, 2, 4, 8}, []float64{1, 2, 12}, ops.ResampleOptions{Interp: ops.InterpNext}, false},
		{"nearest, and a tie", []float64{0, 1, 3}, []float64{.25, .5, .75, 2}, []float64{1, 2, 4, 8}, []float64{3, 12, 0}, ops.ResampleOptions{Interp: ops.InterpNearest}, false},
		{"samples of one time", []float64{0, 1, 1, 2}, []float64{.5, 1, 1, 1.5}, []float64{2, 4, 8, 16}, []float64{1, 1, 20, 8}, ops.ResampleOptions{}, false},
		{"a gap", []float64{0, 1, 5}, []float64{.5, 1, 2, 5}, []float64{2, 4, 8, 16}, []float64{1, 5, 16}, gap, false},
		{"a gap that is not filled", []float64{0, 1, 5}, []float64{.5, 1, 3, 5}, []float64{2, 4, 8, 16}, []float64{1, 9, 20}, ops.ResampleOptions{MaxGap: ops.Within(time.Second)}, false},
		{"out of tolerance", []float64{0, 4}, []float64{1, 2, 4, 5, 6}, []float64{1, 2, 4, 8, 16}, []float64{1, 12}, held, false},
		{"snapped", []float64{0, 1, 1, 2}, []float64{-.25, .25, .5, .75, 1.25, 2.25}, []float64{1, 2, 4, 8, 16, 32}, []float64{5, 2, 24, 32}, ops.ResampleOptions{Snap: ops.Within(time.Second / 4), Edge: ops.EdgeFill}, false},
		{"one sample", []float64{1}, []float64{0, 1, 2}, []float64{1, 2, 4}, []float64{7}, ops.ResampleOptions{}, false},
		{"NaN targets come last and give nothing", []float64{0, 1}, []float64{.5, nan, nan}, []float64{2, 4, nan}, []float64{1, 1}, ops.ResampleOptions{}, true},
		{"infinite targets", []float64{0, 1}, []float64{-inf, 0, inf}, []float64{1, 2, 4}, []float64{3, 4}, ops.ResampleOptions{}, true},
		{"a gradient that is not a number", []float64{0, 1, 2, 3}, []float64{0, .5, 2}, []float64{1, nan, inf}, []float64{nan, nan, inf, 0}, ops.ResampleOptions{}, false},
		{"no targets", []float64{0, 1}, nil, nil, []float64{0, 0}, ops.ResampleOptions{}, false},
	} {
		for _, clock := range clockDTypes {
			times, x := c.times, c.x
			if clock == tensor.I64 {
				if c.floats {
					continue
				}
				times, x = nil, nil
				for _, v := range c.times {
					times = append(times, v*1e9)
				}
				for _, v := range c.x {
					x = append(x, v*1e9)
				}
			}
			for _, dtype := range valueDTypes {
				r := &resampling{Name: fmt.Sprint(c.name, ", ", dtype, " on ", clock), Src: vals(dtype, make([]float64, len(times)), len(times), 1), Times: vals(clock, times, len(times)),
					Targets: vals(clock, x, len(x)), Opts: c.opts}
				b := single(r, vals(dtype, c.g, len(x), 1))
				got := s.gradientOf(t, b)[0]
				for i, want := range c.want {
					assert.True(t, want == got[i] || want != want && got[i] != got[i], "%s: got %v, want %v", r.Name, got, c.want)
				}
				s.check(t, b, layouts...)
			}
		}
	}
}

// gradientEdges tests targets on both sides of samples with duplicate timestamps, also at both ends, for every kind and edge mode,
// with and without Snap. There are more samples than a block handles at a time.
func (s *suite) gradientEdges(t *testing.T) {
	r := rng(90)
	for _, ends := range []int{1, 2, 3} { // duplicate timestamps at both ends
		for _, d := range []int{1, 8, 130} {
			var timestamps []float64
			for k := range 70 {
				for range 1 + b2i(k == 0 || k == 69)*(ends-1) + b2i(k%9 == 4) {
					timestamps = append(timestamps, float64(3*k))
				}
			}
			var x []float64
			for i := range 4 * 72 {
				x = append(x, float64(i)*.75-3)
			}
			for kind := ops.InterpLinear; kind <= ops.InterpNearest; kind++ {
				for edge := ops.EdgeClamp; edge <= ops.EdgeHold; edge++ {
					for _, snap := range []ops.Limit{{}, ops.Within(time.Second)} {
						if edge == ops.EdgeError {
							continue
						}
						n := len(timestamps)
						c := &resampling{Name: fmt.Sprint("edges ", ends, d), Src: vals(tensor.F32, make([]float64, n*d), n, d), Times: vals(tensor.F64, timestamps, n), Targets: vals(tensor.F64, x, len(x)),
							Opts: ops.ResampleOptions{Interp: kind, Edge: edge, Snap: snap}, Planned: true}
						s.check(t, single(c, vals(tensor.F32, uniformValues(r, len(x)*d), len(x), d)), layouts[d%2])
					}
				}
			}
		}
	}
}

// gradientTiles moves the borders between the samples of blocks, and of threads, over every place, also between samples with one
// timestamp at both ends and in the middle.
func (s *suite) gradientTiles(t *testing.T) {
	d := 40
	if s.isCPU() {
		d = 5500 // a block computes two samples at a time
	}
	timestamps, x := []float64{0, 0, 3, 6, 6, 6, 9, 12, 12, 15, 18, 18}, []float64(nil)
	for i := range 30 {
		x = append(x, float64(i)*.75-2)
	}
	g := vals(tensor.F32, uniformValues(rng(95), len(x)*d), len(x), d)
	for skip := range 3 { // with and without duplicate timestamps at an end
		for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeExtrapolate} {
			for _, snap := range []ops.Limit{{}, ops.Within(time.Second)} {
				n := len(timestamps) - skip
				c := &resampling{Name: fmt.Sprint("tiles ", skip), Src: vals(tensor.F32, make([]float64, n*d), n, d), Times: vals(tensor.F64, timestamps[skip/2:][:n], n), Targets: vals(tensor.F64, x, len(x)),
					Opts: ops.ResampleOptions{Edge: edge, Snap: snap}, Planned: true}
				s.check(t, single(c, g), layouts[skip%2])
			}
		}
	}
}

// gradientNamed runs the cases of other operations for the positions of targets as gradients.
func (s *suite) gradientNamed(t *testing.T) {
	number := 0
	for _, cases := range []func(visit){weights, searches, snaps, some(3, tolerances), heldParts, emptyRows, longLengths, noTargets, some(5, manyEmpty), goodTimestamps, badTimestamps, ticks} {
		clear(s.seen)
		cases(func(c *resampling, f *fusing, l layout) {
			number++
			if !linearKinds(&c.Opts) || len(c.Src.raw) > 200_000 {
				return
			}
			s.check(t, gradient(uint64(number), f, false, 20), l)
			if len(f.Streams) == 1 {
				s.check(t, gradient(uint64(number), f, true, 0), l)
			}
		})
	}
}

// linearKinds reports whether all kinds in the options have a gradient.
func linearKinds(o *ops.ResampleOptions) bool {
	for _, c := range o.Channels {
		if c.Interp > ops.InterpNearest {
			return false
		}
	}
	return o.Interp <= ops.InterpNearest
}

// tabled returns a random table of kinds for d features. One kind may be the default.
func tabled(g *generator, d int) []ops.Channel {
	var list []ops.Channel
	for lo := g.IntN(3); lo < d && len(list) < 9; lo += g.IntN(9) {
		hi := min(lo+1+g.IntN(1+d/3), d)
		list = append(list, ops.Channel{Lo: lo, Hi: hi, Interp: ops.Interp(g.IntN(4))})
		lo = hi
	}
	return list
}

// gradientTables tests features of several kinds, with borders anywhere.
func (s *suite) gradientTables(t *testing.T) {
	g := &generator{Rand: rng(91)}
	for _, dtype := range valueDTypes {
		for _, d := range []int{2, 3, 8, 16, 33, 130} {
			for edge := ops.EdgeClamp; edge <= ops.EdgeExtrapolate; edge++ {
				c := &resampling{Name: fmt.Sprint("tables ", dtype, d, edge), Src: vals(dtype, make([]float64, 2*40*d), 2, 40, d), Times: arr(append(ascending(g.Rand, 40, 0), ascending(g.Rand, 40, 9)...), 2, 40)}
				c.Opts = ops.ResampleOptions{Interp: ops.Interp(g.IntN(4)), Edge: edge, Channels: tabled(g, d)}
				c.Targets = vals(tensor.I64, uniformTimes(g, 2*60, 4e8), 2, 60)
				f := &fusing{Name: c.Name, Out: dtype, Streams: []*part{{resampling: *c}}, Targets: c.Targets}
				s.check(t, gradient(7, f, true, 0), layouts...)
			}
		}
	}
}

// uniformTimes returns n random times, from a little before 0 to a little after end.
func uniformTimes(g *generator, n int, end float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Floor(end * (1.2*g.Float64() - .1))
	}
	return out
}

// gradientDTypes tests every pair of dtypes, with vectors of every length, and fusions of streams with float32 and float64 sums.
func (s *suite) gradientDTypes(t *testing.T) {
	g := &generator{Rand: rng(92)}
	for _, out := range valueDTypes {
		f := &fusing{Name: fmt.Sprint("dtypes ", out), Out: out, Targets: vals(tensor.I64, uniformTimes(g, 3*70, 4e8), 3, 70)}
		for _, in := range valueDTypes {
			for _, d := range []int{8, 4, 2, 1} {
				c := resampling{Src: vals(in, make([]float64, 3*41*d), 3, 41, d), Times: arr(ascending(g.Rand, 41, 0), 41), Opts: ops.ResampleOptions{Interp: ops.Interp(g.IntN(3) / 2 * g.IntN(4))}}
				f.Streams = append(f.Streams, &part{resampling: c})
			}
		}
		s.check(t, gradient(1, f, false, 30), layouts...)
		f.Streams = append([]*part{{Width: 8}}, f.Streams[4:8]...)
		s.check(t, gradient(2, f, false, 0), layouts...)
		f.Streams = []*part{{Width: 3}, f.Streams[1]}
		s.check(t, gradient(3, f, false, 0), layouts...)
		// With one multiprocessor, a thread has several of these samples, and two of them share a target.
		for _, in := range valueDTypes {
			c := resampling{Src: vals(in, make([]float64, 120*64), 1, 120, 64), Times: arr(ascending(g.Rand, 120, 0), 120), Planned: true}
			one := &fusing{Name: fmt.Sprint("runs ", in, out), Out: out, Targets: vals(tensor.I64, uniformTimes(g, 160, 12e8), 1, 160), Streams: []*part{{resampling: c}}, Planned: true}
			s.check(t, gradient(4, one, false, 0), layouts[0])
		}
	}
}

// gradientScales tests that a gradient is rounded to float32, scaled, and rounded again before it is added.
func (s *suite) gradientScales(t *testing.T) {
	g := &generator{Rand: rng(93)}
	for _, in := range valueDTypes {
		for _, out := range valueDTypes {
			f := &fusing{Name: fmt.Sprint("scaled ", in, out), Out: out, Targets: vals(tensor.I64, uniformTimes(g, 2*50, 3e8), 2, 50)}
			for _, d := range []int{1, 6, 16} {
				c := resampling{Src: vals(in, make([]float64, 2*30*d), 2, 30, d), Times: arr(ascending(g.Rand, 30, 0), 30)}
				p := &part{resampling: c, Scale: numbers(g, d), Offset: time.Duration(d)}
				if d == 6 {
					p.Shift = numbers(g, d)
				}
				f.Streams = append(f.Streams, p)
			}
			s.check(t, gradient(4, f, false, 40), layouts...)
		}
	}
	p := &part{resampling: resampling{Src: vals(tensor.F32, []float64{0, 0}, 2, 1), Times: vals(tensor.F64, []float64{0, 1}, 2)}, Shift: []float32{9}, Scale: []float32{.5}}
	f := &fusing{Name: "scaled", Out: tensor.F32, Streams: []*part{p}, Targets: vals(tensor.F64, []float64{0, .5, 1}, 3)}
	got := s.gradientOf(t, &backward{fusing: f, Grad: vals(tensor.F32, []float64{2, 4, 8}, 3, 1)})
	assert.Equal(t, []float64{2, 5}, got[0])
}

// gradientShapes tests widths up to more than a block has threads, lengths around the samples and targets of a block, many or no
// targets for a sample, gradients that all rows or targets share, and outputs with gaps.
func (s *suite) gradientShapes(t *testing.T) {
	r := rng(94)
	try := func(b, n, m, d int, dtype tensor.DType, edit func(*backward)) {
		timestamps, x := make([]float64, n), make([]float64, m)
		for k := range timestamps {
			timestamps[k] = float64(k) * 100
		}
		for i := range x {
			x[i] = math.Floor(float64(n*100) * (1.1*r.Float64() - .05))
		}
		c := &resampling{Name: fmt.Sprint("shapes ", b, n, m, d, dtype), Src: vals(dtype, make([]float64, b*n*d), b, n, d), Times: vals(tensor.I64, timestamps, n), Targets: vals(tensor.I64, x, m), Planned: true}
		f := plannedFusion(c, dtype)
		g := gradient(5, f, true, 0)
		if edit != nil {
			edit(g)
		}
		s.check(t, g, layouts...)
	}
	for i, d := range []int{1, 3, 7, 14, 31, 127, 128, 129, 257, 520, 1032} {
		try(1+b2i(d <= 129), 33, 20, d, valueDTypes[i%4], nil)
		try(1, 5, 300, d, valueDTypes[(i+2)%4], nil)
	}
	for _, n := range lengths {
		for _, m := range []int{1, 127, 128, 129, 1000} {
			try(1, n, m, 3, tensor.BF16, nil)
		}
	}
	try(3, 40, 30, 16, tensor.F32, func(b *backward) { b.Grad = packed(tensor.F32, b.Grad.raw[:30*16], 30, 16).broadcast(3) })
	try(3, 40, 30, 16, tensor.F16, func(b *backward) {
		b.Grad = &array{tensor.F16, b.Grad.raw[:3*16], []int{3, 30, 16}, []int{16, 0, 1}, 0}
	})
	try(3, 40, 30, 16, tensor.BF16, func(b *backward) {
		b.Grad = b.Grad.restride([]int{30*19 + 5, 19, 1}, 3, 2, encode(tensor.BF16, math.NaN()))
	})
	try(3, 40, 30, 16, tensor.BF16, func(b *backward) {
		b.Targets, b.Clock = nil, ops.Uniform(-30, 1e7, 30)
	})
	for _, n := range [][4]int{{0, 4, 3, 2}, {2, 4, 0, 2}, {2, 4, 3, 0}, {0, 0, 0, 0}, {2, 0, 0, 3}} {
		c := &resampling{Name: fmt.Sprint("empty ", n), Src: vals(tensor.F32, make([]float64, n[0]*n[1]*n[3]), n[0], n[1], n[3]), Times: vals(tensor.F64, make([]float64, n[0]*n[1]), n[0], n[1]),
			Targets: vals(tensor.F64, make([]float64, n[0]*n[2]), n[0], n[2])}
		s.check(t, single(c, vals(tensor.F32, make([]float64, n[0]*n[2]*n[3]), n[0], n[2], n[3])), layouts...)
	}
}
