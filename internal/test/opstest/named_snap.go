package opstest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// frames tests camera frames with times rounded to float64 or to microseconds: a clock with the camera's rate must give the frames
// unchanged, for every kind.
func (s *suite) frames(t *testing.T) {
	const n = 60
	for _, rate := range []float64{3, 7, 15, 24, 29.97, 30, 50, 60, 90, 120} {
		for _, clock := range []tensor.DType{tensor.F64, tensor.I64} {
			seconds, v := make([]float64, n), make([]float64, n)
			for i := range n {
				seconds[i], v[i] = float64(i)/rate, float64(i)
			}
			times := vals(clock, seconds, n)
			if clock == tensor.I64 {
				for i, x := range seconds {
					times.raw[i] = uint64(int64(math.Floor(x*1e6)) * 1000)
				}
			}
			for _, kind := range []ops.Interp{ops.InterpPrevious, ops.InterpNext, ops.InterpNearest, ops.InterpLinear, ops.InterpWindowLast, ops.InterpWindowMean} {
				c := &resampling{Name: fmt.Sprint("frames ", rate, clock, kind), Src: vals(tensor.F32, v, n, 1), Times: times, Clock: ops.Uniform(0, rate, n),
					Opts: ops.ResampleOptions{Interp: kind, Snap: ops.Within(time.Microsecond), Window: ops.Within(time.Duration(1e9 / rate))}}
				s.check(t, c, layouts[0])
				got := s.called(t, c)
				for i := range n {
					assert.Equal(t, float64(i), decode(tensor.F32, got.dst[i]), "%s, row %d", c.Name, i)
					assert.Equal(t, uint64(1), got.valid[i], "%s, row %d", c.Name, i)
				}
			}
		}
	}
}

// snaps tests targets at Snap's distance from a sample, and a little more, on both sides, in the middle of two, before the first,
// after the last, and near duplicates; with limits and windows shorter than, equal to and longer than Snap, and every edge mode.
func snaps(test visit) {
	timestamps := []float64{0, 1, 1, 2, 2.5, 6, 6, 6, 9, 9}
	const n, d = 10, 7
	tables := [][]ops.Channel{
		nil, {{Lo: 1, Hi: 2, Interp: ops.InterpAngle}, {Lo: 3, Hi: 4, Interp: ops.InterpPrevious}}, {{Hi: 3, Interp: ops.InterpPchip}}, {{Lo: 3, Hi: 7, Interp: ops.InterpSlerp}, {Lo: 0, Hi: 1, Interp: ops.InterpNext}},
		{{Hi: 1, Interp: ops.InterpWindowMean}, {Lo: 1, Hi: 2, Interp: ops.InterpWindowLast, Window: ops.Within(1e9 / 8)}, {Lo: 2, Hi: 3, Interp: ops.InterpWindowMin, Window: ops.Within(3e9)}},
	}
	tables[3][0], tables[3][1] = tables[3][1], tables[3][0]
	number := 0
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			for _, table := range tables {
				for _, snap := range []float64{0, .125, .5, 3} { // seconds
					number++
					limit := func(seconds float64) ops.Limit { return ops.Within(time.Duration(seconds * 1e9)) }
					x := []float64{4.25, 1.75, 7.5}
					for _, at := range timestamps {
						for _, by := range []float64{0, snap, snap + limitTick, snap - limitTick} {
							x = append(x, at-by, at+by)
						}
					}
					c := &resampling{Name: fmt.Sprint("snap ", snap, in, clock, len(table)), Src: vals(in, poseValues(rng(uint64(number)), n, d, table), n, d), Times: onClock(clock, timestamps, n), Targets: onClock(clock, x, len(x)),
						Opts: ops.ResampleOptions{Interp: []ops.Interp{ops.InterpLinear, ops.InterpNearest, ops.InterpNext, ops.InterpPrevious}[number%4], Channels: table, Snap: limit(snap), Window: limit([]float64{.5, .125, 2, 5}[number/4%4])}, Planned: true}
					c.Opts.Edge = []ops.Edge{ops.EdgeClamp, ops.EdgeHold, ops.EdgeFill, ops.EdgeExtrapolate, ops.EdgeHold}[number%5]
					if number%2 == 0 {
						c.Opts.MaxGap, c.Opts.Tolerance = limit(3), limit(.25)
					}
					c.Opts.FillGaps, c.Opts.Fill = number%3 == 0, ops.FillWith(-7.5)
					test(c, plannedFusion(c, in), layouts[number%2])
					// Trusted timestamps out of order must not cause an access out of bounds.
					wrong, mixed := *c, slices.Clone(timestamps)
					rng(uint64(number)).Shuffle(n-2, func(i, k int) { mixed[1+i], mixed[1+k] = mixed[1+k], mixed[1+i] })
					wrong.Name, wrong.Wrong, wrong.Times = c.Name+", out of order", true, onClock(clock, mixed, n)
					f := &fusing{Name: wrong.Name, Out: in, Streams: []*part{{resampling: wrong}}, Targets: c.Targets, Planned: true, Wrong: true, Trust: true}
					wrong.Opts.TrustTimes = true
					test(&wrong, f, layouts[0])
				}
			}
		}
	}
}

// held tests a topic that publishes only changes: it is valid after its last sample for as long as its tolerance, and filled before
// its first.
func (s *suite) held(t *testing.T) {
	times, x := []float64{2, 5}, []float64{1, 2, 4, 5, 7, 100}
	c := &resampling{Name: "held", Src: vals(tensor.F32, []float64{1, 2}, 2, 1), Times: vals(tensor.F64, times, 2), Targets: vals(tensor.F64, x, len(x)),
		Opts: ops.ResampleOptions{Interp: ops.InterpPrevious, Edge: ops.EdgeHold, Fill: ops.FillWith(-1)}}
	for _, tolerance := range []ops.Limit{{}, ops.Within(10 * time.Second)} {
		c.Opts.Tolerance = tolerance
		s.check(t, c, layouts...)
		got := s.called(t, c)
		_, limited := tolerance.Get()
		last := map[bool]uint64{false: 1, true: 0}[limited]
		assert.Equal(t, []uint64{0, 1, 1, 1, 1, last}, got.valid)
		for i, want := range []float64{-1, 1, 1, 2, 2, 2} {
			assert.Equal(t, want, decode(tensor.F32, got.dst[i]), "target %v", x[i])
		}
		for i, want := range []float64{-1, 0, 2, 0, 2, 95} {
			assert.Equal(t, want, decode(tensor.F64, got.age[i]), "target %v", x[i])
		}
	}
}

// snapping returns a drawn case with Snap set to part of the samples' distance or to more. The ends may be held.
func (c *resampling) snapping(seed uint64) *resampling {
	r, out := rng(seed), *c
	apart := 1e6
	if n := len(c.Times.raw); n > 1 {
		unit := 1e9
		if c.Times.dtype == tensor.I64 {
			unit = 1
		}
		first, last := c.Times.float(0), c.Times.float(n-1)
		if span := math.Abs(last-first) * unit; span < 1<<62 { // exclude padding
			apart = span / float64(n)
		}
	}
	out.Opts.Snap = ops.Within(time.Duration(min(apart*[]float64{0, .1, .3, 1, 5}[r.IntN(5)], 1<<60)))
	if r.IntN(2) == 0 {
		out.Opts.Edge = ops.EdgeHold
	}
	out.Name += ", snapping"
	return &out
}
