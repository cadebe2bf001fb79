package opstest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuseParts returns the tests for Fuse, by name.
func fuseParts() parts {
	return parts{
		"order":                      (*suite).fuseOrder,
		"three-clocks":               (*suite).fuseThreeClocks,
		"one-sample":                 (*suite).fuseOneSample,
		"absent":                     (*suite).fuseAbsent,
		"sixteen":                    (*suite).fuseSixteen,
		"one to sixteen":             (*suite).fuseCounts,
		"mixed-dtypes":               (*suite).fuseMixed,
		"one dtype, no limits":       (*suite).fuseSimple,
		"equal":                      (*suite).fuseEqual,
		"offsets":                    (*suite).fuseOffsets,
		"affine":                     (*suite).fuseAffine,
		"fill":                       (*suite).fuseFill,
		"empty":                      (*suite).fuseEmpty,
		"one stream equals resample": (*suite).fuseOne,
		"small":                      fusedToo(smallLaunches),
		"small-ends":                 fusedToo(smallLaunchEnds),
		"weights":                    fusedToo(weights),
		"many-rows":                  fusedToo(manyRows),
		"rounded-once":               fusedToo(roundedOnce),
		"rounded-each":               (*suite).fuseRoundedEach,
		"searches":                   fusedToo(searches),
		"bad-timestamps":             fusedToo(badTimestamps),
		"snaps":                      fusedToo(snaps),
		"good-timestamps":            fusedToo(goodTimestamps),
		"no-targets":                 fusedToo(noTargets),
		"many-empty":                 fusedToo(manyEmpty),
		"ticks":                      fusedToo(ticks),
		"turns":                      fusedToo(turns),
		"far-angles":                 fusedToo(farAngles),
		"cubics":                     fusedToo(some(3, cubics)),
		"near-turns":                 fusedToo(nearTurns),
		"long-lengths":               fusedToo(longLengths),
		"no-weights":                 fusedToo(noWeights),
		"tolerances":                 fusedToo(tolerances),
		"held-parts":                 fusedToo(heldParts),
		"empty-rows":                 fusedToo(emptyRows),
		"many-items":                 fusedToo(manyItems),
		"golden":                     (*suite).fuseGolden,
		"generated":                  generated("fuse"),
		"values":                     (*suite).fuseValues,
		"no-rows":                    (*suite).fuseNoRows,
	}
}

// constant returns a stream of n samples, one second apart. Every sample is x in every column.
func constant(x float64, n, width int) *part {
	v := make([]float64, n*width)
	for i := range v {
		v[i] = x
	}
	return &part{resampling: resampling{Src: vals(tensor.F32, v, n, width), Times: vals(tensor.F64, count0(n), n)}}
}

// fuseOrder tests that the columns of a row are in the order of the streams. Example: streams of ones, twos and threes with
// widths 10, 20 and 30 give rows of 10 ones, 20 twos and 30 threes.
func (s *suite) fuseOrder(t *testing.T) {
	f := &fusing{Name: "order", Out: tensor.F32, Streams: []*part{constant(1, 4, 10), constant(2, 5, 20), constant(3, 1, 30)}, Targets: vals(tensor.F64, []float64{0, .5, 3, 9}, 4)}
	s.check(t, f, layouts...)
	got := s.called(t, f)
	for i, b := range got.dst {
		want := 1.0
		if c := i % 60; c >= 30 {
			want = 3
		} else if c >= 10 {
			want = 2
		}
		require.Equal(t, want, decode(tensor.F32, b), "column %d", i%60)
	}
	assert.Equal(t, []uint64{1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0}, got.valid)
}

