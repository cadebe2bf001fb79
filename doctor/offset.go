package doctor

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// The rules of offsets between streams.
const (
	mostLag      = time.Second // with a longer lag, one motion follows the other
	leastLag     = 5 * time.Millisecond
	mostPoints   = 1024 // points of the common clock
	leastPoints  = 128
	mostStreams  = 6 // streams of an episode that are compared
	mostCompared = 3 // columns of two streams that are compared
	over         = 5 // steps of a change; several reduce the share of noise
)

// motion is a stream that may be compared with others, interpolated on an even clock.
type motion struct {
	s      *dataset.Stream
	v      values
	times  []int64
	median int64
	on     grid                 // the even clock
	places []samplePosition     // of the even clock among the samples
	series map[int]*differences // by column; nil if a column cannot be compared
	room   [][]float64          // buffers to use again
}

// grid is an even clock.
type grid struct {
	from, step int64
	n          int
}

// samplePosition is a time between a sample and the next: share is 0 at the sample and 1 at the next.
type samplePosition struct {
	after int
	share float64
}

// offsets compares each pair of measured streams in an episode, and adds a finding if the changes of one equal the other's with a constant
// lag, because its clock is late then. Commands are not compared, because the robot follows a command later.
func (x *examiner) offsets() {
	var list []*motion
	for i := range x.e.Streams {
		s := &x.e.Streams[i]
		times := x.times[s.Name]
		if len(times) < leastPoints || x.work.role(s.Name).command || s.AllInteger() {
			continue
		}
		c := x.clockOf[s.Name]
		if c == nil || c.stats.BackSteps > 0 || !c.steady {
			continue
		}
		if v, ok := valuesOf(s); ok {
			list = append(list, &motion{s: s, v: v, times: times, median: c.stats.Median})
		}
	}
	if len(list) > mostStreams {
		slices.SortStableFunc(list, func(a, b *motion) int { return len(b.times) - len(a.times) })
		list = list[:mostStreams]
	}
	for i, a := range list {
		for _, b := range list[i+1:] {
			if !areSides(a.s.Name, b.s.Name) {
				x.offset(a, b)
			}
		}
	}
}

// offset compares two streams and reports a lag between them.
func (x *examiner) offset(a, b *motion) {
	step := max(a.median, b.median)
	from, to := max(a.times[0], b.times[0]), min(a.times[len(a.times)-1], b.times[len(b.times)-1])
	if step <= 0 || to <= from || (to-from)/step < leastPoints {
		return
	}
	if n := (to - from) / step; n > mostPoints { // the middle of the common range
		from += (n - mostPoints) / 2 * step
		to = from + mostPoints*step
	}
	n, lags := int((to-from)/step), int(min(int64(mostLag)/step, (to-from)/step/4))
	if lags < 2 {
		return
	}
	on := grid{from, step, n}
	a.put(on)
	b.put(on)
	var found *match
	agree, against := 0, 0
	for _, pair := range pairs(a, b) {
		m := compare(a.changes(pair[0]), b.changes(pair[1]), lags)
		if m == nil {
			continue
		}
		m.lag *= float64(step)
		switch {
		case math.Abs(m.lag) < max(float64(leastLag), 1.5*float64(step)) || !m.sharp:
			against++
		case found == nil || m.peak > found.peak:
			if found != nil && math.Abs(found.lag-m.lag) > 1.5*float64(step) {
				against++
			}
			m.columns = pair
			found = m
			agree++
		case math.Abs(found.lag-m.lag) > 1.5*float64(step):
			against++
		default:
			agree++
		}
	}
	if found == nil || against >= agree {
		return
	}
	late, early, lag, columns := b, a, found.lag, found.columns
	if lag < 0 {
		late, early, lag, columns = a, b, -lag, [2]int{columns[1], columns[0]}
	}
	f := x.add(ClockOffset, late.s.Name, 1, fmt.Sprintf("its changes are those of %s, %s later: %s follows %s with a correlation of %.3f there and of %.3f without the lag",
		early.s.Name, span(int64(lag)), late.s.Columns[columns[1]].Name, early.s.Columns[columns[0]].Name, found.peak, found.still))
	f.cover(dataset.Span{From: from, To: to})
	if columns := late.s.Columns[columns[1]].Name; columns != "" {
		f.Columns = []string{columns}
	}
	f.WhatToDo = fmt.Sprintf("Set offset: %s for %s in the plan if both measure the same motion; then find out which one is stamped when it arrives rather than when it was measured.",
		planTime(-int64(math.Round(lag/1e5))*1e5), late.s.Name)
	curve := found.curve
	f.draw = func() *Plot { return correlationPlot(curve, step, lags) }
}

