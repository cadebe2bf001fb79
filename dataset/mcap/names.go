package mcap

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/topics"
)

// names has the schemas and channels in a file. Usually a message's own part or the summary defines its channel. If neither does, all parts
// are searched, from part 0 on. The first definition of an id counts, in any reading order.
type names struct {
	log *fileLog

	mu       sync.Mutex // for the fields below
	records  map[string]Record
	channels []topics.Channel
	ids      []uint16        // of the channels
	taken    map[uint16]bool // has the ids
	numbers  map[defined]int // of channels
	summary  *defs
	defs     []*defs // of each part that was read; nil before

	search   sync.Mutex // for the fields below
	searched int        // parts, and the summary, that the maps hold
	first    map[uint16]defined
	schemas  map[uint16]*Schema
}

// defs are the definitions in a part or the summary: the last schema and the first channel for each id.
type defs struct {
	schemas  map[uint16]*Schema
	channels map[uint16]*Channel
}

// defined is a channel with its schema; the schema is nil if there is none.
type defined struct {
	channel *Channel
	schema  *Schema
}

// read adds a schema or channel to defs, and returns it. Equal definitions share one pointer.
func (n *names) read(to *defs, op Opcode, body []byte, at int64) (Record, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := string(append([]byte{byte(op)}, body...))
	r, ok := n.records[key]
	if !ok {
		var fresh parser = &Schema{}
		if op == OpChannel {
			fresh = &Channel{}
		}
		if err := parseInto(fresh, bytes.Clone(body), at); err != nil {
			return nil, err
		}
		if n.records == nil {
			n.records = map[string]Record{}
		}
		plain := string(fresh.append([]byte{byte(op)})) // without bytes after the fields
		if r, ok = n.records[plain]; !ok {
			r = fresh
			n.records[plain] = r
		}
		n.records[key] = r
	}
	switch x := r.(type) {
	case *Schema:
		if to.schemas == nil {
			to.schemas = map[uint16]*Schema{}
		}
		to.schemas[x.ID] = x
	case *Channel:
		if to.channels == nil {
			to.channels = map[uint16]*Channel{}
		}
		if to.channels[x.ID] == nil {
			to.channels[x.ID] = x
		}
	}
	return r, nil
}

// number returns the number of a channel, a new one if the channel is new. conflict is true if it is new and its id already belongs to a
// different channel.
func (n *names) number(d defined) (number int, conflict bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.numbers[d]; ok {
		return i, false
	}
	if n.numbers == nil {
		n.numbers, n.taken = map[defined]int{}, map[uint16]bool{}
	}
	c := topics.Channel{Topic: d.channel.Topic, Encoding: d.channel.MessageEncoding, Metadata: d.channel.Metadata}
	if s := d.schema; s != nil {
		c.Schema = message.Schema{Name: s.Name, Encoding: s.Encoding, Data: s.Data}
	}
	n.channels = append(n.channels, c)
	n.numbers[d] = len(n.channels) - 1
	conflict = n.taken[d.channel.ID]
	n.ids, n.taken[d.channel.ID] = append(n.ids, d.channel.ID), true
	return len(n.channels) - 1, conflict
}

// keep keeps the definitions in a part.
func (n *names) keep(part int, d *defs) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.defs[part] = d
}

// of returns the definitions in a part, and reads them if necessary.
func (n *names) of(ctx context.Context, part int) (*defs, error) {
	n.mu.Lock()
	d := n.defs[part]
	n.mu.Unlock()
	if d != nil {
		return d, nil
	}
	d = &defs{}
	var file, room []byte
	b, err := n.log.records(ctx, n.log.parts[part], &file, &room)
	for len(b) > 0 && err == nil {
		var op Opcode
		var body []byte
		if op, body, err = cutRecord(b, 0); err == nil {
			if op == OpSchema || op == OpChannel {
				_, _ = n.read(d, op, body, 0) // damage is counted when the part is read for its messages
			}
			b = b[headSize+len(body):]
		}
	}
	if _, is := dataset.AsBroken(err); err != nil && !is {
		return nil, err
	}
	return d, nil
}

