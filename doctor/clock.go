package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// The rules of clocks.
const (
	evenShare   = 0.9  // of the steps of a regular clock, so many are between half and twice the median
	leastSteps  = 8    // fewer say nothing about a clock
	rateDiffers = 0.01 // a rate that is so far from the declared one is another
	leastJitter = 100  // samples, under which a few odd steps are many
	wideJitter  = 0.5  // of the median step
	tooCoarse   = 0.1  // of the median step: timestamps rounded to so much of it
	unevenShare = 0.25 // of the steps must show it
	sameLength  = 0.02 // streams of one recording cover the same time but for so much
	float32Part = 0.01 // of the median step: what float32 tells apart, if it is more
)

// clock is the timestamps of one or several streams.
type clock struct {
	stream string   // the first of them
	others []string // the others
	times  []int64
	raw    *tensor.Tensor // as recorded; nil of media
	values *values        // of the first, nil of media
	stats  dataset.Stats
	steady bool // most steps are about the median
	lo, hi int  // the samples that are not stray
	wrong  bool // its timestamps are no times: NaN, another unit, or float32

	first, last int64 // of the samples that are not stray
}

// clocks returns the clocks of an episode, each once, whatever number of streams shares it.
func (x *examiner) clocks() (list []*clock) {
	add := func(name string, times []int64) *clock {
		for _, c := range list {
			if len(c.times) == len(times) && (&c.times[0] == &times[0] || slices.Equal(c.times, times)) {
				c.others = append(c.others, name)
				x.clockOf[name] = c
				return nil
			}
		}
		c := &clock{stream: name, times: times}
		list = append(list, c)
		x.clockOf[name] = c
		return c
	}
	for i := range x.e.Streams {
		s := &x.e.Streams[i]
		if times := s.Nanoseconds(); len(times) > 1 {
			x.times[s.Name] = times
			if c := add(s.Name, times); c != nil {
				c.raw = s.Times
				if v, ok := valuesOf(s); ok {
					c.values = &v
				}
			}
		}
	}
	for i := range x.e.Media {
		if m := &x.e.Media[i]; m.Len() > 1 {
			add(m.Name, m.Times)
		}
	}
	for i := range x.e.Clouds {
		if c := &x.e.Clouds[i]; c.Len() > 1 {
			add(c.Name, c.Times)
		}
	}
	return list
}

// of names the streams of a clock, in a sentence.
func (c *clock) of() string {
	switch n := len(c.others); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (%s has the same clock)", c.others[0])
	default:
		return fmt.Sprintf(" (%d other streams have the same clock)", n)
	}
}

// clock looks at one clock.
func (x *examiner) clock(c *clock) {
	if c.hi, c.wrong = len(c.times), x.noTimes(c); c.wrong {
		return
	}
	c.stats, c.lo, c.hi = dataset.StatsOf(c.times), 0, len(c.times)
	if x.strays(c) {
		c.stats = dataset.StatsOf(c.times[c.lo:c.hi])
	}
	c.steady = steady(c.times[c.lo:c.hi], c.stats.Median)
	if c.wrong = x.float32Clock(c) || x.timeUnit(c); c.wrong {
		return // what else there is to say of it follows from that
	}
	x.backSteps(c)
	x.duplicates(c)
	x.gaps(c)
	x.jitter(c)
	x.fps(c)
	x.coarse(c)
}

// noTimes looks for timestamps in seconds that are NaN or infinite.
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
	f := x.add(NaN, c.stream, len(rows), fmt.Sprintf("%s NaN or infinite, the first of sample %d%s", text.Count(len(rows), "timestamp is", "timestamps are"), rows[0], c.of()))
	for _, i := range rows[:min(len(rows), MostTimes)] {
		f.At = append(f.At, c.times[max(i-1, 0)]) // of the sample before it
	}
	f.WhatToDo = "Leave the samples out, or give them times between those of their neighbours: a resampled stream is made up around them."
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

// steady reports whether a clock is that of something that comes at a rate: else long steps are no gaps.
func steady(times []int64, median int64) bool {
	steps, even := 0, 0
	for i := 1; i < len(times); i++ {
		d := times[i] - times[i-1]
		if d <= 0 {
			continue
		}
		steps++
		if d >= median/2 && d <= 2*median {
			even++
		}
	}
	return steps >= leastSteps && float64(even) >= evenShare*float64(steps)
}

// strays looks for timestamps far from all others, and leaves them out of the clock.
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
	var at []int64
	at = append(append(at, c.times[:c.lo]...), c.times[c.hi:]...)
	var list []string
	for _, n := range cover.Strays(c.stream, all, core, dataset.CodeStrayUnset, 0) {
		list = append(list, fmt.Sprintf("%s: a timestamp of %s s lies %s s from the others: a clock that was not set yet, or a wild number", c.stream, n.Got, n.Want))
	}
	f := x.add(StrayTime, c.stream, len(at), strings.Join(list, "; ")+c.of())
	f.At = firstOf(at)
	return true
}

