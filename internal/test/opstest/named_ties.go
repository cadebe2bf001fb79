package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// pieces has row widths in chunks for which each of 128 threads moves one, two and four chunks, or in oneAndMore some one and some
// two.
var pieces = []int{33, 131, 387}

const oneAndMore = 133

// limited sets a limit that no time reaches.
var limited = ops.ResampleOptions{MaxGap: ops.Within(math.MaxInt64)}

// roundedEach tests that each step of a blend rounds to nearest, on every clock and for all dtypes, in every element of those moved
// together, and in every part of a thread's work.
func (s *suite) roundedEach(t *testing.T) {
	r := rng(65)
	run := func(in, out, clock tensor.DType, list []tie, d int, opts ops.ResampleOptions) {
		c := &resampling{Name: fmt.Sprint("ties ", len(list)), Out: out, Opts: opts, Planned: true}
		c.Src, c.Times, c.Targets = tiedSource(r, in, out, clock, list, d)
		s.check(t, c, layouts[0])
	}
	two := ties()[:2]
	for _, in := range valueDTypes {
		for _, out := range valueDTypes {
			for _, clock := range clockDTypes {
				all := tiesOn(clock)
				run(in, out, clock, all, 8, ops.ResampleOptions{})
				run(in, out, clock, all, 8, limited)
				run(in, out, clock, all, 5, ops.ResampleOptions{Channels: []ops.Channel{{Lo: 1, Hi: 2, Interp: ops.InterpPrevious}}})
			}
			for n := 16 / in.Size(); n > 0; n /= 2 { // elements moved together
				run(in, out, tensor.I64, two, oneAndMore*n, limited)
				if in == out { // by the kernels that handle Snap, too
					run(in, out, tensor.I64, two, oneAndMore*n, ops.ResampleOptions{Snap: ops.Within(0)})
				}
			}
			for _, chunks := range pieces {
				if in == out && in != tensor.F64 {
					run(in, out, tensor.I64, two, chunks*16/in.Size(), ops.ResampleOptions{})
				}
			}
		}
	}
}

// tiedPart returns a stream with samples from ties. With scales, the first target shows in each feature if the product with the scale
// is rounded.
func tiedPart(r *rand.Rand, in, out, clock tensor.DType, list []tie, d int, scaled bool) *part {
	p := &part{}
	p.Src, p.Times, _ = tiedSource(r, in, out, clock, list, d)
	if !scaled {
		return p
	}
	p.Shift, p.Scale = make([]float32, d), make([]float32, d)
	a := list[0].x / list[0].h
	if in != tensor.F64 {
		a = toFloat32(a, false)
	}
	for k := range d {
		blended := float32(blend(in, p.Src.float(k), p.Src.float(d+k), a, none))
		for told := false; !told; {
			p.Shift[k] = float32(r.NormFloat64())
			x, to := float64(blended-p.Shift[k]), .5+r.Float64()
			if out.Size() == 2 {
				to = middle(out, to)
			}
			p.Scale[k] = float32(to / x)
			y := x * float64(p.Scale[k])
			told = encode(out, toFloat32(y, false)) != encode(out, toFloat32(y, true))
		}
	}
	return p
}

// fuseRoundedEach is roundedEach for up to sixteen streams, with and without scales, at alignments that allow writes of more or fewer
// bytes.
func (s *suite) fuseRoundedEach(t *testing.T) {
	r := rng(66)
	run := func(f *fusing, clock tensor.DType, list []tie) {
		f.Name, f.Planned = fmt.Sprint("ties ", len(f.Streams)), true
		_, _, f.Targets = tiedSource(r, tensor.F32, tensor.F32, clock, list, 1)
		s.check(t, f, layouts[0])
	}
	two := ties()[:2]
	narrow := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	for i, out := range valueDTypes {
		for k, clock := range clockDTypes {
			for _, limit := range []ops.ResampleOptions{{}, limited} {
				for _, last := range []tensor.DType{tensor.F16, tensor.F64} {
					f := &fusing{Out: out}
					for _, in := range []tensor.DType{out, tensor.F32, last} {
						p := tiedPart(r, in, out, clock, tiesOn(clock), 8, false)
						p.Opts = limit
						f.Streams = append(f.Streams, p)
					}
					run(f, clock, tiesOn(clock))
				}
			}
			if k > 0 || out == tensor.F64 {
				continue
			}
			for form := range 4 { // with scales; with a stream that is computed by elements
				f := &fusing{Out: out}
				for _, in := range narrow {
					for n := 16 / in.Size(); n > 0; n /= 2 {
						f.Streams = append(f.Streams, tiedPart(r, in, out, clock, two, oneAndMore*n, form%2 == 1))
					}
				}
				if form >= 2 {
					f.Streams = append(f.Streams, tiedPart(r, tensor.F64, out, clock, two, 3, form%2 == 1))
				}
				for len(f.Streams) < ops.MaxStreams {
					f.Streams = append(f.Streams, tiedPart(r, out, out, clock, two, 1+len(f.Streams), false))
				}
				run(f, clock, two)
			}
		}
		if out == tensor.F64 {
			continue
		}
		// Streams with the output's dtype and rows that are multiples of 4, 8 and 16 bytes. The first stream decides the alignment of
		// the others.
		for first := range 3 {
			f := &fusing{Out: out}
			bytes := 0
			for unit := range 3 {
				size := 16 >> ((unit + first) % 3)
				for _, chunks := range pieces {
					d := chunks * size / out.Size()
					bytes += chunks * size
					f.Streams = append(f.Streams, tiedPart(r, out, out, clockDTypes[i%3], two, d, false))
				}
			}
			for len(f.Streams) < ops.MaxStreams {
				d := 4 / out.Size()
				if len(f.Streams) == ops.MaxStreams-1 {
					for (bytes+d*out.Size())%(16>>first) > 0 {
						d += 4 / out.Size()
					}
				}
				bytes += d * out.Size()
				f.Streams = append(f.Streams, tiedPart(r, out, out, clockDTypes[i%3], two, d, false))
			}
			run(f, clockDTypes[i%3], two)
		}
	}
}
