package opstest

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// gradientValues tests that targets out of order are found when the work runs, and reported with row and index, unless lengths or
// timestamps are wrong too.
func (s *suite) gradientValues(t *testing.T) {
	src := func() *array { return vals(tensor.F32, make([]float64, 12), 2, 3, 2) }
	good, back := []int64{0, 1, 2, 0, 1, 2}, []int64{0, 1, 2, 0, 2, 1}
	grad := vals(tensor.F32, count0(16), 2, 4, 2)
	cases := map[string]struct {
		x    []int64
		edit func(*resampling)
	}{
		"in the first row":                 {[]int64{0, 2, 1, 0, 0, 1, 2, 3}, nil},
		"in the second row, at its end":    {[]int64{0, 0, 1, 1, 0, 1, 2, 1}, nil},
		"in both":                          {[]int64{3, 2, 1, 0, 0, 1, 2, 1}, nil},
		"from one row to the next, and no": {[]int64{0, 1, 2, 3, 0, 1, 2, 3}, nil},
		"beyond the length":                {[]int64{0, 1, 0, 1, 0, 1, 2, 1}, func(c *resampling) { c.DstLengths = arr([]int64{2, 3}, 2) }},
		"beside timestamps":                {[]int64{3, 2, 1, 0, 0, 1, 2, 1}, func(c *resampling) { c.Times = arr(back, 2, 3) }},
		"beside lengths":                   {[]int64{3, 2, 1, 0, 0, 1, 2, 1}, func(c *resampling) { c.SrcLengths = arr([]int64{3, 4}, 2) }},
		"without samples":                  {[]int64{0, 1, 2, 2, 3, 2, 1, 0}, func(c *resampling) { c.SrcLengths = arr([]int64{3, 0}, 2) }},
		"before one out of range":          {[]int64{0, 2, 1, 9, 0, 1, 1, 2}, func(c *resampling) { c.Opts.Edge = ops.EdgeError }},
		"after one out of range":           {[]int64{-1, 2, 1, 2, 0, 1, 1, 2}, func(c *resampling) { c.Opts.Edge = ops.EdgeError }},
		"out of range, in order":           {[]int64{0, 1, 2, 2, 0, 1, 2, 3}, func(c *resampling) { c.Opts.Edge = ops.EdgeError }},
		"beyond 2^62":                      {[]int64{0, 1, 2, 1<<62 + 1, 0, 0, 0, 0}, nil},
		"before -2^62":                     {[]int64{math.MinInt64, 1, 2, 3, 0, 0, 0, 0}, nil},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		r := &resampling{Name: name, Src: src(), Times: arr(good, 2, 3), Targets: arr(c.x, 2, 4)}
		if c.edit != nil {
			c.edit(r)
		}
		s.check(t, single(r, grad), layouts...)
		b := single(r, grad)
		b.Alone = false
		s.check(t, b, layouts...)
		r.Opts.TrustTimes, r.Wrong = true, true
		s.check(t, single(r, grad), layouts...)
	}
	for _, offset := range []time.Duration{1 << 62, -1 << 62, 1} { // a stream's own clock may be out of range although the targets are not
		p := func(offset time.Duration) *part {
			return &part{Offset: offset, resampling: resampling{Src: src(), Times: arr(good, 2, 3)}}
		}
		f := &fusing{Name: "offset", Out: tensor.F32, Streams: []*part{p(0), p(offset)}, Targets: arr([]int64{-1, 0, 1, 2, 0, 0, 1, 3}, 2, 4)}
		s.check(t, gradient(6, f, false, 0), layouts...)
	}
	nan := math.NaN()
	for _, x := range [][]float64{{0, nan, 1, 2}, {nan, 0, 1, 2}, {0, 1, 1, nan}} {
		r := &resampling{Name: "NaN", Src: vals(tensor.F32, make([]float64, 6), 3, 2), Times: vals(tensor.F64, count0(3), 3), Targets: vals(tensor.F64, x, 4)}
		s.check(t, single(r, vals(tensor.F32, count0(8), 4, 2)), layouts...)
	}
	for _, offsets := range [][]int64{{0, 4, 8}, {0, 3, 8}, {0, 0, 8}, {1, 4, 8}} {
		r := &resampling{Name: "packed", Src: src(), Times: arr(good, 2, 3), Targets: arr([]int64{0, 1, 2, 0, 1, 2, 3, 1}, 8), DstOffsets: arr(offsets, 3)}
		s.check(t, single(r, vals(tensor.F32, count0(16), 8, 2)), layouts...)
	}
	for _, c := range noRows() { // the checks of lengths and timestamps in jobs that write nothing
		if linearKinds(&c.Opts) {
			f := &fusing{Name: c.Name, Out: c.out(), Streams: []*part{{resampling: *c}}, Targets: c.Targets, Clock: c.Clock, DstLengths: c.DstLengths, DstOffsets: c.DstOffsets, Packed: c.Packed, Planned: true}
			s.check(t, gradient(1, f, true, 0), layouts...)
		}
	}
	// Trusted wrong timestamps must not cause writes outside the outputs.
	for _, times := range [][]int64{back, {math.MaxInt64, math.MinInt64, 0, 5, -5, math.MaxInt64}, {9, 8, 7, 6, 5, 4}} {
		for _, n := range []int64{math.MinInt64, -1, 0, 3, 4, math.MaxInt64} {
			for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeExtrapolate} {
				r := &resampling{Name: "trusted", Src: src(), Times: arr(times, 2, 3), Targets: arr([]int64{3, 2, 9, 0, 0, 1, -2, 1}, 2, 4), SrcLengths: arr([]int64{n, 3}, 2), DstLengths: arr([]int64{2, n}, 2),
					Opts: ops.ResampleOptions{TrustTimes: true, Edge: edge}, Wrong: true}
				s.check(t, single(r, grad), layouts[1])
				r = &resampling{Name: "trusted", Src: vals(tensor.F32, make([]float64, 12), 6, 2), Times: arr(times, 6), SrcOffsets: arr([]int64{n, 3, n}, 3), Targets: arr([]int64{0, 1, 2, 1}, 4),
					DstOffsets: arr([]int64{0, n, 4}, 3), Opts: ops.ResampleOptions{TrustTimes: true, Edge: edge}, Wrong: true}
				s.check(t, single(r, vals(tensor.F32, count0(8), 4, 2)), layouts[1])
			}
		}
	}
}
