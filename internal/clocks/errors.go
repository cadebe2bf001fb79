package clocks

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
)

// MaxTargets is how many targets a clock may have.
const MaxTargets = 1 << 30

// RangeError says that there is no clock, and names the streams that are in the way.
type RangeError struct {
	Rate    float64
	Streams []cover.Cover // the one that ends first and the one that begins last, or each without which the clock would fit
	Targets float64       // about how many there would be; 0 if there is no time
}

func (e *RangeError) Error() string {
	var list []string
	for _, s := range e.Streams {
		list = append(list, fmt.Sprintf("%s covers %s to %s s", s.Name, cover.Seconds(s.First), cover.Seconds(s.Last)))
	}
	if e.Targets > 0 {
		s := fmt.Sprintf("%g Hz: got %.4g targets, want at most %d", e.Rate, e.Targets, MaxTargets)
		if len(list) > 0 {
			s += ": " + strings.Join(list, ", ")
		}
		return s
	}
	if len(list) == 0 {
		return "no samples, so no time to put a clock over"
	}
	return "no time that all have in common: " + strings.Join(list, ", ")
}

// Unwrap returns ops.ErrTooLarge if there would be too many targets, else nil.
func (e *RangeError) Unwrap() error {
	if e.Targets > 0 {
		return ops.ErrTooLarge
	}
	return nil
}

// SizeError says that the results would not fit into the memory.
type SizeError struct {
	Rate        float64
	Targets     int
	Bytes, Most float64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%g Hz: got %d targets that take %.1f GiB, want at most %.1f GiB, what there is here", e.Rate, e.Targets, e.Bytes/(1<<30), e.Most/(1<<30))
}

// Unwrap returns ops.ErrTooLarge.
func (e *SizeError) Unwrap() error { return ops.ErrTooLarge }
