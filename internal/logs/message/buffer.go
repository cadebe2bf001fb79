package message

import (
	"fmt"
	"strings"
	"sync"

	"github.com/robocache/robocache/dataset"
)

// MaxList is the maximum count of numbers that a list may have in a message. Longer lists are dropped.
const MaxList = 4096

// maxMoving is the maximum count of numbers that a keyed list may have in a message.
const maxMoving = 1 << 16

// buffer collects one message, for encodings with fields in any order. The message is added to rows after it is read completely.
type buffer struct {
	row     []float64
	inexact int
	texts   []byte
	lists   []listBuffer
	labels  [][][]byte // arrays of text
	seen    []int      // the turn in which each struct was last read
	turn    int
	moving
}

// moving holds a message's or element's child frame (the frame that moves), its parent, and the time.
type moving struct {
	child, parent []byte // nil if absent
	time          int64
	name          []byte // the element's name, if it has one
}

// add appends both frames' indices in rows.Frames, -1 for an absent frame.
func (m *moving) add(rows *Rows, keys, parents []int32) ([]int32, []int32) {
	number := func(name []byte) int32 {
		if name == nil {
			return -1
		}
		return rows.frame(name, validText)
	}
	return append(keys, number(m.child)), append(parents, number(m.parent))
}

// listBuffer collects one list in a message.
type listBuffer struct {
	count   int
	inexact int
	values  []float64 // at most MaxList
	element []float64
	moving  []moving // for each element, if ListShape.Keyed
	names   [][]byte // for each element, if elements have names
}

// buffers is a pool of unused buffers.
type buffers struct{ sync.Pool }

// take returns an empty buffer. Its row starts with the values in row.
func (p *buffers) take(row []float64, lists, labels, structs int) *buffer {
	b, _ := p.Get().(*buffer)
	if b == nil {
		b = &buffer{lists: make([]listBuffer, lists), labels: make([][][]byte, labels), seen: make([]int, structs)}
	}
	b.row = append(b.row[:0], row...)
	b.inexact, b.moving = 0, moving{}
	for i := range b.lists {
		b.lists[i].empty()
	}
	for i := range b.labels {
		clear(b.labels[i])
		b.labels[i] = b.labels[i][:0]
	}
	b.turn++
	return b
}

func (l *listBuffer) empty() {
	clear(l.moving)
	clear(l.names)
	l.count, l.inexact, l.values, l.moving, l.names = 0, 0, l.values[:0], l.moving[:0], l.names[:0]
}

// own moves the count of inexact integers since `since` from the message to a list.
func (b *buffer) own(l *listBuffer, since int) {
	l.inexact, b.inexact = l.inexact+b.inexact-since, since
}

// add appends an element.
func (l *listBuffer) add(element ...float64) {
	l.count++
	if len(l.values)+len(element) <= MaxList {
		l.values = append(l.values, element...)
	}
}

// move appends an element of a keyed list.
func (l *listBuffer) move(m moving, element []float64) error {
	l.count++
	if len(l.values)+len(element) > maxMoving {
		return &dataset.FormatError{Format: "message", Offset: -1, Kind: dataset.ErrTooLarge, Msg: "frames that move", Got: fmt.Sprintf("more than %d numbers", maxMoving), Want: "fewer"}
	}
	l.values, l.moving = append(l.values, element...), append(l.moving, m)
	return nil
}

// end appends the finished element in l.element, and restores outer, the frames of the enclosing message.
func (l *listBuffer) end(b *buffer, outer moving, keyed, named bool) error {
	m := b.moving
	b.moving = outer
	if keyed {
		return l.move(m, l.element)
	}
	l.add(l.element...)
	if named {
		l.names = append(l.names, m.name)
	}
	return nil
}

// commit appends the message to rows.
func (b *buffer) commit(shape *Shape, rows *Rows) {
	if shape.Stamp {
		rows.Stamps = append(rows.Stamps, b.time)
	}
	if rows.Count++; shape.Media != NoMedia {
		return
	}
	if rows.Count == 1 {
		rows.Frames, rows.frames, rows.Keys, rows.Parents = rows.Frames[:0], nil, rows.Keys[:0], rows.Parents[:0]
	}
	if shape.Keyed {
		rows.Keys, rows.Parents = b.moving.add(rows, rows.Keys, rows.Parents)
	}
	rows.Inexact += b.inexact
	rows.F32, rows.F64 = put(rows.F32, rows.F64, b.row, shape.Wide)
	for len(rows.Lists) < len(shape.Lists) {
		rows.Lists = append(rows.Lists, ListRows{})
	}
	for i := range shape.Lists {
		to, from := &rows.Lists[i], &b.lists[i]
		if rows.Count == 1 {
			to.reset()
		} else if !shape.Lists[i].Keyed && !shape.Lists[i].Padded && shape.Lists[i].Labels == "" && from.count != int(to.Lengths[0]) {
			to.Dropped = true
		}
		to.Inexact += from.inexact
		to.Lengths = append(to.Lengths, int32(from.count))
		if shape.Lists[i].Keyed {
			for _, m := range from.moving {
				to.Keys, to.Parents = m.add(rows, to.Keys, to.Parents)
				if shape.Lists[i].Stamp {
					to.Stamps = append(to.Stamps, m.time)
				}
			}
			to.F32, to.F64 = put(to.F32, to.F64, from.values, shape.Lists[i].Wide)
			continue
		}
		if from.count*len(shape.Lists[i].Columns) > len(from.values) || shape.Lists[i].Bytes && from.count > maxBytes {
			to.Dropped = true
		}
		if to.Dropped {
			to.F32, to.F64 = nil, nil
		} else {
			to.F32, to.F64 = put(to.F32, to.F64, from.values, shape.Lists[i].Wide)
		}
		if shape.Lists[i].Labels != "" {
			names := from.names
			if k := shape.Lists[i].label; k >= 0 {
				names = b.labels[k]
			}
			b.texts = b.texts[:0]
			for _, s := range names {
				b.texts = addText(b.texts, s)
			}
			to.name(&shape.Lists[i], from.count, len(names), b.texts, func() []string { return splitTexts(b.texts, validText) })
		}
	}
}

func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// frame returns a frame's index in Frames. It adds a new frame; clean converts its bytes to a name.
func (r *Rows) frame(name []byte, clean func(b []byte) string) int32 {
	i, there := r.frames[string(name)]
	if !there {
		if r.frames == nil {
			r.frames = map[string]int32{}
		}
		i = int32(len(r.Frames))
		r.frames[string(name)] = i
		r.Frames = append(r.Frames, clean(name))
	}
	return i
}

func put(f32 []float32, f64, values []float64, wide bool) ([]float32, []float64) {
	if wide {
		return f32, append(f64, values...)
	}
	for _, v := range values {
		f32 = append(f32, float32(v))
	}
	return f32, f64
}
