package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// withAndWithoutVectors runs a test with the vector functions, where the processor has what they need, and without.
func withAndWithoutVectors(t *testing.T, test func(t *testing.T)) {
	had := vector
	defer func() { vector = had }()
	for _, vector = range []bool{false, had} {
		t.Run(fmt.Sprintf("vector=%v", vector), test)
	}
}

// special are float32 numbers that code for ordinary ones gets wrong.
var special = []uint32{
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
	0x7fc00000, 0xffc00000, 0x7f800001, 0x7fbfffff, 0xffffffff, 0x7fffe000, 0x7fff0000, 0x477fefff, 0x477ff000, 0x38800000, 0x387fe000,
	0x33000000, 0x33000001, 0x3f7fffff, 0x3f808000, 0x3f818000, 0x3f80ffff,
}

// testValues makes the memory of n numbers, every third of them special.
func testValues(rng *rand.Rand, dtype tensor.DType, n int) values {
	v, err := newValues(tensor.Must(tensor.New(dtype, n)))
	if err != nil {
		panic(err)
	}
	for i := range n {
		x := float32(rng.NormFloat64())
		if rng.IntN(3) == 0 {
			x = math.Float32frombits(special[rng.IntN(len(special))])
		}
		switch d := v.data.(type) {
		case []float32:
			d[i] = x
		case []float64:
			d[i] = float64(x)
		case []tensor.Float16:
			d[i] = tensor.F16FromF32(x)
		case []tensor.BFloat16:
			d[i] = tensor.BF16FromF32(x)
		}
	}
	return v
}

// oneLerp is the definition, for one feature, rounded to a dtype.
func oneLerp(src values, from, to int, a float64, dtype tensor.DType) float64 {
	if src.wide {
		v0, v1 := src.float(from), src.float(to)
		r := v0 + float64(a*(v1-v0))
		if r-r != 0 {
			r = mended(v0, v1, a, r)
		}
		switch dtype {
		case tensor.F32:
			return float64(float32(r))
		case tensor.F16:
			return float64(tensor.F16FromF64(r).F32())
		case tensor.BF16:
			return float64(tensor.BF16FromF64(r).F32())
		}
		return r
	}
	v0, v1 := float32(src.float(from)), float32(src.float(to))
	r := v0 + float32(float32(a)*(v1-v0))
	if r-r != 0 {
		r = mended(v0, v1, float32(a), r)
	}
	switch dtype {
	case tensor.F16:
		return float64(tensor.F16FromF32(r).F32())
	case tensor.BF16:
		return float64(tensor.BF16FromF32(r).F32())
	}
	return float64(r)
}

// sameNumber compares bits, and lets any NaN be any other.
func sameNumber(x, y float64) bool {
	return x != x && y != y || math.Float64bits(x) == math.Float64bits(y)
}

var valueTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}

func TestLerpRowsFollowsTheDefinitionForEveryLength(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	const count = 7 // more items than are asked for ahead
	withAndWithoutVectors(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, from := range valueTypes {
			for _, to := range valueTypes {
				for n := range 71 {
					for shift := range 4 { // of the memory, in elements: every alignment comes up
						gap := []int{0, n, n + 1, n + 13}[shift]
						src := testValues(rng, from, shift+count*(n+gap+1))
						dst := testValues(rng, to, shift+count*(n+3)+1)
						before := testValues(rng, to, dst.len())
						before.copyFrom(0, dst, 0, dst.len(), nil)
						var items []lerpItem
						for i := range count {
							a := []float64{rng.Float64(), 0x1p-30, 1 - 0x1p-53, 0.5}[rng.IntN(4)]
							items = append(items, lerpItem{shift + rng.IntN(src.len()-n-gap-shift+1), shift + i*(n+3), a})
						}
						dst.lerpRows(src, items, gap, n, newScratch(n, nil))
						at := 0
						for _, it := range items {
							for ; at < it.to; at++ {
								require.True(t, sameNumber(before.float(at), dst.float(at)), "%v to %v, %d features: %d was written", from, to, n, at)
							}
							for i := range n {
								want, got := oneLerp(src, it.from+i, it.from+i+gap, it.a, to), dst.float(at)
								if !sameNumber(want, got) {
									t.Fatalf("%v to %v, feature %d of %d, shift %d, between %v and %v at %v: got %v, want %v", from, to, i, n, shift,
										src.float(it.from+i), src.float(it.from+i+gap), it.a, got, want)
								}
								at++
							}
						}
						for ; at < dst.len(); at++ {
							require.True(t, sameNumber(before.float(at), dst.float(at)), "%v to %v, %d features: %d was written", from, to, n, at)
						}
					}
				}
			}
		}
	})
}

func TestLerpRowsPanicsBeforeItLeavesTheMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	src, dst := testValues(rand.New(rand.NewPCG(1, 2)), tensor.F32, 20), testValues(rand.New(rand.NewPCG(1, 2)), tensor.F32, 10)
	for _, c := range []struct {
		item lerpItem
		gap  int
	}{{lerpItem{from: 5}, 8}, {lerpItem{from: -1}, 8}, {lerpItem{to: 3}, 8}, {lerpItem{to: -1}, 8}, {lerpItem{from: 7}, -8}, {lerpItem{}, 13}} {
		assert.Panics(t, func() { dst.lerpRows(src, []lerpItem{{}, c.item}, c.gap, 8, newScratch(8, nil)) }, "%+v", c)
	}
	assert.NotPanics(t, func() { dst.lerpRows(src, []lerpItem{{4, 2, .5}}, 8, 8, newScratch(8, nil)) })
	assert.NotPanics(t, func() { dst.lerpRows(src, []lerpItem{{12, 2, .5}}, -8, 8, newScratch(8, nil)) })
}

