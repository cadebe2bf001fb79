package plausible

import (
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Coarse returns a note if targets lie beside the samples that they belong to, because the timestamps were rounded or cut to whole milliseconds or
// the like. It has the snap that would put them on these. st is of the stream, targets are of the dtype of its timestamps.
func Coarse(name string, s *dataset.Stream, st dataset.Stats, targets *tensor.Tensor, snap ops.Limit) dataset.Notes {
	ns, limit := s.Nanoseconds(), int64(0)
	if d, given := snap.Get(); given {
		limit = int64(d)
	}
	unit := unitOf(ns, st.Median, limit)
	if unit == 0 {
		return nil
	}
	clock := dataset.Stream{Times: targets}
	if !alikeRates(ns, clock.Nanoseconds()) { // a snap would take samples of other targets
		return nil
	}
	var in, on, beside, most int64
	for _, x := range clock.Nanoseconds() {
		if x < ns[0]-unit || x > ns[len(ns)-1]+unit {
			continue
		}
		in++
		switch d := nearestTo(ns, x); {
		case d <= limit:
			on++
		case d <= unit:
			beside++
			most = max(most, d)
		}
	}
	if beside == 0 || 4*beside < in || 20*(on+beside) < 19*in { // the streams have different rates
		return nil
	}
	enough := unit/2 + micro // for rounded timestamps
	if most > enough {
		enough = unit // for truncated ones
	}
	return dataset.Notes{{Code: dataset.CodeTimesCoarse, Subject: name, Count: int(beside), Detail: dataset.Detail{
		Of: int(in), Got: time.Duration(most).String(), Want: time.Duration(enough).String(), Unit: time.Duration(unit).String(),
	}}}
}

// alikeRates reports whether two clocks have one mean rate, within a fiftieth.
func alikeRates(a, b []int64) bool {
	if len(a) < 2 || len(b) < 2 {
		return false
	}
	mean := func(ns []int64) float64 { return (float64(ns[len(ns)-1]) - float64(ns[0])) / float64(len(ns)-1) }
	return math.Abs(mean(a)-mean(b)) <= mean(a)/50
}

const micro = int64(time.Microsecond)

// unitOf returns the largest unit, in whole microseconds, that timestamps are multiples of, counted from the first, if that is coarser than the limit
// and finer than half their steps; else 0. float64 seconds of an epoch are 0.24 us apart, and are whole microseconds too.
func unitOf(ns []int64, median, limit int64) int64 {
	if len(ns) < 4 {
		return 0
	}
	unit := int64(0)
	for _, t := range ns {
		off := int64(uint64(t-ns[0])+uint64(micro)/2) / micro
		for off != 0 { // Euclid's algorithm
			unit, off = off, unit%off
		}
		if unit == 1 {
			return 0
		}
	}
	if unit *= micro; unit/2 <= limit || median <= 2*unit {
		return 0
	}
	return unit
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
