package message

import (
	"slices"
	"sync"
)

// MaxList is how many numbers a list may have in a message, to be kept.
const MaxList = 4096

// buffer is one message on its way into rows, of encodings whose fields come in any order: nothing of it is in them before it is read whole.
type buffer struct {
	row     []float64
	stamp   int64
	inexact int
	lists   []listBuffer
	labels  [][][]byte // arrays of text
	seen    []int      // when each struct in one was last met, by turn
	turn    int
}

// listBuffer is a list of one message.
type listBuffer struct {
	count   int
	values  []float64 // up to MaxList of them
	element []float64
}

// buffers has those that nobody uses.
type buffers struct{ sync.Pool }

// take returns an empty one, whose row begins as it is given.
func (p *buffers) take(row []float64, lists, labels, structs int) *buffer {
	b, _ := p.Get().(*buffer)
	if b == nil {
		b = &buffer{lists: make([]listBuffer, lists), labels: make([][][]byte, labels), seen: make([]int, structs)}
	}
	b.row = append(b.row[:0], row...)
	b.stamp, b.inexact = 0, 0
	for i := range b.lists {
		b.lists[i].count, b.lists[i].values = 0, b.lists[i].values[:0]
	}
	for i := range b.labels {
		clear(b.labels[i])
		b.labels[i] = b.labels[i][:0]
	}
	b.turn++
	return b
}

// add appends an element.
func (l *listBuffer) add(element ...float64) {
	l.count++
	if len(l.values)+len(element) <= MaxList {
		l.values = append(l.values, element...)
	}
}

// commit appends the message to rows. labels says for each list which array of text names its elements; -1 if none.
func (b *buffer) commit(shape *Shape, labels []int, rows *Rows) {
	if shape.Stamp {
		rows.Stamps = append(rows.Stamps, b.stamp)
	}
	if rows.Count++; shape.Media != NoMedia {
		return
	}
	rows.Inexact += b.inexact
	rows.F32, rows.F64 = put(rows.F32, rows.F64, b.row, shape.Wide)
	for len(rows.Lists) < len(shape.Lists) {
		rows.Lists = append(rows.Lists, ListRows{})
	}
	for i := range shape.Lists {
		to, from := &rows.Lists[i], &b.lists[i]
		if rows.Count == 1 {
			to.Labels, to.Relabel, to.Dropped = nil, false, false
		} else if from.count != int(to.Lengths[0]) {
			to.Dropped = true
		}
		to.Lengths = append(to.Lengths, int32(from.count))
		if from.count*len(shape.Lists[i].Columns) > len(from.values) || shape.Lists[i].Bytes && from.count > maxBytes {
			to.Dropped = true
		}
		if to.Dropped {
			to.F32, to.F64 = nil, nil
		} else {
			to.F32, to.F64 = put(to.F32, to.F64, from.values, shape.Lists[i].Wide)
		}
		if k := labels[i]; k >= 0 && from.count > 0 {
			to.name(b.labels[k], from.count)
		}
	}
}

// name compares what names the elements of one more message with what named them before.
func (l *ListRows) name(labels [][]byte, count int) {
	switch {
	case len(labels) != count:
		l.Relabel = true
	case l.Relabel || l.Dropped:
	case l.Labels == nil:
		for _, s := range labels {
			l.Labels = append(l.Labels, string(s))
		}
	default:
		l.Relabel = !slices.EqualFunc(l.Labels, labels, func(a string, b []byte) bool { return a == string(b) })
	}
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
