package topics

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// maxWidth limits a stream's columns.
const maxWidth = message.MaxList

// A topic's numbers may take mostRoom times its messages' bytes, plus freeRoom. Otherwise fields that no message contains could fill
// the memory.
const (
	mostRoom  = 256
	freeRoom  = 64 << 20
	freePiece = 16 << 20
	overhead  = 24 // bytes per message in its container
)

// topic holds a topic's joined messages with one type.
type topic struct {
	index    int
	name     string
	metadata map[string]string // of its first channel
	kind     string            // its schema's name
	shape    *message.Shape
	learns   bool
	ros      bool  // whether messages come from ROS, with headers that contain more than a timestamp
	why      error // why there is no decoder; nil if there is one

	over            atomic.Bool                         // whether its numbers exceeded the memory limit and were dropped
	fault           atomic.Pointer[dataset.FormatError] // from a decoder that panicked
	bytes           int64                               // in its messages
	room            int64                               // in their numbers
	first           int                                 // index of the log's piece with the first message; -1 if there is none yet
	count           int                                 // messages, including undecodable ones
	expect          atomic.Int64                        // message count in the container; it grows if channels are found late
	broken, refused failed
	surplus         message.Surplus
	empty           int // frames without bytes

	log, publish, stamps blocks[int64]
	late                 int   // backward steps in the log time
	setBack              bool  // whether the clock was set back at one of them
	last                 int64 // last log time
	published            bool  // whether a publish time differs from the log time
	zeros                int   // stamps equal to 0
	// motions holds the motion by the clocks log, publish and header.
	motions [3]motion
	pairs   pairs

	numbers
	inexact    int
	lists      []list
	moving     moving // for messages, if Shape.Keyed
	at         blocks[place]
	frames     kinds
	publishers publishers
	texts      []string // each message's text, if the topic is the task or has TextKey
}

// frames counts a topic's frames with one kind.
type frames struct {
	encoding      string
	width, height int
	stored        [2]int // width and height in a JPEG or PNG header
	count         int
}

func (f *frames) same(o frames) bool {
	o.count = f.count
	return *f == o
}

func (f *frames) String() string {
	width, height := cmp.Or(f.width, f.stored[0]), cmp.Or(f.height, f.stored[1])
	if width == 0 {
		return f.encoding
	}
	return fmt.Sprintf("%dx%d %s", width, height, f.encoding)
}

// kinds holds the different kinds of frames, in order of appearance.
type kinds struct {
	list []frames
	at   map[frames]int // index in list; the key has count 0
}

// add counts frames and returns the index of their kind.
func (k *kinds) add(f frames) int {
	n := f.count
	f.count = 0
	i, there := k.at[f]
	if !there {
		if k.at == nil {
			k.at = map[frames]int{}
		}
		i = len(k.list)
		k.at[f], k.list = i, append(k.list, f)
	}
	k.list[i].count += n
	return i
}

// join adds the next piece in file order.
func (t *topic) join(in *piece, r *reader) {
	if t.first < 0 {
		t.first = r.joined
	}
	r.joined++
	t.count += in.count
	t.broken.add(in.broken)
	t.refused.add(in.refused)
	t.bytes += in.bytes
	t.empty += in.empty
	t.surplus.Count, t.surplus.Bytes = t.surplus.Count+in.rows.Surplus.Count, t.surplus.Bytes+in.rows.Surplus.Bytes
	t.room += roomOf(&in.rows)
	if t.room > mostRoom*t.bytes+freeRoom {
		t.over.Store(true)
	}
	if t.over.Load() {
		t.log, t.publish, t.stamps, t.numbers, t.lists = blocks[int64]{}, blocks[int64]{}, blocks[int64]{}, numbers{}, nil
		return
	}
	if len(in.log) == 0 {
		return
	}
	for i, ns := range in.log {
		if t.log.len()+i > 0 && ns < t.last {
			t.late++
		}
		t.last = ns
		t.published = t.published || in.publish[i] != ns
	}
	for i, times := range [][]int64{in.log, in.publish, in.rows.Stamps} {
		t.motions[i].add(times)
	}
	t.pairs.add(in.log, in.rows.Stamps)
	t.reserve()
	before := t.log.len()
	r.findSetBacks(t, in, before)
	t.publishers.add(in.origins, in.log)
	t.log.add(in.log)
	switch r.clock {
	case "publish":
		t.publish.add(in.publish)
	case "header":
		for _, ns := range in.rows.Stamps {
			if ns == 0 {
				t.zeros++
			}
		}
		t.stamps.add(in.rows.Stamps)
	}
	t.numbers.add(in.rows.F32, in.rows.F64)
	t.inexact += in.rows.Inexact
	if t.lists == nil {
		t.lists = make([]list, len(t.shape.Lists))
	}
	if t.shape.Keyed {
		t.moving.join(in.rows.Frames, in.rows.Keys, in.rows.Parents)
	}
	for i := range min(len(in.rows.Lists), len(t.lists)) {
		l, rows, shape := &t.lists[i], &in.rows.Lists[i], &t.shape.Lists[i]
		l.inexact += rows.Inexact
		if shape.Keyed {
			l.moving.joinList(in.rows.Frames, rows, before)
			l.add(rows, shape)
			continue
		}
		l.join(rows, shape)
	}
	kinds := make([]int, len(in.frames.list))
	for i, f := range in.frames.list {
		kinds[i] = t.frames.add(f)
	}
	for i := range in.at {
		if len(kinds) > 0 { // empty for clouds
			in.at[i].kind = uint16(min(kinds[in.at[i].kind], math.MaxUint16))
		}
	}
	t.at.add(in.at)
	t.texts = append(t.texts, in.texts...)
}

// reserve sets the expected lengths.
func (t *topic) reserve() {
	n, columns := int(t.expect.Load()), len(t.shape.Columns)
	if n > maxExpected {
		return
	}
	t.log.expect, t.publish.expect, t.stamps.expect, t.at.expect, t.moving.which.expect = n, n, n, n, n
	t.f32.expect, t.f64.expect = n*columns, n*columns
	for i := range t.lists {
		l, each := &t.lists[i], 0
		if l.any && l.shortest == l.longest && len(l.names) <= 1 {
			each = l.longest * len(t.shape.Lists[i].Columns)
		}
		l.of(0).f32.expect, l.of(0).f64.expect, l.named.expect = n*each, n*each, n
	}
}

// maxExpected limits the expected messages. If a container states more, its number is ignored.
const maxExpected = 1 << 40

// roomOf returns the bytes that the numbers take.
func roomOf(rows *message.Rows) int64 {
	n := 4*len(rows.F32) + 8*len(rows.F64)
	for i := range rows.Lists {
		n += 4*len(rows.Lists[i].F32) + 8*len(rows.Lists[i].F64)
	}
	return int64(n)
}
