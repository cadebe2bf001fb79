package topics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// before reports whether one message precedes another in the file.
func (a At) before(b At) bool {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Offset, b.Offset)) < 0
}

// origin is a message's channel and its location in the file.
type origin struct {
	channel  int
	at       At
	sequence uint32 // message number; 0 if absent
	frame    string // coordinate frames; empty if absent
}

// tail is the end of a channel's joined messages.
type tail struct {
	count        int
	before, last int64 // log times of the last two messages
	at           At    // location of the last message
	step         *setBack
}

// setBack is a backward step in a channel's log time, after which the time continues from there.
type setBack struct {
	topic         *topic
	row           int   // the topic's first row after the step
	from, to      int64 // log times around it
	before, after At    // messages around it
}

// findSetBacks finds backward steps in a piece's messages. row is how many messages the topic already has. A step does not count if one
// message alone is out of order: the message before the step was early if, without it, the times ascend; the message after the step was
// late if the next one is not below the time before the step.
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

// Backward steps in a topic mean that the clock was set back, if there are at most mostSetBacks steps, and leastOrdered messages for
// each. A log with messages or chunks in arbitrary order has more steps.
const (
	mostSetBacks = 8
	leastOrdered = 8
)

// judge keeps only the steps in topics that are otherwise in order.
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

// bounds returns the first message in each stretch except the first, in file order. Steps in several channels count as one if one file
// position lies between the messages around each step.
func (r *reader) bounds() (list []At) {
	for _, s := range r.setBacks {
		if n := len(list); n == 0 || !s.before.before(list[n-1]) {
			list = append(list, s.after)
		}
	}
	return list
}

// setBackError returns an error if the log has several stretches and the log time would mix their samples. Otherwise it returns nil.
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
