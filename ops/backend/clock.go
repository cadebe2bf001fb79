package backend

import (
	"math"
	"time"

	"github.com/robocache/robocache/tensor"
)

// MaxTime bounds timestamps, in nanoseconds either side of 0.
const MaxTime = 1 << 62

// MaxRow bounds the samples, targets and features of a row: kernels index within a row in 32 bits. The elements of a
// tensor are not bounded by it.
const MaxRow = math.MaxInt32

// MaxStreams is how many streams one Fuse takes.
const MaxStreams = 16

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

// IsAnchored reports whether the clock is an anchored one.
func (c *Clock) IsAnchored() bool { return c.Anchors != nil || c.Deltas != nil }

// Tick returns the time of tick i of a uniform clock in nanoseconds.
func (c Clock) Tick(i int) int64 {
	return c.Start + int64(min(math.Floor(float64(i)*1e9/c.Rate+0.5), MaxTime))
}

// Second returns the time of tick i of a uniform clock in seconds, as source times in seconds have it.
func (c Clock) Second(i int) float64 { return seconds(c.Start) + float64(i)/c.Rate }

// seconds is a time or a length of time on a clock of seconds.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Limit is an optional length of time. The zero value is no limit.
type Limit struct {
	d   time.Duration
	set bool
}

// Within returns the limit of d. Within(0) is a limit too: nothing longer than 0.
func Within(d time.Duration) Limit { return Limit{d, true} }

// Get returns the limit and whether there is one.
func (l Limit) Get() (time.Duration, bool) { return l.d, l.set }

// Plus is the limit with more added to it, if there is one; the longest that there is where that would be longer.
func (l Limit) Plus(more Limit) Limit {
	if l.set {
		l.d += min(more.d, math.MaxInt64-l.d)
	}
	return l
}
