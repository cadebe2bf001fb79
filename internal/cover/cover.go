package cover

import (
	"fmt"
	"math"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Cover is the time that a stream's samples cover, in whole nanoseconds within it.
type Cover struct {
	Name        string
	First, Last int64
}

// Of returns the time that sorted timestamps cover: i64 nanoseconds, or f64 or f32 seconds. If a timestamp is out of order, not finite or
// beyond 2^62 ns, the error is an *ops.ValueError about the first one, the same as in the operation. Without samples it is an
// *ops.ValueError too.
func Of(name string, times *tensor.Tensor) (Cover, error) {
	c := Cover{Name: name}
	if times.Len() == 0 {
		return c, &ops.ValueError{Op: "Align", Arg: "SrcTimes", Kind: ops.ErrNoSamples}
	}
	var index int
	var kind error
	switch times.DType() {
	case tensor.I64:
		ns, err := tensor.Data[int64](times)
		if err != nil {
			return c, err
		}
		index, kind = firstBad(ns, 1<<62)
		c.First, c.Last = ns[0], ns[len(ns)-1]
	case tensor.F64:
		sec, err := tensor.Data[float64](times)
		if err != nil {
			return c, err
		}
		if index, kind = firstBad(sec, 1<<62/1e9); kind == nil {
			c.First, c.Last = nanosecondAfter(sec[0]), -nanosecondAfter(-sec[len(sec)-1])
		}
	default:
		sec, err := tensor.Data[float32](times)
		if err != nil {
			return c, err
		}
		if index, kind = firstBad(sec, 1<<62/1e9); kind == nil {
			c.First, c.Last = nanosecondAfter(float64(sec[0])), -nanosecondAfter(-float64(sec[len(sec)-1]))
		}
	}
	if kind != nil {
		return c, &ops.ValueError{Op: "Align", Arg: "SrcTimes", Index: index, Kind: kind}
	}
	return c, nil
}

func firstBad[T int64 | float64 | float32](t []T, limit T) (int, error) {
	for i, v := range t {
		switch {
		case v-v != 0: // NaN and infinities
			return i, ops.ErrNotFinite
		case v > limit || v < -limit:
			return i, ops.ErrTimeRange
		case i > 0 && v < t[i-1]:
			return i, ops.ErrUnsorted
		}
	}
	return 0, nil
}

// nanosecondAfter returns a whole nanosecond n with float64(n)/1e9 == sec, or the first with a greater quotient if there is none.
func nanosecondAfter(sec float64) int64 {
	if n := int64(math.Round(sec * 1e9)); float64(n)/1e9 == sec { // many n may have this quotient, and this one has the decimals that a person would write
		return n
	}
	n := int64(math.Ceil(sec * 1e9))
	for float64(n-1)/1e9 >= sec {
		n--
	}
	for float64(n)/1e9 < sec {
		n++
	}
	return n
}

// Length is in nanoseconds.
func (c Cover) Length() float64 { return float64(c.Last) - float64(c.First) }

// Seconds returns nanoseconds as text in seconds, exactly, with three decimals or more.
func Seconds(ns int64) string {
	sign := ""
	u := uint64(ns)
	if ns < 0 {
		sign, u = "-", -u
	}
	s := fmt.Sprintf("%s%d.%09d", sign, u/1e9, u%1e9)
	for strings.HasSuffix(s, "0") && s[len(s)-4] != '.' {
		s = s[:len(s)-1]
	}
	return s
}
