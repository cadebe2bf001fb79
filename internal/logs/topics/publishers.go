package topics

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// leastReturns is how many returns to an earlier publisher show that publishers alternate. A restarted node, or the next piece of a
// recording, has a new channel and a new sequence, and so no returns.
const leastReturns = 8

const (
	mostSources = 256 // channels or frames per topic that are compared
	mostRuns    = 8   // sequences that are tracked
	// leastApart is the minimum gap between two publishers' sequence numbers if these do not overlap. One publisher's messages in
	// another order have smaller gaps.
	leastApart = 64
)

// turns counts how often a topic's messages return to an earlier source.
type turns[S comparable] struct {
	sources []S // in order of first appearance
	last    S
	returns int
}

func (t *turns[S]) add(s S) {
	if len(t.sources) > 0 && s == t.last {
		return
	}
	t.last = s
	if slices.Contains(t.sources, s) {
		t.returns++
	} else if len(t.sources) < mostSources {
		t.sources = append(t.sources, s)
	}
}

// run is a range of consecutive message numbers.
type run struct{ first, last uint32 }

// sequences counts the returns of message numbers to an earlier run, for example in 1, 100, 2, 101.
type sequences struct {
	runs    []run // the run with the last message is last
	log     int64 // the last message's time
	returns int
}

func (s *sequences) add(number uint32, log int64) {
	late := log < s.log
	s.log = log
	end := len(s.runs) - 1
	if end >= 0 && s.runs[end].last+1 == number {
		s.runs[end].last = number
		return
	}
	next := run{number, number}
	if i := slices.IndexFunc(s.runs, func(r run) bool { return r.last+1 == number }); i >= 0 {
		next.first = s.runs[i].first
		gap := int64(max(next.first, s.runs[end].first)) - int64(min(next.last, s.runs[end].last))
		if !late && (gap <= 0 || gap > leastApart) {
			s.returns++
		}
		s.runs = slices.Delete(s.runs, i, i+1)
	}
	s.runs = append(s.runs, next)
	if len(s.runs) > mostRuns {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
}

// publishers finds a topic's publishers by channels, coordinate frames and message sequences.
type publishers struct {
	channels  turns[int]
	frames    turns[string]
	sequences sequences
}

func (p *publishers) add(origins []origin, log []int64) {
	for i := range origins {
		o := &origins[i]
		p.channels.add(o.channel)
		if o.frame != "" {
			p.frames.add(o.frame)
		}
		if o.sequence != 0 {
			p.sequences.add(o.sequence, log[i])
		}
	}
}

// origin returns a decoded message's origin. If the message has a child frame, the frame is "base_link in odom".
func (in *piece) origin(c *channel, m *Message) origin {
	o := origin{channel: m.Channel, at: m.At, sequence: m.Sequence}
	d, ok := c.decoder.(message.Headed)
	if !ok {
		return o
	}
	sequence, frame := d.Header(m.Data)
	o.sequence = cmp.Or(sequence, o.sequence)
	if end := len(in.rows.Keys) - 1; end >= 0 && in.rows.Keys[end] >= 0 {
		frame = append([]byte(in.rows.Frames[in.rows.Keys[end]]+" in "), frame...)
	}
	if string(frame) != in.frame {
		in.frame = string(frame)
	}
	o.frame = in.frame
	return o
}

// manyNodes lists message types that many nodes send to one topic by design.
var manyNodes = []string{"Log", "ParameterEvent", "DiagnosticArray", "TransformStamped"}

// alternate adds notes about topics with samples from alternating publishers. It leaves out types in manyNodes, and streams that
// separate their elements by name.
func (e *builder) alternate(t *topic) {
	byName := slices.Contains(manyNodes, path.Base(t.kind)) || t.shape.Keyed && !t.ros ||
		slices.ContainsFunc(t.shape.Lists, func(l message.ListShape) bool { return l.Keyed }) ||
		slices.ContainsFunc(t.lists, func(l list) bool { return len(l.names) > 1 })
	p := &t.publishers
	n := dataset.Note{Code: dataset.CodePublishersAlternate, Subject: t.name, Detail: dataset.Detail{Of: t.count}}
	switch {
	case byName:
		return
	case p.channels.returns >= leastReturns:
		n.Count = p.channels.returns
		all := e.log.Channels()
		for _, i := range p.channels.sources {
			n.Names = append(n.Names, cmp.Or(all[i].Metadata["callerid"], "channel "+strconv.Itoa(i)))
		}
	case p.frames.returns >= leastReturns:
		n.Count, n.Names = p.frames.returns, p.frames.sources
	case p.sequences.returns >= leastReturns:
		n.Count = p.sequences.returns
		for _, r := range p.sequences.runs[len(p.sequences.runs)-2:] {
			n.Names = append(n.Names, "sequence from "+strconv.Itoa(int(r.first)))
		}
	default:
		return
	}
	e.Notes.Add(n)
}
