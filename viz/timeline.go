package viz

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/robocache/robocache/dataset"
	words "github.com/robocache/robocache/internal/text"
)

// Timeline is a row in the picture by [WriteTimelinePNG]: the clock of one stream.
type Timeline struct {
	Name  string
	Times []int64 // the recorded timestamps, ns
	Media bool    // the samples are frames or point clouds
}

// TimelinesOf returns a row for each stream in an episode. Media and point clouds come last.
func TimelinesOf(e *dataset.Episode) []Timeline {
	rows := make([]Timeline, 0, len(e.Streams)+len(e.Media)+len(e.Clouds))
	for i := range e.Streams {
		rows = append(rows, Timeline{Name: e.Streams[i].Name, Times: e.Streams[i].Nanoseconds()})
	}
	for i := range e.Media {
		rows = append(rows, Timeline{Name: e.Media[i].Name, Times: e.Media[i].Times, Media: true})
	}
	for i := range e.Clouds {
		rows = append(rows, Timeline{Name: e.Clouds[i].Name, Times: e.Clouds[i].Times, Media: true})
	}
	return rows
}

const (
	maxTimelines = 250 // the largest number of rows in a readable picture
	timelineRow  = 15  // points
	timelineName = 2.3 * vg.Inch
	timelineNote = 1.5 * vg.Inch
)

// WriteTimelinePNG draws streams on one time axis, a row for each, and writes a PNG image. A row shows the times with samples,
// and gaps, see [dataset.Stats]. The rate and the number of samples stand beside it. The axis is
// in seconds since its first timestamp.
//
// If a few samples are so far from all others that the others would become too small, they are not on the axis but are counted.
// If there are more than 250 rows, the first 250 are drawn, and the title has the total number.
func WriteTimelinePNG(w io.Writer, rows []Timeline, opt Options) error {
	if len(rows) == 0 {
		return refused(ErrMissing, "rows", "none", "at least one")
	}
	from, to := axisOf(rows)
	title := opt.Title
	if n := len(rows); n > maxTimelines {
		rows, title = rows[:maxTimelines], fmt.Sprintf("%s (the first %d of %d streams)", title, maxTimelines, n)
	}
	height := headHeight + footHeight + vg.Length(len(rows))*timelineRow
	page, img := newPage(height, title, opt)
	t := timeline{page: page, from: from, to: to, length: max(float64(to)-float64(from), 1), left: timelineName, right: width - timelineNote}
	t.axis(footHeight, height-headHeight)
	for i := range rows {
		t.row(&rows[i], height-headHeight-vg.Length(i+1)*timelineRow)
	}
	return writePNG(w, indexed(img.Image()))
}

// timeline is a page with a time axis between left and right.
type timeline struct {
	page        draw.Canvas
	from, to    int64
	length      float64 // ns
	left, right vg.Length
}

func (t *timeline) at(ns int64) vg.Length {
	return t.left + (t.right-t.left)*vg.Length((float64(ns)-float64(t.from))/t.length)
}

// axis draws ticks with their lines, from the bottom to the top of the rows, and the labels.
func (t *timeline) axis(bottom, top vg.Length) {
	small := style(8.5, false)
	small.XAlign = text.XCenter
	for _, tick := range (ticks{8}).Ticks(0, t.length/1e9) {
		at := t.left + (t.right-t.left)*vg.Length(tick.Value*1e9/t.length)
		t.page.StrokeLine2(draw.LineStyle{Color: gridColour, Width: 0.5}, at, bottom, at, top)
		write(t.page, at, bottom-11, small, tick.Label)
	}
	write(t.page, t.right+8, bottom-11, style(8.5, false), "s since the first timestamp")
	write(t.page, 12, top+9, style(9, false), "shaded: gaps, steps above 20 ms and three times the median, in streams with a rate")
}

