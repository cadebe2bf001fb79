package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// toldWidths are features of rows for each way that plain rows are made in: by whole chunks, by 8 and by 4 bytes, by the thread that finds
// their place, by words that cross from a row to the next, by chunks of the output from anywhere.
var toldWidths = []int{1, 2, 3, 4, 6, 7, 8, 9, 15, 31, 33, 47}

// oddTold has rows of each way whose values tell what becomes of each element: whether it is blended where a target is so near after a
// sample that its weight is 0, which row it comes from, and that each step of its blend is rounded to nearest. The ways meet in a
// fusion, too.
func (s *suite) oddTold(t *testing.T) {
	number := 0
	for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
		widths := toldWidths
		if dtype == tensor.F32 {
			widths = widths[:5]
		}
		fused := [2]*fusing{{Name: "weights of 0", Out: dtype, Planned: true}, {Name: "ties", Out: dtype, Planned: true}}
		for _, d := range widths {
			if number++; thin(number) || t.Failed() {
				continue
			}
			l := oddLayouts[number%len(oddLayouts)]
			for i, f := range fused {
				c := toldCase(i == 0, dtype, d, 24+2000/d, number)
				s.check(t, c, l)
				p := &part{resampling: *toldCase(i == 0, dtype, d, 100, 41_000)}
				f.Targets, p.Targets = p.Targets, nil
				f.Streams = append(f.Streams, p)
			}
		}
		for i, f := range fused {
			if len(f.Streams) > 0 {
				s.fused(t, f, oddLayouts[i])
			}
		}
	}
}

// toldCase is one of them, of n targets, which d does not change.
func toldCase(near bool, dtype tensor.DType, d, n, seed int) *resampling {
	r := rng(uint64(seed))
	c := &resampling{Name: fmt.Sprint("ties, ", d), Planned: true}
	if !near {
		list := make([]tie, n)
		for i := range list {
			list[i] = ties()[r.IntN(3)]
		}
		c.Src, c.Times, c.Targets = tiedSource(r, dtype, dtype, tensor.I64, list, d)
		return c
	}
	c.Name = fmt.Sprint("weights of 0, ", d)
	c.Opts.Kind = []ops.Kind{ops.Linear, ops.Linear, ops.Linear, ops.Nearest}[d%4]
	x := make([]float64, n)
	for i := range x {
		x[i] = []float64{5e-324, 1e-320, 1e-300, 0, .5, 1, 1.25, 1.75, 2, 3, -1, math.NaN()}[r.IntN(12)]
	}
	few := []float64{math.Copysign(0, -1), 0, 1, 3, -2, math.Inf(1), math.NaN()}
	v := make([]float64, 3*d)
	for i := range v {
		v[i] = few[r.IntN(len(few))]
	}
	c.Src, c.Times, c.Targets = vals(dtype, v, 3, d), arr([]float64{0, 1, 2}, 3), arr(x, n)
	return c
}
