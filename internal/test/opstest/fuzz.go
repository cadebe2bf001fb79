package opstest

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// suites returns a suite for each device, which compares its bits with the CPU. The first device is the CPU.
func suites(devs []*ops.Device) (out []*suite) {
	for i, d := range devs {
		s := &suite{dev: d, long: true}
		if i > 0 {
			s.cpu = devs[0]
		}
		out = append(out, s)
	}
	return out
}

// words splits bytes into at most `most` bit patterns of a dtype.
func words(dtype tensor.DType, b []byte, most int) (out []uint64) {
	size := dtype.Size()
	for len(b) >= size && len(out) < most {
		var word [8]byte
		copy(word[:], b[:size])
		out = append(out, binary.LittleEndian.Uint64(word[:]))
		b = b[size:]
	}
	return out
}

func bytesOf(dtype tensor.DType, numbers ...float64) (out []byte) {
	for _, x := range numbers {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], encode(dtype, x))
		out = append(out, word[:dtype.Size()]...)
	}
	return out
}

// FuzzTimes runs timestamps and targets with any bit patterns on the devices. The first device is the CPU. Bad times must give the
// oracle's error, others its values.
func FuzzTimes(f *testing.F, devs ...*ops.Device) {
	nan, inf := math.NaN(), math.Inf(1)
	for clock, dtype := range clockDTypes {
		for kind := range uint8(len(ops.Interps())) {
			f.Add(uint8(clock), kind, kind, true, bytesOf(dtype, 0, 1, 1, 2, 5), bytesOf(dtype, -1, 0, .5, 1, 1.5, 7))
		}
		f.Add(uint8(clock), uint8(0), uint8(2), false, bytesOf(dtype, 3, 1, 2), bytesOf(dtype, 1))
		f.Add(uint8(clock), uint8(0), uint8(2), true, bytesOf(dtype, 4), bytesOf(dtype, 1, 4, 5))
		f.Add(uint8(clock), uint8(3), uint8(3), true, bytesOf(dtype, -0x1p62, 0x1p62), bytesOf(dtype, 0, 1, -1))
		f.Add(uint8(clock), uint8(1), uint8(0), true, bytesOf(dtype, 1.7e18, 1.7e18+1e9), bytesOf(dtype, 1.7e18+5e8, -0x1p62, 0x1p62))
	}
	f.Add(uint8(1), uint8(0), uint8(0), false, bytesOf(tensor.F64, 0, nan, 1), bytesOf(tensor.F64, nan, inf, -inf))
	f.Add(uint8(2), uint8(0), uint8(2), true, bytesOf(tensor.F32, 0, 1e-45, 3e38), bytesOf(tensor.F32, nan, inf, -inf, 1e38))
	all := suites(devs)
	f.Fuzz(func(t *testing.T, clock, kind, edge uint8, sorted bool, times, targets []byte) {
		dtype := clockDTypes[int(clock)%len(clockDTypes)]
		timestamps, x := words(dtype, times, 40), words(dtype, targets, 40)
		if len(timestamps) == 0 {
			return
		}
		if sorted {
			slices.SortFunc(timestamps, func(a, b uint64) int {
				if dtype == tensor.I64 {
					return cmp(int64(a), int64(b))
				}
				return cmp(decode(dtype, a), decode(dtype, b))
			})
		}
		v := make([]float64, len(timestamps)*12)
		for i := range v {
			v[i] = math.Sin(float64(i * i)) // moderate and all different
		}
		c := &resampling{Name: "fuzz", Src: vals(tensor.F32, v, len(timestamps), 12), Times: packed(dtype, timestamps, len(timestamps)), Targets: packed(dtype, x, len(x)),
			Opts: ops.ResampleOptions{Interp: ops.Interps()[int(kind)%len(ops.Interps())], Window: ops.Within(1 << (edge / 4 % 63)), Edge: ops.Edge(edge % 5), MaxGap: ops.Within(time.Duration(edge) * time.Second), FillGaps: edge%2 == 0}}
		for _, s := range all {
			s.check(t, c, layouts[1])
		}
	})
}

