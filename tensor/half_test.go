package tensor_test

import (
	_ "embed"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// format is a 16-bit format by its fields, to work values out from.
type format struct {
	name     string
	mantissa int // bits
	bias     int
	up       func(uint16) float32
	from32   func(float32) uint16
	from64   func(float64) uint16
}

var formats = []format{
	{"f16", 10, 15, func(b uint16) float32 { return tensor.Float16(b).F32() },
		func(f float32) uint16 { return uint16(tensor.F16FromF32(f)) }, func(f float64) uint16 { return uint16(tensor.F16FromF64(f)) }},
	{"bf16", 7, 127, func(b uint16) float32 { return tensor.BFloat16(b).F32() },
		func(f float32) uint16 { return uint16(tensor.BF16FromF32(f)) }, func(f float64) uint16 { return uint16(tensor.BF16FromF64(f)) }},
}

// infinity is the bit pattern of +Inf.
func (f *format) infinity() uint16 { return 0x7fff >> f.mantissa << f.mantissa }

// value is the number of a pattern without sign, as IEEE 754 defines it. For the pattern of infinity it is the power of
// two that would follow the largest number, which is what rounding compares with.
func (f *format) value(b uint16) float64 {
	exponent, mantissa := int(b>>f.mantissa), int(b)&(1<<f.mantissa-1)
	if exponent == 0 {
		return math.Ldexp(float64(mantissa), 1-f.bias-f.mantissa)
	}
	return math.Ldexp(float64(mantissa+1<<f.mantissa), exponent-f.bias-f.mantissa)
}

func TestEveryHalfWidensExactly(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << 16 {
			b := uint16(i)
			abs, got := b&0x7fff, f.up(b)
			switch {
			case abs > f.infinity():
				if got == got {
					t.Fatalf("%s %#04x: got %v, want NaN", f.name, b, got)
				}
				continue
			case abs == f.infinity():
				if !math.IsInf(float64(got), 1-2*int(b>>15)) {
					t.Fatalf("%s %#04x: got %v, want an infinity", f.name, b, got)
				}
			case math.Abs(float64(got)) != f.value(abs):
				t.Fatalf("%s %#04x: got %v, want %v", f.name, b, got, f.value(abs))
			}
			if math.Signbit(float64(got)) != (b>>15 == 1) {
				t.Fatalf("%s %#04x: sign lost", f.name, b)
			}
		}
	}
}

func TestEveryHalfSurvivesTheRoundTrip(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << 16 {
			b := uint16(i)
			got, got64 := f.from32(f.up(b)), f.from64(float64(f.up(b)))
			if b&0x7fff > f.infinity() {
				// A NaN keeps its sign and becomes quiet.
				quiet := uint16(1) << (f.mantissa - 1)
				if got != b|quiet || got64&0x7fff <= f.infinity() {
					t.Fatalf("%s NaN %#04x: got %#04x and %#04x", f.name, b, got, got64)
				}
			} else if got != b || got64 != b {
				t.Fatalf("%s %#04x: got %#04x and %#04x", f.name, b, got, got64)
			}
		}
	}
}

