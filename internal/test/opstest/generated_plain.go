package opstest

import (
	"math"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// plain draws a common case: rows of one length and of whole chunks of 16 bytes, the default edge mode, no limits, the same dtype for
// the output, and a kind that copies or blends two samples.
func plain(r *rand.Rand, dtype, clock tensor.DType, form int) *resampling {
	g := &generator{Rand: r, c: &resampling{}, clock: clock, batch: true}
	whole := 16 / dtype.Size()
	b, samples, targets, d := 1+r.IntN(4), lengths[r.IntN(len(lengths))], lengths[r.IntN(len(lengths))], whole*[]int{1, 2, 3, 4, 5, 8, 11, 16, 32, 64}[r.IntN(10)]
	for b*(samples+targets)*d > 60_000 { // keep a case to milliseconds
		switch {
		case b > 1:
			b--
		case d > whole:
			d = d / whole / 2 * whole
		default:
			samples, targets = lengths[r.IntN(12)], lengths[r.IntN(12)]
		}
	}
	g.pace(samples)
	g.plainSource(dtype, whole, b, samples, d)
	g.targets(b, targets, form%3)
	g.c.DstLengths = nil
	return g.c
}

// plainSource draws the kind, the values and the timestamps of a plain case. The rows are multiples of `whole` elements.
func (g *generator) plainSource(dtype tensor.DType, whole, b, samples, d int) {
	if g.one(3) {
		g.c.Opts.Interp = []ops.Interp{ops.InterpPrevious, ops.InterpNext, ops.InterpNearest}[g.IntN(3)]
	}
	wild := []int{0, 0, 6, 50}[g.IntN(4)]
	draw := func(n int) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			out[i] = g.bits(dtype, wild)
		}
		return out
	}
	g.c.Src, g.c.Times = packed(dtype, draw(b*samples*d), b, samples, d), g.times(b, samples)
	switch g.IntN(6) {
	case 0: // chunks with gaps between them
		step := d + whole*g.IntN(3)
		g.c.Src = g.c.Src.restride([]int{samples*step + whole*g.IntN(3), step, 1}, whole*g.IntN(2), 0, encode(dtype, math.NaN()))
	case 1: // a clock that all rows share
		g.rows = g.rows[:1]
		g.c.Times = packed(g.clock, g.c.Times.raw[:samples], samples)
		for len(g.rows) < b {
			g.rows = append(g.rows, g.rows[0])
		}
	}
}

// plainFusing draws a fusion of plain streams, some with unaligned widths.
func plainFusing(r *rand.Rand, dtype, clock tensor.DType, form int) *fusing {
	f := &fusing{Out: dtype}
	b, targets := 1+r.IntN(4), lengths[r.IntN(len(lengths)-1)]
	unit := 4 / dtype.Size()
	var first *generator
	for range 1 + r.IntN(4) {
		g := &generator{Rand: r, c: &resampling{}, clock: clock, batch: true}
		if first == nil {
			first = g
			g.pace(targets)
		}
		g.start, g.tick = first.start, first.tick
		samples, d := lengths[r.IntN(len(lengths)-1)], unit*[]int{1, 2, 3, 4, 5, 8, 11, 16, 32, 64}[r.IntN(10)]
		for b*(samples+targets)*d > 20_000 && d > unit {
			d = d / unit / 2 * unit
		}
		g.plainSource(dtype, unit, b, samples, d)
		f.Streams = append(f.Streams, &part{resampling: *g.c})
	}
	first.targets(b, targets, form%3)
	f.Targets, f.Clock = first.c.Targets, first.c.Clock
	return f
}

// vary makes a case run only as a plan. By its number, some cases get wrong values, are trusted, or both.
func vary(r *rand.Rand, c *resampling, number int) {
	c.Planned = true
	switch number % 14 {
	case 3, 10:
		spoil(r, c)
	case 5:
		c.Wrong = solve(c).err != nil // a large part of the range may exceed it
		c.Opts.TrustTimes = true
	case 12:
		spoil(r, c)
		c.Opts.TrustTimes, c.Wrong = true, true
	}
}

// spoil makes timestamps, targets, lengths or offsets wrong: not finite, out of range, or less than their predecessor.
func spoil(r *rand.Rand, c *resampling) {
	const beyond = int64(1<<62 + 1)
	for range 1 + r.IntN(3) {
		var rows []*array
		for _, a := range []*array{c.SrcLengths, c.SrcOffsets, c.DstLengths, c.DstOffsets} {
			if a != nil {
				rows = append(rows, a)
			}
		}
		switch at := r.IntN(len(c.Times.raw)); {
		case len(rows) > 0 && r.IntN(2) == 0:
			a := rows[r.IntN(len(rows))]
			i := r.IntN(len(a.raw))
			a.raw[i] = uint64([]int64{-1, 0, int64(a.raw[i]) + 1, int64(a.raw[i]) - 1, 1 << 40, math.MaxInt64, math.MinInt64}[r.IntN(7)])
		case c.Times.dtype != tensor.I64 && r.IntN(2) == 0:
			c.Times.raw[at] = encode(c.Times.dtype, []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)])
		case c.Times.dtype == tensor.I64 && r.IntN(3) == 0:
			c.Times.raw[at] = uint64([]int64{beyond, -beyond}[r.IntN(2)])
		case c.Times.dtype == tensor.I64 && c.Targets != nil && len(c.Targets.raw) > 0 && r.IntN(3) == 0:
			c.Targets.raw[r.IntN(len(c.Targets.raw))] = uint64([]int64{beyond, -beyond}[r.IntN(2)])
		case at > 0 && c.Times.dtype == tensor.I64:
			c.Times.raw[at] = c.Times.raw[at-1] - 1
		case at > 0:
			x := decode(c.Times.dtype, c.Times.raw[at-1])
			c.Times.raw[at] = encode(c.Times.dtype, x-math.Max(math.Abs(x), 1)*0x1p-20)
		}
	}
}
