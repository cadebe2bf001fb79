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

// mostNames is the maximum number of names in a note; the others are counted.
const mostNames = 4

// entry is a plan's name for columns lo to hi-1: a column's name, an array's name, or a range such as "0:7".
type entry struct {
	name   string
	lo, hi int
}

// spoken returns the reason why, preceded by the column names if the entry is a range, because a range does not show them.
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

// entries returns the names for adjacent columns lo to hi-1: the name of their array, or else a range, or else a name for each column.
func entries(cols []dataset.Column, lo, hi int) []entry {
	want := indices(lo, hi)
	for _, name := range []string{baseOf(cols[lo].Name), cols[lo].Name, fmt.Sprintf("%d:%d", lo, hi)} {
		if name != "" && slices.Equal(columns.Find(cols, name), want) {
			return []entry{{name, lo, hi}}
		}
	}
	var list []entry
	for k := lo; k < hi; k++ { // a range of one column is ambiguous only if a column has the range as its name
		name := fmt.Sprintf("%d:%d", k, k+1)
		if slices.Equal(columns.Find(cols, cols[k].Name), []int{k}) {
			name = cols[k].Name
		}
		list = append(list, entry{name, k, k + 1})
	}
	return list
}

// indices returns the numbers lo to hi-1.
func indices(lo, hi int) []int {
	list := make([]int, hi-lo)
	for k := range list {
		list[k] = lo + k
	}
	return list
}

// baseOf returns the name of a column's array or struct: "q" for q[0], "pose.position" for pose.position.x; empty if it has none.
func baseOf(name string) string {
	if i := strings.LastIndexAny(name, "[."); i > 0 {
		return name[:i]
	}
	return ""
}

// wanted returns the plan's entries for a stream's selected columns; nil if all are selected.
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
	for k := 0; k < len(s.take); { // ranges instead of names
		lo, end := s.take[k], k+1
		for end < len(s.take) && s.take[end] == lo+end-k {
			end++
		}
		list = append(list, entries(cols, lo, lo+end-k)...)
		k = end
	}
	return list
}

// sayable reports whether a plan can name exactly the selected columns. It cannot if, for example, two columns share a name.
func (s *candidate) sayable() bool {
	var all []int
	for _, e := range s.wanted() {
		all = append(all, columns.Find(s.see.Columns, e.name)...)
	}
	return slices.Equal(all, s.take)
}

// mostEntries is the maximum number of column names in a plan's list; a longer list has ranges instead.
const mostEntries = 12

// runs returns the names of columns for a text. Three or more adjacent columns of one array become one entry, "q[0] to q[6]".
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

// taken returns the indexes of the selected columns.
func (s *candidate) taken() []int {
	if s.take != nil {
		return s.take
	}
	return indices(0, len(s.see.Columns))
}
