package lerobot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/tensor"
)

// reader reads one episode.
type reader struct {
	set      *Set
	of       *episode
	rows     int
	files    []*openfiles.File[*parquet.File] // for the runs; each file once
	e        *dataset.Episode
	times    []int64
	captured []int64   // for the clock capture_time
	stamps   []float64 // the column timestamp, s; nil if it cannot be used
	shown    []int64   // times of the rows' frames in the video, ns from its start; differs from times if the caller set another rate
	good     bool      // whether any column could be read
	first    error     // the error from the first unreadable column
}

func (r *reader) close() {
	for _, f := range r.files {
		r.set.data.Give(f)
	}
}

// file returns the open file for a run.
func (r *reader) file(at run) (*parquet.File, error) {
	path := r.set.path(r.set.files[at.file])
	for _, f := range r.files {
		if f.Path == path {
			return f.File, nil
		}
	}
	f, err := r.set.data.Get(path)
	if err != nil {
		return nil, err
	}
	r.files = append(r.files, f)
	return f.File, nil
}

// damage adds a note about broken data, or returns an error if reading is strict.
func (r *reader) damage(n dataset.Note, got, want string) error {
	if n.Count == 0 {
		return nil
	}
	path := r.set.files[r.of.runs[0].file]
	n.Cause = formatError(dataset.ErrCorrupt, r.set.path(path), -1, fmt.Sprintf("episode %d: %s", r.of.number, n.Code), got, want)
	return r.lose(n)
}

func (r *reader) lose(n dataset.Note) error {
	if r.set.opt.Strict {
		return n.Cause
	}
	r.e.Notes.Add(n)
	return nil
}

func (r *reader) leave(name string, count int, code dataset.Code, d dataset.Detail) {
	r.e.Notes = append(r.e.Notes, dataset.Note{Code: code, Subject: name, Count: count, Detail: d})
}

// values reads a column over all runs. A broken column is counted, and the result is nil.
func (r *reader) values(ctx context.Context, name string) (*parquet.Values, error) {
	v := &parquet.Values{AsLists: r.set.opt.Lists && slices.Contains(layout.Language, name)}
	typ := ""
	for _, at := range r.of.runs {
		f, err := r.file(at)
		if err == nil {
			switch c := f.Column(name); {
			case c == nil || typ != "" && c.Type != typ:
				err = formatError(dataset.ErrCorrupt, f.Path(), -1, "column "+name, "another type than in other files of the episode",
					"one")
			default:
				typ = c.Type
				err = c.Read(ctx, int(at.group), int64(at.from), int64(at.to), v)
			}
		}
		if err != nil {
			return nil, r.passOver(name, err)
		}
	}
	r.good = true
	return v, nil
}

// passOver leaves out an unreadable column, or returns an error if reading is strict. It also returns errors that the file's content
// did not cause.
func (r *reader) passOver(name string, err error) error {
	bad, broken := dataset.AsBroken(err)
	if r.first == nil {
		r.first = err
	}
	code := dataset.CodeUnsupported
	switch {
	case broken:
		code = dataset.CodeBroken
		if err := r.lose(dataset.Note{Code: dataset.CodeColumnUnreadable, Subject: name, Count: 1, Detail: dataset.Detail{Cause: bad}}); err != nil {
			return err
		}
	case !errors.Is(err, dataset.ErrUnsupported):
		return err
	}
	r.leave(name, r.rows, code, dataset.Detail{Cause: err})
	return nil
}

// stream creates a stream from a column of numbers.
func (r *reader) stream(name string, c *parquet.Column, f *feature, v *parquet.Values) error {
	declared := 0
	if f != nil {
		declared = f.width
	}
	if v.Len() == 0 {
		r.leave(name, r.rows, dataset.CodeNoValues, dataset.Detail{})
		return nil
	}
	nulls := len(v.Nulls)
	if v.Lens != nil {
		width := declared
		if width == 0 || !slices.Contains(v.Lens, width) {
			width = usual(v.Lens)
		}
		if size := int64(r.rows) * int64(width); size > int64(2*v.Len())+1<<24 {
			r.leave(name, r.rows, dataset.CodeRaggedRows, dataset.Detail{Got: strconv.Itoa(width)})
			return r.damage(dataset.Note{Code: dataset.CodeRowLengths, Subject: name, Count: 1}, name, "as many values in every row")
		}
		empty, odd := even(v, width)
		if empty > 0 {
			r.leave(name, empty, dataset.CodeNullRows, dataset.Detail{})
		}
		if err := r.damage(dataset.Note{Code: dataset.CodeRowLength, Subject: name, Count: odd}, "rows of "+name, fmt.Sprintf("%d values in each",
			width)); err != nil {
			return err
		}
	}
	if nulls > 0 {
		r.leave(name, nulls, dataset.CodeNullValues, dataset.Detail{})
	}
	if declared > 0 && v.Width != declared {
		if err := r.damage(dataset.Note{Code: dataset.CodeColumnWidth, Subject: name, Count: 1}, fmt.Sprintf("%s with %d values a row", name, v.Width),
			fmt.Sprint(declared)); err != nil {
			return err
		}
	}
	typ, changed := c.Type, 0
	if f != nil {
		if typ, changed = cast(v, c.Type, f.DType); changed > 0 {
			r.e.Notes.Add(dataset.Note{Code: dataset.CodeValuesCast, Subject: name, Count: changed, Detail: dataset.Detail{Of: v.Len(), Got: c.Type, Want: typ}})
		}
	}
	values, inexact, err := valuesOf(v, typ, r.rows, v.Width)
	if err != nil {
		return err
	}
	s, err := dataset.NewStream(name, r.times, values, f.columns(v.Width, typ, v.Int64 != nil))
	s.Inexact = inexact
	if err == nil && inexact > 0 && len(v.Nulls) == 0 && typ != "uint64" {
		s.Integers, err = tensor.Of(v.Int64, r.rows, v.Width)
	}
	if err == nil {
		r.e.Streams = append(r.e.Streams, s)
	}
	return err
}

