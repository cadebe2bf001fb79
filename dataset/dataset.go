package dataset

import "github.com/robocache/robocache/tensor"

// Column describes one feature of a stream.
type Column struct {
	Name string // flattened: "control[0]", "esc[2].rpm"
	Type string // the file's own name of the type: "float", "uint8_t"
	// Integer is true where the file holds whole numbers, truth values or characters: what must not be interpolated.
	Integer bool
}

// Stream is one series of samples.
type Stream struct {
	Name    string
	Times   []int64        // [S], nanoseconds, as recorded
	Values  *tensor.Tensor // [S,D], f32 where that holds every column's type exactly, else f64
	Columns []Column       // [D]; streams of one type may share it, so do not write to it
	Inexact int            // integers that the dtype of Values could not hold: rounded to nearest even there
}

// AllInteger reports whether every column holds whole numbers. It is false for a stream without columns.
func (s *Stream) AllInteger() bool {
	for _, c := range s.Columns {
		if !c.Integer {
			return false
		}
	}
	return len(s.Columns) > 0
}

// Column returns the index of a column, or -1.
func (s *Stream) Column(name string) int {
	for i, c := range s.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// Stats returns the statistics of the stream's clock.
func (s *Stream) Stats() Stats { return StatsOf(s.Times) }

// Recording is what a file holds.
type Recording struct {
	Streams []Stream
	// Dropouts lists, in file order, when the recorder says it lost data.
	Dropouts []Dropout
	// LostBytes counts the bytes of the file that hold data and could not be read, where the format foresees that or an
	// option accepts it, and Damage says what was found there. Damage is nil where the file is whole.
	LostBytes int64
	Damage    *FormatError
}

// Dropout is a loss that the recorder itself noted.
type Dropout struct {
	Time     int64 // the latest time stamp recorded before it, nanoseconds
	Duration int64 // nanoseconds
}

// Stream returns the stream of that name, or nil.
func (r *Recording) Stream(name string) *Stream {
	for i := range r.Streams {
		if r.Streams[i].Name == name {
			return &r.Streams[i]
		}
	}
	return nil
}

// Names returns the names of the streams, in file order.
func (r *Recording) Names() []string {
	names := make([]string, len(r.Streams))
	for i := range r.Streams {
		names[i] = r.Streams[i].Name
	}
	return names
}
