package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// wholeChunks tests jobs for which a device may have a faster path: rows of one length and of whole chunks of 16 bytes, the default
// edge mode, no limits, and outputs without gaps. The cases cover each dtype (with the same output dtype), clock and kind, widths
// from one chunk to more than a block moves, numbers of targets around the tile sizes, and timestamps that are aligned to 16 bytes or
// not.
func (s *suite) wholeChunks(t *testing.T) {
	chunks := []int{1, 2, 3, 4, 5, 32, 33, 127, 200, 512, 513}
	targets := []int{1, 2, 31, 33, 127, 129, 513}
	seed := uint64(7000)
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		for _, clock := range clockDTypes {
			for _, kind := range []ops.Interp{ops.InterpLinear, ops.InterpPrevious, ops.InterpNext, ops.InterpNearest} {
				for form := range 3 {
					seed++
					r := rng(seed)
					c := &resampling{Name: fmt.Sprint("seed ", seed), Out: dtype}
					g := &generator{Rand: r, c: c, clock: clock}
					d, n := chunks[int(seed)%len(chunks)]*16/dtype.Size(), targets[int(seed)%len(targets)]
					b, samples := 1+r.IntN(3), lengths[r.IntN(len(lengths))]
					for b*(samples+n)*d > 60_000 && (b > 1 || n > 2 || samples > 2) {
						b, n, samples = max(b-1, 1), max(n/2, 2), max(samples/2, 2)
					}
					for ok := false; !ok; ok = c.SrcLengths == nil && c.SrcOffsets == nil {
						g.rows, *c = nil, resampling{Name: c.Name, Out: dtype}
						g.source(dtype, b, samples, d)
					}
					g.targets(b, n, form)
					c.DstLengths, c.Opts = nil, ops.ResampleOptions{Interp: kind}
					if r.IntN(2) == 0 {
						c.Times = c.Times.restride(c.Times.strides, 1, 0, encode(clock, math.NaN()))
					}
					name := fmt.Sprintf("%s-%s-%s-%d", dtype, clock, kind, form)
					t.Run(name, func(t *testing.T) { s.check(t, c, layouts[0]) })
				}
			}
		}
	}
	t.Run("bad timestamps", s.badChunks)
}

// badChunks puts one bad timestamp into each place of a small job of whole chunks, and two into a larger job.
func (s *suite) badChunks(t *testing.T) {
	bad := func(clock tensor.DType, before float64) []float64 {
		if clock == tensor.I64 {
			return []float64{before - 1, 0x1.8p62}
		}
		return []float64{before - 1, math.NaN(), math.Inf(1), math.Inf(-1)}
	}
	for _, clock := range clockDTypes {
		for i, n := 0, 2*7; i < n; i++ {
			timestamps := make([]float64, n)
			for k := range timestamps {
				timestamps[k] = float64(k % 7)
			}
			for _, x := range bad(clock, timestamps[max(i-1, 0)]) {
				timestamps[i] = x
				for _, offset := range []int{0, 1} {
					c := &resampling{Name: fmt.Sprintf("%s, %v at %d", clock, x, i), Src: vals(tensor.F32, make([]float64, n*4), 2, 7, 4),
						Times: vals(clock, timestamps, 2, 7), Targets: vals(clock, []float64{1, 5}, 2)}
					c.Times = c.Times.restride(c.Times.strides, offset, 0, encode(clock, -9))
					s.check(t, c, layouts[0])
				}
			}
		}
		timestamps := count(1, 5000)
		timestamps[1234], timestamps[4321] = timestamps[1234]-5, timestamps[4321]-5
		s.check(t, &resampling{Name: "the first of two", Src: vals(tensor.F32, make([]float64, 5000*4), 5000, 4), Times: vals(clock, timestamps, 5000), Targets: vals(clock, count(1, 300), 300)}, layouts[0])
	}
}
