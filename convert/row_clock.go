package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// ClockError reports an episode with several clocks for a format that needs one.
type ClockError struct {
	Target, Episode string
	A, B            string // two streams with different timestamps
}

func (e *ClockError) Error() string {
	return fmt.Sprintf("convert: %s has one clock for all streams: got episode %s with two clocks, for %s and %s, want a rate or a plan",
		e.Target, e.Episode, e.A, e.B)
}

// Unwrap returns dataset.ErrMissing.
func (e *ClockError) Unwrap() error { return dataset.ErrMissing }

// oneClock returns the common times of all streams and media, ns, and empty names. If two of them have different times, the times are nil,
// and a and b are their names. Clouds have no rows, so an episode with clouds has no common clock.
func oneClock(e *dataset.Episode) (times []int64, a, b string) {
	first := ""
	same := func(name string, own []int64) bool {
		if first == "" {
			first, times = name, own
		}
		return len(own) == len(times) && (len(own) == 0 || &own[0] == &times[0] || slices.Equal(own, times))
	}
	for i := range e.Streams {
		if s := &e.Streams[i]; !same(s.Name, s.Nanoseconds()) {
			return nil, first, s.Name
		}
	}
	for i := range e.Media {
		if m := &e.Media[i]; !same(m.Name, m.Times) {
			return nil, first, m.Name
		}
	}
	if len(e.Clouds) > 0 {
		return nil, cmp.Or(first, "the clouds"), e.Clouds[0].Name
	}
	return times, "", ""
}

// near is LeRobot's tolerance for the time of a row, ns.
const near = 100_000

// rateOf returns the rate of rows, Hz: the dataset's own rate; a whole number, if all times are within 0.1 ms of such a clock; or the rate
// of the median step, which is a little off because it is rounded to nanoseconds.
func rateOf(times []int64, said float64) float64 {
	if said > 0 {
		return said
	}
	rate := dataset.StatsOf(times).Rate
	whole := math.Round(rate)
	if whole < 1 || math.Abs(rate-whole) > 1e-4*rate {
		return rate
	}
	for i, t := range times {
		if math.Abs(float64(t-times[0])-float64(i)*1e9/whole) > near {
			return rate
		}
	}
	return whole
}

// ShortError reports an episode with fewer camera frames than rows, for example because a video ends before its table.
type ShortError struct {
	Camera       string
	Frames, Rows int
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("%s has frames for %d of %d rows: want one for each, or a plan or rate (--plan, --hz), which takes the rows that have one", e.Camera, e.Frames, e.Rows)
}

// short returns a *ShortError if nothing else keeps an episode from having one clock.
func short(e *dataset.Episode) error {
	var rows []int64
	for i := range e.Streams {
		if own := e.Streams[i].Nanoseconds(); i == 0 {
			rows = own
		} else if !slices.Equal(own, rows) {
			return nil
		}
	}
	var found *ShortError
	for i := range e.Media {
		m := &e.Media[i]
		k := 0
		for _, t := range rows {
			if k < m.Len() && m.Times[k] == t {
				k++
			}
		}
		if k < m.Len() {
			return nil
		}
		if found == nil && k < len(rows) {
			found = &ShortError{m.Name, m.Len(), len(rows)}
		}
	}
	if found == nil || len(e.Clouds) > 0 {
		return nil
	}
	return found
}
