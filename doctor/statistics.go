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

// Limits for differences of stated statistics that are no fault, because statistics are rounded, computed in float32 or divided by N-1.
const (
	extremeOff = 1e-3 // for min and max, as a share of the range
	meanOff    = 0.01 // for the mean, as a share of the standard deviation
	stdOff     = 0.02 // for the standard deviation, as a share of itself
	float32Off = 1e-5 // added to each limit, as a share of the greatest absolute value
)

// statistics compares the statistics that a dataset states with those of its data.
type statistics struct {
	stated   map[string]*dataset.Stated
	moments  map[string][]moments // by stream, one for each column; empty if the stream cannot be compared
	rows     map[string]int
	order    []string
	declared map[string]bool
	lacks    []string      // declared streams with samples and without statistics
	notes    dataset.Notes // parts that cannot be read
}

// moments are the statistics of a column. Stated statistics are rounded, so float64 sums are precise enough; package stats has exact sums.
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

// statisticsOf returns the stated statistics of a dataset; nil if it states none.
func statisticsOf(ctx context.Context, d dataset.Dataset) *statistics {
	s, ok := d.(dataset.Stating)
	if !ok {
		return nil
	}
	list, notes, err := s.Stated(ctx)
	if err != nil || list == nil && notes == nil {
		return nil
	}
	t := &statistics{notes: notes, stated: map[string]*dataset.Stated{}, moments: map[string][]moments{}, rows: map[string]int{}, declared: map[string]bool{}}
	for _, f := range d.Info().Features {
		t.declared[f.Name] = true
	}
	for i := range list {
		t.stated[list[i].Stream] = &list[i]
		t.order = append(t.order, list[i].Stream)
	}
	return t
}

// add adds the samples of a stream in an episode, if statistics of the stream are stated.
func (t *statistics) add(name string, v *values, k *tally) {
	switch {
	case t == nil || t.order == nil && t.notes != nil:
		return
	case t.stated[name] == nil:
		if t.declared[name] && !slices.Contains(t.lacks, name) {
			t.lacks = append(t.lacks, name)
		}
		return
	}
	t.rows[name] += v.rows
	of, added := t.moments[name]
	if !added {
		of = make([]moments, v.width)
	}
	if len(of) != v.width { // episodes differ, which is another finding
		of = of[:0]
	}
	for c := range of {
		of[c].take(&k.columns[c], v.rows)
	}
	t.moments[name] = of
}

// found returns the findings. Only if all episodes were added are the statistics compared with the data.
func (t *statistics) found(path string, all bool) (list []Finding) {
	if t == nil {
		return nil
	}
	for _, name := range t.order {
		st, of := t.stated[name], t.moments[name]
		if !all {
			of = nil
		}
		wrong, n := compareStated(st, of)
		if rows := t.rows[name]; len(of) > 0 && st.Count > 0 && st.Count != rows {
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
	if !all {
		return list
	}
	for _, name := range t.lacks {
		f := newFinding(StaleStats, name, 1, "there are statistics, but none for it over all episodes: normalisation stops, or leaves it as it is")
		f.Path = path
		list = append(list, *f)
	}
	return list
}

// compareStated returns the first difference between declared and computed statistics, and the number of columns with a difference.
// A declared value that is not finite is always a difference.
func compareStated(st *dataset.Stated, of []moments) (wrong string, n int) {
	for _, k := range []struct {
		what   string
		stated []float64
	}{{"mean", st.Mean}, {"standard deviation", st.Std}, {"least value", st.Min}, {"greatest value", st.Max}} {
		bad := 0
		for c, v := range k.stated {
			if v-v == 0 {
				continue
			}
			if bad++; wrong == "" {
				wrong = fmt.Sprintf("the %s of column %d is stated as %s, by which every value becomes NaN", k.what, c, short(v))
			}
		}
		n = max(n, bad)
	}
	if n > 0 {
		return wrong, n
	}
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
