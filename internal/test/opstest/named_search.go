package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// everyWay runs a case in a form for each of a kernel's ways to search and check timestamps: rows of whole chunks or not, the same or
// another output dtype, a table of kinds with or without curves, each with and without limits.
func everyWay(c *resampling, in tensor.DType, values func(dtype tensor.DType, d int) *array, test visit) {
	other := tensor.F32
	if in == tensor.F32 {
		other = tensor.F16
	}
	table := func(kind ops.Interp) ops.ResampleOptions {
		return ops.ResampleOptions{Channels: []ops.Channel{{Lo: 1, Hi: 2, Interp: kind}}}
	}
	for _, form := range []struct {
		d    int
		out  tensor.DType
		opts ops.ResampleOptions
	}{{16 / in.Size(), in, c.Opts}, {1, in, c.Opts}, {1, in, limited}, {2, other, c.Opts}, {2, other, limited},
		{2, in, table(ops.InterpAngle)}, {2, in, with(table(ops.InterpAngle), noLimit)}, {2, in, table(ops.InterpPchip)}, {2, in, with(table(ops.InterpPchip), noLimit)}} {
		if in == tensor.F64 && form.out != in {
			continue // it has one way for all dtypes
		}
		one := *c
		one.Src, one.Out, one.Opts, one.Planned = values(in, form.d), form.out, form.opts, true
		one.Opts.Interp = c.Opts.Interp
		f := &fusing{Name: c.Name, Out: form.out, Streams: []*part{{resampling: one}}, Targets: c.Targets, Clock: c.Clock, Planned: true}
		test(&one, f, layouts[0])
	}
}

// noLimit sets a limit that no time reaches.
func noLimit(o *ops.ResampleOptions) { o.MaxGap = limited.MaxGap }

// searches tests rows in which all timestamps but the first and the last are close together, at a different place in each row. A
// search that assumes even spacing starts at that place, and must go from every higher sample to every target. In other rows it must
// also go down. Targets are on timestamps, between them, and near the ends of the row.
func searches(test visit) {
	const n = 17
	for i, in := range valueDTypes {
		for k, clock := range clockDTypes {
			unit, least := 1.0, 0x1p-40
			switch clock {
			case tensor.I64:
				unit, least = 0x1p30, 0x1p-30
			case tensor.F32:
				least = 0x1p-19
			}
			const b = n - 1 + 16
			r := rng(67)
			var timestamps, targets []float64
			for g := range b {
				row, part := make([]float64, n), []float64{0, .25, .75}
				for s := range row {
					row[s] = float64(g) + .5 + float64(s)*0x1p-10
				}
				row[0], row[n-1] = 0, n-1
				if g >= n-1 {
					row, part = gapped(r, n, 1+g%3), []float64{0, 0, .5}
				}
				x := []float64{row[n-1] - least, row[0] + least}
				for s := range n - 1 {
					x = append(x, row[s]+(row[s+1]-row[s])*part[(s+g+i)%3])
				}
				for s := range row {
					timestamps = append(timestamps, row[s]*unit)
				}
				for s := range x { // not in ascending order, so that the search begins elsewhere first
					targets = append(targets, x[(s+len(x)/2)%len(x)]*unit)
				}
			}
			c := &resampling{Name: fmt.Sprint("searches ", in, clock), Times: vals(clock, timestamps, b, n), Targets: vals(clock, targets, b, len(targets)/b)}
			if (i+k)%2 == 0 {
				c.Opts.Interp = ops.InterpNearest
			}
			everyWay(c, in, func(dtype tensor.DType, d int) *array { return vals(dtype, uniformValues(r, b*n*d), b, n, d) }, test)
			for _, bytes := range []int{4, 8, 16} { // linear rows of one unit
				if in.Size() <= bytes && in != tensor.F64 {
					one := *c
					d := bytes / in.Size()
					one.Src, one.Planned, one.Opts.Interp = vals(in, uniformValues(r, b*n*d), b, n, d), true, ops.InterpLinear
					test(&one, &fusing{Name: c.Name, Out: in, Streams: []*part{{resampling: one}}, Targets: c.Targets, Planned: true}, layouts[0])
				}
			}
		}
	}
}

// badTimestamps tests that every kernel on every clock finds a timestamp that is not finite, out of range, or before its predecessor.
// The first timestamp of a row has no predecessor.
func badTimestamps(test visit) {
	const b, n = 3, 5
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			type bad struct {
				at int
				x  float64
			}
			wrong := []bad{{1, 3}, {4, 9}, {4, 30}, {7, math.NaN()}, {13, math.Inf(1)}} // 30 is correct
			if clock == tensor.I64 {
				wrong[3].x, wrong[4].x = 0x1.8p62, -0x1.8p62
			}
			for _, w := range wrong {
				timestamps := make([]float64, b*n)
				for k := range timestamps {
					timestamps[k] = float64(k%n*2 + 10 - k/n*3)
				}
				timestamps[w.at] = w.x
				c := &resampling{Name: fmt.Sprint("bad timestamps ", in, clock, w), Times: vals(clock, timestamps, b, n), Targets: vals(clock, []float64{4, 11}, 2)}
				r := rng(68)
				values := func(dtype tensor.DType, d int) *array { return vals(dtype, uniformValues(r, b*n*d), b, n, d) }
				everyWay(c, in, values, test)
				// Rows with lengths, with offsets, and with gaps.
				lengths, offsets, apart := *c, *c, *c
				lengths.SrcLengths = arr([]int64{n, n - 1, n}, b)
				lengths.Times = vals(clock, append([]float64(nil), timestamps...), b, n)
				lengths.Times.raw[2*n-1] = encode(clock, -9) // padding
				everyWay(&lengths, in, values, test)
				offsets.Times, offsets.SrcOffsets = vals(clock, timestamps, b*n), arr([]int64{0, n, 2 * n, 3 * n}, b+1)
				offsets.Targets = vals(clock, []float64{4, 11, 4, 11, 4, 11}, b, 2)
				everyWay(&offsets, in, func(dtype tensor.DType, d int) *array { return vals(dtype, uniformValues(r, b*n*d), b*n, d) }, test)
				apart.Times = c.Times.restride([]int{n + 2, 1}, 1, 0, encode(clock, -9))
				everyWay(&apart, in, values, test)
			}
		}
	}
}

// lateTimestamps tests that a wrong timestamp is found anywhere in rows that the threads pass over many times, both threads that
// search for targets and threads that only check.
func lateTimestamps(test visit) {
	const b, n = 2, 2200
	r := rng(69)
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			// Near the end, and where threads of the first block check timestamps for the second time. There are 96 such threads, and
			// each checks two or four timestamps at a time.
			for i, at := range []int{b*n - 1 - r.IntN(5), 192 + r.IntN(64), 384 + r.IntN(128), 1 + r.IntN(n-1)} {
				timestamps := make([]float64, b*n)
				for k := range timestamps {
					timestamps[k] = float64(k % n)
				}
				timestamps[at] = timestamps[at-1] - 1
				c := &resampling{Name: fmt.Sprint("late timestamps ", in, clock, at), Times: vals(clock, timestamps, b, n), Targets: vals(clock, []float64{0, 7}, 2)}
				if i == 3 {
					c.Targets = vals(clock, count0(130), 130)
				}
				everyWay(c, in, func(dtype tensor.DType, d int) *array { return vals(dtype, make([]float64, b*n*d), b, n, d) }, test)
			}
		}
	}
}
