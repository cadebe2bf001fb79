package opstest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// unalignedLayouts place outputs of unaligned rows at every element offset of a word, without gaps and with some.
var unalignedLayouts = []layout{
	{name: "unaligned", front: 1, end: 33, sideOffset: 1},
	{name: "even", front: 8, end: 1, sideOffset: 4},
	{name: "apart", front: 5, step: 3, row: 0, end: 2, sideOffset: 3},
}

// unalignedParts returns the tests for rows that are not multiples of a word, which have their own kernels.
func unalignedParts() parts {
	return parts{
		"f32":                            unalignedOf(tensor.F32, 0),
		"bf16":                           unalignedOf(tensor.BF16, 47),
		"f16":                            unalignedOf(tensor.F16, 94),
		"rounding":                       (*suite).unalignedRounding,
		"late timestamps":                resampled(lateTimestamps),
		"late timestamps in a fusion":    fusedToo(lateTimestamps),
		"timestamps at once":             resampled(timestampsAtOnce),
		"lone infinities":                resampled(loneInfinities),
		"lone infinities in a fusion":    fusedToo(loneInfinities),
		"timestamps at once in a fusion": fusedToo(timestampsAtOnce),
		"ties among others":              resampled(tiesAmongOthers),
		"ties among others in a fusion":  fusedToo(tiesAmongOthers),
		"limits":                         (*suite).limits,
		"shares":                         (*suite).shares,
		"chunks in a fusion":             (*suite).fuseChunks,
	}
}

// unalignedOf returns a test for rows of every small width, and of widths at which the kernels change, with sources that may begin
// inside a word. The cases are plain, with clocks, kinds and forms of target clock in turn. The default set has few widths for f16,
// because it uses the same code as bf16.
func unalignedOf(dtype tensor.DType, number int) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		widths := []int{63, 64, 65, 113, 349, 641, 1031}
		for d := 1; d <= 40; d++ {
			widths = append(widths, d)
		}
		if dtype == tensor.F16 && !s.long {
			widths = widths[:20]
		}
		for i, d := range widths {
			number := number + i + 1
			r := rng(uint64(40_000 + number))
			c := unalignedCase(r, dtype, d, number)
			c.Name = fmt.Sprint(d, " features")
			l := unalignedLayouts[number%len(unalignedLayouts)]
			s.check(t, c, l)
			if f := unalignedFusing(r, dtype, d, number); !t.Failed() && number%2 == 0 {
				f.Name = fmt.Sprint("a stream of ", d, " features")
				s.check(t, f, l)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// unalignedCase draws a resampling of rows of d features.
func unalignedCase(r *rand.Rand, dtype tensor.DType, d, number int) *resampling {
	g := &generator{Rand: r, c: &resampling{Planned: true}, clock: clockDTypes[number%3], batch: true}
	b, samples, targets := 1+r.IntN(3), lengths[r.IntN(12)], lengths[3+r.IntN(9)]
	if d <= 3 {
		targets = 800
	}
	if d > 100 {
		b, samples, targets = 2, 1+r.IntN(9), 1+r.IntN(9)
	}
	g.pace(samples)
	g.unalignedSource(dtype, b, samples, d)
	g.c.Opts.Interp = []ops.Interp{ops.InterpLinear, ops.InterpLinear, ops.InterpPrevious, ops.InterpNext, ops.InterpNearest}[number%5]
	g.targets(b, targets, []int{0, 1, 2}[r.IntN(3)])
	g.c.DstLengths = nil
	return g.c
}

// unalignedSource draws a source that begins at any element, with or without gaps between samples and rows.
func (g *generator) unalignedSource(dtype tensor.DType, b, samples, d int) {
	g.plainSource(dtype, 1, b, samples, d)
	step := d + []int{0, 0, 1, 3}[g.IntN(4)]
	g.c.Src = g.c.Src.restride([]int{samples*step + g.IntN(3), step, 1}, g.IntN(4), 0, poison(dtype))
}

// unalignedFusing draws a fusion of a stream with d features and other streams.
func unalignedFusing(r *rand.Rand, dtype tensor.DType, d, number int) *fusing {
	f := &fusing{Out: dtype, Planned: true}
	b, targets := 1+r.IntN(2), lengths[3+r.IntN(6)]
	var first *generator
	for _, d := range []int{1 + r.IntN(20), d, 8, 1 + 2*r.IntN(20)}[r.IntN(2):] {
		g := &generator{Rand: r, c: &resampling{}, clock: clockDTypes[number%3], batch: true}
		if first == nil {
			first = g
			g.pace(targets)
		}
		g.start, g.tick = first.start, first.tick
		g.unalignedSource(dtype, b, lengths[r.IntN(9)]*8/(8+d)+1, d)
		f.Streams = append(f.Streams, &part{resampling: *g.c})
	}
	first.targets(b, targets, r.IntN(3))
	f.Targets, f.Clock = first.c.Targets, first.c.Clock
	return f
}
