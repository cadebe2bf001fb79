package topics

import (
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// leastStill is how many equal timestamps show that a clock stands still. Latched messages are fewer. For timestamp 0, two are enough.
const leastStill = 10

// motion records whether a topic's times by one clock differ.
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

// hasOwnClock reports whether a topic's messages have times by the selected clock, other than the log time.
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

// stampsElements reports whether a list's elements have stamps while the messages have none.
func (t *topic) stampsElements() bool {
	return !t.shape.Stamp && slices.ContainsFunc(t.shape.Lists, func(l message.ListShape) bool { return l.Stamp })
}

// clockOf returns a topic's timestamps in ascending order. order is the permutation from file order, or nil if they are the same.
func (e *builder) clockOf(t *topic, name string) (times []int64, order []int) {
	log, own := t.log.take(), e.hasOwnClock(t)
	if t.late > 0 && !(t.setBack && own) { // other times keep the file order if the log clock was set back
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

// standsStill adds a note if all of a topic's times are equal.
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
