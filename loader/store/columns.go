package store

import (
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
)

// Recorders write a stream's columns in any order, so the columns of several episodes are matched by name. The first episode sets the
// order, and it also sets which columns are integers or a rotation. A quaternion in another order has different numbers, unless the
// column names end with x, y, z and w.

// columnMap maps a stream's columns to the wanted columns.
type columnMap struct {
	at      []int         // each wanted column's index; nil if the stream has the wanted columns alone, in their order
	differs dataset.Notes // about differences from the first episode, without a subject
}

// Fits reports whether a stream with the columns have contains all columns in want: see [Episode.Fit].
func Fits(want, have []dataset.Column) bool {
	_, why := fit(want, have, false)
	return why.Code == ""
}

// fit finds the wanted columns by their names. If several columns have one name, they are taken in their order. If a column is missing,
// it returns a note with the reason, else a note without a code. planned is set if a plan names the columns: additional ones are then no
// difference.
func fit(want, have []dataset.Column, planned bool) (f columnMap, why dataset.Note) {
	if dataset.SameColumns(want, have) {
		return f, why
	}
	if !planned && len(want) != len(have) && unnamed(want) && unnamed(have) {
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
		why.Code, why.Got, why.Names = dataset.CodeColumnsLacking, listNames(columns.Names(have)), missing
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
			f.differs = append(f.differs, dataset.Note{Code: code, Detail: dataset.Detail{Names: list}})
		}
	}
	if !slices.IsSorted(f.at) {
		differ(columns.Names(have), dataset.CodeColumnsReordered)
	}
	if !planned {
		differ(more, dataset.CodeColumnsExtra)
	}
	differ(whole, dataset.CodeColumnsFractional)
	differ(fractional, dataset.CodeColumnsWhole)
	if len(more) == 0 && slices.IsSorted(f.at) {
		f.at = nil
	}
	return f, why
}

// unnamed reports whether the columns have their indexes as names.
func unnamed(columns []dataset.Column) bool {
	for i, c := range columns {
		if strings.Trim(c.Name, "[]") != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// pickColumns returns a stream's columns that a plan's entries name, as recorded and in that order. It returns all columns without
// entries, or if an entry is a range, because a range counts columns. If an entry matches no column, the error is an
// *align.StreamError.
func pickColumns(s *dataset.Stream, entries []string) (some []dataset.Column, err error) {
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

// Columns returns the columns that a plan's streams take from each recorded stream, for BuildOptions.Columns.
func Columns(streams []align.Stream) map[string][]string {
	of, all := map[string][]string{}, map[string]bool{}
	for _, s := range streams {
		from := s.Source()
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