// fuseThreeClocks compares three streams with different clocks, such as vision, joints and an IMU, with linear interpolation in
// float64.
func (s *suite) fuseThreeClocks(t *testing.T) {
	clocks := [][]float64{{0, .05, .1, .15, .2, .7, .8, .9, .95, 1}, {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1}, {0, .05, .1, .2, .4, .6, .8, .9, .95, 1}}
	x := []float64{0, .12, .25, .35, .5, .75, .88, 1}
	for _, clock := range []tensor.DType{tensor.I64, tensor.F64} {
		f := &fusing{Name: clock.String(), Out: tensor.F32}
		in := func(sec []float64) *array {
			if clock == tensor.I64 {
				return arr(nanos(sec), len(sec))
			}
			return vals(clock, sec, len(sec))
		}
		f.Targets = in(x)
		curve := func(m, d int, at float64) float64 { return math.Sin(float64(3*m+d+1)*at + float64(m)) }
		for m, sec := range clocks {
			var v []float64
			for _, at := range sec {
				for d := range 3 {
					v = append(v, curve(m, d, at))
				}
			}
			f.Streams = append(f.Streams, &part{resampling: resampling{Src: vals(tensor.F32, v, len(sec), 3), Times: in(sec)}})
		}
		s.check(t, f, layouts...)
		got := s.called(t, f)
		for i, at := range x {
			for c := range 9 {
				m, d := c/3, c%3
				k := 0
				for k+2 < len(clocks[m]) && clocks[m][k+1] <= at {
					k++
				}
				t0, t1 := clocks[m][k], clocks[m][k+1]
				v0, v1 := curve(m, d, t0), curve(m, d, t1)
				// The samples, the weight and two operations are rounded to float32; the values reach 1.
				assert.InDelta(t, v0+(at-t0)/(t1-t0)*(v1-v0), decode(tensor.F32, got.dst[i*9+c]), 8*0x1p-24, "%v, target %v, stream %d, feature %d", clock, at, m, d)
			}
		}
		assert.NotContains(t, got.valid, uint64(0))
	}
}

// fuseOneSample fuses a stream of one sample with long streams. The sample's value is held at every target, unless EdgeFill fills
// the targets before and after it. Only the target at the sample's time is valid.
func (s *suite) fuseOneSample(t *testing.T) {
	for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeExtrapolate, ops.EdgeFill} {
		one := constant(7.25, 1, 3)
		one.Times.raw[0] = encode(tensor.F64, 2)
		f := &fusing{Name: edge.String(), Out: tensor.F32, Streams: []*part{constant(1, 1000, 7), one, constant(2, 300, 4)}, Targets: vals(tensor.F64, []float64{0, 2, 3.5}, 3)}
		for _, p := range f.Streams {
			p.Opts.Edge = edge
		}
		s.check(t, f, layouts...)
		got := s.called(t, f)
		hold := 7.25
		if edge == ops.EdgeFill {
			hold = 0
		}
		for i, want := range []float64{hold, 7.25, hold} {
			assert.Equal(t, want, decode(tensor.F32, got.dst[i*14+7]))
		}
		assert.Equal(t, []uint64{1, 0, 1, 1, 1, 1, 1, 0, 1}, got.valid)
	}
}

// fuseAbsent tests missing streams, streams with S=0 and rows without samples. Their columns get the fill value and are not
// valid, and Fuse returns no error.
func (s *suite) fuseAbsent(t *testing.T) {
	r := rng(40)
	b, n := 3, 9
	var times []int64
	for range b {
		times = append(times, ascending(r, n, 0)...)
	}
	full := func() *part {
		return &part{resampling: resampling{Src: vals(tensor.F32, uniformValues(r, b*n*5), b, n, 5), Times: arr(times, b, n)}}
	}
	missing := &part{Width: 6, resampling: resampling{Opts: ops.ResampleOptions{Fill: ops.FillWith(-7.5)}}}
	none := &part{resampling: resampling{Src: vals(tensor.BF16, nil, b, 0, 2), Times: arr([]int64{}, b, 0)}, Scale: []float32{3, 3}, Shift: []float32{1, 1}}
	rows := full()
	rows.SrcLengths = arr([]int64{9, 0, 4}, 3)
	rows.Opts.Edge = ops.EdgeError
	rows.Opts.Fill = ops.FillWith(math.Inf(1))
	offsets := &part{resampling: resampling{Src: vals(tensor.F64, uniformValues(r, 7*4), 7, 4), Times: arr([]int64{0, 5, 9, 1, 2, 3, 4}, 7), SrcOffsets: arr([]int64{0, 3, 3, 7}, 4)}}
	x := between(r, 8, times[:2])
	for _, streams := range [][]*part{{missing, full()}, {full(), missing, none}, {none, full()}, {full(), offsets, missing}, {rows, full()}, {missing, rows, missing, none, offsets, full()}} {
		f := &fusing{Name: "absent", Out: tensor.F16, Streams: streams, Targets: arr(x, len(x)).broadcast(b)}
		s.check(t, f, layouts...)
		f.Targets, f.Clock = nil, ops.Uniform(times[0], 1e9, 5)
		f.DstLengths = arr([]int64{5, 2, 0}, 3)
		s.check(t, f, layouts...)
		f.DstLengths, f.DstOffsets, f.Packed = nil, arr([]int64{0, 4, 4, 9}, 4), 9
		s.check(t, f, layouts...)
	}
	one := &fusing{Name: "one episode", Out: tensor.F32, Streams: []*part{missing, constant(3, 4, 2)}, Targets: vals(tensor.F64, []float64{0, 1}, 2)}
	s.check(t, one, layouts...)
	got := s.called(t, one)
	assert.Equal(t, []uint64{0, 1, 0, 1}, got.valid)
	assert.Equal(t, -7.5, decode(tensor.F32, got.dst[5]))
}