func (x *examiner) backSteps(c *clock) {
	if c.stats.BackSteps == 0 {
		return
	}
	var at []int64
	longest := int64(0)
	for i := c.lo + 1; i < c.hi; i++ {
		if d := c.times[i] - c.times[i-1]; d < 0 {
			longest = max(longest, -d)
			if len(at) < MostTimes {
				at = append(at, c.times[i])
			}
		}
	}
	f := x.add(BackStep, c.stream, c.stats.BackSteps, fmt.Sprintf("%s before the timestamp that precedes it, by up to %s%s",
		text.Count(c.stats.BackSteps, "timestamp lies", "timestamps lie"), span(longest), c.of()))
	f.At, f.plot = at, x.steps(c, at)
}

func (x *examiner) duplicates(c *clock) {
	n := c.stats.Duplicates
	if n == 0 {
		return
	}
	var at []int64
	same := 0
	for i := c.lo + 1; i < c.hi; i++ {
		if c.times[i] != c.times[i-1] {
			continue
		}
		if c.values != nil && c.values.equalRows(i-1, i) {
			same++
		}
		if len(at) < MostTimes {
			at = append(at, c.times[i])
		}
	}
	if same == 0 && (!c.steady || n > len(c.times)/5) { // elements of one message, or several that came at once
		return
	}
	why := text.Count(n, "timestamp repeats", "timestamps repeat") + " the one before"
	switch {
	case c.values == nil:
	case same == n:
		why += ", with the same values: the sample was written twice"
	case same == 0:
		why += ", with other values: two samples share a timestamp"
	default:
		why += fmt.Sprintf(", %d of them with the same values", same)
	}
	f := x.add(Duplicate, c.stream, n, why+c.of())
	f.At, f.plot = at, x.steps(c, at)
}

func (x *examiner) gaps(c *clock) {
	times, even := c.times[c.lo:c.hi], c.steady
	if c.stats.BackSteps > 0 { // the way back to where it was is no gap
		times = slices.Clone(times)
		for i := 1; i < len(times); i++ {
			times[i] = max(times[i], times[i-1])
		}
		even = steady(times, c.stats.Median)
	}
	gaps, limit := gapsOf(times, c.stats, even, x.known.of(c.stream).command)
	if x.opt.MaxStep > 0 {
		limit = int64(x.opt.MaxStep)
		gaps = dataset.Gaps(times, limit)
	}
	if len(gaps) == 0 {
		return
	}
	var at []int64
	longest, lost := int64(0), int64(0)
	for _, g := range gaps {
		d := g.To - g.From
		longest = max(longest, d)
		lost += d/max(c.stats.Median, 1) - 1
		if len(at) < MostTimes {
			at = append(at, g.From)
		}
	}
	n := len(gaps)
	why := fmt.Sprintf("%s longer than %s, the longest %s, where the median is %s", text.Count(n, "step is", "steps are"), span(limit), span(longest), span(c.stats.Median))
	if lost > 0 {
		why += fmt.Sprintf("; some %s missing", text.Count(int(lost), "sample is", "samples are"))
	}
	f := x.add(Gap, c.stream, n, why+c.of())
	f.At, f.plot = at, x.steps(c, at)
	f.WhatToDo = fmt.Sprintf("Set max_gap: %s in the plan, so that what lies in a gap is not valid; look for dropped messages, a full disk or a busy network where it was recorded.", planTime((limit+1e6-1)/1e6*1e6))
}

// jitter tells a clock whose steps scatter, though it has a rate.
func (x *examiner) jitter(c *clock) {
	if c.hi-c.lo < leastJitter || x.known.of(c.stream).command || float64(c.stats.Jitter) <= wideJitter*float64(c.stats.Median) || !c.steady && !c.keepsTime() {
		return
	}
	f := x.add(Jitter, c.stream, c.hi-c.lo, fmt.Sprintf("one step in twenty is %s or more away from the median of %s%s", span(c.stats.Jitter), span(c.stats.Median), c.of()))
	f.At, f.plot = []int64{c.times[c.lo]}, x.steps(c, nil)
}

// mostOff is how many steps timestamps may be from an even clock, and leastWandered what part of the square root of their number: that of what comes when
// something happens is a quarter.
const (
	mostOff       = 2
	leastWandered = 0.07
)

