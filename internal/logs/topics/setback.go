package topics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// before reports whether a message lies before another in the file.
func (a At) before(b At) bool {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Offset, b.Offset)) < 0
}

// origin is the channel of a message and its place in the file.
type origin struct {
	channel  int
	at       At
	sequence uint32 // its number; 0 is none
	frame    string // its coordinate frames; empty is none
}

// tail is the end of the messages of a channel that were joined.
type tail struct {
	count        int
	before, last int64 // log times of the last two messages
	at           At    // of the last
	step         *setBack
}

// setBack is a step back of the log time of a channel, after which the time goes on from there.
type setBack struct {
	topic         *topic
	row           int   // of the first message after it, in the topic
	from, to      int64 // log times beside it
	before, after At    // messages beside it
}

// findSetBacks looks for steps back in the messages of a piece, which follow row messages of the topic. If the order is restored without one message, that
// message was late or early: the message before the step if the time after the step is not below the time before that one, and the message after the
// step if the next one is not below the time before the step.
func (r *reader) findSetBacks(t *topic, in *piece, row int) {
	channel, end := -1, (*tail)(nil)
	for i, ns := range in.log {
		o := &in.origins[i]
		if o.channel != channel {
			if channel, end = o.channel, r.tails[o.channel]; end == nil {
				end = &tail{}
				r.tails[channel] = end
			}
		}
		if end.step != nil && ns < end.step.from {
			r.setBacks = append(r.setBacks, *end.step)
		}
		end.step = nil
		if end.count > 1 && ns < end.last && ns < end.before {
			end.step = &setBack{t, row + i, end.last, ns, end.at, o.at}
		}
		end.count, end.before, end.last, end.at = end.count+1, end.last, ns, o.at
	}
}

// The steps back of a topic are those of a clock if there are at most mostSetBacks, and leastOrdered messages for each: a log whose messages or chunks are
// written in any order has more.
const (
	mostSetBacks = 8
	leastOrdered = 8
)

// judge keeps the steps of topics that are in order but for a few.
func (r *reader) judge() {
	r.setBacks = slices.DeleteFunc(r.setBacks, func(s setBack) bool {
		return s.topic.late > mostSetBacks || s.topic.log.len() < leastOrdered*s.topic.late
	})
	for _, s := range r.setBacks {
		s.topic.setBack = true
	}
	slices.SortFunc(r.setBacks, func(a, b setBack) int {
		return cmp.Or(cmp.Compare(a.after.Part, b.after.Part), cmp.Compare(a.after.Offset, b.after.Offset))
	})
}

// bounds returns the first message of each stretch but the first, in file order. The steps of several channels are one if there is a place between
// the two messages of each.
func (r *reader) bounds() (list []At) {
	for _, s := range r.setBacks {
		if n := len(list); n == 0 || !s.before.before(list[n-1]) {
			list = append(list, s.after)
		}
	}
	return list
}

// setBackError returns the error of a log that has several stretches whose samples the log time would mix, or nil.
func (r *reader) setBackError() error {
	stretches := len(r.bounds()) + 1
	i := slices.IndexFunc(r.setBacks, func(s setBack) bool { return !r.hasOwnClock(s.topic) })
	if i < 0 {
		return nil
	}
	s := &r.setBacks[i]
	log := s.topic.log.take()
	until := len(log)
	for _, o := range r.setBacks {
		if o.topic == s.topic && o.row > s.row {
			until = min(until, o.row)
		}
	}
	overlap := min(s.from, slices.Max(log[s.row:until])) - max(s.to, slices.Min(log[:s.row]))
	return &dataset.SetBackError{Subject: s.topic.name, Message: s.row, From: s.from, To: s.to, Overlap: time.Duration(max(overlap, 0)), Stretches: stretches,
		Read: func(ctx context.Context, stretch int) (*dataset.Episode, error) { return r.stretch(ctx, stretch) }}
}
