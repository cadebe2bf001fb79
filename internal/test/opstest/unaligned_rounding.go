package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// roundingWidths are features of rows for each way that plain rows are made in: by whole chunks, by 8 and by 4 bytes, by the thread that finds
// their place, by words, by chunks of the output from anywhere, of one row or of two.
var roundingWidths = []int{1, 2, 3, 4, 6, 7, 8, 9, 12, 15, 31, 33, 47}

// unalignedRounding has rows of each way whose values tell what becomes of each element: whether it is blended where a target is so near after a
// sample that its weight is 0, which row it comes from, and that each step of its blend is rounded to nearest. The ways meet in a
// fusion, too.
func (s *suite) unalignedRounding(t *testing.T) {
	number := 0
	for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
		widths := roundingWidths
		if dtype == tensor.F32 {
			widths = widths[:5]
		}
		for _, clock := range clockDTypes {
			f := &fusing{Out: dtype, Planned: true}
			for _, d := range widths {
				if number++; t.Failed() {
					continue
				}
				c := roundingCase(dtype, clock, d, roundingTargets(dtype, clock, d), number)
				l := unalignedLayouts[number%2]
				if d == 12 {
					l = unalignedLayouts[1] // units of 8 bytes
				}
				s.check(t, c, l, unalignedLayouts[2])
				p := &part{resampling: *roundingCase(dtype, clock, d, 100, 41_000)}
				f.Name, f.Targets, p.Targets = p.Name, p.Targets, nil
				f.Streams = append(f.Streams, p)
			}
			if len(f.Streams) > 0 {
				s.check(t, f, unalignedLayouts[number%3])
			}
		}
	}
}

// roundingTargets are so many that on a device of one multiprocessor a thread makes as much at once as it can.
func roundingTargets(dtype, clock tensor.DType, d int) int {
	switch {
	case clock == tensor.F32:
		return 24 + 1800/d
	case d*dtype.Size() == 12 || d*dtype.Size() == 24:
		return 1060 // a power of two of them in a block, each of three units of 4 bytes or of 8
	}
	return 24 + 4400/d
}

// roundingCase is one of them, of n targets, which d does not change. A clock of nanoseconds has no weight of 0: there are ties on it.
func roundingCase(dtype, clock tensor.DType, d, n, seed int) *resampling {
	r := rng(uint64(seed))
	c := &resampling{Name: fmt.Sprint("ties, ", d), Planned: true}
	if clock == tensor.I64 {
		list := make([]tie, n)
		for i := range list {
			list[i] = ties()[r.IntN(3)]
		}
		c.Src, c.Times, c.Targets = tiedSource(r, dtype, dtype, clock, list, d)
		return c
	}
	c.Name = fmt.Sprint("weights of 0, ", d)
	unit, least := 1., math.SmallestNonzeroFloat64
	if clock == tensor.F32 {
		unit, least = 0x1p100, math.SmallestNonzeroFloat32
	} else { // beyond the ends there is another value than for a target that is none
		c.Opts = ops.ResampleOptions{Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)}
	}
	x := make([]float64, n)
	for i := range x {
		if x[i] = []float64{0, .5, 1, 1.25, 1.75, 2, 3, -1, math.NaN()}[r.IntN(9)] * unit; r.IntN(3) == 0 {
			x[i] = least * float64(1+r.IntN(9))
		}
	}
	few := []float64{math.Copysign(0, -1), 0, 1, 3, -2, math.Inf(1), math.NaN()}
	v := make([]float64, 3*d)
	for i := range v {
		v[i] = few[r.IntN(len(few))]
	}
	c.Src, c.Times, c.Targets = vals(dtype, v, 3, d), vals(clock, []float64{0, unit, 2 * unit}, 3), vals(clock, x, n)
	return c
}
