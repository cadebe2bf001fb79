package doctor

import (
	"context"
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/stats"
)

// The rules of statistics: what a dataset states may be rounded, made in float32 or divided by one less, and differs by less than this then.
const (
	extremeOff = 1e-3 // of the range
	meanOff    = 0.01 // of the standard deviation
	stdOff     = 0.02 // of itself
	float32Off = 1e-5 // of the greatest value
)

// stale compares the statistics that a dataset states with those of its data.
type stale struct {
	stated map[string]*dataset.Stated
	of     map[string]*stats.Accumulator // nil of streams that cannot be compared
	order  []string
}

// staleOf returns what a dataset states; nil if nothing.
func staleOf(ctx context.Context, d dataset.Dataset) *stale {
	s, ok := d.(dataset.Stating)
	if !ok {
		return nil
	}
	list, err := s.Stated(ctx)
	if err != nil || len(list) == 0 {
		return nil // a broken file is noted by who needs it
	}
	t := &stale{map[string]*dataset.Stated{}, map[string]*stats.Accumulator{}, nil}
	for i := range list {
		t.stated[list[i].Stream] = &list[i]
		t.order = append(t.order, list[i].Stream)
	}
	return t
}

// add takes an episode in.
func (t *stale) add(e *dataset.Episode) {
	if t == nil {
		return
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if t.stated[s.Name] == nil {
			continue
		}
		a, seen := t.of[s.Name]
		if !seen {
			a, _ = stats.NewAccumulator(len(s.Columns), s.Values.DType(), nil)
			t.of[s.Name] = a
		}
		if a != nil && a.Add(s.Values) != nil {
			t.of[s.Name] = nil // episodes differ, which is another finding
		}
	}
}

// found returns the findings. They are of all episodes, so there are none if some could not be read.
func (t *stale) found(path string) (list []Finding) {
	if t == nil {
		return nil
	}
	for _, name := range t.order {
		a := t.of[name]
		if a == nil {
			continue
		}
		if _, err := a.Next(); err != nil {
			continue
		}
		st := t.stated[name]
		wrong, n, columns := "", 0, a.Columns()
		note := func(what string, c int, stated, is float64) {
			if n++; wrong == "" {
				wrong = fmt.Sprintf("the %s of column %d is stated as %s and is %s", what, c, short(stated), short(is))
			}
		}
		for c, col := range columns {
			size := max(math.Abs(col.Min), math.Abs(col.Max)) * float32Off
			if col.Count == 0 || col.NotFinite > 0 {
				continue
			}
			for _, k := range []struct {
				what        string
				stated      []float64
				is, allowed float64
			}{
				{"least value", st.Min, col.Min, extremeOff*(col.Max-col.Min) + size},
				{"greatest value", st.Max, col.Max, extremeOff*(col.Max-col.Min) + size},
				{"mean", st.Mean, col.Mean, meanOff*col.Std + size},
				{"standard deviation", st.Std, col.Std, stdOff*col.Std + 100*size},
			} {
				if k.stated == nil {
					continue
				}
				if len(k.stated) != len(columns) {
					note(fmt.Sprintf("number of columns of the %s", k.what), c, float64(len(k.stated)), float64(len(columns)))
					break
				}
				if !(math.Abs(k.stated[c]-k.is) <= k.allowed) {
					note(k.what, c, k.stated[c], k.is)
					break
				}
			}
		}
		if rows := rowsOf(columns); st.Count > 0 && st.Count != rows {
			what := fmt.Sprintf("they are of %d samples, and there are %d", st.Count, rows)
			if wrong != "" {
				what += "; " + wrong
			}
			wrong, n = what, max(n, 1)
		}
		if n == 0 {
			continue
		}
		f := newFinding(StaleStats, name, n, fmt.Sprintf("%s: %s (%s)", st.Where, wrong, count(n, "column differs", "columns differ")))
		f.Path = path
		list = append(list, *f)
	}
	return list
}

// rowsOf returns how many rows statistics are of.
func rowsOf(columns []stats.Column) int {
	if len(columns) == 0 {
		return 0
	}
	return int(columns[0].Count + columns[0].NotFinite)
}
