package doctor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// noTimes adds a finding if timestamps in seconds are NaN or infinite, and returns true then.
func (x *examiner) noTimes(c *clock) bool {
	var rows []int
	switch {
	case c.raw == nil:
	case c.raw.DType() == tensor.F64:
		rows = notFinite[float64](c.raw)
	case c.raw.DType() == tensor.F32:
		rows = notFinite[float32](c.raw)
	}
	if len(rows) == 0 {
		return false
	}
	f := x.add(NaN, c.stream, len(rows), fmt.Sprintf("%s NaN or infinite, the first of sample %d%s", text.Count(len(rows), "timestamp is", "timestamps are"), rows[0], c.sharers()))
	for k := range rows {
		rows[k] = max(rows[k]-1, 0) // the sample before it has a time
	}
	f.mark(c.times, rows)
	f.WhatToDo = "Leave the samples out, or give them times between those of their neighbours: a resampled stream is made up around them."
	return true
}

// stillClock adds a finding if all timestamps of a clock are equal, and returns true then.
func (x *examiner) stillClock(c *clock) bool {
	n := len(c.times)
	if n < 2 || c.times[0] != 0 && int64(float64(float32(float64(c.times[0])/1e9))*1e9) == c.times[0] || // which is float32Clock's
		n < leastEqual && c.times[0] != 0 || slices.ContainsFunc(c.times, func(t int64) bool { return t != c.times[0] }) {
		return false
	}
	note := dataset.Note{Code: dataset.CodeClockStill, Subject: c.stream, Count: n, Detail: dataset.Detail{Unit: strconv.FormatInt(c.times[0], 10)}}
	for _, o := range x.e.Notes {
		if o.Code == note.Code && o.Subject == c.stream {
			note = o
		}
	}
	f := findingOf(StillClock, &note)
	f.At = c.times[:1]
	x.list = append(x.list, f)
	return true
}

