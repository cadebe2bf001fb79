package convert

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// beside joins the columns of several streams on one clock into one stream. A column's name is its stream's name and its own.
func beside(e *Episode, name string, parts []string) (s dataset.Stream, err error) {
	dtype, width := tensor.F32, 0
	from := make([]*dataset.Stream, len(parts))
	for i, part := range parts {
		if from[i] = e.Stream(part); from[i] == nil {
			if why, ok := reasonOf(e.Lost, part); ok {
				return s, fmt.Errorf("%s: its stream %s was left out: %w", name, part, &dataset.NoteError{Note: why})
			}
			return s, &dataset.FormatError{Format: "convert", Offset: -1, Kind: dataset.ErrNotFound, Msg: name, Got: fmt.Sprintf("no stream %q", part),
				Want: "one of " + fmt.Sprint(e.Names())}
		}
		if from[i].Values.DType() == tensor.F64 {
			dtype = tensor.F64
		}
		width += len(from[i].Columns)
		s.Inexact += from[i].Inexact
	}
	s.Name, s.Times = name, from[0].Times
	for i, part := range from {
		for _, c := range part.Columns {
			if len(from) > 1 {
				c.Name = parts[i] + "." + c.Name
			}
			s.Columns = append(s.Columns, c)
		}
	}
	if dtype == tensor.F64 {
		s.Values, err = sideBySide[float64](from, width)
	} else {
		s.Values, err = sideBySide[float32](from, width)
	}
	return s, err
}

func sideBySide[T float32 | float64](from []*dataset.Stream, width int) (*tensor.Tensor, error) {
	rows, at := from[0].Len(), 0
	out := make([]T, rows*width)
	for _, s := range from {
		n := len(s.Columns)
		if s.Values.Len() != rows*n {
			return nil, &dataset.StreamError{Stream: s.Name, Arg: "Values", Got: fmt.Sprintf("%d rows", s.Values.Len()/max(n, 1)), Want: fmt.Sprint(rows)}
		}
		const some = 1024 // rows that are copied at a time
		for first := 0; first < rows; first += some {
			part, err := s.Values.Slice(0, first, min(first+some, rows))
			if err != nil {
				return nil, err
			}
			values, err := tensor.Floats(part)
			if err != nil {
				return nil, err
			}
			for i := 0; i*n < len(values); i++ {
				for c := range n {
					out[(first+i)*width+at+c] = T(values[i*n+c])
				}
			}
		}
		at += n
	}
	return tensor.Of(out, rows, width)
}
