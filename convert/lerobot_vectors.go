package convert

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
	nearest "github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// joined repairs a list of stream names that a flag split at commas. If a stream's own name has commas, its pieces become one name again.
func joined(list []string, e *Episode) (names []string) {
	for len(list) > 0 {
		n := 1
		for k := 1; k <= len(list); k++ {
			name := strings.Join(list[:k], ",")
			if _, lost := reasonOf(e.Lost, name); lost || e.Stream(name) != nil {
				n = k
				break
			}
		}
		names, list = append(names, strings.Join(list[:n], ",")), list[n:]
	}
	return names
}

// prefixes returns, for each stream, the text to write before its column names. All are empty if the column names are distinct and
// descriptive, for example joint names. Else the text is the stream's name, up to " (", and a dot.
func prefixes(from []*dataset.Stream) []string {
	list, met, own := make([]string, len(from)), map[string]bool{}, true
	for i, s := range from {
		for _, c := range s.Columns {
			own = own && !met[c.Name] && c.Name != "data" && !strings.ContainsAny(c.Name[:min(1, len(c.Name))], "[0123456789")
			met[c.Name] = true
		}
		name, _, _ := strings.Cut(s.Name, " (")
		list[i] = name + "."
	}
	if own || len(from) == 1 {
		return make([]string, len(from))
	}
	return list
}

// beside joins the columns of the streams with the names in parts, which are on one clock, into one stream with a new name. If a stream is
// missing, it returns an error with the reason.
func beside(e *Episode, name string, parts []string) (s dataset.Stream, err error) {
	dtype, width := tensor.F32, 0
	from := make([]*dataset.Stream, len(parts))
	for i, part := range parts {
		if from[i] = e.Stream(part); from[i] == nil {
			if why, ok := reasonOf(e.Lost, part); ok {
				return s, fmt.Errorf("%s: its stream %s was left out: %w", name, part, &dataset.NoteError{Note: why})
			}
			return s, &dataset.FormatError{Format: "convert", Offset: -1, Kind: dataset.ErrNotFound, Msg: name, Got: fmt.Sprintf("no stream %q", part),
				Want: "one of " + nearest.Closest(part, e.Names())}
		}
		if from[i].Values.DType() == tensor.F64 {
			dtype = tensor.F64
		}
		width += len(from[i].Columns)
		s.Inexact += from[i].Inexact
	}
	s.Name, s.Times = name, from[0].Times
	before := prefixes(from)
	for i, part := range from {
		for _, c := range part.Columns {
			c.Name = before[i] + c.Name
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
