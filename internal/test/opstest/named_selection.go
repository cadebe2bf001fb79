package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// episodes returns a store with two episodes. Timestamps are 10 ns apart, from 0 and from 1000; values are the samples' indices. The
// last sample of the first episode and the first of the second have wrong timestamps, which no selected row may use.
func episodes(in, clock tensor.DType, d int) *resampling {
	timestamps := []int64{0, 10, 20, 30, -1000, -990, -980}
	v := make([]float64, len(timestamps)*d)
	for i := range v {
		v[i] = float64(i / d)
	}
	times := arr(timestamps, len(timestamps))
	if clock != tensor.I64 {
		sec := make([]float64, len(timestamps))
		for i, ns := range timestamps {
			sec[i] = float64(ns) / 1e9
		}
		times = vals(clock, sec, len(sec))
	}
	return &resampling{Name: fmt.Sprint("episodes ", in, clock, d), Src: vals(in, v, len(timestamps), d), Times: times, Pad: true}
}

// rows tests windows of two episodes in any order, one of them twice, on an anchored clock. Some reach past the end of their episode.
func (s *suite) rows(t *testing.T) {
	for _, in := range valueDTypes {
		for i, clock := range clockDTypes {
			for _, d := range []int{1, 3, 8} {
				c := episodes(in, clock, d)
				c.SrcStarts, c.SrcLengths = arr([]int64{4, 0, 1, 0}, 4), arr([]int64{3, 4, 2, 4}, 4)
				c.Anchors, c.Deltas = arr([]int64{-990, 30, 20, 0}, 4), arr([]int64{-10, 0, 5, 10}, 4)
				s.check(t, c, layouts[i%2])
				got := s.called(t, c)
				for k, want := range []float64{4, 5, 5.5, 6, 2, 3, 3, 3, 1, 2, 2, 2, 0, 0, .5, 1} {
					if clock == tensor.I64 {
						assert.Equal(t, encode(in, want), got.dst[k*d+d-1], "%s, target %d", c.Name, k)
					}
				}
				if clock == tensor.I64 {
					assert.Equal(t, []uint64{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0}, got.pad, c.Name)
					assert.Equal(t, []uint64{1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1}, got.valid, c.Name)
				}
				for _, edge := range []ops.Edge{ops.EdgeFill, ops.EdgeExtrapolate, ops.EdgeHold} {
					one := *c
					one.Opts = ops.ResampleOptions{Edge: edge, Snap: ops.Within(2), Interp: ops.InterpLinear}
					s.check(t, &one, layouts[0])
					lengths := one
					lengths.DstLengths = arr([]int64{4, 0, 2, 3}, 4)
					f := &fusing{Name: c.Name, Out: in, Anchors: c.Anchors, Deltas: c.Deltas, Pad: true, DstLengths: lengths.DstLengths,
						Streams: []*part{{resampling: one}, {Width: 2}, {resampling: one, Offset: 3, Shift: make([]float32, d), Least: fill32(d, 1.5), Most: fill32(d, 4)}}}
					s.check(t, &lengths, layouts[1])
					s.check(t, f, layouts[i%2])
				}
			}
		}
	}
}

