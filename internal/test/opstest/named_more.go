package opstest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// rowsDiffer tests that a batch of rows with separate clocks gives the same as one row at a time.
func (s *suite) rowsDiffer(t *testing.T) {
	r := rng(3)
	const b, n, d = 5, 40, 7
	for _, targets := range []int{1, 5, 63, 64, 65, 129, 300} {
		var times, x []int64
		for i := range b {
			row := ascending(r, n, int64(i)*77e9)
			times = append(times, row...)
			x = append(x, between(r, targets, row)...)
		}
		v := uniformValues(r, b*n*d)
		c := &resampling{Name: fmt.Sprint("T=", targets), Src: vals(tensor.F32, v, b, n, d), Times: arr(times, b, n), Targets: arr(x, b, targets)}
		s.check(t, c, layouts...)
		all := s.called(t, c)
		for i := range b {
			one := &resampling{Src: vals(tensor.F32, v[i*n*d:][:n*d], n, d), Times: arr(times[i*n:][:n], n), Targets: arr(x[i*targets:][:targets], targets)}
			got := s.called(t, one)
			assert.Equal(t, all.dst[i*targets*d:][:targets*d], got.dst, "T=%d: row %d differs from the batch", targets, i)
		}
	}
}

func (s *suite) widths(t *testing.T) {
	r := rng(4)
	for _, d := range []int{1, 2, 3, 7, 8, 14, 31, 32, 33, 64, 255, 256, 2240} {
		for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
			times := ascending(r, 9, 0)
			c := &resampling{Name: fmt.Sprint(dtype, " D=", d), Src: vals(dtype, uniformValues(r, 2*9*d), 2, 9, d), Times: arr(times, 9), Targets: arr(between(r, 11, times), 11)}
			s.check(t, c, layouts...)
		}
	}
}

// strides tests that broadcast and sliced inputs give the same as contiguous copies.
func (s *suite) strides(t *testing.T) {
	r := rng(5)
	const b, n, d, m = 3, 17, 5, 20
	times := ascending(r, n, 0)
	x := between(r, m, times)
	hole := encode(tensor.F32, math.NaN())
	dense := vals(tensor.F32, uniformValues(r, b*n*d), b, n, d)
	one := vals(tensor.F32, uniformValues(r, n*d), n, d)
	row := vals(tensor.F32, uniformValues(r, d), 1, d)
	spread := &array{dtype: row.dtype, raw: row.raw, shape: []int{b, n, d}, strides: []int{0, 0, 1}}
	cases := map[string]*resampling{
		"rows-apart":      {Src: dense.restride([]int{n*d + 11, d, 1}, 3, 5, hole)},
		"samples-apart":   {Src: dense.restride([]int{n * (d + 3), d + 3, 1}, 1, 0, hole)},
		"samples-outside": {Src: dense.restride([]int{d, b * d, 1}, 0, 0, hole)},
		"one-row":         {Src: one.broadcast(b)},
		"one-sample":      {Src: spread},
		"times-apart":     {Src: dense, Times: arr(times, n).broadcast(b), Targets: arr(x, m).broadcast(b)},
		"times-holes":     {Src: dense, Times: packed(tensor.I64, repeat(arr(times, n).raw, b), b, n).restride([]int{n + 3, 1}, 2, 3, 1<<63), Targets: packed(tensor.I64, repeat(arr(x, m).raw, b), b, m).restride([]int{m + 1, 1}, 1, 2, 1<<63)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.Name = name
			if c.Times == nil {
				c.Times, c.Targets = arr(times, n), arr(x, m)
			}
			s.check(t, c, layouts...)
			got := s.called(t, c)
			copied := *c
			copied.Src = packed(c.Src.dtype, c.Src.dense(), c.Src.shape...)
			copied.Times = packed(c.Times.dtype, c.Times.dense(), c.Times.shape...)
			copied.Targets = packed(c.Targets.dtype, c.Targets.dense(), c.Targets.shape...)
			want := s.called(t, &copied)
			assert.Equal(t, want, got, "differs from the contiguous copy")
		})
	}
}

func repeat(in []uint64, n int) (out []uint64) {
	for range n {
		out = append(out, in...)
	}
	return out
}

// empty tests that B, T or D of 0 does nothing, and that S of 0 with targets is an error.
func (s *suite) empty(t *testing.T) {
	shapes := [][4]int{{0, 3, 2, 2}, {2, 3, 0, 2}, {2, 3, 2, 0}, {0, 0, 0, 0}, {2, 0, 0, 2}, {0, 0, 2, 2}, {2, 0, 2, 0}}
	for _, n := range shapes {
		b, samples, targets, d := n[0], n[1], n[2], n[3]
		times, x := make([]int64, b*samples), make([]int64, b*targets)
		for i := range times {
			times[i] = int64(i % max(samples, 1))
		}
		c := &resampling{Name: fmt.Sprint(n), Src: vals(tensor.F32, make([]float64, b*samples*d), b, samples, d), Times: arr(times, b, samples), Targets: arr(x, b, targets)}
		s.check(t, c, layouts...)
	}
	for _, form := range []func(*resampling) error{
		func(c *resampling) error { _, err := c.call(s.dev); return err },
		func(c *resampling) error { _, err := planned(s.dev, c, layouts[0], ops.LaunchDefault, 1); return err },
	} {
		err := form(&resampling{Src: vals(tensor.F32, nil, 2, 0, 3), Times: arr([]int64{}, 2, 0), Targets: arr([]int64{1, 2}, 2, 1)})
		var e *ops.ArgError
		require.True(t, errors.As(err, &e), "got %v, want an *ArgError", err)
		assert.ErrorIs(t, err, ops.ErrShape)
		assert.Equal(t, "Src", e.Arg)
	}
}

