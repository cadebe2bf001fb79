package opstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

var narrowDTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

// fuseCounts tests from one stream to the maximum number, for each kernel that divides blocks among the streams: streams that keep
// their dtype (in whole words or not), streams that change it, and fusions with a curve.
func (s *suite) fuseCounts(t *testing.T) {
	for n := range ops.MaxStreams {
		for form, dtypes := range [][2]tensor.DType{{tensor.F32, tensor.F32}, {tensor.F16, tensor.F16}, {tensor.F32, tensor.BF16}, {tensor.F32, tensor.F16}} {
			f := &fusing{Name: fmt.Sprint(n+1, " streams, form ", form), Out: dtypes[1], Targets: vals(tensor.F64, []float64{.25, 1.5, 7}, 3), Planned: true}
			for m := range n + 1 {
				p := constant(float64(m+1), 3+m%2, 1+m%3)
				p.Src.dtype = dtypes[0]
				for i := range p.Src.raw {
					p.Src.raw[i] = encode(dtypes[0], float64(m+1)+float64(i)/8)
				}
				if form == 3 && m == n {
					p.Opts.Interp = ops.InterpPchip
				}
				f.Streams = append(f.Streams, p)
			}
			s.check(t, f, layouts[0])
		}
	}
	// Rows of whole words, with enough samples that a device may guess the samples of a target.
	for number, dtype := range narrowDTypes {
		for _, n := range []int{4, 5, 16} {
			f := &fusing{Name: fmt.Sprint(n, " streams of ", dtype, ", small"), Out: dtype, Targets: vals(tensor.F64, []float64{.25, 1.5, 2.75, 9}, 4), Planned: true}
			for m := range n {
				p := constant(0, 4+(m+number)%3, 2+2*(m%5))
				p.Src.dtype = dtype
				for i := range p.Src.raw {
					p.Src.raw[i] = encode(dtype, float64(m+1)+float64(i)/8)
				}
				f.Streams = append(f.Streams, p)
			}
			s.check(t, f, layouts[0])
		}
	}
}

// fuseChunks tests every way in which a kernel moves a chunk. The streams have every narrow dtype; some keep it, some are normalised;
// one to eight elements are read at once, and up to 16 bytes per element written. Targets are blended, copied, filled or absent, with
// and without a stream that is computed by elements.
func (s *suite) fuseChunks(t *testing.T) {
	const b, n, m, d = 2, 9, 20, 24
	number := 0
	for _, out := range narrowDTypes {
		for step := range 5 { // the distance in elements between the targets' rows, which decides their alignment
			if step == 3 || step*out.Size() > 8 {
				continue
			}
			for form := range 4 {
				number++
				clock, r := clockDTypes[number%3], rng(uint64(52_000+number))
				var timestamps, targets []float64
				for i := range b {
					row := gapped(r, n, (number+i)%2*3)
					timestamps, targets = append(timestamps, row...), append(targets, besideTimestamps(r, row, m, clock != tensor.I64)...)
				}
				f := &fusing{Name: fmt.Sprintf("chunks, %d elements apart, form %d", step, form), Out: out, Targets: onClock(clock, targets, b, m), Planned: true}
				for _, in := range narrowDTypes {
					for each := 1; each*in.Size() <= 16; each *= 2 {
						k := len(f.Streams)
						p := &part{resampling: resampling{Times: onClock(clock, timestamps, b, n), Opts: limitOptions[(k+number)%len(limitOptions)]}}
						p.Src = vals(in, uniformValues(r, b*n*d), b, n, d)
						if apart := d + each; each < 8 {
							p.Src = p.Src.restride([]int{n * apart, apart, 1}, 0, 0, poison(in))
						}
						if k%3 == 1 {
							p.Offset = time.Duration(limitTick * 1e9 * float64(k-5))
						}
						if g := (&generator{Rand: r}); form%2 == 1 {
							p.Shift, p.Scale = numbers(g, d), numbers(g, d)
						}
						f.Streams = append(f.Streams, p)
					}
				}
				if form/2 == 1 {
					f.Streams = append(f.Streams, &part{resampling: resampling{Src: vals(tensor.F32, uniformValues(r, b*n*8), b, n, 8), Times: onClock(clock, timestamps, b, n), Opts: ops.ResampleOptions{Interp: ops.InterpPchip}}})
				}
				if s.check(t, f, layout{name: "chunks", front: 64, step: step, end: 8, sideOffset: 64}); t.Failed() {
					return
				}
			}
		}
	}
}
