package backend

import (
	"math"
	"time"

	"github.com/robocache/robocache/tensor"
)

// MaxTime is the largest timestamp in nanoseconds; -MaxTime is the smallest.
const MaxTime = 1 << 62

// MaxRow is the largest number of samples, targets or features in a row, because kernels index within a row in 32 bits.
// A tensor may have more elements in total.
const MaxRow = math.MaxInt32

// MaxStreams is the largest number of streams in one Fuse.
const MaxStreams = 16

// Clock defines the target times: a tensor, or a uniform or anchored clock, which take no memory for their times.
type Clock struct {
	// Times is [B,T], or [T] shared by the batch, or [sum T] for packed targets. It has the source times' dtype.
	// Targets may come in any order.
	Times *tensor.Tensor
	// Start, Rate and Count define a uniform clock if Times is nil: target i is at Start + floor(i*1e9/Rate + 0.5)
	// nanoseconds, computed in float64. If source times are in seconds, it is at Start/1e9 + i/Rate, each step in
	// float64, then rounded to the times' dtype.
	Start int64
	Rate  float64
	Count int
	// Anchors [B] and Deltas [T], both i64 nanoseconds, define an anchored clock: target t in row b is at Anchors[b] +
	// Deltas[t]. If source times are in seconds, this sum is divided by 1e9 in float64, then rounded to the times'
	// dtype. DstOffsets must be nil.
	Anchors, Deltas *tensor.Tensor
}

// IsAnchored reports whether the clock has anchors.
func (c *Clock) IsAnchored() bool { return c.Anchors != nil || c.Deltas != nil }

// Tick returns the time of tick i on a uniform clock in nanoseconds.
func (c Clock) Tick(i int) int64 {
	return c.Start + int64(min(math.Floor(float64(i)*1e9/c.Rate+0.5), MaxTime))
}

// Second returns the time of tick i on a uniform clock in seconds, computed as for source times in seconds.
func (c Clock) Second(i int) float64 { return seconds(c.Start) + float64(i)/c.Rate }

// seconds converts nanoseconds to seconds, in float64.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Limit is an optional duration. The zero value means no limit.
type Limit struct {
	d   time.Duration
	set bool
}

// Within returns a limit with the duration d. Within(0) is a limit too: it allows nothing longer than 0.
func Within(d time.Duration) Limit { return Limit{d, true} }

// Get returns the duration, and whether the limit is set.
func (l Limit) Get() (time.Duration, bool) { return l.d, l.set }

// Plus returns the limit extended by more. An unset limit stays unset. If the sum overflows, the result is the largest
// duration.
func (l Limit) Plus(more Limit) Limit {
	if l.set {
		l.d += min(more.d, math.MaxInt64-l.d)
	}
	return l
}
