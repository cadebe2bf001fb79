package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// roundingWidths has row widths for each way in which kernels compute plain rows: by whole chunks, by 8 and by 4 bytes, by the thread
// that searches, by words, and by output chunks that begin anywhere in one row or in two.
var roundingWidths = []int{1, 2, 3, 4, 6, 7, 8, 9, 12, 15, 31, 33, 47}

// unalignedRounding tests rows with values that reveal how each element is computed: that it is blended even if the weight rounds to
// 0, that it comes from the right row, and that each step of the blend rounds to nearest. Fusions combine the ways.
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

// roundingTargets returns so many targets that on a device with one multiprocessor each thread has its maximum of work.
func roundingTargets(dtype, clock tensor.DType, d int) int {
	switch {
	case clock == tensor.F32:
		return 24 + 1800/d
	case d*dtype.Size() == 12 || d*dtype.Size() == 24:
		return 1060 // a block has a power of two of targets, each with three units of 4 or 8 bytes
	}
	return 24 + 4400/d
}

// roundingCase returns one such case with n targets. On a nanosecond clock no weight is 0, so it uses ties there.
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
	} else { // the values outside the timestamps differ from the fill value of NaN targets
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
