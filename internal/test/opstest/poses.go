package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// poseValues returns n rows with unit quaternions in the quaternion channels and random numbers elsewhere.
func poseValues(r *rand.Rand, n, d int, channels []ops.Channel) []float64 {
	v := uniformValues(r, n*d)
	for _, c := range channels {
		for k := c.Lo; c.Interp == ops.InterpSlerp && k < c.Hi; k += 4 {
			for i := range n {
				q := v[i*d+k:][:4]
				norm := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
				for j := range q {
					q[j] /= norm
				}
			}
		}
	}
	return v
}

// poses tests short rows with several kinds, each some features wide. The timestamps are even, far from even, or out of order; rows
// end within a warp's targets, and reach the last bytes of the source. Some outputs are not aligned to 16 bytes.
func poses(test visit) {
	tables := [][]ops.Channel{
		{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 3, Interp: ops.InterpAngle}},
		{{Lo: 0, Hi: 3}, {Lo: 3, Hi: 7, Interp: ops.InterpSlerp}},
		{{Lo: 0, Hi: 4, Interp: ops.InterpSlerp}, {Lo: 4, Hi: 8, Interp: ops.InterpSlerp}, {Lo: 8, Hi: 9, Interp: ops.InterpNext}},
		{{Lo: 0, Hi: 5}, {Lo: 5, Hi: 6, Interp: ops.InterpPrevious}, {Lo: 6, Hi: 8, Interp: ops.InterpNearest}, {Lo: 8, Hi: 11, Interp: ops.InterpAngle}, {Lo: 11, Hi: 12}, {Lo: 12, Hi: 14, Interp: ops.InterpAngle, Period: 1}},
		{{Lo: 0, Hi: 14}, {Lo: 14, Hi: 18, Interp: ops.InterpSlerp}, {Lo: 18, Hi: 25, Interp: ops.InterpPrevious}, {Lo: 25, Hi: 31, Interp: ops.InterpAngle}},
		{{Lo: 0, Hi: 40}, {Lo: 40, Hi: 44, Interp: ops.InterpSlerp}, {Lo: 44, Hi: 54, Interp: ops.InterpNearest}, {Lo: 54, Hi: 61, Interp: ops.InterpAngle}},
	}
	r := rng(71)
	number := 0
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			for _, form := range []struct {
				name                string
				b, samples, targets int
				step                func(s int) float64 // returns the step from timestamp s to the next
				shuffled            bool
			}{
				{"even", 3, 41, 43, func(int) float64 { return 1 }, false},
				{"uneven", 2, 75, 45, func(s int) float64 { return []float64{.25, 3}[s%25/24] }, false},
				{"paused", 2, 40, 70, func(s int) float64 { return []float64{.125, 64}[s%20/19] }, false},
				{"shuffled", 2, 90, 37, func(int) float64 { return 1 }, true},
				{"single", 40, 1, 2, nil, false},
				{"end", 1, 50, 34, func(int) float64 { return 1 }, false},
				{"gapped", 3, 120, 64, func(s int) float64 { return []float64{1.5, .25, 1, 2, .75, 40}[max(s*7%5, s%31/30*5)] }, false},
			} {
				for _, table := range tables {
					d := table[len(table)-1].Hi
					var timestamps, targets []float64
					for row := range form.b {
						at := float64(row)
						first := at
						for s := range form.samples {
							if s > 0 {
								at += form.step(s)
							}
							timestamps = append(timestamps, at)
						}
						x := make([]float64, form.targets)
						for t := range x {
							x[t] = first - .5 + (at-first+1)*float64(t)/float64(form.targets-1)
						}
						x[len(x)/2] = first
						if clock != tensor.I64 && row%2 == 0 {
							x[len(x)/3] = math.NaN()
						}
						if form.shuffled {
							r.Shuffle(len(x), func(a, b int) { x[a], x[b] = x[b], x[a] })
						}
						targets = append(targets, x...)
					}
					if clock == tensor.I64 {
						for _, list := range [][]float64{timestamps, targets} {
							for n := range list {
								list[n] = math.Round(list[n] * 0x1p30)
							}
						}
					}
					c := &resampling{Name: fmt.Sprint("poses ", in, clock, form.name, d), Src: vals(in, poseValues(r, form.b*form.samples, d, table), form.b, form.samples, d),
						Times: vals(clock, timestamps, form.b, form.samples), Targets: vals(clock, targets, form.b, form.targets), Opts: ops.ResampleOptions{Channels: table}, Planned: true}
					l := layouts[0]
					if number++; number%5 == 0 {
						l = layout{name: "dst beside", front: 1, end: 33, sideOffset: 1}
					}
					test(c, &fusing{Name: c.Name, Out: in, Streams: []*part{{resampling: *c}}, Targets: c.Targets}, l)
				}
			}
		}
	}
}

// posed draws a case with short rows without gaps and several kinds.
func posed(r *rand.Rand, dtype, clock tensor.DType, form int) *resampling {
	g := &generator{Rand: r, c: &resampling{}, clock: clock, batch: true}
	b, samples, targets, d := 1+r.IntN(4), lengths[r.IntN(len(lengths)-1)], lengths[r.IntN(len(lengths)-1)], 4+r.IntN(28)
	kinds := []ops.Interp{ops.InterpLinear, ops.InterpPrevious, ops.InterpNext, ops.InterpNearest, ops.InterpSlerp, ops.InterpSlerp, ops.InterpAngle}
	for lo := r.IntN(3); lo < d; lo += r.IntN(3) {
		kind := kinds[r.IntN(len(kinds))]
		hi := min(lo+kind.Width()*(1+r.IntN(1+6/kind.Width())), lo+(d-lo)/kind.Width()*kind.Width())
		if hi > lo {
			g.c.Opts.Channels = append(g.c.Opts.Channels, ops.Channel{Lo: lo, Hi: hi, Interp: kind})
			lo = hi
		}
	}
	g.pace(samples)
	g.plainSource(dtype, 1, b, samples, d)
	g.targets(b, targets, form%3)
	g.c.DstLengths = nil
	return g.c
}
