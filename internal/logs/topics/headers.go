package topics

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/robocache/robocache/dataset"
)

// Limits for the differences between a topic's header times and the log time.
const (
	leastPairs   = 10                    // messages needed to judge headers
	mostPairs    = 1024                  // messages kept with their times
	otherEpoch   = 24 * time.Hour        // difference that means another epoch or unit
	leastLatency = 50 * time.Millisecond // difference between two topics' latencies
	leastDrift   = 20 * time.Millisecond // latency change during the recording
	leastSpan    = time.Second           // duration needed to judge a drift
	driftSpread  = 4                     // minimum ratio between that change and the latency's spread
)

// pairs holds log times and header stamps for every stride-th message in a topic.
type pairs struct {
	stride, next int
	log, stamp   []int64
}

// add adds a piece's messages. A stamp of 0 is absent.
func (p *pairs) add(log, stamps []int64) {
	p.stride = max(p.stride, 1)
	for i := range min(len(log), len(stamps)) {
		if p.next++; p.next < p.stride || stamps[i] == 0 {
			continue
		}
		p.next = 0
		if p.log, p.stamp = append(p.log, log[i]), append(p.stamp, stamps[i]); len(p.log) < mostPairs {
			continue
		}
		for k := range mostPairs / 2 {
			p.log[k], p.stamp[k] = p.log[2*k], p.stamp[2*k]
		}
		p.log, p.stamp, p.stride = p.log[:mostPairs/2], p.stamp[:mostPairs/2], 2*p.stride
	}
}

// middle returns the median latency (log time minus stamp), and its spread: the median distance from it.
func middle(log, stamp []int64) (median, spread int64) {
	late := make([]int64, len(log))
	for i := range late {
		late[i] = log[i] - stamp[i]
	}
	slices.Sort(late)
	median = late[len(late)/2]
	for i, d := range late {
		late[i] = max(d-median, median-d)
	}
	slices.Sort(late)
	return median, late[len(late)/2]
}

// headers adds notes if topics' headers have another epoch than the log, drift, or have different latencies.
func (e *builder) headers() {
	type latency struct {
		topic  *topic
		median int64
	}
	var list []latency
	for _, t := range e.topics {
		p := &t.pairs
		if len(p.log) < leastPairs {
			continue
		}
		median, _ := middle(p.log, p.stamp)
		if median > int64(otherEpoch) || median < -int64(otherEpoch) {
			e.Notes.Add(dataset.Note{Code: dataset.CodeHeaderEpoch, Subject: t.name, Count: t.count, Detail: dataset.Detail{
				Got: strconv.FormatInt(p.stamp[0], 10), Want: strconv.FormatInt(p.log[0], 10), Unit: unitBetween(p.log[0], p.stamp[0])}})
			continue
		}
		if t.notesDrift(&e.Notes) {
			continue
		}
		list = append(list, latency{t, median})
	}
	if e.clock == "header" || len(list) < 2 {
		return
	}
	first := slices.MinFunc(list, func(a, b latency) int { return cmp.Compare(a.median, b.median) })
	for _, l := range list {
		if l.median-first.median >= int64(leastLatency) {
			e.Notes.Add(dataset.Note{Code: dataset.CodeHeaderLatency, Subject: l.topic.name, Count: l.topic.count, Detail: dataset.Detail{
				Got: time.Duration(l.median).String(), Want: time.Duration(first.median).String(), Names: []string{first.topic.name}}})
		}
	}
}

// notesDrift adds a note if a topic's headers drift, and reports whether they do.
func (t *topic) notesDrift(to *dataset.Notes) bool {
	p := &t.pairs
	quarter := len(p.log) / 4
	if quarter < leastPairs {
		return false
	}
	first, spread := middle(p.log[:quarter], p.stamp[:quarter])
	last, _ := middle(p.log[len(p.log)-quarter:], p.stamp[len(p.log)-quarter:])
	span := p.log[len(p.log)-1-quarter/2] - p.log[quarter/2]
	drift := last - first
	if span < int64(leastSpan) || max(drift, -drift) < max(int64(leastDrift), driftSpread*spread) {
		return false
	}
	to.Add(dataset.Note{Code: dataset.CodeHeaderDrift, Subject: t.name, Count: t.count, Detail: dataset.Detail{
		Got: time.Duration(drift).String(), Want: time.Duration(span).String(), Unit: strconv.FormatFloat(100*float64(drift)/float64(span), 'g', 2, 64)}})
	return true
}

// unitBetween returns the unit in which the smaller time would match the larger one in nanoseconds, as a word; empty if there is none.
func unitBetween(a, b int64) string {
	ratio := math.Abs(float64(max(a, b)) / float64(max(min(a, b), 1)))
	for _, u := range []struct {
		name string
		ns   float64
	}{{"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}} {
		if math.Abs(ratio/u.ns-1) < 1e-2 {
			return u.name
		}
	}
	return ""
}
