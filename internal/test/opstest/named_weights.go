package opstest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// visit runs a case in two forms: a resampling, and a fusion with that resampling among its streams.
type visit func(c *resampling, f *fusing, l layout)

// resampled returns a test that runs the resamplings, and fusedToo one that runs the fusions.
func resampled(cases func(visit)) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		cases(func(c *resampling, _ *fusing, l layout) {
			s.check(t, c, l)
			if longer := c.lengthened(); longer != nil {
				s.check(t, longer, l)
			}
		})
	}
}

func fusedToo(cases func(visit)) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		number, every := 0, 3
		if !s.long {
			every = 10
		}
		cases(func(_ *resampling, f *fusing, l layout) {
			s.check(t, f, l)
			if number++; number%every == 0 && !f.Wrong {
				s.check(t, f.repeated(fewStreams+1), l)
			}
		})
	}
}

// some returns one of every `of` cases, for cases that take long and run completely elsewhere. The number should share no factor with
// the lengths of the cases' loops.
func some(of int, cases func(visit)) func(visit) {
	return func(test visit) {
		number := 0
		cases(func(c *resampling, f *fusing, l layout) {
			if number++; number%of == 0 {
				test(c, f, l)
			}
		})
	}
}

// fewStreams is the largest number of streams for which a device may have special kernels.
const fewStreams = 4

// repeated returns the fusion with its streams repeated until there are n or more.
func (f *fusing) repeated(n int) *fusing {
	g := *f
	g.Name, g.Streams = f.Name+", repeated", slices.Clone(f.Streams)
	for len(g.Streams) < n {
		g.Streams = append(g.Streams, f.Streams...)
	}
	return &g
}

// tied returns timestamps and n targets, one in every other bracket. Each weight is so little below the midpoint of two float32
// numbers that float64 rounds it to the midpoint, and float32 then rounds up to the even neighbour. So an error in the last bit of
// the float64 quotient changes the float32 weight. The lengths h of the brackets are odd and above 2^29; the weight is m/2^25 -
// 1/(h*2^25).
func tied(n int) (times, targets []int64) {
	r := rng(61)
	at := int64(0)
	for len(targets) < n {
		h := 1<<30 + 2*r.Int64N(1<<38) + 1
		m := int64(1) // the inverse of h modulo 2^25, by Newton's method
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

// weights tests that the quotient of two durations is rounded to float64 and then to float32, each time to nearest.
func weights(test visit) {
	const n, d = 40, 8
	times, targets := tied(n)
	v := make([]float64, 2*n*d)
	for i := range v {
		v[i] = float64(i / d % 2) // from 0 to 1, so the result is the weight
	}
	table := []ops.Channel{{Lo: 1, Hi: 2, Interp: ops.InterpPrevious}, {Lo: 3, Hi: 4, Interp: ops.InterpAngle}}
	for _, in := range valueDTypes {
		for _, out := range []tensor.DType{in, tensor.F64} {
			for i, channels := range [][]ops.Channel{nil, table} {
				c := &resampling{Name: fmt.Sprint(in, out, i), Src: vals(in, v, 2*n, d), Times: arr(times, 2*n), Targets: arr(targets, n), Out: out, Opts: ops.ResampleOptions{Channels: channels}}
				second := constant(1, 3, 5)
				second.Times = arr([]int64{0, 1, 2}, 3)
				test(c, &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: *c}, second}, Targets: c.Targets}, layouts[i])
				seconds := func(ns []int64) *array {
					out := make([]float64, len(ns))
					for i, x := range ns {
						out[i] = float64(x)
					}
					return arr(out, len(out))
				}
				c.Times, c.Targets = seconds(times), seconds(targets)
				test(c, &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: *c}}, Targets: c.Targets}, layouts[i])
			}
		}
	}
}

// ticks tests the roundings of a uniform clock's ticks: to float64, after the division, and to float32. The ticks are so close to the
// midpoint of two float32 numbers (128 s apart) that an error in float64's last bit changes the result. Timestamps are float32
// numbers, so the copied sample shows the error.
func ticks(test visit) {
	const n = 16
	for _, in := range valueDTypes {
		for _, from := range []struct{ timestamp, beside int64 }{{13_770_001, -1}, {8_400_000, 128}} {
			timestamps := make([]float64, n)
			for i := range timestamps {
				timestamps[i] = float64(from.timestamp-2+int64(i)) * 128
			}
			c := &resampling{Name: fmt.Sprint("ticks ", in, from.timestamp), Times: vals(tensor.F32, timestamps, n), Clock: ops.Uniform((from.timestamp*128+64)*1e9+from.beside, 1./256, 5)}
			r := rng(64)
			everyWay(c, in, func(dtype tensor.DType, d int) *array { return vals(dtype, uniformValues(r, n*d), n, d) }, test)
		}
	}
}