func notFinite[T float32 | float64](times *tensor.Tensor) (rows []int) {
	list, _ := tensor.Data[T](times)
	for i, t := range list {
		if t-t != 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// strays adds a finding if timestamps are far from all others, and excludes them from the clock's range. It returns true then.
func (x *examiner) strays(c *clock) bool {
	if c.stats.BackSteps > 0 || c.raw == nil {
		return false
	}
	s := dataset.Stream{Name: c.stream, Times: c.raw}
	all, core, _, _, err := cover.Core(&s)
	if err != nil || all == core {
		return false
	}
	for c.times[c.lo] < core.First {
		c.lo++
	}
	for c.times[c.hi-1] > core.Last {
		c.hi--
	}
	var at []int
	for i := range c.times {
		if i < c.lo || i >= c.hi {
			at = append(at, i)
		}
	}
	var list []string
	for _, n := range cover.Strays(c.stream, all, core, dataset.CodeStrayUnset, 0) {
		list = append(list, fmt.Sprintf("%s: the timestamp %s s lies %s s from the others: a clock that was not set yet, or a wild number", c.stream, n.Got, n.Want))
	}
	f := x.add(StrayTime, c.stream, len(at), strings.Join(list, "; ")+c.sharers())
	f.mark(c.times, at)
	return true
}

// fps adds a finding if the rate differs from the declared rate.
func (x *examiner) fps(c *clock) {
	if x.info == nil || x.info.Declared == 0 || x.info.RateFrom == "caller" || c.stats.Median == 0 || x.e.Frames == 0 || len(c.times) < leastSteps {
		return
	}
	want := 1e9 / x.info.Declared
	ratio := float64(c.stats.Median) / want
	if math.Abs(ratio-1) <= rateDiffers {
		return
	}
	f := x.add(FPSMismatch, c.stream, 1, fmt.Sprintf("the files declare %s, and the timestamps come at %s%s", hertz(x.info.Declared), hertz(c.stats.Rate), c.sharers()))
	f.draw = x.steps(c, nil)
}

// timeUnit adds a finding if timestamps are in another unit, and returns true then.
func (x *examiner) timeUnit(c *clock) bool {
	why := ""
	if c.raw != nil {
		for _, n := range plausible.Units(c.stream, c.raw, c.stats) {
			why = fmt.Sprintf("its timestamps are taken as nanoseconds, and are %s a second; as %s they would be %s", n.Got, n.Unit, n.Want)
		}
		if why == "" {
			why = farSeconds(c.raw)
		}
	}
	if why == "" && x.info != nil && x.info.Declared > 0 && x.info.RateFrom != "caller" && x.e.Frames > 0 && c.stats.Median > 0 {
		ratio := float64(c.stats.Median) / (1e9 / x.info.Declared)
		for _, k := range []float64{1e3, 1e6, 1e9} {
			for _, r := range []float64{ratio / k, ratio * k} {
				if math.Abs(r-1) <= rateDiffers {
					why = fmt.Sprintf("the files declare %s, and the timestamps come at %s, which is off by a factor of %g", hertz(x.info.Declared), hertz(c.stats.Rate), k)
				}
			}
		}
	}
	if why == "" {
		why = x.unitByLength(c)
	}
	if why == "" {
		return false
	}
	f := x.add(TimeUnit, c.stream, len(c.times), why+c.sharers())
	f.whole(c.times[c.lo:c.hi])
	return true
}

// unitByLength returns the reason why a clock is in another unit: the other streams cover 1e3, 1e6 or 1e9 times its duration. If they do
// not, it returns "".
func (x *examiner) unitByLength(c *clock) string {
	longest, others := int64(0), 0
	for _, o := range x.clocked {
		if o != c && len(o.times) >= leastSteps {
			longest = max(longest, o.times[len(o.times)-1]-o.times[0])
			others++
		}
	}
	length := float64(c.times[c.hi-1] - c.times[c.lo])
	if others == 0 || !(length > 0) || c.hi-c.lo < 4*leastSteps || !c.steady {
		return ""
	}
	for _, k := range []float64{1e3, 1e6, 1e9} {
		if r := float64(longest) / length / k; math.Abs(r-1) <= sameLength {
			return fmt.Sprintf("its timestamps cover %s, but other streams cover %s, which is %g times that", span(int64(length)), span(longest), k)
		}
	}
	return ""
}

// farSeconds returns the reason why timestamps in seconds are in another unit: they lie after the year 2100, but in this century in that
// unit. Otherwise it returns "".
func farSeconds(times *tensor.Tensor) string {
	if times.DType() == tensor.I64 || times.Len() == 0 {
		return ""
	}
	list, err := tensor.Floats(times)
	if err != nil {
		return ""
	}
	const from2000, until2100 = 946_684_800, 4_102_444_800
	for _, u := range []struct {
		name string
		in   float64
	}{{"milliseconds", 1e3}, {"microseconds", 1e6}, {"nanoseconds", 1e9}} {
		first, last := list[0]/u.in, list[len(list)-1]/u.in
		if first > from2000 && first < until2100 && last > from2000 && last < until2100 && list[0] > until2100 {
			return fmt.Sprintf("its timestamps are taken as seconds, and begin with %.4g; as %s they would be in the year %d", list[0], u.name,
				time.Unix(int64(first), 0).UTC().Year())
		}
	}
	return ""
}

// float32Clock adds a finding if all timestamps are float32 seconds and the spacing of float32 numbers there is a large part of a step. It
// returns true then.
func (x *examiner) float32Clock(c *clock) bool {
	times := c.times[c.lo:c.hi]
	if len(times) < leastSteps || x.e.Steps {
		return false
	}
	most := 0.0
	for _, t := range times {
		sec := float64(t) / 1e9
		if math.Abs(float64(float32(sec))-sec)*1e9 > 1 {
			return false
		}
		most = max(most, math.Abs(sec))
	}
	spacing := (float64(math.Nextafter32(float32(most), float32(math.Inf(1)))) - float64(float32(most))) * 1e9
	mean := (float64(times[len(times)-1]) - float64(times[0])) / float64(len(times)-1)
	if spacing < float32Part*mean || mean < 0 {
		return false
	}
	why := fmt.Sprintf("every timestamp is a float32 number of seconds; around %.6g s these lie %s apart", most, span(int64(spacing)))
	if c.stats.Duplicates > 0 {
		why += fmt.Sprintf(", so that %s the one before", text.Count(c.stats.Duplicates, "timestamp repeats", "timestamps repeat"))
	} else {
		why += ", where a step takes " + span(int64(mean))
	}
	f := x.add(Float32Clock, c.stream, len(times), why+c.sharers())
	f.whole(times)
	f.draw = x.steps(c, nil)
	if x.countsFrames(c, spacing) {
		f.Severity = Warning
		f.WhatToDo = "LeRobot's timestamp is float32 and nothing else, and these are frame_index/fps, so nothing is lost: read it with --clock frame_index, or capture_time " +
			"where the dataset has it. Shorter episodes have finer timestamps."
	}
	return true
}

// countsFrames reports whether timestamps are frame_index/fps up to a spacing in nanoseconds, in a dataset with frame_index.
func (x *examiner) countsFrames(c *clock, spacing float64) bool {
	if x.info == nil || x.info.Declared <= 0 || !slices.Contains(x.info.Clocks, "frame_index") {
		return false
	}
	for i, t := range c.times {
		if math.Abs(float64(t)-float64(i)*1e9/x.info.Declared) > spacing {
			return false
		}
	}
	return true
}
