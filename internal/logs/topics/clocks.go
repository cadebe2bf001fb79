package topics

import (
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// leastStill is the least number of equal timestamps that make a clock one that stands still: latched messages are fewer. Two of 0 are enough.
const leastStill = 10

// motion says whether the times of a topic by one clock differ.
type motion struct {
	count int
	first int64
	moves bool
}

func (m *motion) add(times []int64) {
	if m.count == 0 && len(times) > 0 {
		m.first = times[0]
	}
	m.count += len(times)
	m.moves = m.moves || slices.ContainsFunc(times, func(ns int64) bool { return ns != m.first })
}

// still reports whether the clock stands still.
func (m *motion) still() bool {
	return !m.moves && (m.count >= leastStill || m.count > 1 && m.first == 0)
}

// hasOwnClock reports whether the messages of a topic have times of the clock that is chosen, other than those of the log.
func (r *reader) hasOwnClock(t *topic) bool {
	moves := func(clock int) bool {
		return t.motions[clock].count > 0 && (t.motions[clock].moves || !t.motions[0].moves)
	}
	switch r.clock {
	case "publish":
		return t.published && moves(1)
	case "header":
		return moves(2) && (t.motions[2].moves || t.motions[2].first != 0) || t.stampsElements()
	}
	return false
}

// stampsElements reports whether the elements of a list have stamps, and the messages have none.
func (t *topic) stampsElements() bool {
	return !t.shape.Stamp && slices.ContainsFunc(t.shape.Lists, func(l message.ListShape) bool { return l.Stamp })
}

// clockOf returns a topic's timestamps, in order, and the order, nil if it is that of the file.
func (e *builder) clockOf(t *topic, name string) (times []int64, order []int) {
	log, own := t.log.take(), e.hasOwnClock(t)
	if t.late > 0 && !(t.setBack && own) { // other times keep the order of the file if the log was set back
		if !own {
			e.note(dataset.CodeBackSteps, name, t.late, 0)
		}
		order = dataset.InOrder(log)
	}
	times = log
	if t.shape.Stamp && t.ros {
		e.note(dataset.CodeHeaderFields, name, 0, 0)
	}
	switch {
	case e.clock == "publish":
		if times = t.publish.take(); !own {
			times = log
			e.note(dataset.CodePublishTimeNone, name, 0, 0)
		}
	case e.clock != "header" || t.stampsElements():
	case !t.shape.Stamp:
		e.note(dataset.CodeLogClock, name, 0, 0)
	case !own:
		e.note(dataset.CodeHeaderTimeNone, name, 0, 0)
	default:
		times = t.stamps.take()
	}
	arrange(times, 1, order)
	if own && t.zeros > 0 {
		e.note(dataset.CodeHeaderTimeZero, name, t.zeros, len(times))
	}
	e.standsStill(t, name)
	return times, order
}

// standsStill notes that the times of a topic are all one.
func (e *builder) standsStill(t *topic, name string) {
	chosen := 0
	if e.hasOwnClock(t) {
		chosen = slices.Index(clocks, e.clock)
	}
	m := t.motions[chosen]
	if !m.still() {
		return
	}
	n := dataset.Note{Code: dataset.CodeClockStill, Subject: name, Count: m.count, Detail: dataset.Detail{Got: clocks[chosen], Unit: strconv.FormatInt(m.first, 10)}}
	if i := slices.IndexFunc(t.motions[:], func(o motion) bool { return o.moves }); i >= 0 {
		n.Want = clocks[i]
	}
	e.Notes.Add(n)
}