// keepsTime reports whether timestamps scatter about an even clock, whatever their steps are: steps that do not depend on each other wander away from it.
func (c *clock) keepsTime() bool {
	times := c.times[c.lo:c.hi]
	if len(times) < 2*leastJitter || c.stats.BackSteps > 0 || c.stats.Duplicates > len(times)/leastSteps {
		return false
	}
	middle := float64(len(times)-1) / 2
	var sum, slope, squares float64
	for i, t := range times {
		sec, k := float64(t-times[0]), float64(i)-middle
		sum, slope, squares = sum+sec, slope+k*sec, squares+k*k
	}
	mean, step := sum/float64(len(times)), slope/squares
	off := 0.0
	for i, t := range times {
		d := float64(t-times[0]) - mean - (float64(i)-middle)*step
		off += d * d
	}
	return math.Sqrt(off/float64(len(times))) <= min(mostOff, leastWandered*math.Sqrt(float64(len(times))))*step
}

// fps compares a clock with the rate that the files declare.
func (x *examiner) fps(c *clock) {
	if x.info == nil || x.info.Declared == 0 || x.info.RateFrom == "caller" || c.stats.Median == 0 || x.e.Frames == 0 || len(c.times) < leastSteps {
		return
	}
	want := 1e9 / x.info.Declared
	ratio := float64(c.stats.Median) / want
	if math.Abs(ratio-1) <= rateDiffers {
		return
	}
	f := x.add(FPSMismatch, c.stream, 1, fmt.Sprintf("the files declare %s, and the timestamps come at %s%s", hertz(x.info.Declared), hertz(c.stats.Rate), c.of()))
	f.plot = x.steps(c, nil)
}

// timeUnit looks for timestamps in another unit.
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
		why = x.besideOthers(c)
	}
	if why == "" {
		return false
	}
	f := x.add(TimeUnit, c.stream, len(c.times), why+c.of())
	f.At = []int64{c.times[c.lo]}
	return true
}

// besideOthers tells a clock that covers a thousandth, or another such part, of what each of the other streams covers, though these agree.
func (x *examiner) besideOthers(c *clock) string {
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
			return fmt.Sprintf("its timestamps cover %s, and those of other streams %s, which is %g times that", span(int64(length)), span(longest), k)
		}
	}
	return ""
}

// farSeconds tells seconds that are no seconds: beyond the year 2100, where in another unit they would be of this century.
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
			return fmt.Sprintf("its timestamps are taken as seconds, and begin with %.4g; as %s they would be of the year %d", list[0], u.name,
				time.Unix(int64(first), 0).UTC().Year())
		}
	}
	return ""
}

// float32Clock looks for timestamps that are float32 seconds, all of them, where float32 does not tell apart what a clock must.
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
	f := x.add(Float32Clock, c.stream, len(times), why+c.of())
	f.At, f.plot = []int64{times[0]}, x.steps(c, nil)
	if x.countsFrames(c, spacing) {
		f.Severity = Warning
		f.WhatToDo = "LeRobot's timestamp is float32 and nothing else, and these are frame_index/fps, so nothing is lost: read it with --clock frame_index, or capture_time " +
			"where the dataset has it. Shorter episodes have finer timestamps."
	}
	return true
}

// countsFrames reports whether timestamps are those of frames that the dataset counts too, as far as a spacing in nanoseconds tells.
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

// coarse looks for timestamps that are rounded to a good part of their own step.
func (x *examiner) coarse(c *clock) {
	times, median := c.times[c.lo:c.hi], c.stats.Median
	if !c.steady || len(times) < 4*leastSteps || c.stats.BackSteps > 0 {
		return
	}
	unit, off := int64(0), 0
	for i := 1; i < len(times); i++ {
		d := times[i] - times[i-1]
		if d != median {
			off++
		}
		for a, b := unit, d; ; a, b = b, a%b {
			if b == 0 {
				unit = a
				break
			}
		}
		if float64(unit) < tooCoarse*float64(median) {
			return
		}
	}
	if float64(off) < unevenShare*float64(len(times)) {
		return
	}
	f := x.add(CoarseClock, c.stream, len(times), fmt.Sprintf("the timestamps are whole multiples of %s, where a step takes %s: rounding moves each by up to %.0f %% of a step%s",
		span(unit), span(median), 50*float64(unit)/float64(median), c.of()))
	f.At, f.plot = []int64{times[0]}, x.steps(c, nil)
	f.WhatToDo = fmt.Sprintf("Take another clock of the recording if it has one (--clock); else set snap: %s in the plan to resample at its own rate.", planTime(unit/2))
}

// equalRows reports whether two rows are equal.
func (v *values) equalRows(a, b int) bool {
	for c := range v.width {
		if p, q := v.at(a, c), v.at(b, c); p != q && (p == p || q == q) {
			return false
		}
	}
	return true
}
