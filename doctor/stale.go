package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/internal/text"
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
	stated   map[string]*dataset.Stated
	of       map[string][]moments // by column; empty of streams that cannot be compared
	rows     map[string]int
	order    []string
	declared map[string]bool
	lacks    []string // streams that are declared and have samples, and of which nothing is stated
}

// moments are what is compared of a column. What is stated is rounded, so sums of float64 are exact enough; package stats has exact ones.
type moments struct {
	summary.Pooled
	bad      int
	min, max float64
}

func (m *moments) take(k *columnTally, rows int) {
	n := float64(rows)
	if m.bad += k.bad; k.bad > 0 { // nothing is compared then
		return
	}
	if m.Count == 0 {
		m.min, m.max = k.min, k.max
	}
	m.min, m.max = min(m.min, k.min), max(m.max, k.max)
	apart := k.sum / n
	m.Add(n, k.shift+apart, max(0, k.square/n-apart*apart))
}

// staleOf returns what a dataset states; nil if nothing.
func staleOf(ctx context.Context, d dataset.Dataset) *stale {
	s, ok := d.(dataset.Stating)
	if !ok {
		return nil
	}
	list, err := s.Stated(ctx)
	if err != nil || list == nil {
		return nil // a broken file is noted by who needs it
	}
	t := &stale{stated: map[string]*dataset.Stated{}, of: map[string][]moments{}, rows: map[string]int{}, declared: map[string]bool{}}
	for _, f := range d.Info().Features {
		t.declared[f.Name] = true
	}
	for i := range list {
		t.stated[list[i].Stream] = &list[i]
		t.order = append(t.order, list[i].Stream)
	}
	return t
}

// add takes a stream of an episode in, if anything is stated of it.
func (t *stale) add(name string, v *values, k *tally) {
	switch {
	case t == nil:
		return
	case t.stated[name] == nil:
		if t.declared[name] && !slices.Contains(t.lacks, name) {
			t.lacks = append(t.lacks, name)
		}
		return
	}
	t.rows[name] += v.rows
	of, seen := t.of[name]
	if !seen {
		of = make([]moments, v.width)
	}
	if len(of) != v.width { // episodes differ, which is another finding
		of = of[:0]
	}
	for c := range of {
		of[c].take(&k.columns[c], v.rows)
	}
	t.of[name] = of
}

// found returns the findings. They are of all episodes, so there are none if some could not be read.
func (t *stale) found(path string) (list []Finding) {
	if t == nil {
		return nil
	}
	for _, name := range t.order {
		st, of := t.stated[name], t.of[name]
		if len(of) == 0 {
			continue
		}
		wrong, n := compareStated(st, of)
		if rows := t.rows[name]; st.Count > 0 && st.Count != rows {
			what := fmt.Sprintf("they are of %d samples, and there are %d", st.Count, rows)
			if wrong != "" {
				what += "; " + wrong
			}
			wrong, n = what, max(n, 1)
		}
		if n == 0 {
			continue
		}
		f := newFinding(StaleStats, name, n, fmt.Sprintf("%s: %s (%s)", st.Where, wrong, text.Count(n, "column differs", "columns differ")))
		f.Path = path
		list = append(list, *f)
	}
	for _, name := range t.lacks {
		f := newFinding(StaleStats, name, 1, "there are statistics, and none of it over all episodes: what normalises by them stops, or leaves it as it is")
		f.Path = path
		list = append(list, *f)
	}
	return list
}

// compareStated returns what is not as stated, of the first column where something is not, and of how many columns.
func compareStated(st *dataset.Stated, of []moments) (wrong string, n int) {
	for c := range of {
		m := &of[c]
		if m.Count == 0 || m.bad > 0 {
			continue
		}
		size := max(math.Abs(m.min), math.Abs(m.max)) * float32Off
		for _, k := range []struct {
			what        string
			stated      []float64
			is, allowed float64
		}{
			{"least value", st.Min, m.min, extremeOff*(m.max-m.min) + size},
			{"greatest value", st.Max, m.max, extremeOff*(m.max-m.min) + size},
			{"mean", st.Mean, m.Mean, meanOff*m.Std() + size},
			{"standard deviation", st.Std, m.Std(), stdOff*m.Std() + 100*size},
		} {
			switch {
			case k.stated == nil:
				continue
			case len(k.stated) != len(of):
				return fmt.Sprintf("the %s has %d columns, and there are %d", k.what, len(k.stated), len(of)), len(of)
			case math.Abs(k.stated[c]-k.is) <= k.allowed:
				continue
			}
			if n++; wrong == "" {
				wrong = fmt.Sprintf("the %s of column %d is stated as %s and is %s", k.what, c, short(k.stated[c]), short(k.is))
			}
			break
		}
	}
	return wrong, n
}
