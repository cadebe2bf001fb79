package align

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Coarse says, in words for a person, that targets lie beside the samples that they belong to, because the timestamps were rounded to whole milliseconds
// or the like, and which snap would put them on these. It is empty where they do not. st is of the stream, targets are of the dtype of its timestamps.
func Coarse(s *dataset.Stream, st dataset.Stats, targets *tensor.Tensor, snap ops.Limit) string {
	ns, limit := s.Nanoseconds(), int64(0)
	if d, given := snap.Get(); given {
		limit = int64(d)
	}
	unit := unitOf(ns, st.Median, limit)
	if unit == 0 {
		return ""
	}
	clock := dataset.Stream{Times: targets}
	var in, on, beside, most int64
	for _, x := range clock.Nanoseconds() {
		if x < ns[0]-unit || x > ns[len(ns)-1]+unit {
			continue
		}
		in++
		switch d := nearestTo(ns, x); {
		case d <= limit:
			on++
		case d <= unit/2+slack(unit):
			beside++
			most = max(most, d)
		}
	}
	if beside == 0 || 4*beside < in || 20*(on+beside) < 19*in { // the streams are of different rates, as they may be
		return ""
	}
	return fmt.Sprintf("its timestamps are whole %s, so that %d of %d targets lie beside their sample, by up to %v; a snap of %v puts them on it",
		unitNames[time.Duration(unit)], beside, in, time.Duration(most), time.Duration(unit/2+slack(unit)))
}

var unitNames = map[time.Duration]string{10 * time.Millisecond: "hundredths of a second", time.Millisecond: "milliseconds", 100 * time.Microsecond: "tenths of a millisecond", 10 * time.Microsecond: "hundredths of a millisecond"}

// slack is how far a timestamp may be from a whole number of units, and count as one: float64 seconds of an epoch are 0.24 us apart.
func slack(unit int64) int64 { return min(int64(time.Microsecond), unit/10) }

// unitOf returns the largest unit that timestamps are whole numbers of, counted from the first, if that is coarser than the limit and still much finer
// than their steps; else 0.
func unitOf(ns []int64, median, limit int64) int64 {
	if len(ns) < 4 {
		return 0
	}
	for _, d := range []time.Duration{10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, 10 * time.Microsecond} {
		unit := int64(d)
		if unit/2 <= limit || median < 4*unit {
			continue
		}
		if !slices.ContainsFunc(ns, func(t int64) bool {
			off := int64(uint64(t-ns[0]) % uint64(unit))
			return min(off, unit-off) > slack(unit)
		}) {
			return unit
		}
	}
	return 0
}

// nearestTo returns how far the nearest of sorted timestamps is.
func nearestTo(ns []int64, x int64) int64 {
	i, _ := slices.BinarySearch(ns, x)
	best := int64(math.MaxInt64)
	if i < len(ns) {
		best = ns[i] - x
	}
	if i > 0 {
		best = min(best, x-ns[i-1])
	}
	return best
}
