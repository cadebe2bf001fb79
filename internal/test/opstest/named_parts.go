package opstest

import (
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// heldParts tests targets that are on a sample, filled, or absent in each part of a thread's work.
func heldParts(test visit) {
	for i, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		for size := 16; size >= 4; size /= 2 {
			for _, chunks := range append([]int{oneAndMore}, pieces...) {
				d := chunks * size / dtype.Size()
				clock := clockDTypes[1+i%2]
				c := &resampling{Name: fmt.Sprint("held parts ", dtype, d), Opts: ops.ResampleOptions{Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)}, Planned: true}
				c.Src, c.Times = vals(dtype, uniformValues(rng(74), 2*d), 2, d), vals(clock, []float64{0, 1}, 2)
				c.Targets = vals(clock, []float64{-1, 1, 0, 2}, 4)
				test(c, plannedFusion(c, dtype), layouts[0])
			}
		}
	}
}

// tiedAmong returns d features of samples from ties, with m random targets. Some targets show an error in a step of the blend; the
// others are on a sample or before the first.
func tiedAmong(r *rand.Rand, dtype, clock tensor.DType, d, m int) *resampling {
	list := tiesOn(clock)
	c := &resampling{Name: fmt.Sprint("ties among others ", dtype, clock, d), Opts: ops.ResampleOptions{Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)}, Planned: true}
	var x *array
	c.Src, c.Times, x = tiedSource(r, dtype, dtype, clock, list, d)
	raw := make([]uint64, m)
	for i := range raw {
		switch raw[i] = x.raw[r.IntN(len(list))]; r.IntN(8) {
		case 0, 1:
			raw[i] = c.Times.raw[r.IntN(2*len(list))]
		case 2:
			raw[i] = encode(clock, -1)
		}
	}
	c.Targets = packed(clock, raw, m)
	return c
}

// tiesAmongOthers tests that each step of a blend rounds to nearest in every part of a thread's work while other parts are not
// blended: units of 16, 8 and 4 bytes, one, two and four for each thread, and rows of every small width, on every clock.
func tiesAmongOthers(test visit) {
	r := rng(75)
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		run := func(clock tensor.DType, d, m int, l layout) {
			c := tiedAmong(r, dtype, clock, d, m)
			test(c, plannedFusion(c, dtype), l)
		}
		for size := 16; size >= 4; size /= 2 {
			for _, m := range []int{12, 40, 96} { // with one multiprocessor, threads move one, two and four of 33 units
				run(tensor.I64, 33*size/dtype.Size(), m, layouts[0])
			}
		}
		for _, clock := range clockDTypes {
			for _, d := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 35} {
				run(clock, d, 64, unalignedLayouts[0])
			}
		}
	}
}

// emptyRows tests rows with neither samples nor targets, in each form of lengths and offsets, next to rows with both. They are no
// error.
func emptyRows(test visit) {
	const b, n = 5, 4
	lengths, offsets := []int64{3, 0, 4, 0, 2}, []int64{0, 3, 3, 7, 7, 9}
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			r := rng(76)
			for form := range 4 {
				c := &resampling{Name: fmt.Sprint("empty rows ", in, clock, form)}
				shape := []int{b, n}
				if form%2 == 0 {
					c.SrcLengths = arr(lengths, b)
				} else {
					c.SrcOffsets, shape = arr(offsets, b+1), []int{int(offsets[b])}
				}
				all := 1
				for _, d := range shape {
					all *= d
				}
				timestamps := make([]float64, all)
				for i := range timestamps {
					timestamps[i] = float64(i)
				}
				c.Times = vals(clock, timestamps, shape...)
				if form/2 == 0 {
					c.DstLengths, c.Targets = arr(lengths, b), vals(clock, count0(b*n), b, n)
				} else {
					c.DstOffsets, c.Targets = arr(offsets, b+1), vals(clock, count0(int(offsets[b])), int(offsets[b]))
				}
				everyWay(c, in, func(dtype tensor.DType, d int) *array {
					return vals(dtype, uniformValues(r, all*d), append(shape, d)...)
				}, func(c *resampling, f *fusing, l layout) {
					f.DstLengths, f.DstOffsets = c.DstLengths, c.DstOffsets
					test(c, f, l)
				})
			}
		}
	}
}

// manyItems tests as many elements as a block keeps, and one more, in rows that are assembled before they are written.
func manyItems(test visit) {
	for _, in := range valueDTypes {
		for _, d := range []int{64, 65, 66} {
			for _, kind := range []ops.Interp{ops.InterpAngle, ops.InterpPchip} {
				c := &resampling{Name: fmt.Sprint("many items ", in, d, kind), Opts: ops.ResampleOptions{Channels: []ops.Channel{{Lo: 1, Hi: 2, Interp: kind}}}, Planned: true}
				c.Src, c.Times, c.Targets = vals(in, uniformValues(rng(77), 3*d), 3, d), arr([]int64{0, 5, 9}, 3), arr([]int64{0, 1, 6, 7}, 4)
				test(c, plannedFusion(c, in), layouts[0])
			}
		}
	}
}

// readyWays tests that each kernel waits once, at its end, if its inputs are declared ready.
func readyWays(test visit) {
	for _, in := range valueDTypes {
		c := &resampling{Name: fmt.Sprint("ready ", in), Times: arr([]int64{0, 2, 4}, 3), Targets: arr(nanoCount(300), 300)}
		r := rng(78)
		everyWay(c, in, func(dtype tensor.DType, d int) *array { return vals(dtype, uniformValues(r, 3*d), 3, d) }, func(c *resampling, f *fusing, l layout) {
			c.Opts.Launch = ops.LaunchInputsReady
			test(c, f, l)
		})
	}
}

// nanoCount returns 0, 1, .. n-1 modulo 5, in nanoseconds.
func nanoCount(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i % 5)
	}
	return out
}
