package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// limitWidths has row widths for each way in which kernels compute plain rows.
var limitWidths = []int{1, 2, 3, 5, 7, 8, 14, 33, 64, 19}

// limitOptions has limits and fill values for plain rows. The targets are multiples of limitTick from timestamps; some are exactly at
// a limit.
var limitOptions = []ops.ResampleOptions{
	{MaxGap: ops.Within(time.Second), FillGaps: true, Fill: ops.FillWith(-7.5)},
	{MaxGap: ops.Within(time.Second), Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)},
	{Interp: ops.InterpPrevious, Tolerance: ops.Within(time.Second / 4), FillGaps: true, Fill: ops.FillWith(3.25)},
	{Interp: ops.InterpNext, Tolerance: ops.Within(time.Second / 4), FillGaps: true, Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)},
	{Interp: ops.InterpNearest, Tolerance: ops.Within(time.Second / 4), Edge: ops.EdgeFill, Fill: ops.FillWith(math.Copysign(0, -1))},
	{Interp: ops.InterpNearest, MaxGap: ops.Within(time.Second), Tolerance: ops.Within(time.Second), FillGaps: true, Edge: ops.EdgeFill, Fill: ops.FillWith(70000)},
}

const limitTick = 1. / 64 // seconds, exact on every clock

// limits tests rows of each width and dtype with each of the options, on every clock, alone and in a fusion with offsets.
func (s *suite) limits(t *testing.T) {
	number := 0
	for i, dtype := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
		for k, d := range limitWidths {
			for o := range limitOptions {
				if number++; t.Failed() {
					continue
				}
				clock, form := clockDTypes[(o+k)%3], (o/3+k+i)%3
				c := limitCase(uint64(50_000+number), dtype, clock, d, o, form)
				s.check(t, c, unalignedLayouts[(o/3+k+2*i+o)%3])
				// The same, with a stream of another width and other options.
				if o%2 == 0 {
					s.check(t, limitFusion(c, uint64(51_000+number), dtype, clock, limitWidths[(k+o+1)%len(limitWidths)], (o+3)%len(limitOptions), form), unalignedLayouts[(o+k)%3])
				}
			}
		}
	}
}

// limitCase returns one such case with two rows.
func limitCase(seed uint64, dtype, clock tensor.DType, d, options, form int) *resampling {
	const b = 2
	r := rng(seed)
	n, m := 2+r.IntN(60), 24+r.IntN(24)
	var timestamps, targets []float64
	for i := range b {
		row := gapped(r, n, (form+i+int(seed))%4)
		timestamps, targets = append(timestamps, row...), append(targets, besideTimestamps(r, row, m, clock != tensor.I64)...)
	}
	c := &resampling{Name: fmt.Sprintf("limits, %d features, options %d", d, options), Opts: limitOptions[options], Planned: true}
	c.Src, c.Times = vals(dtype, uniformValues(r, b*n*d), b, n, d), onClock(clock, timestamps, b, n)
	if r.IntN(2) == 0 { // begins at any element; samples may have gaps
		step := d + r.IntN(3)
		c.Src = c.Src.restride([]int{n * step, step, 1}, r.IntN(4), 0, poison(dtype))
	}
	switch form {
	case 0:
		c.Targets = onClock(clock, targets, b, m)
	case 1:
		c.Targets = onClock(clock, targets[:m], m)
	default:
		last := timestamps[n-1]
		c.Clock = ops.Uniform(int64((timestamps[0]-2)*1e9), float64(m)/(last-timestamps[0]+4), m)
	}
	return c
}

// limitFusion returns a fusion of the case, another one of its kind, and one with an offset. Relative to its timestamps, the shifted
// stream has targets as close as the case.
func limitFusion(c *resampling, seed uint64, dtype, clock tensor.DType, d, options, form int) *fusing {
	other := limitCase(seed, dtype, clock, d, options, form)
	late := *c
	offset := time.Duration(limitTick * 1e9 * float64(int(seed%5)-7))
	f := &fusing{Name: c.Name, Out: dtype, Planned: true, Targets: c.Targets, Clock: c.Clock}
	for _, p := range []*part{{resampling: *other}, {resampling: *c}, {resampling: late, Offset: offset}} {
		p.Targets, p.Clock = nil, ops.Clock{}
		f.Streams = append(f.Streams, p)
	}
	return f
}

// gapped returns n timestamps in seconds. A search that assumes the mean spacing finds targets among them in few steps or in many:
// even ones with gaps and duplicates, brackets that grow or shrink, and clusters far apart.
func gapped(r *rand.Rand, n, form int) []float64 {
	out := make([]float64, n)
	x, step := float64(r.IntN(64))*limitTick, limitTick
	if form == 2 {
		step = 2048
	}
	for i := range out {
		out[i] = x
		switch form {
		case 0:
			switch r.IntN(10) {
			case 0:
				x += 1 + float64(r.IntN(40))
			case 1:
				x++
			case 2:
			default:
				x += .5
			}
		case 1:
			step = min(step*(1+r.Float64()), 2048)
			x += math.Ceil(step/limitTick) * limitTick
		case 2:
			step = max(step/(1+r.Float64()), limitTick)
			x += math.Ceil(step/limitTick) * limitTick
		default:
			if r.IntN(9) == 0 {
				x += float64(int(1) << r.IntN(12))
			} else {
				x += limitTick * float64(1+r.IntN(2))
			}
		}
	}
	return out
}