// pairs returns the pairs of columns to compare: up to mostCompared pairs with the same name, or else each combination of the streams'
// first mostCompared columns. Columns of whole numbers are left out.
func pairs(a, b *motion) (list [][2]int) {
	for i := range a.s.Columns {
		if k := b.s.Column(a.s.Columns[i].Name); k >= 0 && !a.s.Columns[i].Integer && !b.s.Columns[k].Integer && len(list) < mostCompared {
			list = append(list, [2]int{i, k})
		}
	}
	if len(list) > 0 {
		return list
	}
	for i := range min(len(a.s.Columns), mostCompared) {
		for k := range min(len(b.s.Columns), mostCompared) {
			if !a.s.Columns[i].Integer && !b.s.Columns[k].Integer {
				list = append(list, [2]int{i, k})
			}
		}
	}
	return list
}

// put computes, for each tick of an even clock, its position among the stream's samples.
func (m *motion) put(on grid) {
	if m.on == on {
		return
	}
	for _, d := range m.series {
		if d != nil {
			m.room = append(m.room, d.room)
		}
	}
	if m.on = on; m.series == nil {
		m.series = map[int]*differences{}
	}
	clear(m.series)
	m.places = slices.Grow(m.places[:0], on.n)[:on.n]
	k, _ := slices.BinarySearch(m.times, on.from+1) // the first sample after the start
	k = min(max(k-1, 0), len(m.times)-2)
	for i := range m.places {
		at := on.from + int64(i)*on.step
		for k+2 < len(m.times) && m.times[k+1] <= at {
			k++
		}
		share := 0.0
		if d := m.times[k+1] - m.times[k]; d > 0 {
			share = min(max(float64(at-m.times[k])/float64(d), 0), 1)
		}
		m.places[i] = samplePosition{k, share}
	}
}

// changes returns the differences of a column on the even clock; nil if one is not finite or most are 0.
func (m *motion) changes(column int) *differences {
	d, made := m.series[column]
	if !made {
		d = m.differ(column)
		m.series[column] = d
	}
	return d
}

// differ computes the result of changes.
func (m *motion) differ(column int) *differences {
	n := len(m.places)
	var room []float64
	if k := len(m.room) - 1; k >= 0 {
		room, m.room = m.room[k], m.room[:k]
	}
	room = slices.Grow(room[:0], 2*n+1)[:2*n+1]
	list, squares := room[:n:n], room[n:]
	values := squares[1:] // a buffer until the sums are computed
	if m.v.f32 != nil {
		interpolate(values, m.places, m.v.f32[column:], m.v.width)
	} else {
		interpolate(values, m.places, m.v.f64[column:], m.v.width)
	}
	for i, v := range values[:min(over, n)] {
		list[i] = v - values[0]
	}
	for i := over; i < n; i++ {
		list[i] = values[i] - values[i-over]
	}
	zeros, sum := 0, 0.0
	squares[0] = 0
	for i, d := range list {
		if d == 0 {
			zeros++
		}
		sum += d * d
		squares[i+1] = sum
	}
	if 2*zeros > n || sum-sum != 0 && slices.ContainsFunc(list, func(d float64) bool { return d-d != 0 }) {
		m.room = append(m.room, room)
		return nil
	}
	return &differences{list, squares, room}
}

// interpolate writes the values of a column at places. Its samples are apart elements apart.
func interpolate[T number](to []float64, places []samplePosition, column []T, apart int) {
	after := -1
	var v0, change float64
	for i, p := range places {
		if p.after != after {
			after = p.after
			v0 = float64(column[after*apart])
			change = float64(column[(after+1)*apart]) - v0
		}
		to[i] = v0 + p.share*change
	}
}
