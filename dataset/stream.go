package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// Column describes one feature of a stream.
type Column struct {
	Name string // flattened: "control[0]", "esc[2].rpm"
	Type string // the type name in the file: "float", "uint8_t"
	// Integer is true if the file has whole numbers, booleans or characters, which must not be interpolated.
	Integer bool
	// Rotation is set on each of the neighbouring columns that form one rotation, if the format declares it.
	Rotation Rotation
}

// SameColumns reports whether two column lists are equal. It is fast if they share memory.
func SameColumns(a, b []Column) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// Rotation is the representation of a rotation in neighbouring columns.
type Rotation uint8

const (
	// RotationNone: the columns are no rotation, or the format does not declare it.
	RotationNone Rotation = iota
	// RotationXYZW is a unit quaternion in four columns, the scalar last.
	RotationXYZW
	// RotationWXYZ is a unit quaternion in four columns, the scalar first.
	RotationWXYZ
)

// String returns the rotation's name, for example "quaternion xyzw"; empty for RotationNone.
func (r Rotation) String() string {
	switch r {
	case RotationXYZW:
		return "quaternion xyzw"
	case RotationWXYZ:
		return "quaternion wxyz"
	}
	return ""
}

// Width returns the number of columns in one rotation: 4, or 0 for RotationNone.
func (r Rotation) Width() int {
	if r == RotationNone {
		return 0
	}
	return 4
}

// Stream is a series of samples with its own clock.
type Stream struct {
	Name string
	Type string // the message type, for example "sensor_msgs/msg/Imu"; empty in formats without messages
	// Times [S] are the timestamps as recorded: i64 nanoseconds, or f64 or f32 seconds.
	Times   *tensor.Tensor
	Values  *tensor.Tensor // [S,D] on the host, of a float dtype; readers use f32 if it holds every column's type exactly, else f64
	Columns []Column       // [D]; streams of one type may share it, so do not write to it
	Inexact int            // number of integers that Values cannot hold exactly; they are rounded to nearest even
	// Integers [S,D] i64 are the exact whole numbers before the rounding in Values. It is nil if nothing is rounded, or if the
	// reader does not keep them.
	Integers *tensor.Tensor
}

// StreamError reports an invalid Stream.
type StreamError struct {
	Stream    string
	Arg       string // the field of Stream
	Got, Want string
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("dataset: stream %s: %s: got %s, want %s", e.Stream, e.Arg, e.Got, e.Want)
}

// Unwrap returns ErrShape, because the fields contradict each other.
func (e *StreamError) Unwrap() error { return ErrShape }

// NewStream returns a stream with timestamps in nanoseconds and values [S,D], and keeps both. If columns is nil, the columns get
// their indices as names. If the lengths disagree, the error is a *StreamError.
func NewStream(name string, times []int64, values *tensor.Tensor, columns []Column) (Stream, error) {
	clock, err := tensor.Of(times, len(times))
	if err != nil {
		return Stream{}, err
	}
	s := Stream{Name: name, Times: clock, Values: values, Columns: columns}
	if columns == nil && values != nil && values.Rank() == 2 {
		s.Columns = make([]Column, values.Dim(1))
		for i := range s.Columns {
			s.Columns[i] = Column{Name: fmt.Sprint(i), Type: values.DType().String()}
		}
	}
	return s, s.Check()
}

