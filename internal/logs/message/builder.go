package message

import (
	"math"

	"github.com/robocache/robocache/dataset"
)

// buffered is the part that decoders of protobuf and JSON have in common: they read a message to a buffer first.
type buffered struct {
	shape   Shape
	arrays  int // arrays of text that name the elements of lists
	structs int // structs in the message, each with a place in buffer.seen
	buffers buffers
}

// Shape returns the shape of the messages.
func (d *buffered) Shape() *Shape { return &d.shape }

// take returns an empty buffer whose row begins as row.
func (d *buffered) take(row []float64) *buffer {
	return d.buffers.take(row, len(d.shape.Lists), d.arrays, d.structs)
}

// builder makes the shape of a buffered decoder.
type builder struct {
	*buffered
	columns *[]dataset.Column // of the table or a list
	table   bool              // whether columns are those of the table
	made    int               // columns so far
	fields  int               // fields so far, by cost
	element *ListShape        // the keyed list if the next struct is an element of it
	named   bool              // whether the next struct is an element that has a name
}

// leave adds a note that the field path is left out.
func (b *builder) leave(path string, code dataset.Code) {
	b.shape.Notes = append(b.shape.Notes, dataset.Note{Code: code, Subject: path})
}

// list adds a list whose columns elements makes, and reports whether it has any. Without columns, neither the list nor its notes stay.
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

// identify decides how a list of structs tells its elements apart: by child_frame_id if keyed, else by a name if they have one and
// no array of text names them. It returns the list if it is keyed.
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

// absentRow returns n columns without values.
func absentRow(n int) []float64 {
	row := make([]float64, n)
	fill(row, math.NaN())
	return row
}