// fuseSixteen fuses 16 streams, with every kind of interpolation, every dtype and many widths.
func (s *suite) fuseSixteen(t *testing.T) {
	r := rng(41)
	f := &fusing{Name: "sixteen", Out: tensor.F32}
	for m := range ops.MaxStreams {
		n := []int{1, 2, 33, 200}[m%4]
		d := []int{1, 4, 8, 3, 16, 12, 28, 32}[m%8]
		kind := ops.Interps()[m%len(ops.Interps())]
		d = (d + kind.Width() - 1) / kind.Width() * kind.Width()
		f.Streams = append(f.Streams, &part{Offset: time.Duration(m) * time.Millisecond, resampling: resampling{
			Src: vals(valueDTypes[m%4], uniformValues(r, n*d), n, d), Times: arr(ascending(r, n, 0), n), Opts: ops.ResampleOptions{Interp: kind, Window: ops.Within(25e6), Edge: ops.Edge(m % 3)}}})
	}
	x := between(r, 150, ascending(r, 200, 0))
	f.Targets = arr(x, len(x))
	for _, f.Out = range valueDTypes {
		s.check(t, f, layouts...)
	}
	f.Targets, f.Clock = nil, ops.Uniform(0, 333, 129)
	s.check(t, f, layouts...)
}

// fuseMixed fuses streams with different dtypes, and writes every output dtype.
func (s *suite) fuseMixed(t *testing.T) {
	r := rng(42)
	for _, clock := range clockDTypes {
		for _, out := range valueDTypes {
			f := &fusing{Name: fmt.Sprint(clock, out), Out: out, Targets: vals(clock, []float64{-1, 0, .5, 3, 3.25, 7, 60, 61}, 8)}
			for i, dtype := range valueDTypes {
				for _, kind := range []ops.Interp{ops.InterpLinear, ops.InterpNearest} {
					f.Streams = append(f.Streams, &part{resampling: resampling{Src: vals(dtype, uniformValues(r, 61*8*(i+1)), 61, 8*(i+1)), Times: vals(clock, count(0, 60), 61), Opts: ops.ResampleOptions{Interp: kind}}})
				}
			}
			s.check(t, f, layouts...)
		}
	}
}

// fuseSimple tests the case for which backends have a faster path: one dtype for input and output, the default edge, and no
// limits. Rows are multiples of 16, 8 or 4 bytes; some begin at a smaller alignment, so fewer bytes can be written at once.
func (s *suite) fuseSimple(t *testing.T) {
	r := rng(45)
	for _, clock := range clockDTypes {
		for i, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			for w, widths := range [][]int{{8, 16}, {64, 12, 4}, {14, 32, 6}, {2, 8, 520}, {6, 8, 16}, {1, 8}} {
				f := &fusing{Name: fmt.Sprint(clock, dtype, widths), Out: dtype}
				for m, d := range widths {
					n := 3 + r.IntN(60)
					timestamps := make([]float64, n)
					for k := range timestamps {
						timestamps[k] = float64(k*(m+2)) + float64(k%3)
					}
					f.Streams = append(f.Streams, &part{Offset: time.Duration(m-1) * time.Nanosecond, resampling: resampling{
						Src: vals(dtype, uniformValues(r, 3*n*d), 3, n, d), Times: vals(clock, timestamps, n), Opts: ops.ResampleOptions{Interp: ops.Interp((i + m + w) % 4)}}})
				}
				x := make([]float64, 3*70)
				for k := range x {
					x[k] = float64(r.IntN(2000))/10 - 10
				}
				f.Targets = vals(clock, x, 3, 70)
				s.check(t, f, layouts...)
				if dtype == tensor.F16 {
					f.Targets, f.Clock = nil, ops.Uniform(-20, 1e9, 200)
					s.check(t, f, layouts...)
				}
			}
		}
	}
}

