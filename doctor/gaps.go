package doctor

import "github.com/robocache/robocache/dataset"

// Gaps returns the steps of a stream's clock, whose timestamps are in order, that the kind Gap is about unless MaxStep says otherwise, and the
// longest step that is none; 0 of a clock without a steady rate, which has no gaps.
func Gaps(stream string, times []int64, st dataset.Stats) (gaps []dataset.Span, longest int64) {
	return gapsOf(times, st, steady(times, st.Median), saysOf(stream).command)
}

func gapsOf(times []int64, st dataset.Stats, steady, command bool) (gaps []dataset.Span, longest int64) {
	if !steady {
		return nil, 0
	}
	limit := int64(dataset.GapLimit(st.Median))
	gaps = dataset.Gaps(times, limit)
	if command && len(gaps) > len(times)/100 {
		return nil, 0
	}
	return gaps, limit
}
