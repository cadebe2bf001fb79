package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// goodTimestamps tests correct timestamps that equal their predecessor, or begin a row before the end of the previous row, at every
// place in the group that a thread checks together. It also tests int64 times at the limits of their range, and one beyond.
func goodTimestamps(test visit) {
	number := 0
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			for _, n := range []int{4, 5, 7} {
				const b = 42
				timestamps := make([]float64, b*n)
				for i := range timestamps {
					row, k := i/n, i%n
					timestamps[i] = float64(b - row + (k+row)/2*2) // equal pairs begin at even places in some rows, at odd ones in others
				}
				number++
				alike(fmt.Sprint("good timestamps ", in, clock, n), in, vals(clock, timestamps, b, n), vals(clock, []float64{3, b}, 2), number, test)
			}
			if clock != tensor.I64 {
				continue
			}
			const end = 1 << 62
			for _, last := range []int64{end, end + 1} {
				for _, row := range [][]int64{{-end, -5, 0, 9, last}, {-last, -5, 0, 9, end}} {
					number++
					alike(fmt.Sprint("last timestamps ", in, row), in, arr(row, 1, len(row)), arr([]int64{-end, end - 1}, 2), number, test)
				}
			}
		}
	}
}

// alike runs rows of timestamps [B,S] in every way, with values that are all different.
func alike(name string, in tensor.DType, times, targets *array, number int, test visit) {
	b, n := times.shape[0], times.shape[1]
	c := &resampling{Name: name, Times: times, Targets: targets}
	everyWay(c, in, func(dtype tensor.DType, d int) *array {
		return vals(dtype, uniformValues(rng(uint64(number)), b*n*d), b, n, d)
	}, test)
}

// noTargets tests NaN targets and filled targets, with conversions between all dtypes, in rows of several kinds.
func noTargets(test visit) {
	number := 0
	for _, in := range valueDTypes {
		for _, out := range valueDTypes {
			for _, clock := range []tensor.DType{tensor.F64, tensor.F32} {
				for _, kind := range []ops.Interp{ops.InterpAngle, ops.InterpSlerp, ops.InterpPchip, ops.InterpHermite} {
					number++
					channels := []ops.Channel{{Hi: 1, Interp: ops.InterpPrevious}, {Lo: 2, Hi: 6, Interp: kind}, {Lo: 6, Hi: 7, Interp: ops.InterpNext}}
					c := &resampling{Name: fmt.Sprint("no targets ", in, out, clock, kind), Out: out, Planned: true, Src: vals(in, poseValues(rng(uint64(number)), 5, 7, channels), 5, 7), Times: vals(clock, []float64{0, 1, 2, 8, 9}, 5),
						Targets: vals(clock, []float64{math.NaN(), -1, 0, .5, 5, math.NaN(), 9, 10}, 8), Opts: ops.ResampleOptions{Channels: channels, MaxGap: ops.Within(3e9), FillGaps: number%2 == 0, Fill: ops.FillWith(7)}}
					c.Opts.Edge = []ops.Edge{ops.EdgeClamp, ops.EdgeFill}[number/2%2]
					test(c, plannedFusion(c, out), layouts[number%2])
				}
			}
		}
	}
}

// manyEmpty tests so many rows for few samples that every thread checks several offsets; in some cases one is wrong. Only the last
// row has targets.
func manyEmpty(test visit) {
	const b, n = 1000, 4
	number := 0
	for _, in := range valueDTypes {
		for _, channels := range [][]ops.Channel{nil, {{Lo: 1, Hi: 2, Interp: ops.InterpAngle}}, {{Lo: 1, Hi: 2, Interp: ops.InterpPchip}}} {
			for i := range 2 * len(clockDTypes) {
				clock, at := clockDTypes[i/2], []int{-1, 777}[i%2]
				number++
				sources, targets := make([]int64, b+1), make([]int64, b+1)
				for row := range b {
					sources[row+1], targets[row+1] = int64((row+1)*n/b), int64(row/(b-1))
				}
				if at >= 0 {
					sources[at] = n + 1
				}
				c := &resampling{Name: fmt.Sprint("many empty rows ", in, clock, at), Planned: true, Src: vals(in, uniformValues(rng(uint64(number)), n*2), n, 2), Times: vals(clock, make([]float64, n), n),
					SrcOffsets: arr(sources, b+1), Targets: vals(clock, []float64{3}, 1), DstOffsets: arr(targets, b+1), Opts: ops.ResampleOptions{Channels: channels}}
				test(c, &fusing{Name: c.Name, Out: in, Streams: []*part{{resampling: *c}}, Targets: c.Targets, DstOffsets: c.DstOffsets, Planned: true}, layouts[0])
			}
		}
	}
}