// fuseOffsets tests that the common time is the stream's time plus Offset, exact to the nanosecond, also near the smallest and the
// largest valid timestamp.
func (s *suite) fuseOffsets(t *testing.T) {
	ramp := func(offset time.Duration) *part {
		return &part{Offset: offset, resampling: resampling{Src: vals(tensor.F64, []float64{0, 1e9}, 2, 1), Times: arr([]int64{0, 1e9}, 2)}}
	}
	f := &fusing{Name: "ramps", Out: tensor.F64, Streams: []*part{ramp(0), ramp(1), ramp(-250), ramp(1e9)}, Targets: arr([]int64{500, 1e9}, 2)}
	s.check(t, f, layouts...)
	got := s.called(t, f)
	for i, want := range []float64{500, 499, 750, 0, 1e9, 999_999_999, 1e9, 0} {
		assert.InDelta(t, want, decode(tensor.F64, got.dst[i]), 1e-5, "element %d", i)
	}
	assert.Equal(t, []uint64{1, 1, 1, 0, 1, 1, 0, 1}, got.valid)
	ages := make([]int64, 8)
	for i, a := range got.age {
		ages[i] = int64(a)
	}
	assert.Equal(t, []int64{500, 499, 750, 500 - 1e9, 0, 999_999_999, 250, 0}, ages)
	const end = 1 << 62
	far := &fusing{Name: "far", Out: tensor.F32, Targets: arr([]int64{end, end - 5, -end + 7}, 3), Streams: []*part{ramp(end - 1), ramp(3), ramp(0)}}
	far.Streams[0].Opts.Edge = ops.EdgeExtrapolate
	s.check(t, far, layouts...) // the target -end + 7 minus the offset end - 1 is out of range: the error names stream 0
	far.Targets = arr([]int64{end, end - 5, 7}, 3)
	s.check(t, far, layouts...)
	for _, clock := range []tensor.DType{tensor.F64, tensor.F32} {
		sec := &fusing{Name: "seconds", Out: tensor.F32, Targets: vals(clock, []float64{.1, .7, math.NaN(), math.Inf(1), 2}, 5), Streams: []*part{constant(1, 4, 2), constant(2, 4, 2)}}
		for i, p := range sec.Streams {
			p.Times, p.Offset = vals(clock, count0(4), 4), time.Duration(300-400*i)*time.Millisecond
		}
		s.check(t, sec, layouts...)
		sec.Targets, sec.Clock = nil, ops.Uniform(100, 7, 20)
		s.check(t, sec, layouts...)
	}
}

// fuseAffine tests Shift and Scale: Fuse computes (x - shift) * scale in float32, rounds after each of the two steps, and then
// converts to the output's dtype.
func (s *suite) fuseAffine(t *testing.T) {
	r := rng(43)
	extremes := []float64{0, math.Copysign(0, -1), 1, -1, 65504, 65520, 1e-8, 3e38, -3e38, 1e-45, math.Inf(1), math.NaN()}
	for _, in := range valueDTypes {
		f := &fusing{Name: in.String(), Targets: vals(tensor.F64, []float64{-1, 0, 1, 1.5, 2, 3.75, 12}, 7)}
		v := append(uniformValues(r, 12*8-len(extremes)), extremes...)
		kinds := []ops.ResampleOptions{{}, {Interp: ops.InterpNext}, {Interp: ops.InterpPchip}, {Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)}, {Edge: ops.EdgeExtrapolate},
			{Channels: []ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpSlerp}, {Lo: 5, Hi: 6, Interp: ops.InterpAngle}}}}
		for i, o := range kinds {
			p := &part{resampling: resampling{Src: vals(in, v, 12, 8), Times: vals(tensor.F64, count0(12), 12), Opts: o}}
			if i != 1 {
				p.Shift = []float32{0, 1, -3.7, 1e30, 0.1, float32(math.Inf(1)), 5, 1e-40}
			}
			if i != 2 {
				p.Scale = []float32{1, 0, 0.3, 1e-30, -2, 3, float32(math.NaN()), 1e20}
			}
			f.Streams = append(f.Streams, p)
		}
		for _, f.Out = range valueDTypes {
			s.check(t, f, layouts...)
		}
	}
	p := &part{resampling: resampling{Src: vals(tensor.F32, []float64{10, 20}, 2, 1), Times: vals(tensor.F64, []float64{0, 1}, 2)}, Shift: []float32{12}, Scale: []float32{.5}}
	got := s.called(t, &fusing{Out: tensor.F32, Streams: []*part{p}, Targets: vals(tensor.F64, []float64{0, .5, 1}, 3)})
	assert.Equal(t, vals(tensor.F32, []float64{-1, 1.5, 4}, 3).raw, got.dst)
}

