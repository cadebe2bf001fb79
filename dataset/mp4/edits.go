package mp4

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/robocache/robocache/dataset"
)

// edit is a part of the media that is shown, from a time on: [from, to) in the track's ticks. An empty one has from -1.
type edit struct{ from, to, length int64 }

// present puts the samples in the order in which they are shown, and gives them their times.
func (t *Track) present(mvhd, edts box) error {
	sorted := make([]int32, 0, len(t.samples))
	for i := range t.samples {
		sorted = append(sorted, int32(i))
	}
	slices.SortFunc(sorted, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.samples[a].time, t.samples[b].time), cmp.Compare(a, b))
	})
	edits, at, err := t.edits(mvhd, edts)
	if err != nil {
		return err
	}
	if edits == nil {
		edits = []edit{{math.MinInt64, math.MaxInt64, 0}}
	}
	shown := make([]bool, len(sorted))
	start, empty, first, any := int64(0), int64(0), int64(math.MaxInt64), false
	for _, e := range edits {
		if e.from == -1 {
			start += e.length
			empty += e.length
			continue
		}
		lo := sort.Search(len(sorted), func(i int) bool { return t.samples[sorted[i]].time >= e.from })
		for ; lo < len(sorted) && t.samples[sorted[lo]].time < e.to; lo++ {
			if shown[lo] {
				return t.file.fail(at, dataset.ErrUnsupported, "edit list", fmt.Sprintf("one that shows sample %d twice", sorted[lo]+1), "each once")
			}
			shown[lo] = true
			s := t.samples[sorted[lo]]
			time := s.time
			if at >= 0 {
				time += start - e.from
			}
			first, any = min(first, time), true
			if s.size == 0 {
				continue // lost: it keeps its time, and is no frame
			}
			t.order, t.ticks = append(t.order, sorted[lo]), append(t.ticks, time)
		}
		start += e.length
	}
	// The first visible frame starts with its edit, even if the edit begins inside a frame.
	if late := first - empty; at >= 0 && any && late > 0 {
		for i := range t.ticks {
			t.ticks[i] -= late
		}
	}
	for i, yes := range shown {
		if !yes && t.samples[sorted[i]].size > 0 {
			t.Hidden++
		}
	}
	return t.checkTimes()
}

// checkTimes refuses times that nanoseconds have no room for.
func (t *Track) checkTimes() error {
	for _, v := range t.ticks {
		if _, ok := rescale(v, 1e9, uint64(t.Timescale)); !ok {
			return t.file.fail(-1, dataset.ErrCorrupt, "time of a frame", fmt.Sprintf("%d/%d s", v, t.Timescale), "less than 146 years")
		}
	}
	return nil
}

// edits returns the edit list and its offset; nil and -1 if there is none.
func (t *Track) edits(mvhd, edts box) ([]edit, int64, error) {
	f := t.file
	elst, ok := t.children(edts)["elst"]
	if !ok {
		return nil, -1, nil
	}
	movie, err := f.timescale(mvhd, "mvhd")
	if err != nil {
		return nil, -1, err
	}
	version, err := f.read("elst", elst.body, min(1, elst.size()))
	if err != nil {
		return nil, -1, err
	}
	width := 4
	if len(version) == 1 && version[0] == 1 {
		width = 8
	}
	tab, err := t.table(elst, 4, 2*width+4)
	if err != nil || tab.n == 0 {
		return nil, -1, err
	}
	list, total := make([]edit, 0, tab.n), int64(0)
	for i := range tab.n {
		duration, from := uint64(tab.u32(i, 0)), int64(int32(tab.u32(i, 4)))
		if width == 8 {
			duration, from = tab.u64(i, 0), int64(tab.u64(i, 8))
		}
		length, fits := rescale(int64(min(duration, math.MaxInt64)), uint64(t.Timescale), uint64(movie))
		if total += length; !fits || total >= maxTime || from < -1 || from >= maxTime {
			return nil, -1, f.fail(elst.at, dataset.ErrCorrupt, "elst", fmt.Sprintf("duration %d from %d", duration, from), "times of a track")
		}
		if rate := tab.u32(i, 2*width); from >= 0 && rate != 1<<16 {
			return nil, -1, f.fail(elst.at, dataset.ErrUnsupported, "elst: speed", fmt.Sprint(float64(int32(rate))/(1<<16)), "1")
		}
		e := edit{from, from + length, length}
		if duration == 0 && i == tab.n-1 {
			e.to = math.MaxInt64 // to the end
		}
		list = append(list, e)
	}
	return list, elst.at, nil
}
