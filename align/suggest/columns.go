package suggest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
)

// This file chooses the interpolation method for each column.

var (
	linear   = ops.InterpLinear.String()
	previous = ops.InterpPrevious.String()
	slerp    = ops.InterpSlerp.String()
	angle    = ops.InterpAngle.String()
	mean     = ops.InterpWindowMean.String()
)

// lowered is the minimum ratio of a sensor's rate to the clock's rate at which a plan averages the samples between ticks.
const lowered = 2

// columns sets the interpolation method (the kind) of each selected column, and the reason if it is not the default method.
func (g *draft) columns(s *candidate) {
	all := s.see.Columns
	kinds, causes := make([]string, len(all)), make([]string, len(all))
	plain := linear
	if s.role == command || g.policy {
		plain = previous
	}
	s.policy = g.policy
	for i, c := range all {
		kinds[i] = plain
		switch {
		case c.Integer:
			kinds[i] = previous
		case s.rate >= lowered*g.rate && recognise.IsSensor(s.from, s.typ, c.Name):
			kinds[i] = mean
		case plain == linear && recognise.IsCommand(c.Name):
			kinds[i], causes[i] = previous, "a command, which holds until the next"
		}
	}
	if plain == linear {
		for _, w := range s.see.Switches() {
			kinds[w.Column], causes[w.Column] = previous, w.Why
		}
	}
	s.angles(kinds, causes, plain)
	s.quaternions(kinds, causes, plain, g.custom)
	s.kinds, s.causes = nil, nil
	for _, i := range s.taken() {
		s.kinds, s.causes = append(s.kinds, kinds[i]), append(s.causes, causes[i])
		s.window = s.window || kinds[i] == mean
	}
	if never := s.see.Constant(); len(never) == len(all) {
		s.note("it never changes")
	} else if len(never) > 0 {
		never = slices.DeleteFunc(never, func(i int) bool { return !slices.Contains(s.taken(), i) })
		if len(never) > 0 {
			s.note("never changing: %s", text.List(runs(columns.Names(all), never), mostNames))
		}
	}
	counts, _ := s.see.NotFinite()
	var some []string
	for _, i := range s.taken() {
		if n := counts[i]; n > 0 {
			some = append(some, fmt.Sprintf("%s (%s)", all[i].Name, text.Count(n, "sample")))
		}
	}
	if len(some) > 0 {
		s.note("not always finite: %s", text.List(some, mostNames))
	}
	switch {
	case s.seldom:
		s.silent = true
		s.note("it speaks when something changes, and holds its value until then")
	case recognise.IsCommand(s.from) && s.gaps > s.steps/50:
		s.silent = true
		s.note("it is silent at times, and its last value holds meanwhile")
	case s.gaps > 0:
		s.note("%s longer than %v, the longest %.3g s", text.Count(s.gaps, "gap"), upTo(dataset.GapLimit(s.usual)), float64(s.longest)/1e9)
	}
}

// angles gives columns with angles the method angle if the default method would interpolate the wrong way round. A stream has one
// period, the most frequent one.
func (s *candidate) angles(kinds, causes []string, plain string) {
	found := s.see.Angles()
	degrees := 0
	for _, a := range found {
		if a.Period == recognise.Periods[1] {
			degrees++
		}
	}
	period := recognise.Periods[0]
	if 2*degrees > len(found) {
		period = recognise.Periods[1]
	}
	for _, a := range found {
		why := "an angle, " + a.By.String()
		if a.Wraps > 0 {
			why = fmt.Sprintf("an angle, which goes around %s", text.Count(a.Wraps, "time"))
		}
		switch {
		case plain != linear && a.Wraps > 0:
			s.note("goes around %s, with a jump of its value: %s", text.Count(a.Wraps, "time"), s.see.Columns[a.Column].Name)
			continue
		case plain != linear || kinds[a.Column] == previous:
			continue
		}
		if a.Period != period {
			causes[a.Column] = why + ", but of another period than others here"
			continue
		}
		kinds[a.Column], causes[a.Column] = angle, why
		if s.period = 0; period != recognise.Periods[0] {
			s.period = period
		}
	}
}

// quaternions gives quaternions the method slerp. If only the latest sample is used, it adds a reason instead.
func (s *candidate) quaternions(kinds, causes []string, plain string, custom dataset.Rotation) {
	for _, q := range s.see.Quaternions() {
		order := q.Order
		if order == dataset.RotationNone && q.By != recognise.ByFormat {
			order = custom
		}
		why := "a quaternion, " + q.By.String()
		if order != dataset.RotationNone {
			why = fmt.Sprintf("a %s, %s", order, q.By)
		}
		whole := true
		for k := q.At; k < q.At+4; k++ {
			whole = whole && slices.Contains(s.taken(), k) && !s.see.Columns[k].Integer
		}
		switch {
		case !whole:
			continue
		case plain != linear:
			s.note("%s: %s", why, text.List(runs(columns.Names(s.see.Columns), []int{q.At, q.At + 1, q.At + 2, q.At + 3}), mostNames))
			for k := q.At; k < q.At+4; k++ {
				kinds[k], causes[k] = plain, ""
			}
			continue
		}
		for k := q.At; k < q.At+4; k++ {
			kinds[k], causes[k] = slerp, why
		}
		if q.By != recognise.ByFormat && order != dataset.RotationNone {
			s.quat = strings.TrimPrefix(order.String(), "quaternion ")
		}
	}
}

// group is adjacent columns with one method and one reason. entry is the plan's name for them.
type group struct{ entry, kind, why string }

// groups returns the column groups with a method that the plan must name, because it differs from the default.
func (s *candidate) groups() (list []group) {
	cols := s.columns()
	for i := 0; i < len(cols); {
		end := i + 1
		if s.kinds[i] == slerp {
			end = i + 4
		} else {
			for end < len(cols) && s.kinds[end] == s.kinds[i] && s.causes[end] == s.causes[i] && baseOf(cols[end].Name) == baseOf(cols[i].Name) {
				end++
			}
		}
		if own := s.own(i); s.kinds[i] != own || own == slerp {
			for _, e := range entries(cols, i, end) {
				whole := s.kinds[i] != slerp || e.hi-e.lo == 4
				if whole && slices.Equal(columns.Find(cols, e.name), indices(e.lo, e.hi)) { // else a plan cannot express it
					list = append(list, group{e.name, s.kinds[i], e.spoken(cols, s.causes[i])})
				}
			}
		}
		i = end
	}
	return list
}

// columns returns the selected columns.
func (s *candidate) columns() []dataset.Column {
	var list []dataset.Column
	for _, i := range s.taken() {
		list = append(list, s.see.Columns[i])
	}
	return list
}

// own returns the method that column i gets if the plan sets none.
func (s *candidate) own(i int) string {
	cols := s.columns()
	if cols[i].Integer || s.policy { // the defaults of a policy's plan set previous
		return previous
	}
	for k := max(0, i-3); k <= i; k++ {
		if columns.RotationAt(cols, k) != dataset.RotationNone {
			return slerp
		}
	}
	return linear
}

// uniform returns the common method of all columns that are not whole numbers, and true if a plan can set it for the whole stream. It
// returns false if the methods differ, or for slerp, because it needs its own columns.
func (s *candidate) uniform() (string, bool) {
	kind := ""
	for i, c := range s.columns() {
		switch {
		case c.Integer:
		case kind == "":
			kind = s.kinds[i]
		case kind != s.kinds[i]:
			return "", false
		}
	}
	if kind == "" {
		kind = previous
	}
	return kind, kind != slerp
}