// unsorted tests that a timestamp before its predecessor, NaN, infinite, or beyond 2^62 ns gives an error with its row and index.
func (s *suite) unsorted(t *testing.T) {
	r := rng(6)
	nan, inf := math.NaN(), math.Inf(1)
	for _, n := range []int{1, 2, 33, 129, 1000, 5000} {
		for _, at := range []int{0, 1, n / 2, n - 1} {
			if at >= n {
				continue
			}
			for row := range 3 {
				times := make([]float64, 3*n)
				ns := make([]int64, 3*n)
				for i := range times {
					times[i], ns[i] = float64(i%n), int64(i%n)
				}
				src, x := vals(tensor.F32, uniformValues(r, 3*n), 3, n, 1), arr([]float64{0, 1}, 2)
				for _, bad := range []float64{nan, inf, -inf, -1} {
					if bad == -1 && at == 0 {
						continue
					}
					broken := append([]float64(nil), times...)
					broken[row*n+at] = bad
					s.check(t, &resampling{Name: fmt.Sprintf("n=%d %v at %d of row %d", n, bad, at, row), Src: src, Times: arr(broken, 3, n), Targets: x}, layouts[0])
				}
				if n > 129 && row > 0 {
					continue
				}
				for _, bad := range []int64{1<<62 + 1, -1<<62 - 1, math.MinInt64, math.MaxInt64} {
					broken := append([]int64(nil), ns...)
					broken[row*n+at] = bad
					s.check(t, &resampling{Name: fmt.Sprintf("n=%d %d at %d of row %d", n, bad, at, row), Src: src, Times: arr(broken, 3, n), Targets: arr([]int64{0, 1}, 2)}, layouts[0])
				}
			}
		}
	}
}

// slerpOrders tests that the order of the quaternion's four features does not change the rotation.
func (s *suite) slerpOrders(t *testing.T) {
	half := math.Sqrt(.5)
	// A quarter turn about z from the identity: a third of the way is 30 degrees.
	want := []float64{0, 0, math.Sin(math.Pi / 12), math.Cos(math.Pi / 12)}
	for order, v := range map[ops.QuatOrder][]float64{ops.QuatXYZW: {0, 0, 0, 1, 0, 0, half, half}, ops.QuatWXYZ: {1, 0, 0, 0, half, 0, 0, half}} {
		for _, flip := range []float64{1, -1} {
			v := append([]float64(nil), v...)
			for i := 4; i < 8; i++ {
				v[i] *= flip
			}
			c := &resampling{Name: order.String(), Src: vals(tensor.F64, v, 2, 4), Times: arr([]int64{0, 3}, 2), Targets: arr([]int64{1}, 1), Opts: ops.ResampleOptions{Interp: ops.InterpSlerp, Quat: order}}
			s.check(t, c, layouts...)
			got := s.called(t, c)
			for i := range 4 {
				j := i
				if order == ops.QuatWXYZ {
					j = (i + 1) % 4
				}
				assert.InDelta(t, want[i], decode(tensor.F64, got.dst[j]), 1e-14, "%v, sign %v", order, flip)
			}
		}
	}
}

// slerpHalfTurn tests quaternions with a dot product of exactly 0, of either sign. Both arcs are equally long, and the signs are
// kept.
func (s *suite) slerpHalfTurn(t *testing.T) {
	half := math.Sqrt(.5)
	for _, end := range []float64{1, -1} {
		c := &resampling{Name: fmt.Sprint(end), Src: vals(tensor.F64, []float64{0, 0, 0, 1, end, 0, 0, 0}, 2, 4), Times: arr([]int64{0, 2}, 2),
			Targets: arr([]int64{1}, 1), Opts: ops.ResampleOptions{Interp: ops.InterpSlerp}}
		s.check(t, c, layouts...)
		got := s.called(t, c)
		for i, want := range []float64{end * half, 0, 0, half} {
			assert.InDelta(t, want, decode(tensor.F64, got.dst[i]), 1e-14, "to %v, element %d", end, i)
		}
	}
}

// wholeRange tests brackets up to 2^63 ns long, which do not fit into an int64.
func (s *suite) wholeRange(t *testing.T) {
	const end = 1 << 62
	x := []int64{-end, -end + 1, -1, 0, 1, end / 3, end - 1, end}
	r := rng(8)
	for _, kind := range ops.Interps() {
		for _, times := range [][]int64{{-end, end}, {-end, -end, end, end}, {-end, 0, end}, {-end, -end + 1, end - 1, end}, {end}, {-end}} {
			for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeExtrapolate} {
				n := len(times)
				c := &resampling{Name: fmt.Sprint(kind, times), Src: vals(tensor.F32, uniformValues(r, n*12), n, 12), Times: arr(times, n), Targets: arr(x, len(x)),
					Opts: ops.ResampleOptions{Interp: kind, Window: ops.Within(math.MaxInt64), Edge: edge, MaxGap: ops.Within(math.MaxInt64), Tolerance: ops.Within(end)}}
				s.check(t, c, layouts...)
			}
		}
	}
}
