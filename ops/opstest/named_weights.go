package opstest

import (
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// tied returns stamps and a target in every other bracket, whose weight lies below the middle between two float32 numbers by less
// than float64 can tell: it is rounded to that middle, then to the even neighbour above. So an error in the last place of
// the quotient shows in a float32. Brackets h are odd and longer than 2^29; the weight is m/2^25 less 1/(h 2^25).
func tied(n int) (times, targets []int64) {
	r := rng(61)
	at := int64(0)
	for len(targets) < n {
		h := 1<<30 + 2*r.Int64N(1<<38) + 1
		m := int64(1) // the inverse of h, modulo 2^25, by Newton's method
		for range 5 {
			m = m * (2 - h*m) & (1<<25 - 1)
		}
		if m < 1<<24 || m%4 != 3 {
			continue
		}
		x := h>>25*m + (h&(1<<25-1)*m-1)>>25
		times = append(times, at, at+h)
		targets = append(targets, at+x)
		at += h + 1 + r.Int64N(1<<30)
	}
	return times, targets
}

// weights: the quotient of two lengths of time is rounded to float64 and then to float32, each to nearest.
func (s *suite) weights(t *testing.T) {
	const n, d = 40, 8
	times, targets := tied(n)
	v := make([]float64, 2*n*d)
	for i := range v {
		v[i] = float64(i / d % 2) // from 0 to 1: the result is the weight
	}
	table := []ops.Channel{{Lo: 1, Hi: 2, Kind: ops.Previous}, {Lo: 3, Hi: 4, Kind: ops.Angle}}
	for _, in := range valueDTypes {
		for _, out := range []tensor.DType{in, tensor.F64} {
			for i, channels := range [][]ops.Channel{nil, table} {
				c := &resampling{Name: fmt.Sprint(in, out, i), Src: vals(in, v, 2*n, d), Times: arr(times, 2*n), Targets: arr(targets, n), Out: out, Opts: ops.ResampleOptions{Channels: channels}}
				s.check(t, c, layouts...)
				f := &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: *c}, constant(1, 3, 5)}, Targets: c.Targets}
				f.Streams[1].Times = arr([]int64{0, 1, 2}, 3)
				s.fused(t, f, layouts...)
				seconds := func(ns []int64) *array {
					out := make([]float64, len(ns))
					for i, x := range ns {
						out[i] = float64(x)
					}
					return arr(out, len(out))
				}
				c.Times, c.Targets = seconds(times), seconds(targets)
				s.check(t, c, layouts...)
			}
		}
	}
}

// manyRows has more rows than a launch of few targets has threads, so that each thread looks at the lengths of several; a wrong one
// stands among the last.
func (s *suite) manyRows(t *testing.T) {
	const b, n = 700, 2
	table := []ops.Channel{{Lo: 1, Hi: 2, Kind: ops.Angle}}
	for i, in := range valueDTypes {
		for k, clock := range clockDTypes {
			stamps := make([]float64, b*n)
			lengths, offsets := make([]int64, b), make([]int64, b+1)
			for row := range b {
				stamps[row*n+1] = 4
				lengths[row] = int64(1 + row%2)
				offsets[row+1] = max(int64(row)-680, 0)
			}
			targets := make([]float64, offsets[b])
			for x := range targets {
				targets[x] = float64(x % 6)
			}
			form := func(channels []ops.Channel) *resampling {
				return &resampling{Name: fmt.Sprint(in, clock), Src: vals(in, uniformValues(rng(62), b*n*3), b, n, 3), Times: vals(clock, stamps, b, n), SrcLengths: arr(lengths, b),
					Targets: vals(clock, targets, len(targets)), DstOffsets: arr(offsets, b+1), Opts: ops.ResampleOptions{Channels: channels}}
			}
			for j, channels := range [][]ops.Channel{nil, table} {
				for _, wrong := range []func(*resampling){
					func(*resampling) {},
					func(c *resampling) { c.SrcLengths.raw[650+i] = n + 1 },
					func(c *resampling) { c.SrcLengths.raw[690+k] = 0 }, // and has a target
					func(c *resampling) { c.DstOffsets.raw[600+j] = 1 },
				} {
					c := form(channels)
					wrong(c)
					s.check(t, c, layouts[j])
					f := &fusing{Name: c.Name, Out: tensor.F32, Streams: []*part{{resampling: *form(channels)}, {resampling: *c}}, Targets: c.Targets, DstOffsets: c.DstOffsets}
					s.fused(t, f, layouts[j])
				}
			}
		}
	}
}