// fuseFill tests the fill values. Each stream has its own, by default 0. Fuse rounds it once, to the output's dtype, and does not
// apply Shift and Scale to it.
func (s *suite) fuseFill(t *testing.T) {
	for _, out := range valueDTypes {
		f := &fusing{Name: out.String(), Out: out, Targets: vals(tensor.F64, []float64{-1, .5, 1.5, math.NaN(), 9}, 5)}
		for i, fill := range []ops.Fill{{}, ops.FillWith(math.NaN()), ops.FillWith(-7.5), ops.FillWith(1e39), ops.FillWith(math.Copysign(0, -1)), ops.FillWith(1.0 / 3)} {
			p := constant(float64(i+1), 4, 5)
			p.Opts.Fill, p.Opts.Edge, p.Opts.FillGaps, p.Opts.MaxGap = fill, ops.EdgeFill, i%2 == 0, ops.Within(1e8)
			p.Shift = []float32{1, 2, 3, 4, 5}
			f.Streams = append(f.Streams, p)
		}
		s.check(t, f, layouts...)
		got := s.called(t, f)
		assert.Equal(t, encode(out, 0), got.dst[0])
		assert.Equal(t, encode(out, -7.5), got.dst[10])
	}
}

// fuseEmpty tests that Fuse does nothing if B or T is 0.
func (s *suite) fuseEmpty(t *testing.T) {
	for _, n := range [][3]int{{0, 3, 2}, {2, 3, 0}, {0, 0, 0}} {
		b, samples, targets := n[0], n[1], n[2]
		stream := func() *part {
			return &part{resampling: resampling{Src: vals(tensor.F32, make([]float64, b*samples*2), b, samples, 2), Times: arr(make([]int64, b*samples), b, samples)}}
		}
		s.check(t, &fusing{Name: fmt.Sprint(n), Out: tensor.BF16, Streams: []*part{stream(), {Width: 3}, stream()}, Targets: arr(make([]int64, b*targets), b, targets)}, layouts...)
	}
}

// fuseEqual tests that the columns of a fusion have the same bits as each stream resampled alone.
func (s *suite) fuseEqual(t *testing.T) {
	r := rng(46)
	f := &fusing{Name: "equal", Out: tensor.F32, Targets: vals(tensor.F64, []float64{-1, 0, .5, 1.25, 3, 7.75, 9, 12}, 8)}
	var alone []*result
	for m, kind := range []ops.Interp{ops.InterpLinear, ops.InterpPrevious, ops.InterpNearest, ops.InterpPchip} {
		n, width := 10+m, 3+2*m
		c := resampling{Src: vals(tensor.F32, uniformValues(r, n*width), n, width), Times: vals(tensor.F64, count(0, n-1), n),
			Targets: f.Targets, Opts: ops.ResampleOptions{Interp: kind}}
		one := s.called(t, &c)
		alone = append(alone, one)
		f.Streams = append(f.Streams, &part{resampling: c})
	}
	got := s.called(t, f)
	for i := range 8 {
		var row, valid, age []uint64
		for m, one := range alone {
			width := 3 + 2*m
			row, valid, age = append(row, one.dst[i*width:][:width]...), append(valid, one.valid[i]), append(age, one.age[i])
		}
		equalBits(t, tensor.F32, row, got.dst[i*len(row):][:len(row)], fmt.Sprint("target ", i))
		assert.Equal(t, [2][]uint64{valid, age}, [2][]uint64{got.valid[4*i:][:4], got.age[4*i:][:4]}, "target %d", i)
	}
}

// fuseOne tests that a fusion of one stream has the same values, valid flags and ages as the stream resampled alone.
func (s *suite) fuseOne(t *testing.T) {
	r := rng(44)
	for _, kind := range ops.Interps() {
		for range 2 {
			c := sample(r, kind, 3, 50, 90)
			c.Opts.Fill = ops.FillWith(.25)
			want := s.called(t, c)
			f := &fusing{Name: kind.String(), Out: c.out(), Streams: []*part{{resampling: *c}}, Targets: c.Targets}
			got := s.called(t, f)
			equalBits(t, c.out(), want.dst, got.dst, kind.String())
			assert.Equal(t, want.valid, got.valid, "%v", kind)
			assert.Equal(t, want.age, got.age, "%v", kind)
			s.check(t, f, layouts...)
		}
	}
}