// more adds the definitions of the summary at the first call, and of one more part at each later call. It returns false if all parts were
// searched. The caller holds the lock search.
func (n *names) more(ctx context.Context) (bool, error) {
	d := n.summary
	if n.first == nil {
		n.first, n.schemas = map[uint16]defined{}, map[uint16]*Schema{}
	} else if n.searched == len(n.defs) {
		return false, nil
	} else {
		var err error
		if d, err = n.of(ctx, n.searched); err != nil {
			return false, err
		}
		n.searched++
	}
	if d == nil {
		return true, nil
	}
	for id, s := range d.schemas {
		if n.schemas[id] == nil {
			n.schemas[id] = s
		}
	}
	for id, c := range d.channels {
		if _, there := n.first[id]; !there {
			n.first[id] = defined{c, d.schemas[c.SchemaID]}
		}
	}
	return true, nil
}

// schema searches for a schema in the summary and in all parts; nil if there is none. The caller holds search.
func (n *names) schema(ctx context.Context, id uint16) (*Schema, error) {
	for {
		if s := n.schemas[id]; s != nil {
			return s, nil
		}
		if more, err := n.more(ctx); !more || err != nil {
			return nil, err
		}
	}
}

// channel searches for the channel with an id in the summary and in all parts. If there is none, the result's channel is nil.
func (n *names) channel(ctx context.Context, id uint16) (d defined, err error) {
	n.search.Lock()
	defer n.search.Unlock()
	for there, more := false, true; !there; {
		if d, there = n.first[id]; there {
			break
		}
		if more, err = n.more(ctx); !more || err != nil {
			return defined{}, err
		}
	}
	if d.schema == nil && d.channel.SchemaID != 0 {
		d.schema, err = n.schema(ctx, d.channel.SchemaID)
	}
	return d, err
}

// define records a schema or channel that the part defines. A broken definition is counted as damage, and is no error.
func (r *reading) define(ctx context.Context, op Opcode, body []byte, at int64) error {
	record, err := r.log.names.read(r.defs, op, body, at)
	if err != nil {
		bad, _ := dataset.AsBroken(err)
		r.add(dataset.CodeRecordBroken, int64(headSize+len(body)), bad)
		return nil
	}
	c, is := record.(*Channel)
	if !is {
		return nil
	}
	d := defined{c, r.defs.schemas[c.SchemaID]}
	if d.schema == nil && c.SchemaID != 0 {
		n := &r.log.names
		n.search.Lock()
		d.schema, err = n.schema(ctx, c.SchemaID)
		n.search.Unlock()
		if err != nil {
			return err
		}
	}
	r.set(d, at)
	return nil
}

// set records the channel for an id in the rest of the part, and returns its number. Two different channels with one id are damage.
func (r *reading) set(d defined, at int64) int {
	id := int(d.channel.ID)
	if id >= len(r.local) {
		r.local = append(r.local, make([]int32, id+1-len(r.local))...)
	}
	number, conflict := r.log.names.number(d)
	if conflict {
		r.add(dataset.CodeTopicRedefined, 0, broken(dataset.ErrCorrupt, at, "Channel",
			fmt.Sprintf("id %d as %.40q, which another has", id, d.channel.Topic), "one definition of an id"))
	}
	r.local[id] = int32(number) + 1
	return number
}

// channel returns the number of the channel with an id, and -1 if there is none.
func (r *reading) channel(ctx context.Context, id uint16) (int, error) {
	if int(id) < len(r.local) && r.local[id] > 0 {
		return int(r.local[id]) - 1, nil
	}
	d, err := r.log.names.channel(ctx, id)
	if err != nil || d.channel == nil {
		return -1, err
	}
	return r.set(d, -1), nil
}
