package message

import (
	"math"

	"github.com/robocache/robocache/dataset"
)

// buffered is the common part of the protobuf and JSON decoders, which read a message to a buffer first.
type buffered struct {
	shape   Shape
	arrays  int // arrays of text that name the elements of lists
	structs int // structs in the message, each with a place in buffer.seen
	buffers buffers
}

// Shape returns the shape of the messages.
func (d *buffered) Shape() *Shape { return &d.shape }

// take returns an empty buffer. Its row starts with the values in row.
func (d *buffered) take(row []float64) *buffer {
	return d.buffers.take(row, len(d.shape.Lists), d.arrays, d.structs)
}

// builder creates the shape for a buffered decoder.
type builder struct {
	*buffered
	columns *[]dataset.Column // columns of the table or a list
	table   bool              // whether columns belong to the table
	made    int               // columns so far
	fields  int               // fields so far, weighted by cost
	element *ListShape        // if the next struct is a keyed list's element: the list
	named   bool              // whether the next struct is an element with a name
}

// leave adds a note that a field is left out.
func (b *builder) leave(path string, code dataset.Code) {
	b.shape.Notes = append(b.shape.Notes, dataset.Note{Code: code, Subject: path})
}

// list adds a list and reports whether it has columns. elements creates the columns. Without columns, the list and its notes are
// removed.
func (b *builder) list(list *ListShape, elements func()) bool {
	columns, noted := b.columns, len(b.shape.Notes)
	b.columns, b.table = &list.Columns, false
	elements()
	b.columns, b.table = columns, true
	if len(list.Columns) == 0 {
		b.shape.Notes = b.shape.Notes[:noted]
		return false
	}
	for i := noted; i < len(b.shape.Notes); i++ {
		b.shape.Notes[i].Subject = list.Name + "[]." + b.shape.Notes[i].Subject
	}
	b.shape.Lists = append(b.shape.Lists, *list)
	return true
}

// identify decides how to distinguish the elements in a list of structs: by child_frame_id if keyed, or else by name if they have one
// and no array of text names them. It returns the list if it is keyed.
func (l *ListShape) identify(keyed, named bool) *ListShape {
	switch {
	case keyed:
		l.Keyed, l.Labels, l.label = true, "", -1
		return l
	case named && l.Labels == "":
		l.Labels, l.named = l.Name+"[].name", true
	}
	return nil
}

// absentRow returns n columns filled with NaN.
func absentRow(n int) []float64 {
	row := make([]float64, n)
	fill(row, math.NaN())
	return row
}
