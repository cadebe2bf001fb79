package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// maxTicks is how many targets --hz makes at most.
const maxTicks = 1 << 30

// maxOutput is the most bytes that the arrays made for --hz may take: a slip of the finger should not fill the memory.
const maxOutput = 64 << 30

// checkOutput refuses a rate whose arrays would not fit: rows of so many columns together.
func checkOutput(clock ops.Clock, rows, columns int, r *request) error {
	size := 8
	if r.dtype.set {
		size = r.dtype.value.Size()
	}
	// An age of 8 bytes and a flag beside the values.
	if need := float64(clock.Count) * (float64(columns)*float64(size) + float64(rows)*9); need > room() {
		return usagef("--hz %g: got %d targets that take %.1f GiB, want at most %.1f GiB, what there is here", r.hz.value, clock.Count, need/(1<<30), room()/(1<<30))
	}
	return nil
}

// maxShown is how many ranges an error lists.
const maxShown = 100

// extent is the time that a stream or row covers, in whole nanoseconds within it.
type extent struct {
	name        string
	first, last int64
}

// extentOf returns what a sorted clock covers. It reports the first stamp that is out of order, not finite or beyond 2^62 ns, as
// the operation would.
func extentOf(op, name string, row int, times *tensor.Tensor) (extent, error) {
	e := extent{name: name}
	if times.Len() == 0 {
		return e, &ops.ValueError{Op: op, Arg: "SrcTimes", Row: row, Kind: ops.ErrNoSamples}
	}
	var index int
	var kind error
	switch times.DType() {
	case tensor.I64:
		ns, err := tensor.Data[int64](times)
		if err != nil {
			return e, err
		}
		index, kind = firstBad(ns, 1<<62)
		e.first, e.last = ns[0], ns[len(ns)-1]
	case tensor.F64:
		sec, err := tensor.Data[float64](times)
		if err != nil {
			return e, err
		}
		if index, kind = firstBad(sec, 1<<62/1e9); kind == nil {
			e.first, e.last = nanosecondAfter(sec[0]), -nanosecondAfter(-sec[len(sec)-1])
		}
	default:
		sec, err := tensor.Data[float32](times)
		if err != nil {
			return e, err
		}
		if index, kind = firstBad(sec, 1<<62/1e9); kind == nil {
			e.first, e.last = nanosecondAfter(float64(sec[0])), -nanosecondAfter(-float64(sec[len(sec)-1]))
		}
	}
	if kind != nil {
		return e, &ops.ValueError{Op: op, Arg: "SrcTimes", Row: row, Index: index, Kind: kind}
	}
	return e, nil
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

// nanosecondAfter returns the first whole nanosecond whose quotient by 1e9 is not before sec, in float64.
func nanosecondAfter(sec float64) int64 {
	n := int64(math.Ceil(sec * 1e9))
	for float64(n-1)/1e9 >= sec {
		n--
	}
	for float64(n)/1e9 < sec {
		n++
	}
	return n
}

// rangeError says that streams share no time.
type rangeError struct{ ranges []extent }

func (e *rangeError) Error() string {
	list := make([]string, 0, len(e.ranges))
	for i, r := range e.ranges {
		if i == maxShown {
			list = append(list, fmt.Sprintf("and %d more", len(e.ranges)-i))
			break
		}
		list = append(list, fmt.Sprintf("%s %s to %s s", r.name, seconds(r.first), seconds(r.last)))
	}
	return "no time that all have in common: " + strings.Join(list, ", ")
}

// bounds names the streams that begin and end the common range.
type bounds struct {
	first, last extent
}

// clockOver makes the clock of --hz over the time that the ranges share, or with --range union that any covers: from its first
// nanosecond in steps of 1/hz, ending at or before its last, or no more than --snap after it.
func clockOver(ranges []extent, r *request) (ops.Clock, bounds, error) {
	if len(ranges) == 0 {
		return ops.Clock{}, bounds{}, &rangeError{}
	}
	b := bounds{ranges[0], ranges[0]}
	wide := r.span.value == union
	for _, e := range ranges[1:] {
		if wide && e.first < b.first.first || !wide && e.first > b.first.first {
			b.first = e
		}
		if wide && e.last > b.last.last || !wide && e.last < b.last.last {
			b.last = e
		}
	}
	first, last := b.first.first, b.last.last
	if first > last {
		return ops.Clock{}, b, &rangeError{ranges}
	}
	hz := r.hz.value
	snap, _ := r.snapping().Get()
	last += min(int64(snap), math.MaxInt64-max(last, 0))
	length := (float64(last) - float64(first)) / 1e9 // of integers it could overflow
	want := length*hz + 1
	if want > maxTicks {
		return ops.Clock{}, b, usagef("--hz %g: got %.4g targets in %.6g s, want at most %d", hz, want, length, maxTicks)
	}
	clock := ops.Uniform(first, hz, int(want)+2)
	for clock.Count > 0 && clock.Tick(clock.Count-1) > last {
		clock.Count--
	}
	return clock, b, nil
}

// writeOut returns the ticks of a clock as a tensor [T] of the dtype that a clock of seconds or nanoseconds has.
func writeOut(clock ops.Clock, dtype tensor.DType) (*tensor.Tensor, error) {
	switch dtype {
	case tensor.I64:
		return ticksOf(clock, clock.Tick)
	case tensor.F64:
		return ticksOf(clock, clock.Second)
	}
	return ticksOf(clock, func(i int) float32 { return float32(clock.Second(i)) })
}

func ticksOf[T int64 | float64 | float32](clock ops.Clock, of func(i int) T) (*tensor.Tensor, error) {
	out := make([]T, clock.Count)
	for i := range out {
		out[i] = of(i)
	}
	return tensor.Of(out, len(out))
}

// seconds writes nanoseconds as seconds, exactly.
func seconds(ns int64) string {
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

// nanoseconds returns a clock in nanoseconds, rounded if it is in seconds.
func nanoseconds(times *tensor.Tensor) ([]int64, error) {
	var out []int64
	switch times.DType() {
	case tensor.I64:
		return tensor.Data[int64](times)
	case tensor.F64:
		sec, err := tensor.Data[float64](times)
		if err != nil {
			return nil, err
		}
		for _, v := range sec {
			out = append(out, int64(math.Round(v*1e9)))
		}
	default:
		sec, err := tensor.Data[float32](times)
		if err != nil {
			return nil, err
		}
		for _, v := range sec {
			out = append(out, int64(math.Round(float64(v)*1e9)))
		}
	}
	return out, nil
}
