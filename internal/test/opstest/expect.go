package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/tensor"
)

func bothNaN(dtype tensor.DType, a, b uint64) bool {
	x, y := decode(dtype, a), decode(dtype, b)
	return x != x && y != y
}

func (e *expect) show(dtype tensor.DType) string {
	if e.rule == near {
		return fmt.Sprintf("%v within %g", e.want, e.tolerance(dtype))
	}
	return show(dtype, e.bits)
}

// tolerance returns the largest permitted difference from e.want. It is 4 * 2^-24 (a few float32 roundings), or 1e-14 for F64
// output (about 50 float64 roundings), times the larger of |e.want| and e.size. The smallest subnormal is added, because
// rounding near 0 has an absolute error. For f16 and bf16 output, ok permits a difference of one unit in the last place instead.
func (e *expect) tolerance(dtype tensor.DType) float64 {
	size := math.Max(math.Abs(e.want), e.size)
	if dtype == tensor.F64 {
		return 1e-14*size + math.SmallestNonzeroFloat64
	}
	return 4*0x1p-24*size + math.SmallestNonzeroFloat32
}

// ok reports whether bits meet the expectation.
func (e *expect) ok(dtype tensor.DType, bits uint64) bool {
	if bits == e.bits && e.rule != near {
		return true
	}
	got := decode(dtype, bits)
	switch e.rule {
	case copied:
		return false
	case rounded:
		return bothNaN(dtype, bits, e.bits)
	}
	if math.IsNaN(e.want) || math.IsInf(e.want, 0) {
		return math.IsNaN(got) || math.IsInf(got, 0)
	}
	wants := []float64{e.want}
	if e.period != 0 {
		if !(got >= decode(dtype, encode(dtype, e.low)) && got <= decode(dtype, encode(dtype, e.low+e.period))) {
			return false
		}
		wants = append(wants, e.want-e.period, e.want+e.period)
	}
	for _, w := range wants {
		if dtype == tensor.F32 || dtype == tensor.F64 {
			if math.Abs(got-w) <= e.tolerance(dtype) || float32(w) == float32(got) && dtype == tensor.F32 {
				return true
			}
		} else if d := ordinal(bits) - ordinal(encode(dtype, w)); d >= -1 && d <= 1 || math.Abs(got-w) <= e.tolerance(tensor.F64) {
			return true // one unit in the last place, or near 0 the float64 rounding error if larger numbers cancel
		}
	}
	return false
}

// ordinal numbers 16-bit floating-point values in ascending order.
func ordinal(bits uint64) int {
	if bits&0x8000 != 0 {
		return -int(bits & 0x7fff)
	}
	return int(bits)
}

// equalBits asserts that two dense outputs are equal, counting any two NaNs as equal.
func equalBits(t *testing.T, dtype tensor.DType, want, got []uint64, what string) bool {
	t.Helper()
	if !assert.Equal(t, len(want), len(got), what) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !bothNaN(dtype, want[i], got[i]) {
			return assert.Fail(t, fmt.Sprintf("%s: element %d: got %s, want %s", what, i, show(dtype, got[i]), show(dtype, want[i])))
		}
	}
	return true
}