// Check returns a *StreamError unless the fields fit each other: Times [S] with an i64, f64 or f32 dtype, Values [S,D] with a float
// dtype, both on the host, and D columns. It returns a *CollapsedError if float32 is too coarse for the clock. Check does not test
// the order of timestamps: see [Stream.Stats].
func (s *Stream) Check() error {
	bad := func(arg string, got any, want string) error {
		return &StreamError{Stream: s.Name, Arg: arg, Got: fmt.Sprint(got), Want: want}
	}
	switch {
	case s.Times == nil || !s.Times.OnHost() || s.Times.Rank() != 1 || !isClock(s.Times.DType()):
		return bad("Times", s.Times, "i64 nanoseconds, or f64 or f32 seconds, of rank 1 on the host")
	case s.Values == nil || !s.Values.OnHost() || s.Values.Rank() != 2 || !s.Values.DType().IsFloat():
		return bad("Values", s.Values, "f32, f64, f16 or bf16 of rank 2 on the host")
	case s.Values.Dim(0) != s.Times.Dim(0):
		return bad("Values", s.Values, fmt.Sprintf("[%d,D], a row for each timestamp", s.Times.Dim(0)))
	case s.Values.Dim(1) != len(s.Columns):
		return bad("Columns", fmt.Sprintf("%d columns", len(s.Columns)), fmt.Sprintf("%d, one for each feature of Values", s.Values.Dim(1)))
	case s.Integers != nil && (!s.Integers.OnHost() || s.Integers.DType() != tensor.I64 || !slices.Equal(s.Integers.Shape(), s.Values.Shape())):
		return bad("Integers", s.Integers, fmt.Sprintf("i64 %s on the host, as Values", tensor.FormatShape(s.Values.Shape())))
	}
	return CheckSpacing(s.Times)
}

func isClock(d tensor.DType) bool { return d == tensor.I64 || d == tensor.F64 || d == tensor.F32 }

// Len returns the number of samples.
func (s *Stream) Len() int {
	if s.Times == nil {
		return 0
	}
	return s.Times.Len()
}

// Nanoseconds returns the timestamps in nanoseconds. Seconds are rounded and clamped to int64; NaN becomes 0. If the clock is in
// nanoseconds already, the slice shares the tensor's memory.
func (s *Stream) Nanoseconds() []int64 {
	if s.Len() == 0 {
		return nil
	}
	switch s.Times.DType() {
	case tensor.F64:
		return fromSeconds[float64](s.Times)
	case tensor.F32:
		return fromSeconds[float32](s.Times)
	}
	list, err := tensor.Data[int64](s.Times)
	if err != nil {
		return nil // closed, or with another dtype: Check reports it
	}
	return list
}

func fromSeconds[T float32 | float64](times *tensor.Tensor) []int64 {
	list, err := tensor.Data[T](times)
	if err != nil {
		return nil
	}
	out := make([]int64, len(list))
	for i, sec := range list {
		switch ns := math.Round(float64(sec) * 1e9); {
		case ns >= math.MaxInt64:
			out[i] = math.MaxInt64
		case ns <= math.MinInt64:
			out[i] = math.MinInt64
		case ns == ns:
			out[i] = int64(ns)
		}
	}
	return out
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

// Lossy returns Inexact, except if the only numbers that float64 cannot hold are nanosecond times between 2000 and 2100. Then it
// returns 0, because the rounding is at most 128 ns, which is below the resolution of clocks.
func (s *Stream) Lossy() int {
	if s.Inexact == 0 || s.Values.DType() != tensor.F64 {
		return s.Inexact
	}
	const from2000, until2100, exact = 946_684_800e9, 4_102_444_800e9, 1 << 53
	list, err := tensor.Floats(s.Values)
	if err != nil || slices.ContainsFunc(list, func(v float64) bool { return math.Abs(v) > exact && !(v >= from2000 && v <= until2100) }) {
		return s.Inexact
	}
	return 0
}

// Column returns the index of a column, or -1.
func (s *Stream) Column(name string) int { return columnNamed(s.Columns, name) }

func columnNamed(list []Column, name string) int {
	return slices.IndexFunc(list, func(c Column) bool { return c.Name == name })
}

// ColumnNames returns the columns' names.
func (s *Stream) ColumnNames() []string { return columnNames(s.Columns) }

func columnNames(list []Column) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// Stats returns the statistics of the stream's clock.
func (s *Stream) Stats() Stats { return StatsOf(s.Nanoseconds()) }

// Gaps returns the steps that Stats counts as gaps.
func (s *Stream) Gaps() []Span {
	st := s.Stats()
	if st.Gaps == 0 {
		return nil
	}
	return Gaps(s.Nanoseconds(), st.Limit())
}

// Indices returns the row-major position of value i in a shape, as a column name. Example: Indices(2, []int{2, 3}) is "[0][2]".
func Indices(i int, shape []int) (s string) {
	for d := len(shape) - 1; d >= 0; d-- {
		s = fmt.Sprintf("[%d]%s", i%shape[d], s)
		i /= shape[d]
	}
	return s
}
