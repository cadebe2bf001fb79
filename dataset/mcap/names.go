package mcap

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/topics"
)

// names are the schemas and channels of a file. A chunk mostly defines those of its messages, or the summary does; where neither does, they are looked
// for in the other parts, from the first on.
type names struct {
	log *Log

	mu       sync.Mutex // of what follows
	schemas  known[*Schema]
	ids      known[*Channel]
	channels []topics.Channel
	index    map[defined]int
	byID     map[uint16]int // how many different channels have an id
	summary  *defs
	defs     []*defs // of each part that was read; nil before

	search sync.Mutex // of what follows
	found  map[uint16]int
}

// known are records that came, each once.
type known[T any] struct {
	byBody map[string]T
	byID   map[uint16][]T
}

// defs are what a part, or the summary, defines, in its order.
type defs struct {
	schemas  []*Schema
	channels []*Channel
}

// defined is a channel with its schema, which may be nil.
type defined struct {
	channel *Channel
	schema  *Schema
}

// read adds a schema or channel to defs.
func (n *names) read(to *defs, op Opcode, body []byte, at int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if op == OpSchema {
		s, err := keep(&n.schemas, body, at, &Schema{}, sameSchema, func(s *Schema) uint16 { return s.ID })
		if err == nil {
			to.schemas = append(to.schemas, s)
		}
		return err
	}
	c, err := keep(&n.ids, body, at, &Channel{}, sameChannel, func(c *Channel) uint16 { return c.ID })
	if err == nil {
		to.channels = append(to.channels, c)
	}
	return err
}

// keep returns the record that a body holds: one that is the same and came before, if there is one.
func keep[T Record](k *known[T], body []byte, at int64, r T, same func(a, b T) bool, id func(r T) uint16) (T, error) {
	if r, ok := k.byBody[string(body)]; ok {
		return r, nil
	}
	if err := parseInto(r, bytes.Clone(body), at); err != nil {
		return r, err
	}
	if k.byBody == nil {
		k.byBody, k.byID = map[string]T{}, map[uint16][]T{}
	}
	list := k.byID[id(r)]
	if i := slices.IndexFunc(list, func(o T) bool { return same(o, r) }); i >= 0 {
		r = list[i]
	} else {
		k.byID[id(r)] = append(list, r)
	}
	k.byBody[string(body)] = r
	return r, nil
}

func sameSchema(a, b *Schema) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data)
}

func sameChannel(a, b *Channel) bool {
	return a.ID == b.ID && a.SchemaID == b.SchemaID && a.Topic == b.Topic && a.MessageEncoding == b.MessageEncoding && maps.Equal(a.Metadata, b.Metadata)
}

// number returns a channel's number, and whether it is new and has the id of another that is otherwise.
func (n *names) number(c *Channel, s *Schema) (number int, conflict bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.index[defined{c, s}]; ok {
		return i, false
	}
	if n.index == nil {
		n.index, n.byID = map[defined]int{}, map[uint16]int{}
	}
	i := len(n.channels)
	n.channels = append(n.channels, topics.Channel{Topic: c.Topic, Encoding: c.MessageEncoding, Schema: schemaOf(s), Metadata: c.Metadata})
	n.index[defined{c, s}] = i
	n.byID[c.ID]++
	return i, n.byID[c.ID] > 1
}

// keep notes what a part defines.
func (n *names) keep(part int, d *defs) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.defs[part] = d
}

// of returns what a part defines, -1 is the summary, and reads it if nobody did.
func (n *names) of(ctx context.Context, part int) (*defs, error) {
	n.mu.Lock()
	d := n.summary
	if part >= 0 {
		d = n.defs[part]
	}
	n.mu.Unlock()
	if d != nil || part < 0 {
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
				_ = n.read(d, op, body, 0) // what is broken is counted when the part is read for its messages
			}
			b = b[headSize+len(body):]
		}
	}
	if _, is := dataset.AsDamage(err); err != nil && !is {
		return nil, err
	}
	n.keep(part, d)
	return d, nil
}

// find looks for a channel in the summary and in all parts, in their order; -1 if there is none.
func (n *names) find(ctx context.Context, r *reading, id uint16) (int, error) {
	n.search.Lock()
	defer n.search.Unlock()
	if i, ok := n.found[id]; ok {
		return i, nil
	}
	found := -1
	for part := -1; part < len(n.log.parts) && found < 0; part++ {
		d, err := n.of(ctx, part)
		if err != nil {
			return 0, err
		}
		if d == nil {
			continue
		}
		if i := slices.IndexFunc(d.channels, func(c *Channel) bool { return c.ID == id }); i >= 0 {
			if found, err = r.number(ctx, d.channels[i], d, 0); err != nil {
				return 0, err
			}
		}
	}
	if n.found == nil {
		n.found = map[uint16]int{}
	}
	n.found[id] = found
	return found, nil
}

// schema looks for a schema as find does for a channel; nil if there is none.
func (n *names) schema(ctx context.Context, id uint16) (*Schema, error) {
	for part := -1; part < len(n.log.parts); part++ {
		d, err := n.of(ctx, part)
		if err != nil {
			return nil, err
		}
		if s := d.schema(id); s != nil {
			return s, nil
		}
	}
	return nil, nil
}

// schema returns the last schema of an id that a part defines.
func (d *defs) schema(id uint16) *Schema {
	if d != nil {
		for _, s := range slices.Backward(d.schemas) {
			if s.ID == id {
				return s
			}
		}
	}
	return nil
}

// define takes a schema or channel of the part.
func (r *reading) define(ctx context.Context, op Opcode, body []byte, at int64) error {
	if err := r.log.names.read(r.defs, op, body, at); err != nil {
		bad, _ := dataset.AsDamage(err)
		r.add("schemas and channels that are broken", int64(headSize+len(body)), bad)
		return nil
	}
	if op == OpSchema {
		return nil
	}
	c := r.defs.channels[len(r.defs.channels)-1]
	number, err := r.number(ctx, c, r.defs, at)
	if err != nil {
		return err
	}
	r.set(c.ID, int32(number)+1)
	return nil
}

func (r *reading) set(id uint16, number int32) {
	if int(id) >= len(r.local) {
		r.local = append(r.local, make([]int32, int(id)+1-len(r.local))...)
	}
	r.local[id] = number
}

// number returns the number of a channel that d defines.
func (r *reading) number(ctx context.Context, c *Channel, d *defs, at int64) (int, error) {
	var s *Schema
	if c.SchemaID != 0 {
		var err error
		if s = d.schema(c.SchemaID); s == nil {
			if s, err = r.log.names.schema(ctx, c.SchemaID); err != nil {
				return 0, err
			}
		}
	}
	number, conflict := r.log.names.number(c, s)
	if conflict {
		r.add("channels that are defined twice, and not the same", 0, broken(dataset.ErrCorrupt, at, "Channel",
			fmt.Sprintf("id %d as %.40q, which another has", c.ID, c.Topic), "one definition of an id"))
	}
	return number, nil
}

// channel returns the number of the channel of an id, and -1 if there is none.
func (r *reading) channel(ctx context.Context, id uint16) (int, error) {
	if int(id) < len(r.local) && r.local[id] > 0 {
		return int(r.local[id]) - 1, nil
	}
	number, err := r.log.names.find(ctx, r, id)
	if err == nil && number >= 0 {
		r.set(id, int32(number)+1)
	}
	return number, err
}
