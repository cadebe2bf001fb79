package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// cubics tests targets in one bracket, which share its slopes, with other targets between them: held, filled, on samples, or of a row
// with other timestamps. Tables have from one cubic feature to more than a block has threads, next to other kinds.
func cubics(test visit) {
	wide := []ops.Channel{{Hi: 150, Interp: ops.InterpPchip}, {Lo: 150, Hi: 160, Interp: ops.InterpHermite}, {Lo: 160, Hi: 175, Interp: ops.InterpCatmullRom}}
	tables := [][]ops.Channel{
		{{Hi: 1, Interp: ops.InterpPchip}},
		{{Hi: 2, Interp: ops.InterpHermite}, {Lo: 2, Hi: 3, Interp: ops.InterpCatmullRom}},
		{{Hi: 3}, {Lo: 3, Hi: 7, Interp: ops.InterpSlerp}, {Lo: 7, Hi: 14, Interp: ops.InterpPchip}},
		{{Hi: 17, Interp: ops.InterpCatmullRom}, {Lo: 17, Hi: 20, Interp: ops.InterpRotVec}, {Lo: 20, Hi: 26, Interp: ops.InterpPchip}, {Lo: 26, Hi: 27, Interp: ops.InterpWindowMax, Window: ops.Within(3e9)}},
		wide,
	}
	r := rng(117)
	number := 0
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			for _, table := range tables {
				for _, form := range []struct {
					name                string
					b, samples, targets int
					sharing, shuffled   bool
				}{
					{"many", 2, 6, 90, false, false}, // targets in each bracket
					{"few", 3, 40, 21, false, false},
					{"sharing", 4, 5, 33, true, false},
					{"shuffled", 2, 12, 70, false, true},
				} {
					d := table[len(table)-1].Hi
					var timestamps, targets []float64
					for row := range form.b {
						at := float64(row % 2) // alternate rows have the same times
						first := at
						for s := range form.samples {
							if s > 0 {
								at += []float64{1, .25, 0, 2, 1.5, 8}[(s*(row+1))%6]
							}
							timestamps = append(timestamps, at)
						}
						x := make([]float64, form.targets)
						for t := range x {
							x[t] = first - .25 + (at-first+.5)*float64(t)/float64(form.targets-1)
						}
						x[len(x)/2] = first
						if clock != tensor.I64 {
							x[len(x)/3] = math.NaN()
						}
						if form.shuffled {
							r.Shuffle(len(x), func(a, b int) { x[a], x[b] = x[b], x[a] })
						}
						targets = append(targets, x...)
					}
					gap := ops.Within(6e9)
					if clock == tensor.I64 {
						for _, list := range [][]float64{timestamps, targets} {
							for n := range list {
								list[n] = math.Round(list[n] * 1e9)
							}
						}
					}
					src := vals(in, poseValues(r, form.b*form.samples, d, table), form.b, form.samples, d)
					if form.sharing {
						src = vals(in, poseValues(r, form.samples, d, table), form.samples, d).broadcast(form.b)
					}
					c := &resampling{Name: fmt.Sprint("cubics ", in, clock, form.name, d), Src: src,
						Times: vals(clock, timestamps, form.b, form.samples), Targets: vals(clock, targets, form.b, form.targets), Opts: ops.ResampleOptions{Channels: table}, Planned: true}
					if number++; number%2 == 0 {
						c.Opts.MaxGap = gap
					}
					l := layouts[number%len(layouts)]
					test(c, plannedFusion(c, in), l)
				}
			}
		}
	}
}

// steepCubics tests slopes with products or quotients that overflow the dtype, or nearly do.
func steepCubics(test visit) {
	const n = 7
	for _, in := range []tensor.DType{tensor.F64, tensor.F32} {
		scales := []float64{0x1p-900, 0x1p-540, 0x1p-30, 1, 0x1p40, 0x1p490, 0x1p700}
		if in == tensor.F32 {
			scales = []float64{0x1p-149, 0x1p-120, 1, 0x1p60, 0x1p120}
		}
		for _, kind := range []ops.Interp{ops.InterpPchip, ops.InterpCatmullRom} {
			for _, step := range []float64{1, 0x1p30} { // the ratio of neighbouring bracket lengths
				var v, timestamps []float64
				b := 0
				for _, small := range scales {
					for _, great := range scales {
						at := 0.0
						for s := range n {
							v = append(v, []float64{0, 1, 2, 4, 5, 5, 3}[s]*[]float64{small, great}[s%2], small, float64(s)*great)
							timestamps = append(timestamps, at)
							at += []float64{1, step}[s%2]
						}
						b++
					}
				}
				x := make([]float64, 0, 2*n)
				for s := range n - 1 {
					x = append(x, (timestamps[s]+timestamps[s+1])/2, timestamps[s]+(timestamps[s+1]-timestamps[s])/16)
				}
				c := &resampling{Name: fmt.Sprint("steep ", in, kind, step), Src: vals(in, v, b, n, 3), Times: vals(tensor.F64, timestamps, b, n), Targets: vals(tensor.F64, x, len(x)), Opts: ops.ResampleOptions{Interp: kind}, Planned: true}
				for _, l := range layouts[:2] {
					test(c, plannedFusion(c, in), l)
				}
			}
		}
	}
}