func (t *timeline) row(r *Timeline, y vg.Length) {
	write(t.page, 12, y+4, style(8.5, false), shortened(r.Name, 34))
	st := dataset.StatsOf(r.Times)
	if st.Samples == 0 {
		write(t.page, t.right+8, y+4, style(8.5, false), "no samples")
		return
	}
	note := fmt.Sprintf("%d", st.Samples)
	if st.Rate > 0 {
		note = strconv.FormatFloat(st.Rate, 'f', 1, 64) + " Hz, " + note
	}
	if st.Gaps > 0 {
		note += ", " + words.Count(st.Gaps, "gap")
	}
	if out := t.outside(r.Times); out > 0 {
		note += fmt.Sprintf(", %d off the axis", out)
	}
	write(t.page, t.right+8, y+4, style(8.5, false), note)
	low, high := y+3, y+timelineRow-3
	col := colours[0]
	if r.Media {
		col = colours[2]
	}
	last := int64(math.MinInt64)
	for _, run := range runsOf(r.Times, st.Median) {
		if run.to < t.from || run.from > t.to {
			continue
		}
		if st.Steady && last > math.MinInt64 && t.at(run.from)-t.at(last) > 0.4 {
			box(t.page, gapColour, t.at(last), low, t.at(run.from), high)
		}
		box(t.page, col, t.at(max(run.from, t.from)), low, t.at(min(run.to, t.to)), high)
		last = run.to
	}
}

// outside returns the number of timestamps beyond the ends of the axis.
func (t *timeline) outside(times []int64) (n int) {
	for _, at := range times {
		if at < t.from || at > t.to {
			n++
		}
	}
	return n
}

// run is a range of samples without a gap.
type run struct {
	from, to int64
	samples  int
}

// runsOf divides a clock at steps above the gap limit, also if it has no rate. The clock may be unsorted.
func runsOf(times []int64, median int64) []run {
	if !slices.IsSorted(times) {
		times = slices.Sorted(slices.Values(times))
	}
	var list []run
	for i, at := range times {
		if i == 0 || float64(at)-float64(times[i-1]) > float64(dataset.GapLimit(median)) {
			list = append(list, run{from: at})
		}
		last := &list[len(list)-1]
		last.to, last.samples = at, last.samples+1
	}
	return list
}

// axisOf returns the first and the last time on the axis. It covers all samples except a few that are far from the rest.
func axisOf(rows []Timeline) (from, to int64) {
	var list []run
	samples := 0
	for _, r := range rows {
		list = append(list, runsOf(r.Times, dataset.StatsOf(r.Times).Median)...)
		samples += len(r.Times)
	}
	if len(list) == 0 {
		return 0, 0
	}
	slices.SortFunc(list, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	// Overlapping runs are one island. Islands with few samples at the ends are off the axis if this makes the rest much larger.
	islands := list[:1]
	for _, r := range list[1:] {
		if last := &islands[len(islands)-1]; r.from <= last.to {
			last.to, last.samples = max(last.to, r.to), last.samples+r.samples
		} else {
			islands = append(islands, r)
		}
	}
	islands = withoutFew(islands, max(samples/200, 1))
	return islands[0].from, islands[len(islands)-1].to
}

// withoutFew removes islands with few samples from the ends, if the rest is then drawn at least three times as large.
func withoutFew(islands []run, few int) []run {
	length := func(l []run) float64 { return float64(l[len(l)-1].to) - float64(l[0].from) }
	kept := islands
	for rest := islands; len(rest) > 1; {
		head, tail := rest[0].samples <= few, rest[len(rest)-1].samples <= few
		switch {
		case tail && (!head || length(rest[:len(rest)-1]) <= length(rest[1:])):
			rest = rest[:len(rest)-1]
		case head:
			rest = rest[1:]
		default:
			return kept
		}
		if 3*length(rest) <= length(kept) {
			kept = rest
		}
	}
	return kept
}

// shortened removes the middle of a long name, because its beginning and its end are the most specific.
func shortened(name string, n int) string {
	r := []rune(name)
	if len(r) <= n {
		return name
	}
	return string(r[:n/2-1]) + "..." + string(r[len(r)-n/2+2:])
}
