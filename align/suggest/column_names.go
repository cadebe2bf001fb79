package suggest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/text"
)

// mostNames is how many names a note has before it counts the others.
const mostNames = 4

// entry is how a plan calls columns lo to hi-1.
type entry struct {
	name   string
	lo, hi int
}

// spoken is why, with the names of the columns where a range has none.
func (e *entry) spoken(cols []dataset.Column, why string) string {
	names := text.List(runs(columns.Names(cols), indices(e.lo, e.hi)), mostNames)
	switch {
	case !strings.Contains(e.name, ":"), e.name == cols[e.lo].Name:
		return why
	case strings.Trim(cols[e.lo].Name, "[]") == strconv.Itoa(e.lo): // a name that says no more
		return why
	case why == "":
		return names
	}
	return names + ": " + why
}

// entries calls neighbouring columns by the name of their array, else by a range, else each by its name.
func entries(cols []dataset.Column, lo, hi int) []entry {
	want := indices(lo, hi)
	for _, name := range []string{baseOf(cols[lo].Name), cols[lo].Name, fmt.Sprintf("%d:%d", lo, hi)} {
		if name != "" && slices.Equal(columns.Find(cols, name), want) {
			return []entry{{name, lo, hi}}
		}
	}
	var list []entry
	for k := lo; k < hi; k++ { // ranges of one column cannot be taken for a name unless one is called so
		name := fmt.Sprintf("%d:%d", k, k+1)
		if slices.Equal(columns.Find(cols, cols[k].Name), []int{k}) {
			name = cols[k].Name
		}
		list = append(list, entry{name, k, k + 1})
	}
	return list
}

// indices are lo to hi-1.
func indices(lo, hi int) []int {
	list := make([]int, hi-lo)
	for k := range list {
		list[k] = lo + k
	}
	return list
}

// baseOf is the name of the array or struct that a column is of: q of q[0], pose.position of pose.position.x.
func baseOf(name string) string {
	if i := strings.LastIndexAny(name, "[."); i > 0 {
		return name[:i]
	}
	return ""
}

// wanted returns the entries of a plan for the columns that are taken; nil for all.
func (s *candidate) wanted() (list []entry) {
	if s.take == nil {
		return nil
	}
	cols := s.see.Columns
	for k := 0; k < len(s.take); {
		lo, end := s.take[k], k+1
		for base := baseOf(cols[lo].Name); base != "" && end < len(s.take) && s.take[end] == lo+end-k && baseOf(cols[s.take[end]].Name) == base; {
			end++
		}
		list = append(list, entries(cols, lo, lo+end-k)...)
		k = end
	}
	if len(list) <= mostEntries {
		return list
	}
	list = nil
	for k := 0; k < len(s.take); { // in ranges
		lo, end := s.take[k], k+1
		for end < len(s.take) && s.take[end] == lo+end-k {
			end++
		}
		list = append(list, entries(cols, lo, lo+end-k)...)
		k = end
	}
	return list
}

// sayable reports whether the entries name the columns that are taken and no others.
func (s *candidate) sayable() bool {
	var all []int
	for _, e := range s.wanted() {
		all = append(all, columns.Find(s.see.Columns, e.name)...)
	}
	return slices.Equal(all, s.take)
}

// mostEntries is how many names of columns a plan lists before ranges are easier to read.
const mostEntries = 12

// runs names columns, three neighbours of an array and more as one.
func runs(names []string, at []int) (list []string) {
	for k := 0; k < len(at); {
		end := k + 1
		for base := baseOf(names[at[k]]); base != "" && end < len(at) && at[end] == at[k]+end-k && baseOf(names[at[end]]) == base; {
			end++
		}
		if end-k < 3 {
			end = k + 1
			list = append(list, names[at[k]])
		} else {
			list = append(list, names[at[k]]+" to "+names[at[end-1]])
		}
		k = end
	}
	return list
}

// taken are the numbers of the columns that are taken.
func (s *candidate) taken() []int {
	if s.take != nil {
		return s.take
	}
	return indices(0, len(s.see.Columns))
}