func fill32(n int, x float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// wrongRows tests starts and lengths that do not fit, rows without samples, timestamps out of order in some rows, wrong timestamps in
// no row, and anchors out of range.
func (s *suite) wrongRows(t *testing.T) {
	for i, clock := range clockDTypes {
		base := func() *resampling {
			c := episodes(tensor.F32, clock, 2)
			c.SrcStarts, c.SrcLengths = arr([]int64{0, 4, 1}, 3), arr([]int64{4, 3, 2}, 3)
			c.Anchors, c.Deltas = arr([]int64{0, 0, 0}, 3), arr([]int64{0, 5}, 2)
			return c
		}
		for n, change := range []func(c *resampling){
			func(c *resampling) { c.SrcStarts.raw[1] = uint64(math.MaxUint64) },
			func(c *resampling) { c.SrcStarts.raw[2] = 8 },
			func(c *resampling) { c.SrcLengths.raw[1] = 4 },
			func(c *resampling) { c.SrcLengths.raw[2] = uint64(math.MaxUint64) },
			func(c *resampling) { c.SrcLengths.raw[2] = math.MaxInt64 },
			func(c *resampling) { c.SrcLengths.raw[2] = 0 },
			func(c *resampling) { c.SrcStarts.raw[2], c.SrcLengths.raw[2] = 7, 0 },
			func(c *resampling) { c.SrcStarts.raw[2], c.SrcLengths.raw[2] = 3, 2 }, // past the episode's end
			func(c *resampling) { c.SrcStarts.raw[0], c.SrcLengths.raw[0] = 2, 4 },
			func(c *resampling) { c.Times.raw[2] = c.Times.raw[0] }, // in two rows that begin earlier
			func(c *resampling) { c.SrcStarts.raw[0], c.Times.raw[1] = 1, c.Times.raw[3]; c.SrcLengths.raw[0] = 2 },
			func(c *resampling) { c.SrcLengths.raw[1] = 2; c.Times.raw[6] = c.Times.raw[0] }, // in no row
			func(c *resampling) { c.Anchors.raw[1] = 1<<62 + 1 },
			func(c *resampling) { c.Deltas.raw[1] = 1<<62 + 1; c.Anchors.raw[2] = 1 << 62 },
			func(c *resampling) { c.Deltas.raw[1], c.Anchors.raw[2] = 1<<62, 1<<62 },
			func(c *resampling) { c.Deltas.raw[0], c.Anchors.raw[2] = 5, 1<<62-4 },
		} {
			c := base()
			c.Name = fmt.Sprint("wrong ", n, " ", clock)
			change(c)
			s.check(t, c, layouts[i%2])
			s.check(t, &fusing{Name: c.Name, Out: tensor.F32, Anchors: c.Anchors, Deltas: c.Deltas, Streams: []*part{{resampling: *base()}, {resampling: *c}}}, layouts[n%2])
			trusting := *c
			trusting.Opts.TrustTimes, trusting.Wrong = true, true
			s.check(t, &trusting, layouts[0])
		}
	}
}

// clips tests bounds that are equal, infinite or one-sided, with and without Shift and Scale, in rows of every alignment.
func (s *suite) clips(t *testing.T) {
	for i, in := range valueDTypes {
		for _, out := range []tensor.DType{in, tensor.F32, tensor.BF16} {
			for _, d := range []int{1, 2, 3, 8, 12} {
				r := rng(uint64(i*100 + d))
				v := append(uniformValues(r, 20*d-4), inf, -inf, math.NaN(), math.Copysign(0, -1))
				f := &fusing{Name: fmt.Sprint("clips ", in, out, d), Out: out, Targets: vals(tensor.F64, append(count0(20), 3.5, 4.25, -1, 30), 24)}
				for n, table := range [][]ops.Channel{nil, {{Lo: 0, Hi: 1, Interp: ops.InterpPchip}}, nil, nil} {
					p := &part{resampling: resampling{Src: vals(in, v, 20, d), Times: vals(tensor.F64, count0(20), 20), Opts: ops.ResampleOptions{Channels: table, Edge: ops.EdgeFill, Fill: ops.FillWith(-99)}}}
					p.Least, p.Most = fill32(d, -3), fill32(d, 4)
					p.Least[0], p.Most[d-1] = float32(math.Inf(-1)), -3
					switch n {
					case 2:
						p.Least, p.Shift = nil, fill32(d, .5)
					case 3:
						p.Most, p.Scale = nil, fill32(d, -2)
					}
					f.Streams = append(f.Streams, p)
				}
				s.check(t, f, layouts[d%2])
			}
		}
	}
}

// selecting returns a drawn case with a selection of rows from its packed rows: parts of them in any order, some more than once. The
// clock may become an anchored one, and Pad is set.
func (c *resampling) selecting(seed uint64) *resampling {
	r, out := rng(seed), *c
	b, samples, _, _ := c.dims()
	if samples == 0 || c.rowsFault() != nil {
		return c // there is nothing to select from, or the rows' lengths and offsets are wrong
	}
	out.Name, out.Pad = c.Name+", selecting", true
	n := b
	if c.DstLengths == nil && c.DstOffsets == nil && (c.Targets == nil || len(c.Targets.shape) == 1) {
		n = r.IntN(b + 3)
	}
	out.choose(r, n)
	if c.DstOffsets == nil && r.IntN(2) == 0 {
		_, _, targets, _ := c.dims()
		out.Anchors, out.Deltas = out.drawAnchors(r, targets)
		out.Targets, out.Clock = nil, ops.Clock{}
	}
	return &out
}

// choose makes the case's rows a selection of n rows, if they have samples.
func (c *resampling) choose(r *rand.Rand, n int) {
	b, _, _, d := c.dims()
	var values, timestamps []uint64
	var from, lengths []int
	for row := range b {
		start, samples := c.srcSpan(row)
		from, lengths = append(from, len(timestamps)), append(lengths, samples)
		for k := range samples {
			at := func(a *array, inner int, more ...int) uint64 { // the bits in a padded row, a shared row, or a packed row
				if len(a.shape) == inner+1 {
					return a.raw[a.at(append([]int{row, k}, more...)...)]
				}
				return a.raw[a.at(append([]int{start + k}, more...)...)]
			}
			timestamps = append(timestamps, at(c.Times, 1))
			for f := range d {
				values = append(values, at(c.Src, 2, f))
			}
		}
	}
	if len(timestamps) == 0 {
		return
	}
	starts, chosen := make([]int64, n), make([]int64, n)
	for i := range n {
		row := r.IntN(b)
		if lengths[row] > 0 {
			lo := r.IntN(lengths[row])
			starts[i], chosen[i] = int64(from[row]+lo), int64(1+r.IntN(lengths[row]-lo))
		}
	}
	c.Src, c.Times = packed(c.Src.dtype, values, len(timestamps), d), packed(c.Times.dtype, timestamps, len(timestamps))
	c.SrcOffsets, c.SrcStarts, c.SrcLengths = nil, arr(starts, n), arr(chosen, n)
}

// drawAnchors returns an anchored clock with targets near the timestamps of each row.
func (c *resampling) drawAnchors(r *rand.Rand, targets int) (anchors, deltas *array) {
	unit, length := 1.0, 1.0
	if c.Times.dtype != tensor.I64 {
		unit = 1e9
	}
	b, _, _, _ := c.dims()
	list := make([]int64, b)
	for i := range list {
		if start, n := c.srcSpan(i); n > 0 {
			list[i] = int64(max(-0x1p61, min(c.Times.float(start+r.IntN(n))*unit, 0x1p61)))
			length = max(length, min((c.Times.float(start+n-1)-c.Times.float(start))*unit, 0x1p58))
		}
	}
	steps := make([]int64, targets)
	for i := range steps {
		if r.IntN(8) > 0 {
			steps[i] = int64((r.Float64()*3 - 1.5) * length)
		}
	}
	return arr(list, b), arr(steps, targets)
}

// selecting returns a fusion with selections of rows for its streams, and with bounds.
func (f *fusing) selecting(seed uint64) *fusing {
	r, out := rng(seed), *f
	out.Name, out.Pad, out.Streams = f.Name+", selecting", true, nil
	b, _, _, _ := f.lead().dims()
	for m, p := range f.Streams {
		if p.Src != nil && f.alone(m).rowsFault() != nil {
			return f
		}
		q := *p
		if p.Src != nil {
			q.choose(r, b)
			if r.IntN(2) == 0 {
				q.Least, q.Most = fill32(q.width(), -1), fill32(q.width(), 1.25)
			}
		}
		out.Streams = append(out.Streams, &q)
	}
	if f.DstOffsets == nil && r.IntN(2) == 0 {
		_, _, targets, _ := f.alone(0).dims()
		out.Anchors, out.Deltas = out.lead().drawAnchors(r, targets)
		out.Targets, out.Clock = nil, ops.Clock{}
	}
	return &out
}

// windows tests that windows of a store have the same bits as their whole rows resampled onto the same times and then cut. Timestamps
// jitter, some are equal, some have gaps; ticks are on them and between; with and without Snap, in each kind, and fused, converted,
// normalised and clipped.
func (s *suite) windows(t *testing.T) {
	const d, ticks, windows = 6, 9, 12
	for i, clock := range clockDTypes {
		r := rng(uint64(70 + i))
		times := func(ns []int64) *array {
			if clock == tensor.I64 {
				return arr(ns, len(ns))
			}
			sec := make([]float64, len(ns))
			for k := range sec {
				sec[k] = float64(ns[k]) / 1e9
			}
			return vals(clock, sec, len(sec))
		}
		var timestamps, firsts, counts []int64
		for _, n := range []int64{40, 1, 2, 25, 7} {
			firsts, counts = append(firsts, int64(len(timestamps))), append(counts, n)
			at := r.Int64N(1000) * 1000
			for range n {
				timestamps = append(timestamps, at)
				at += []int64{0, 10_000_000, 10_000_000 + r.Int64N(800), 10_000_400, 9_999_700, 10_000_000, 300_000_000}[r.IntN(7)]
			}
		}
		starts, lengths, anchors, deltas := make([]int64, windows), make([]int64, windows), make([]int64, windows), make([]int64, ticks)
		for b := range starts {
			e := b % len(firsts)
			skip := r.Int64N(counts[e]) * int64(r.IntN(2))
			starts[b], lengths[b] = firsts[e]+skip, counts[e]-skip
			anchors[b] = timestamps[starts[b]+r.Int64N(lengths[b])] + []int64{0, 500, -900, r.Int64N(10_000_000)}[r.IntN(4)]
		}
		for k := range deltas {
			deltas[k] = int64(k-ticks/2) * 5_000_000
		}
		src := uniformValues(r, len(timestamps)*d)
		for n, kind := range []ops.Interp{ops.InterpLinear, ops.InterpPrevious, ops.InterpNext, ops.InterpNearest} {
			for _, snap := range []ops.Limit{{}, ops.Within(1000)} {
				c := &resampling{Name: fmt.Sprint("windows ", clock, kind, snap), Src: vals(tensor.F32, src, len(timestamps), d), Times: times(timestamps), Pad: true,
					SrcStarts: arr(starts, windows), SrcLengths: arr(lengths, windows), Anchors: arr(anchors, windows), Deltas: arr(deltas, ticks),
					Opts: ops.ResampleOptions{Interp: kind, Snap: snap}}
				s.check(t, c, layouts[n%2])
				got := s.called(t, c)
				for b := range windows {
					lo, hi := int(starts[b]), int(starts[b]+lengths[b])
					at := make([]int64, ticks)
					for k := range at {
						at[k] = anchors[b] + deltas[k]
					}
					alone := s.called(t, &resampling{Src: vals(tensor.F32, src[lo*d:hi*d], hi-lo, d), Times: times(timestamps[lo:hi]), Targets: times(at), Opts: c.Opts})
					assert.Equal(t, alone.dst, got.dst[b*ticks*d:(b+1)*ticks*d], "%s, window %d", c.Name, b)
					assert.Equal(t, alone.valid, got.valid[b*ticks:(b+1)*ticks], "%s, window %d", c.Name, b)
					assert.Equal(t, alone.age, got.age[b*ticks:(b+1)*ticks], "%s, window %d", c.Name, b)
				}
				f := &fusing{Name: c.Name, Out: []tensor.DType{tensor.BF16, tensor.F32, tensor.F16}[i], Anchors: c.Anchors, Deltas: c.Deltas, Pad: true}
				for m, in := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F32, tensor.BF16} {
					width := []int{d, 4, 8, 3, 16}[m]
					one := *c
					one.Src = vals(in, uniformValues(r, len(timestamps)*width), len(timestamps), width)
					one.Opts.Edge = []ops.Edge{ops.EdgeClamp, ops.EdgeFill, ops.EdgeHold, ops.EdgeExtrapolate, ops.EdgeClamp}[m]
					p := &part{resampling: one}
					if m%2 == 0 {
						p.Shift, p.Scale, p.Most = fill32(width, .5), fill32(width, 3), fill32(width, 6)
					}
					f.Streams = append(f.Streams, p)
				}
				s.check(t, f, layouts[n%2])
			}
		}
	}
}