// Between each pattern and the next: the half way point goes to the even one, what is nearer goes to the nearer.
func TestRoundingIsToNearestEvenAtEveryBoundary(t *testing.T) {
	for _, f := range formats {
		for b := range f.infinity() {
			lo, hi := f.value(b), f.value(b+1)
			middle := lo + (hi-lo)/2 // exact: one bit more than the format has
			even := b + b&1
			for _, sign := range []uint16{0, 0x8000} {
				check := func(x float64, want uint16) {
					if sign != 0 {
						x = -x
					}
					if got := f.from64(x); got != want|sign {
						t.Fatalf("%s from f64 %x: got %#04x, want %#04x", f.name, x, got, want|sign)
					}
					if float64(float32(x)) != x {
						return // not a float32
					}
					if got := f.from32(float32(x)); got != want|sign {
						t.Fatalf("%s from f32 %x: got %#04x, want %#04x", f.name, x, got, want|sign)
					}
				}
				check(lo, b)
				check(middle, even)
				// Neighbours in float64: rounding through float32 would make them the middle itself.
				check(math.Nextafter(middle, 0), b)
				check(math.Nextafter(middle, math.Inf(1)), b+1)
				check(math.Nextafter(lo, math.Inf(1)), b)
				m := float32(middle)
				check(float64(math.Nextafter32(m, 0)), b)
				check(float64(math.Nextafter32(m, float32(math.Inf(1)))), b+1)
				check(middle*(1+0x1p-30), b+1)
				check(middle*(1-0x1p-30), b)
			}
		}
		for _, x := range []float64{math.Inf(1), math.MaxFloat64, 0x1p200} {
			assert.Equal(t, f.infinity(), f.from64(x), "%s of %v", f.name, x)
			assert.Equal(t, f.infinity()|0x8000, f.from64(-x), "%s of %v", f.name, -x)
		}
		assert.Equal(t, f.infinity(), f.from32(float32(math.Inf(1))))
		assert.Equal(t, uint16(0x8000), f.from64(-math.SmallestNonzeroFloat64), f.name)
		assert.Equal(t, uint16(0), f.from64(math.SmallestNonzeroFloat64), f.name)
		assert.Equal(t, uint16(0x8000), f.from32(float32(math.Copysign(0, -1))), f.name)
	}
}

func TestKnownHalves(t *testing.T) {
	for _, k := range []struct {
		x         float64
		f16, bf16 uint16
	}{
		{0, 0, 0}, {1, 0x3c00, 0x3f80}, {-2, 0xc000, 0xc000}, {65504, 0x7bff, 0x4780}, {65519.99, 0x7bff, 0x4780}, {65520, 0x7c00, 0x4780},
		{0x1p-14, 0x0400, 0x3880}, {0x1p-24, 0x0001, 0x3380}, {0x1p-25, 0x0000, 0x3300}, {0x1.8p-25, 0x0001, 0x3340},
		{1.0 / 3, 0x3555, 0x3eab}, {math.Pi, 0x4248, 0x4049}, {3.3895313892515355e38, 0x7c00, 0x7f7f}, {math.Inf(-1), 0xfc00, 0xff80},
	} {
		assert.Equal(t, k.f16, uint16(tensor.F16FromF64(k.x)), "f16 of %v", k.x)
		assert.Equal(t, k.bf16, uint16(tensor.BF16FromF64(k.x)), "bf16 of %v", k.x)
	}
}

// halvesJSON is written by scripts/gen_golden.py.
//
//go:embed testdata/halves.json
var halvesJSON []byte

func TestHalvesEqualNumpyAndTorch(t *testing.T) {
	var g struct {
		F32      []int32
		F16Numpy []int16 `json:"f32_to_f16_numpy"`
		F16Torch []int16 `json:"f32_to_f16_torch"`
		BF16     []int16 `json:"f32_to_bf16_torch"`
		F64      []int64
		F16Of64  []int16 `json:"f64_to_f16_numpy"`
	}
	require.NoError(t, json.Unmarshal(halvesJSON, &g))
	require.NotEmpty(t, g.F32)
	require.NotEmpty(t, g.F64)
	for i, b := range g.F32 {
		x := math.Float32frombits(uint32(b))
		assert.Equal(t, uint16(g.F16Numpy[i]), uint16(tensor.F16FromF32(x)), "numpy, f16 of %v", x)
		assert.Equal(t, uint16(g.F16Torch[i]), uint16(tensor.F16FromF32(x)), "torch, f16 of %v", x)
		assert.Equal(t, uint16(g.BF16[i]), uint16(tensor.BF16FromF32(x)), "torch, bf16 of %v", x)
	}
	for i, b := range g.F64 {
		x := math.Float64frombits(uint64(b))
		assert.Equal(t, uint16(g.F16Of64[i]), uint16(tensor.F16FromF64(x)), "numpy, f16 of %v", x)
	}
}