func cmp[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// FuzzShapes runs tensors with any shapes and strides on the devices. The first device is the CPU. All devices must return the same
// error, or the oracle's values.
func FuzzShapes(f *testing.F, devs ...*ops.Device) {
	f.Add(uint8(2), uint8(3), uint8(4), uint8(2), []byte{})
	f.Add(uint8(1), uint8(0), uint8(1), uint8(1), []byte{})
	f.Add(uint8(0), uint8(2), uint8(0), uint8(3), []byte{0, 0, 1})
	for i := range byte(24) {
		f.Add(uint8(2), uint8(3), uint8(4), uint8(2), []byte{i % 6, i, i * 7, i * 13, i * 29, i * 31, i * 37, i * 41})
	}
	all := suites(devs)
	f.Fuzz(func(t *testing.T, b, n, m, d uint8, edits []byte) {
		rows, samples, targets, width := int(b%5), int(n%9), int(m%9), int(d%6)
		next := func() int {
			if len(edits) == 0 {
				return 0
			}
			e := edits[0]
			edits = edits[1:]
			return int(e)
		}
		// shape changes a correct shape. Most edits leave it as it is.
		shape := func(right ...int) []int {
			switch e := next(); e % 8 {
			case 1:
				right[e/8%len(right)] = e / 16 % 5
			case 2:
				right = append([]int{1 + e/8%3}, right...)
			case 3:
				right = right[1:]
			case 4:
				right = append(right, e/8%4)
			}
			return right
		}
		put := func(dtype tensor.DType, shape []int) *array {
			size := 1
			for _, x := range shape {
				size *= x
			}
			raw := make([]uint64, size)
			last := 1
			if len(shape) > 0 {
				last = max(shape[len(shape)-1], 1)
			}
			for i := range raw {
				raw[i] = encode(dtype, float64(i%last))
			}
			a := packed(dtype, raw, shape...)
			if e := next(); e%4 == 1 && len(shape) > 0 {
				strides, step := make([]int, len(shape)), 1
				for i := len(shape) - 1; i >= 0; i-- {
					if strides[i] = step; i < len(shape)-1 || e%8 == 5 {
						strides[i] += e / 8 % 4
					}
					step = strides[i]*max(shape[i], 1) + 1
				}
				a = a.restride(strides, e/32%3, 1, 0)
			}
			return a
		}
		c := &resampling{Name: "fuzz", Src: put(tensor.F32, shape(rows, samples, width)), Times: put(tensor.I64, shape(rows, samples)), Targets: put(tensor.I64, shape(rows, targets))}
		dst := put(tensor.F32, shape(rows, targets, width))
		even := func(parts, whole int) *array {
			out := make([]int64, parts+1)
			for i := range out {
				out[i] = int64(whole * i / max(parts, 1))
			}
			return arr(out, parts+1)
		}
		switch next() % 6 {
		case 1:
			c.SrcLengths = put(tensor.I64, shape(rows))
		case 2:
			c.SrcOffsets = even(rows, c.Times.len())
		case 3:
			c.DstLengths = put(tensor.I64, shape(rows))
		case 4:
			c.DstOffsets = even(rows, c.Targets.len())
		}
		var first error
		for i, s := range all {
			p := &placed{dev: s.dev}
			args := c.args(p.put)
			args.Dst = p.put(dst)
			require.NoError(t, p.err)
			plan, err := s.dev.PlanResample(args, ops.ResampleOptions{})
			require.NoError(t, p.close())
			if err == nil {
				require.NoError(t, plan.Close())
				s.check(t, c, layouts...)
			}
			if i == 0 {
				first = err
			}
			sameArgError(t, first, err)
		}
	})
}

// sameArgError fails the test unless an error is an *ArgError and equals the other device's error.
func sameArgError(t *testing.T, want, got error) {
	t.Helper()
	if got == nil && want == nil {
		return
	}
	var a, b *ops.ArgError
	require.True(t, errors.As(want, &a), "the CPU gave %v", want)
	require.True(t, errors.As(got, &b), "got %v; the CPU gave %v", got, want)
	require.Equal(t, [2]any{a.Arg, a.Kind}, [2]any{b.Arg, b.Kind}, "got %v; the CPU gave %v", got, want)
}

// FuzzOptions runs any options on the devices. The first device is the CPU. All devices must return the same error, or the oracle's
// values.
func FuzzOptions(f *testing.F, devs ...*ops.Device) {
	for kind := range uint8(len(ops.Interps()) + 1) {
		for edge := range uint8(5) {
			f.Add(uint64(kind)*5+uint64(edge), kind, edge, kind%3, float64(kind), float64(edge), int64(edge)*3e6-1, int64(kind)*1e6, int8(kind)-2, int8(edge)+2)
		}
	}
	f.Add(uint64(1), uint8(5), uint8(0), uint8(0), math.Inf(1), math.NaN(), int64(0), int64(0), int8(0), int8(4))
	f.Add(uint64(2), uint8(5), uint8(0), uint8(0), 1e-300, 1e300, int64(math.MaxInt64), int64(math.MinInt64), int8(0), int8(127))
	all := suites(devs)
	f.Fuzz(func(t *testing.T, seed uint64, kind, edge, quat uint8, period, fill float64, gap, tolerance int64, lo, hi int8) {
		r := rng(seed)
		c := sample(r, ops.InterpLinear, 1+r.IntN(3), 1+r.IntN(40), r.IntN(70))
		c.Out = valueDTypes[r.IntN(4)]
		if math.Abs(period) < 1e-3 || math.Abs(period) > 1e6 {
			// Wrapping by a period of a very different size than the values loses all their digits, so this kind is left out.
			kind %= uint8(ops.InterpAngle)
		}
		c.Opts = ops.ResampleOptions{Interp: ops.Interp(kind), Edge: ops.Edge(edge), Quat: ops.QuatOrder(quat), Period: period, Fill: ops.FillWith(fill), FillGaps: seed%2 == 0}
		if gap != -1 {
			c.Opts.MaxGap = ops.Within(time.Duration(gap))
		}
		if tolerance != -1 {
			c.Opts.Tolerance = ops.Within(time.Duration(tolerance))
		}
		if seed%5 > 0 {
			c.Opts.Window = ops.Within(time.Duration(r.Int64N(1e8) - 1e6))
		}
		if lo != hi {
			c.Opts.Channels = []ops.Channel{{Lo: int(lo), Hi: int(hi), Interp: ops.Interp(seed % uint64(len(ops.Interps()))), Period: 3}}
		}
		var first error
		for i, s := range all {
			_, err := c.call(s.dev)
			var value *ops.ValueError
			if i == 0 {
				first = err
			}
			if err == nil || errors.As(err, &value) {
				s.check(t, c, layouts[0])
			} else {
				sameArgError(t, first, err)
			}
		}
	})
}
