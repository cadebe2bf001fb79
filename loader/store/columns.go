package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/tensor"
)

// Recorders write the columns of a stream in whatever order they come in, so those of several episodes are told by their names. Their order, which of them
// are whole numbers and which make a rotation is as the first episode has it. Quaternions of another order are other numbers, but where their names end with
// x, y, z and w.

// Fitting is how the columns of an episode's stream become those that are wanted.
type Fitting struct {
	at      []int         // where each wanted column is; nil where they are these, in this order
	Differs dataset.Notes // about differences from the first; their subject is set by Episode.differ
}

// Fit finds the wanted columns by their names, those of one name in the order that they come in; or it says why they cannot be had. If they were asked for,
// it is of no interest that there are more.
func Fit(want, have []dataset.Column, asked bool) (f Fitting, why dataset.Note) {
	if dataset.SameColumns(want, have) {
		return f, why
	}
	if !asked && len(want) != len(have) && unnamed(want) && unnamed(have) {
		why.Code, why.Got, why.Want = dataset.CodeColumnsUnnamed, strconv.Itoa(len(have)), strconv.Itoa(len(want))
		return f, why
	}
	places := make(map[string][]int, len(have))
	for i, c := range have {
		places[c.Name] = append(places[c.Name], i)
	}
	var missing, turned, whole, fractional, more []string
	taken := make([]bool, len(have))
	f.at = make([]int, len(want))
	for k, w := range want {
		list := places[w.Name]
		if len(list) == 0 {
			missing = append(missing, w.Name)
			continue
		}
		f.at[k], places[w.Name], taken[list[0]] = list[0], list[1:], true
		switch c := have[list[0]]; {
		case c.Rotation != w.Rotation && c.Rotation != dataset.RotationNone && w.Rotation != dataset.RotationNone && strings.TrimRight(w.Name, "xyzw") == w.Name:
			turned = append(turned, w.Name)
		case w.Integer && !c.Integer:
			whole = append(whole, w.Name)
		case c.Integer && !w.Integer:
			fractional = append(fractional, w.Name)
		}
	}
	switch {
	case len(missing) > 0:
		why.Code, why.Got, why.Names = dataset.CodeColumnsLacking, listed(namesOf(have)), missing
		return f, why
	case len(turned) > 0:
		why.Code, why.Names = dataset.CodeQuaternionOrder, turned
		return f, why
	}
	for i, c := range have {
		if !taken[i] {
			more = append(more, c.Name)
		}
	}
	differ := func(list []string, code dataset.Code) {
		if len(list) > 0 {
			f.Differs = append(f.Differs, dataset.Note{Code: code, Detail: dataset.Detail{Names: list}})
		}
	}
	if !slices.IsSorted(f.at) {
		differ(namesOf(have), dataset.CodeColumnsReordered)
	}
	if !asked {
		differ(more, dataset.CodeColumnsExtra)
	}
	differ(whole, dataset.CodeColumnsFractional)
	differ(fractional, dataset.CodeColumnsWhole)
	if len(more) == 0 && slices.IsSorted(f.at) {
		f.at = nil
	}
	return f, why
}

// Of returns the wanted columns of values [S,D].
func (f *Fitting) Of(values *tensor.Tensor) (*tensor.Tensor, error) {
	if f.at == nil {
		return values, nil
	}
	return values.Take(1, f.at)
}

// unnamed reports whether columns are called by their places alone.
func unnamed(columns []dataset.Column) bool {
	for i, c := range columns {
		if strings.Trim(c.Name, "[]") != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

func namesOf(columns []dataset.Column) []string {
	return (&dataset.Stream{Columns: columns}).ColumnNames()
}

// wanted returns the columns of a stream that entries of a plan ask for, in the order that they are recorded in; all without an entry, and with a range, which
// counts columns. One that is not there is an *align.StreamError.
func wanted(s *dataset.Stream, entries []string) (some []dataset.Column, err error) {
	if len(entries) == 0 {
		return s.Columns, nil
	}
	var at []int
	for _, entry := range entries {
		one := columns.Find(s.Columns, entry)
		if one == nil {
			got, want := columns.NoColumn(s.Columns, entry)
			return nil, &align.StreamError{Stream: s.Name, Got: got, Want: want}
		}
		if strings.Contains(entry, ":") && s.Columns[one[0]].Name != entry {
			return s.Columns, nil
		}
		at = append(at, one...)
	}
	slices.Sort(at)
	for _, i := range slices.Compact(at) {
		some = append(some, s.Columns[i])
	}
	return some, nil
}

// Columns returns which columns the streams of a plan take of each recorded stream, as BuildOptions.Columns has them.
func Columns(streams []align.Stream) map[string][]string {
	of, all := map[string][]string{}, map[string]bool{}
	for _, s := range streams {
		from := cmp.Or(s.From, s.Name)
		of[from] = append(of[from], s.Columns...)
		all[from] = all[from] || len(s.Columns) == 0
	}
	for name := range all {
		if all[name] {
			delete(of, name)
		}
	}
	return of
}