func TestEveryHalfWidensInRowsAsAlone(t *testing.T) {
	withAndWithoutVectors(t, func(t *testing.T) {
		f16, bf16 := make([]tensor.Float16, 1<<16), make([]tensor.BFloat16, 1<<16)
		for i := range 1 << 16 {
			f16[i], bf16[i] = tensor.Float16(i), tensor.BFloat16(i)
		}
		buf := make([]float32, 1<<16)
		for i, x := range (values{data: f16}).narrow(buf, 0, len(buf)) {
			if want := tensor.Float16(i).F32(); !sameNumber(float64(want), float64(x)) {
				t.Fatalf("f16 %#04x: got %v, want %v", i, x, want)
			}
		}
		for i, x := range (values{data: bf16}).narrow(buf, 0, len(buf)) {
			if want := tensor.BFloat16(i).F32(); !sameNumber(float64(want), float64(x)) {
				t.Fatalf("bf16 %#04x: got %v, want %v", i, x, want)
			}
		}
	})
}

// The numbers are every half, the middle between it and the next, and the neighbours of both.
func TestRowsRoundAsNumbersAlone(t *testing.T) {
	var in []float32
	for i := range 1 << 15 {
		for _, h := range [][2]float32{{tensor.Float16(i).F32(), tensor.Float16(i + 1).F32()}, {tensor.BFloat16(i).F32(), tensor.BFloat16(i + 1).F32()}} {
			for _, x := range []float32{h[0], h[0] + (h[1]-h[0])/2} {
				for d := range uint32(3) {
					y := math.Float32frombits(math.Float32bits(x) + d - 1)
					in = append(in, y, -y)
				}
			}
		}
	}
	for _, b := range special {
		in = append(in, math.Float32frombits(b))
	}
	withAndWithoutVectors(t, func(t *testing.T) {
		f16, bf16 := make([]tensor.Float16, len(in)), make([]tensor.BFloat16, len(in))
		values{data: f16}.put32(0, in)
		values{data: bf16}.put32(0, in)
		for i, x := range in {
			if want := tensor.F16FromF32(x); !sameNumber(float64(want.F32()), float64(f16[i].F32())) {
				t.Fatalf("f16 of %v (%#08x): got %#04x, want %#04x", x, math.Float32bits(x), f16[i], want)
			}
			if want := tensor.BF16FromF32(x); !sameNumber(float64(want.F32()), float64(bf16[i].F32())) {
				t.Fatalf("bf16 of %v (%#08x): got %#04x, want %#04x", x, math.Float32bits(x), bf16[i], want)
			}
		}
	})
}

func TestConversionsOfEveryLengthStayInTheirRow(t *testing.T) {
	withAndWithoutVectors(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, dtype := range []tensor.DType{tensor.F16, tensor.BF16} {
			for n := range 71 {
				for shift := range 4 {
					in := testValues(rng, tensor.F32, n+4).data.([]float32)[shift:][:n]
					out := testValues(rng, dtype, n+8)
					first, after := out.float(shift), out.float(shift+1+n)
					out.put32(shift+1, in)
					assert.True(t, sameNumber(first, out.float(shift)) && sameNumber(after, out.float(shift+1+n)), "%v: %d numbers", dtype, n)
					buf := make([]float32, n+1)
					buf[n] = 7
					for i, x := range out.narrow(buf, shift+1, n) {
						assert.True(t, sameNumber(float64(x), out.float(shift+1+i)), "%v: %d of %d", dtype, i, n)
					}
					assert.Equal(t, float32(7), buf[n])
				}
			}
		}
	})
}

// BenchmarkLerpRows makes a batch of targets whose samples are in the cache, with the vector functions and without.
func BenchmarkLerpRows(b *testing.B) {
	had := vector
	defer func() { vector = had }()
	for _, dtype := range valueTypes {
		for _, d := range []int{7, 32, 256} {
			for _, vector = range []bool{false, had} {
				rng := rand.New(rand.NewPCG(1, 2))
				src, _ := newValues(tensor.Must(tensor.New(dtype, 17, d)))
				dst, _ := newValues(tensor.Must(tensor.New(dtype, batchMost, d)))
				for i := range src.len() {
					src.put32(i, []float32{rng.Float32()*2 - 1})
				}
				var items []lerpItem
				for i := range batchMost {
					items = append(items, lerpItem{d * rng.IntN(16), d * i, rng.Float64()})
				}
				s := newScratch(d, nil)
				b.Run(fmt.Sprintf("dtype=%v/D=%d/vector=%v", dtype, d, vector), func(b *testing.B) {
					b.SetBytes(int64(3 * batchMost * d * dtype.Size()))
					for range b.N {
						dst.lerpRows(src, items, d, d, s)
					}
				})
			}
		}
	}
}
