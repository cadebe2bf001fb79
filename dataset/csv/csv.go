package csv

import (
	"context"
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/texttable"
)

const (
	stream   = "data"
	lookedAt = 256 << 10 // bytes at the beginning of a file that define its columns
)

func init() {
	dataset.Register(dataset.Format{
		Name: "csv", Extensions: []string{".csv", ".tsv"}, Text: true,
		Match: func(head []byte) bool { return match(head, len(head) < dataset.HeadBytes) },
		Named: func(head []byte) bool { return named(head, len(head) < dataset.HeadBytes) },
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(path, opt)
		},
	})
}

// Set is an open file. Its methods may be called from any goroutine.
type Set struct {
	dataset.Dataset
	path   string
	strict bool
	shape  *shape
	clock  *clock // nil for steps
	why    string // the clock is this one, as the attribute "clock" says it
	info   dataset.Info
}

// Open opens a file. It finds the separator, header, columns and clock in the first 256 KiB.
func Open(path string, opt dataset.Options) (*Set, error) {
	head, whole, ended, err := texttable.ReadHead(path, lookedAt)
	if err != nil {
		return nil, err
	}
	s := &Set{path: path, strict: opt.Strict, shape: look(head, whole)}
	s.Dataset = dataset.Single("csv", path, s.read)
	if s.shape == nil {
		return nil, &dataset.FormatError{Format: "csv", Path: path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "table", Got: "no lines of equally many fields",
			Want: "two fields a line or more, separated by commas, semicolons, tabs or spaces"}
	}
	if s.clock, s.info.Clocks, err = s.shape.choose(opt.Clock); err != nil {
		return nil, err
	}
	if !s.shape.hasNumbers(s.clock) && s.shape.rows > 0 {
		return nil, &dataset.FormatError{Format: "csv", Path: path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "table",
			Got: "no column of numbers besides the clock: " + strings.Join(s.shape.names[:min(len(s.shape.names), 40)], ", "), Want: "one"}
	}
	switch c := s.clock; {
	case c == nil:
		s.info.Clock, s.why = steps, steps+", for no column is called as a clock (timestamp, time, t, stamp)"
		if opt.Clock == steps {
			s.why = steps
		}
		if err := s.info.ChooseRate(opt.Rate, 0, 0); err != nil {
			return nil, err
		}
	default:
		s.info.Clock, s.why = c.label, c.label
		if c.judged != "" {
			s.why += fmt.Sprintf(", a unit that the name does not have: %s", c.judged)
		}
	}
	s.info.Attributes = map[string]string{"clock": s.why}
	if !ended {
		s.info.Notes = append(s.info.Notes, texttable.Unended(path))
	}
	return s, nil
}

// Info returns the chosen clock, and all clocks that Options.Clock may select.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// read reads the file. If more lines are broken than whole, or with Options.Strict, the first broken one is a *dataset.FormatError.
func (s *Set) read(ctx context.Context) (*dataset.Episode, error) {
	e := &dataset.Episode{Name: s.Name(), Steps: s.clock == nil && s.info.Rate == 0}
	e.Attributes = dataset.Attributes{Source: s.path, Other: map[string]string{"clock": s.why}}
	layout, text := s.layout()
	t, err := texttable.ReadFile(ctx, s.path, layout, s.strict)
	if err != nil {
		return nil, err
	}
	for _, name := range text {
		e.Notes.Add(dataset.Note{Code: dataset.CodeText, Subject: name, Count: t.Rows})
	}
	times := t.Times
	if s.clock == nil {
		if times, err = dataset.StepTimes(t.Rows, s.info.Rate); err != nil {
			return nil, err
		}
	}
	if label := s.shape.head.Label(); label != "" {
		e.Attributes.Other["comments"] = label
	}
	units := map[string]string{}
	for i, name := range s.shape.names {
		units[name] = s.shape.units[i]
	}
	e.Frames = t.Rows
	return e, t.AddTo(e, stream, times, units)
}

// layout returns the settings for reading the file, and the text columns.
func (s *Set) layout() (l texttable.Layout, text []string) {
	l = texttable.Layout{Format: "csv", Sep: s.shape.sep, End: s.shape.head.End, Quotes: true, Comments: comments, Header: s.shape.in}
	if s.clock != nil {
		l.Clock = s.clock.read
	}
	for i, name := range s.shape.names {
		f := texttable.Field{Name: name, Kind: texttable.Number}
		st := &s.shape.stats[i]
		switch {
		case s.clock != nil && i == s.clock.column:
			f.Kind = texttable.Time
		case s.clock != nil && i == s.clock.low:
			f.Kind = texttable.Low
		case len(st.words) == 0:
			f.Kind = texttable.Unsure
		case st.text():
			f.Kind = texttable.Skip
			text = append(text, name)
		}
		l.Fields = append(l.Fields, f)
	}
	return l, text
}