// besideTimestamps returns m targets: in random brackets, on and near timestamps, and before and after all of them. With none, one is
// NaN.
func besideTimestamps(r *rand.Rand, row []float64, m int, none bool) []float64 {
	first, last := row[0], row[len(row)-1]
	out := []float64{first - limitTick, last + limitTick, first - 100, last + 100, first, last}
	for len(out) < m {
		k := r.IntN(len(row) - 1)
		h := row[k+1] - row[k]
		x := row[k] + []float64{0, limitTick, .25, .25 + limitTick, h / 2, h - .25, h - .25 - limitTick, 1, h - limitTick}[r.IntN(9)]
		out = append(out, math.Max(first, math.Min(last, math.Floor(x/limitTick)*limitTick)))
	}
	if none {
		out[r.IntN(m)] = math.NaN()
	}
	r.Shuffle(m, func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}

// onClock converts times in seconds to an array in a clock's unit.
func onClock(clock tensor.DType, seconds []float64, shape ...int) *array {
	if clock == tensor.I64 {
		return arr(nanos(seconds), shape...)
	}
	return vals(clock, seconds, shape...)
}

// timestampsAtOnce tests that a wrong timestamp is reported for each place in the group that a thread checks together, and for each
// wrong bit, and that the first of two is reported. Three warps of a block check while the first searches for targets. If there are
// enough timestamps, each thread takes four loads of 16 bytes, and then more.
func timestampsAtOnce(test visit) {
	number := 0
	for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} { // f16 uses the same code as bf16
		for _, clock := range clockDTypes {
			each := 16 / clock.Size()
			n := 1024
			if clock == tensor.F32 {
				n = 9600
			}
			for u := range 4 {
				for e := range each {
					for range 2 {
						number++
						at := u*96*each + each*(1+number%9) + e
						wrongTimestamps(dtype, clock, n, 0, []int{at, min(at+1+number%3*96*each, n-1)}, []int{1, 0}[number%2], test)
					}
				}
			}
			// With few blocks, the threads make a second pass.
			for u := range 2 {
				at := (4+1+2*u)*96*each + each*(3+u) + (number+u)%each
				wrongTimestamps(dtype, clock, 8*9*96*each+5, 0, []int{at}, 1+u, test)
			}
			// Some threads check timestamps one by one: the last ones, which do not fill 16 bytes, and those that are not aligned to
			// 16 bytes.
			for e := range each {
				wrongTimestamps(dtype, clock, 4*each+1+e, 0, []int{4*each + e}, 1+e%2, test)
				wrongTimestamps(dtype, clock, 4*each+3, 1, []int{1 + e, 2 + e, 4*each + 1}, 1+e%2, test)
			}
		}
	}
}

// wrongTimestamps tests a row of n timestamps with wrong ones at the indices `at`, for each way of plain rows. If bad is odd, the
// wrong ones are less than their predecessors.
func wrongTimestamps(dtype, clock tensor.DType, n, front int, at []int, bad int, test visit) {
	raw := make([]uint64, n)
	for k := range raw {
		raw[k] = encode(clock, float64(k+1))
		if clock == tensor.I64 {
			raw[k] = uint64(k)<<33 + 5
		} else if clock == tensor.F64 {
			raw[k] = encode(clock, 1e6+float64(k)/3)
		}
	}
	for i, k := range at {
		switch {
		case bad%2 == 1:
			raw[k] = raw[k-1] - 1
		case clock == tensor.I64:
			raw[k] = uint64([]int64{1<<62 + 1, -1<<62 - 1}[(bad/2+i)%2])
		default:
			raw[k] = encode(clock, []float64{math.Inf(1), math.NaN(), math.Inf(-1)}[(bad/2+i)%3])
		}
	}
	for _, d := range []int{1, 16 / dtype.Size(), 17} {
		if d == 17 && dtype.Size() > 2 {
			continue // the same as the first
		}
		c := &resampling{Name: fmt.Sprint("timestamps at once, wrong at ", at), Planned: true, Src: vals(dtype, make([]float64, n*d), 1, n, d), Times: packed(clock, raw, 1, n), Targets: vals(clock, []float64{0, 7}, 2)}
		c.Times = c.Times.restride([]int{n, 1}, front, 0, encode(clock, 0))
		test(c, plannedFusion(c, dtype), unalignedLayouts[1-d%2])
	}
}