// roundedOnce tests that results computed in float64 are rounded to 16 bits once. Two samples at a time are equal, and closer to the
// midpoint of two 16-bit numbers than float32 can show. There is a target between them and one on the first. Other targets are beyond
// the ends.
func roundedOnce(test visit) {
	const n, d = 32, 12
	r := rng(63)
	times, targets := make([]int64, 2*n), []int64{-1, n * 100}
	for i := range n {
		times[2*i], times[2*i+1] = int64(i)*100, int64(i)*100+60
		targets = append(targets, int64(i)*100+20, int64(i)*100)
	}
	for _, out := range []tensor.DType{tensor.F16, tensor.BF16} {
		beside := func() float64 {
			low := encode(out, .3+.4*r.Float64())
			mid := (decode(out, low) + decode(out, low+1)) / 2
			return mid * (1 + float64(r.IntN(3)-1)*0x1p-32)
		}
		for _, kind := range ops.Interps() {
			v := make([]float64, 2*n*d)
			for i := range n {
				row := v[2*i*d:][:d]
				for k := range row {
					row[k] = beside()
				}
				switch kind {
				case ops.InterpSlerp, ops.InterpRot6D: // of length 1
					for k := 0; k < d; k += kind.Width() {
						x, y := row[k], row[k+1]
						if kind == ops.InterpSlerp {
							row[k+2] = .1
							row[k+3] = math.Sqrt(1 - x*x - y*y - .01)
							continue
						}
						z := math.Sqrt(1 - x*x - y*y)
						across := math.Hypot(x, y)
						copy(row[k+2:], []float64{z, -y / across, x / across, 0})
					}
				case ops.InterpHermite: // velocities are 0
					clear(row[d/2:])
				}
				copy(v[(2*i+1)*d:], row)
			}
			c := &resampling{Name: fmt.Sprint(kind, out), Src: vals(tensor.F64, v, 2*n, d), Times: arr(times, 2*n), Targets: arr(targets, len(targets)), Out: out, Opts: ops.ResampleOptions{Interp: kind, Window: ops.Within(30)}}
			test(c, &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: *c}}, Targets: c.Targets}, layouts[0])
		}
	}
}

// longLengths returns brackets with more nanoseconds than float64 can represent, and targets in them. One of the two durations rounds
// up to the next float64, which moves the quotient to the other side of the midpoint of two float32 numbers. One of these numbers is
// the midpoint of two 16-bit numbers. The bracket is the first or the last of its row.
func longLengths(test visit) {
	const n, half = 6, int64(1) << 60
	for _, in := range valueDTypes {
		// Above half of 2^61: an even float32 number, or the midpoint of two 16-bit numbers with an even lower one; then another,
		// with an even upper one.
		below, above := half, half+1<<38
		if in.Size() == 2 {
			last := half >> map[tensor.DType]int{tensor.F16: 10, tensor.BF16: 7}[in]
			below, above = half+last/2, half+last+last/2
		}
		var times, targets []int64
		for _, front := range []bool{true, false} {
			for _, b := range [][2]int64{{2 * half, below + 1<<36 + 192}, {2*half + 384, above - 1<<36}} {
				for s := range int64(n) {
					at := s - n + 2
					if front {
						at = b[0] + s - 1
					}
					times = append(times, at)
				}
				if front {
					times[len(times)-n] = 0
				} else {
					times[len(times)-1] = b[0]
				}
				targets = append(targets, b[1])
			}
		}
		b := len(targets)
		c := &resampling{Name: fmt.Sprint("long lengths ", in), Times: arr(times, b, n), Targets: arr(targets, b, 1)}
		everyWay(c, in, func(dtype tensor.DType, d int) *array {
			v := make([]float64, b*n*d)
			for i := range v {
				v[i] = float64(i / d % 2) // from 0 to 1, so the result is the weight
			}
			return vals(dtype, v, b, n, d)
		}, test)
	}
}

// noWeights tests that a weight that rounds to 0 still blends: with an infinity to NaN, and with -0 to 0, in each part of a thread's
// work.
func noWeights(test visit) {
	for _, dtype := range valueDTypes {
		var widths []int
		for size := 16; size >= max(dtype.Size(), 4); size /= 2 {
			for _, chunks := range pieces {
				widths = append(widths, chunks*size/dtype.Size())
			}
		}
		for i, d := range append(widths, 1, 3, 9, 35, 261) {
			v := make([]float64, 2*d)
			for f := range d {
				v[f], v[d+f] = math.Copysign(0, -1), 1
				if f%3 == 0 {
					v[f], v[d+f] = 1, math.Inf(1)
				}
			}
			clock := []tensor.DType{tensor.F64, tensor.F32}[i%2]
			c := &resampling{Name: fmt.Sprint("no weights ", dtype, d), Src: vals(dtype, v, 2, d), Times: vals(clock, []float64{0, 1e30}, 2), Targets: vals(clock, []float64{1e-30, 1e-25}, 2), Planned: true}
			test(c, plannedFusion(c, dtype), layouts[0])
		}
	}
}

// tolerances tests that each kind that copies one of two samples uses its own tolerance, alone and in a table with other kinds, on
// every clock.
func tolerances(test visit) {
	const d = 3
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, in := range valueDTypes {
		for _, clock := range clockDTypes {
			tolerance, gap := ops.Within(2e9), ops.Within(8e9) // the bracket's own length is no gap
			if clock == tensor.I64 {
				tolerance, gap = ops.Within(2), ops.Within(8)
			}
			for _, kind := range []ops.Interp{ops.InterpPrevious, ops.InterpNext, ops.InterpNearest} {
				for _, other := range []ops.Interp{kind, ops.InterpAngle, ops.InterpPchip, ops.InterpPrevious, ops.InterpNext, ops.InterpNearest} {
					c := &resampling{Name: fmt.Sprint("tolerances ", in, clock, kind, other), Src: vals(in, uniformValues(rng(73), 2*d), 2, d), Times: vals(clock, []float64{0, 8}, 2), Targets: vals(clock, x, len(x)),
						Opts: ops.ResampleOptions{Interp: kind, MaxGap: gap, Tolerance: tolerance, Channels: []ops.Channel{{Lo: 1, Hi: 2, Interp: other}}}, Planned: true}
					test(c, plannedFusion(c, in), layouts[0])
				}
			}
		}
	}
}
