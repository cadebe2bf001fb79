package opstest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawFuse returns the generated cases with a number. The clocks and forms of target clock take turns, the rest is random. Some
// numbers also have a case with a selection of rows, or with Snap.
func drawFuse(i int) []trial {
	c := generateFusing(uint64(7000+i), clockDTypes[i%3], valueDTypes[i/3%4], i/3%4, i >= 96 && i/12%2 == 0)
	if dtype := valueDTypes[i/3%4]; i >= 96 && i%4 == 2 && dtype != tensor.F64 {
		c = plainFusing(rng(uint64(7000+i)), dtype, clockDTypes[i%3], i/3%4)
	}
	if i >= 96 {
		c.vary(rng(uint64(8000+i)), i)
	}
	c.Name = numbered("fuse", i)
	l := layouts[i%2]
	all := []trial{{c, l}}
	switch i % 3 {
	case 1:
		all = append(all, trial{c.snapping(uint64(i)), l})
	case 2:
		all = append(all, trial{c.selecting(uint64(i)), l})
	}
	return all
}

// generateFusing draws a fusion. The streams' clocks overlap; some are shifted, and the offset shifts them back. If flat is set, the
// streams are as in generate.
func generateFusing(seed uint64, clock, out tensor.DType, form int, flat bool) *fusing {
	r := rng(seed)
	f := &fusing{Out: out}
	b, targets := 1+r.IntN(4), lengths[r.IntN(len(lengths)-1)]
	streams := []int{1, 2, 3, 5, 16}[r.IntN(5)]
	first := &generator{Rand: r, clock: clock, batch: true}
	first.c = &resampling{}
	first.pace(targets)
	for m := range streams {
		g := &generator{Rand: r, c: &resampling{}, clock: clock, flat: flat, batch: true, start: first.start, tick: first.tick * (.3 + 2*r.Float64())}
		d, n := []int{1, 2, 3, 4, 6, 7, 8, 16, 32, 48}[r.IntN(10)], lengths[r.IntN(len(lengths)-1)]
		for b*(n+targets)*d*streams > 60_000 {
			d, n = max(d/2, 1), max(n/2, 1)
			if d == 1 && n == 1 {
				break
			}
		}
		if m > 0 && g.one(12) {
			f.Streams = append(f.Streams, &part{Width: d})
			continue
		}
		p := &part{}
		// An offset needs the targets written out, but packed targets on a uniform clock are not.
		if unit := first.tick; m > 0 && form < 2 && g.one(2) {
			if clock != tensor.I64 {
				unit *= 1e9
			}
			p.Offset = time.Duration(max(-0x1p61, min(unit*5*g.NormFloat64(), 0x1p61)))
			g.start -= unitsOf(clock, p.Offset)
		}
		g.options(d)
		g.source(valueDTypes[r.IntN(4)], b, n, d)
		if m == 0 {
			first.rows, first.c = g.rows, g.c
			first.targets(b, targets, form)
			f.Targets, f.Clock, f.Packed, f.DstLengths, f.DstOffsets = g.c.Targets, g.c.Clock, g.c.Packed, g.c.DstLengths, g.c.DstOffsets
		}
		if g.c.SrcLengths != nil && g.one(2) {
			g.c.SrcLengths.raw[g.IntN(b)] = 0
		}
		p.resampling = *g.c
		p.Targets, p.DstLengths, p.DstOffsets = nil, nil, nil
		if g.one(2) {
			p.Shift = numbers(g, d)
		}
		if g.one(2) {
			p.Scale = numbers(g, d)
		}
		f.Streams = append(f.Streams, p)
	}
	return f
}

// vary makes a stream of the case wrong or trusted, as for a resampling.
func (f *fusing) vary(r *rand.Rand, number int) {
	f.Planned = true
	p := f.Streams[r.IntN(len(f.Streams))]
	if p.Src == nil {
		return
	}
	c := p.resampling
	c.Targets, c.DstLengths, c.DstOffsets = f.Targets, f.DstLengths, f.DstOffsets
	vary(r, &c, number)
	f.Wrong = c.Opts.TrustTimes && (c.Wrong || f.fault() != nil)
	f.Trust = c.Opts.TrustTimes
}

// unitsOf returns a duration in a clock's unit: nanoseconds or seconds.
func unitsOf(clock tensor.DType, d time.Duration) float64 {
	if clock == tensor.I64 {
		return float64(d)
	}
	return float64(d) / 1e9
}

func numbers(g *generator, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(g.NormFloat64())
	}
	return out
}

// fuseGolden tests a quaternion stream between two others. The expected values are from scipy's Slerp.
func (s *suite) fuseGolden(t *testing.T) {
	var file struct{ Cases []golden }
	require.NoError(t, json.Unmarshal(goldenJSON, &file))
	cases := 0
	for _, g := range file.Cases {
		if g.Oracle != "scipy.spatial.transform.Slerp" {
			continue
		}
		cases++
		raw := func(in []int64) []uint64 {
			out := make([]uint64, len(in))
			for i, b := range in {
				out[i] = uint64(b)
			}
			return out
		}
		beside := func(dtype tensor.DType, d int) *part {
			return &part{resampling: resampling{Src: vals(dtype, uniformValues(rng(45), g.Samples*d), g.Samples, d), Times: arr(g.Times, g.Samples)}}
		}
		q := &part{resampling: resampling{Src: packed(tensor.F64, raw(g.Values), g.Samples, 4), Times: arr(g.Times, g.Samples), Opts: ops.ResampleOptions{Interp: ops.InterpSlerp}}}
		f := &fusing{Name: g.Oracle, Out: tensor.F64, Streams: []*part{beside(tensor.F32, 3), q, beside(tensor.BF16, 8)}, Targets: arr(g.At, g.Targets)}
		s.check(t, f, layouts...)
		got := s.called(t, f)
		tolerance := 64 * 0x1p-53
		if g.Rule == "small-rotation" {
			tolerance = 5e-8
		}
		for i := range g.Targets {
			sameRotation(t, raw(g.Want)[4*i:][:4], got.dst[15*i+3:][:4], tolerance, fmt.Sprint("target ", i))
		}
	}
	require.NotZero(t, cases)
}

// FuzzFuse runs fusions from any seed on the devices and compares the results. The first device is the CPU.
func FuzzFuse(f *testing.F, devs ...*ops.Device) {
	for i := range uint8(24) {
		f.Add(uint64(i), i, i/3, i)
	}
	all := suites(devs)
	f.Fuzz(func(t *testing.T, seed uint64, clock, out, form uint8) {
		c := generateFusing(seed, clockDTypes[clock%3], valueDTypes[out%4], int(form%4), form/4%2 == 1)
		c.Name = "fuzz"
		for _, s := range all {
			s.check(t, c, layouts[seed%2])
		}
	})
}

// snapping returns the case with Snap set for its streams.
func (f *fusing) snapping(seed uint64) *fusing {
	out := *f
	out.Name += ", snapping"
	out.Streams = nil
	for m, p := range f.Streams {
		q := *p
		if p.Src != nil {
			q.resampling = *p.resampling.snapping(seed + uint64(m)<<32)
		}
		out.Streams = append(out.Streams, &q)
	}
	return &out
}