// maxText limits an attribute with a changing text, in bytes.
const maxText = 64 << 10

// texts creates an attribute from a column of texts.
func (r *reader) texts(name string, v *parquet.Values) {
	if v.Lens != nil || v.Width != 1 {
		r.leave(name, r.rows, dataset.CodeTextLists, dataset.Detail{})
		return
	}
	if len(v.Nulls) > 0 {
		r.leave(name, len(v.Nulls), dataset.CodeNullTexts, dataset.Detail{})
	}
	var lines []string
	series := dataset.TextStream{Name: name}
	size := 0
	for i, t := range v.Texts {
		if i > 0 && t == v.Texts[i-1] {
			continue
		}
		series.Times, series.Values = append(series.Times, r.times[i]), append(series.Values, t)
		line := fmt.Sprintf("%d: %s", i, t)
		if size += len(line); size > maxText {
			r.leave(name, r.rows, dataset.CodeLongTexts, dataset.Detail{})
			return
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		lines[0] = v.Texts[0]
	}
	r.e.Attributes.Other[name] = strings.Join(lines, "\n")
	if len(series.Times) > 0 {
		r.e.Texts = append(r.e.Texts, series)
	}
}

// task finds the instruction by task_index, or else in meta/episodes.
func (r *reader) task(ctx context.Context, first *parquet.File) error {
	d := r.set.declared[r.of.number]
	var listed []string
	if d != nil {
		listed = d.tasks
		maps.Copy(r.e.Attributes.Other, d.other)
	}
	var names []string
	if first.Column("task_index") != nil {
		v, err := r.values(ctx, "task_index")
		if err != nil {
			return err
		}
		if v != nil {
			list, ok := wholes(v)
			if !ok {
				if err := r.damage(dataset.Note{Code: dataset.CodeIndexNotWhole, Subject: "task_index", Count: 1}, "task_index", ""); err != nil {
					return err
				}
			}
			if names, err = r.named(list); err != nil {
				return err
			}
			if len(list) > 0 && slices.ContainsFunc(list, func(n int64) bool { return n != list[0] }) {
				v := &parquet.Values{Rows: len(list), Width: 1, Int64: r.set.placed(list)}
				if err := r.stream("task_index", first.Column("task_index"), nil, v); err != nil {
					return err
				}
				r.e.Streams[len(r.e.Streams)-1].Columns[0].Integer = true
			}
		}
	}
	if len(names) == 0 {
		names = listed
	}
	r.e.Attributes.Task = strings.Join(names, "; ")
	if all := strings.Join(listed, "; "); len(listed) > 0 && all != r.e.Attributes.Task {
		r.e.Attributes.Other["tasks"] = all
	}
	return nil
}

// placed converts task numbers to indices in Info.Tasks. They are equal unless the task list has gaps; then a number missing from the
// list becomes -1.
func (s *Set) placed(numbers []int64) []int64 {
	if s.places == nil {
		return numbers
	}
	list := make([]int64, len(numbers))
	for i, n := range numbers {
		list[i] = -1
		if at, ok := s.places[n]; ok {
			list[i] = int64(at)
		}
	}
	return list
}

// named returns an episode's tasks in order of appearance.
func (r *reader) named(list []int64) (names []string, err error) {
	seen := map[int64]bool{}
	unknown := 0
	for i, n := range list {
		if i > 0 && n == list[i-1] || seen[n] {
			continue
		}
		seen[n] = true
		if task, ok := r.set.tasks[n]; ok {
			names = append(names, task)
		} else {
			unknown++
		}
	}
	return names, r.damage(dataset.Note{Code: dataset.CodeTaskUnlisted, Count: unknown}, "task_index of no task", "one of the list")
}
