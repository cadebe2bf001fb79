package ops

import (
	"fmt"
	"math"
	"time"

	"github.com/robocache/robocache/tensor"
)

// maxTime bounds int64 times on both sides, so that a difference of two never overflows.
const maxTime = 1 << 62

// Clock gives the times of the targets: a tensor, or a uniform or an anchored clock, which are never written out.
type Clock struct {
	// Times is [B,T], or [T] shared by the batch, or [sum T] for packed targets. Its dtype is the source times'. Targets may
	// come in any order.
	Times *tensor.Tensor
	// Start, Rate and Count describe a uniform clock where Times is nil: target i is at
	// Start + floor(i*1e9/Rate + 0.5) nanoseconds, computed in float64. For source times in seconds it is at
	// Start/1e9 + i/Rate, each step in float64, then rounded to the times' dtype.
	Start int64
	Rate  float64
	Count int
	// Anchors [B] and Deltas [T], both i64 nanoseconds, are an anchored clock: target t of row b is at Anchors[b] + Deltas[t]. For source times in
	// seconds it is that number divided by 1e9 in float64, then rounded to the times' dtype. It takes no DstOffsets.
	Anchors, Deltas *tensor.Tensor
}

// At returns the clock that a tensor of times gives.
func At(times *tensor.Tensor) Clock { return Clock{Times: times} }

// Uniform returns the clock of count ticks at rate Hz, beginning at start nanoseconds.
func Uniform(start int64, rate float64, count int) Clock {
	return Clock{Start: start, Rate: rate, Count: count}
}

// Anchored returns the clock of windows: the same deltas [T] from an anchor a row [B], both i64 nanoseconds.
func Anchored(anchors, deltas *tensor.Tensor) Clock { return Clock{Anchors: anchors, Deltas: deltas} }

func (c *Clock) IsAnchored() bool { return c.Anchors != nil || c.Deltas != nil }

// Tick returns the time of tick i of a uniform clock in nanoseconds.
func (c Clock) Tick(i int) int64 { return tick[int64](&c, i) }

// Second returns the time of tick i of a uniform clock in seconds, as source times in seconds have it.
func (c Clock) Second(i int) float64 { return seconds(c.Start) + float64(i)/c.Rate }

// seconds is a time or a length of time on a clock of seconds.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func (c Clock) check(ck *checker) {
	switch {
	case c.IsAnchored() && c.Times != nil:
		ck.set("Targets.Times", ErrOption, "Times and Anchors", "one of them")
	case c.IsAnchored() && c.Anchors == nil:
		ck.set("Targets.Anchors", ErrMissing, "nil, with Deltas", "a tensor [B]")
	case c.IsAnchored() && c.Deltas == nil:
		ck.set("Targets.Deltas", ErrMissing, "nil, with Anchors", "a tensor [T]")
	}
	if c.Times != nil || c.IsAnchored() {
		return
	}
	if !(c.Rate > 0) || math.IsInf(c.Rate, 1) {
		ck.set("Targets.Rate", ErrOption, fmt.Sprint(c.Rate), "a positive rate in Hz, or Times")
		return
	}
	if c.Count < 0 {
		ck.set("Targets.Count", ErrShape, fmt.Sprint(c.Count), "0 or more")
		return
	}
	last := math.Abs(float64(c.Start)) + float64(max(c.Count-1, 0))*1e9/c.Rate
	if last > maxTime {
		ck.set("Targets", ErrTooLarge, fmt.Sprintf("start %d ns, %d ticks at %g Hz", c.Start, c.Count, c.Rate), "times within 2^62 ns of 0")
	}
}

// Limit is an optional length of time. The zero value is no limit.
type Limit struct {
	d   time.Duration
	set bool
}

// Within returns the limit of d. Within(0) is a limit too: nothing longer than 0.
func Within(d time.Duration) Limit { return Limit{d, true} }

// Get returns the limit and whether there is one.
func (l Limit) Get() (time.Duration, bool) { return l.d, l.set }

// plus is the limit with more added to it, if there is one; the longest that there is where that would be longer.
func (l Limit) Plus(more Limit) Limit {
	if l.set {
		l.d += min(more.d, math.MaxInt64-l.d)
	}
	return l
}

func (l Limit) check(ck *checker, arg string) {
	if l.set && l.d < 0 {
		ck.set(arg, ErrOption, l.d.String(), "0 or more")
	}
}

// Fill is the value written where there is none. The zero value is NaN.
type Fill struct {
	v   float64
	set bool
}

// FillWith returns the fill value v.
func FillWith(v float64) Fill { return Fill{v, true} }

// Get returns the value to write.
func (f Fill) Get() float64 {
	if f.set {
		return f.v
	}
	return math.NaN()
}
