package doctor

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// notFinite reports NaN and infinite values. Columns without any finite value are a finding of their own.
func (x *examiner) notFinite(s *dataset.Stream, v *values, t *tally) {
	if len(t.bad) == 0 {
		return
	}
	var some, never []string
	for c := range t.columns {
		switch n := t.columns[c].bad; {
		case n == v.rows:
			never = append(never, s.Columns[c].Name)
		case n > 0:
			some = append(some, s.Columns[c].Name)
		}
	}
	if len(some) > 0 {
		rows := t.bad
		if len(never) > 0 { // which are in every row
			rows = v.badRows(columnsOf(s, some))
		}
		n := len(rows)
		f := x.add(NaN, s.Name, n, fmt.Sprintf("%s of %d with NaN or infinite values, in %s", text.Count(n, "sample"), v.rows, text.List(some, mostNames)))
		x.show(f, s, v, columnsOf(s, some), rows)
	}
	if len(never) > 0 {
		f := x.add(NaN, s.Name, v.rows, "")
		f.whole(x.times[s.Name])
		f.Columns = never
		f.describeUnfilled(text.List(never, mostNames))
		if x.e.Frames == 0 { // a message type may have fields that its publisher leaves NaN
			f.Severity = Information
			f.WhatToDo = "Leave these columns out of the plan: the message has the fields, and nobody fills them."
		}
	}
}
