package topics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// leastReturns is the least number of times that a topic goes back to an earlier channel. A node that was started anew, and the next piece of a
// recording, have a channel of their own and do not go back.
const leastReturns = 8

// publishers counts how often the messages of a topic go back to an earlier channel of the log.
type publishers struct {
	channels []int // in the order of their first messages
	last     int
	returns  int
}

func (p *publishers) add(origins []origin) {
	for _, o := range origins {
		if p.channels != nil && o.channel == p.last {
			continue
		}
		p.last = o.channel
		if slices.Contains(p.channels, o.channel) {
			p.returns++
		} else {
			p.channels = append(p.channels, o.channel)
		}
	}
}

// alternate notes the topics whose samples come from several channels in turn. Streams that tell their elements apart by names are none of them.
func (e *builder) alternate(t *topic) {
	byName := t.shape.Keyed || slices.ContainsFunc(t.shape.Lists, func(l message.ListShape) bool { return l.Keyed }) ||
		slices.ContainsFunc(t.lists, func(l list) bool { return len(l.names) > 1 })
	if t.publishers.returns < leastReturns || byName {
		return
	}
	n := dataset.Note{Code: dataset.CodePublishersAlternate, Subject: t.name, Count: t.publishers.returns, Detail: dataset.Detail{Of: t.count}}
	all := e.log.Channels()
	for _, i := range t.publishers.channels {
		n.Names = append(n.Names, cmp.Or(all[i].Metadata["callerid"], "channel "+strconv.Itoa(i)))
	}
	e.Notes.Add(n)
}
