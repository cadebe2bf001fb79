package csv

import (
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/clockname"
	"github.com/robocache/robocache/dataset/internal/texttable"
	"github.com/robocache/robocache/internal/decimal"
)

// steps is the clock of rows that have no times.
const steps = "steps"

// clock is where timestamps can come from.
type clock struct {
	column, low int // low is the column of nanoseconds of a pair, else -1
	read        texttable.Clock
	label       string // as Info.Clocks has it: "time [ms]"
	rank        int    // 0 if the whole name is a clock's, 1 if only its last part is
	judged      string // the reason for the unit, if the name has none
}

// splitUnit removes a unit in brackets from the end of a name. Brackets directly after the name are only a unit if it is a time
// unit, because "q[0]" is a name.
func splitUnit(name string) (bare, unit string) {
	for _, b := range []string{"[]", "()"} {
		i := strings.LastIndexByte(name, b[0])
		if i <= 0 || !strings.HasSuffix(name, b[1:]) {
			continue
		}
		unit = strings.TrimSpace(name[i+1 : len(name)-1])
		if _, ofTime := clockname.Units[strings.ToLower(unit)]; ofTime || name[i-1] == ' ' {
			return strings.TrimSpace(name[:i]), unit
		}
	}
	return name, ""
}

// lastPart returns the part of a name after the last dot or slash.
func lastPart(name string) string { return name[strings.LastIndexAny(name, "./")+1:] }

// clocks lists the possible clocks of a table, the default first.
func (s *shape) clocks() []clock {
	var list []clock
	if !s.header {
		return nil
	}
	lows := s.lows()
	for i, name := range s.names {
		if before, ok := s.isHigh(i); ok {
			if low, ok := lows[before]; ok {
				list = append(list, clock{column: i, low: low, label: name + " + " + s.names[low]})
				continue
			}
		}
		exponent, known, ok := clockname.Of(name, s.units[i])
		rank := 0
		if !ok {
			rank = 1
			exponent, known, ok = clockname.Of(lastPart(name), s.units[i])
		}
		if c, fits := s.clockAt(i, exponent, known); ok && fits {
			c.rank = rank
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b clock) int { return a.rank - b.rank })
	return list
}

// lows returns the columns that may be the nanoseconds of a time, with its seconds in another column. The keys are the names before
// the unit.
func (s *shape) lows() map[string]int {
	list := map[string]int{}
	for i, name := range s.names {
		before, ok := cutUnit(name, -9)
		if !ok || !s.stats[i].times(texttable.Clock{Exponent: -9}) {
			continue
		}
		if !slices.ContainsFunc(s.stats[i].words, func(w []byte) bool {
			ns, _, _ := decimal.Nanoseconds(w, -9)
			return ns < 0 || ns >= 1e9
		}) {
			list[before] = i
		}
	}
	return list
}

// isHigh reports whether column i is the seconds of a time, and returns its name before the unit.
func (s *shape) isHigh(i int) (before string, ok bool) {
	before, ok = cutUnit(s.names[i], 0)
	return before, ok && s.stats[i].times(texttable.Clock{})
}

// cutUnit takes the word of a unit off the end of a name.
func cutUnit(name string, exponent int) (before string, ok bool) {
	name = strings.ToLower(name)
	at := strings.LastIndexAny(name, "._/- ") + 1
	e, ok := clockname.Units[name[at:]]
	return name[:at], ok && e == exponent
}

// clockAt makes a clock of column i, in a unit that is judged unless it is known. It fails if there are rows and the column holds no times.
func (s *shape) clockAt(i, exponent int, known bool) (clock, bool) {
	c := clock{column: i, low: -1, read: texttable.Clock{Exponent: exponent}, label: s.names[i]}
	st := &s.stats[i]
	switch {
	case st.dates > st.numbers:
		c.read = texttable.Clock{ISO: true}
		return c, st.times(c.read)
	case !known:
		c.read.Exponent, c.judged = judge(st.words)
	}
	c.label += " [" + texttable.Unit(c.read.Exponent) + "]"
	return c, s.rows == 0 || st.times(c.read)
}

// judge returns the unit of timestamps, and why it is taken.
func judge(words [][]byte) (exponent int, why string) {
	var times []float64
	for _, w := range words {
		if v, _, ok := decimal.Float(w); ok && v == v {
			times = append(times, v)
		}
	}
	return clockname.Judge(times)
}

// choices lists every clock that a caller may select, the default first: columns with clock names, a column with a guessed unit
// once for each unit, and other columns with rising numbers once for each unit.
func (s *shape) choices() []clock {
	list := s.clocks()
	taken := map[int]bool{}
	called := make(map[string]bool, len(list))
	for _, c := range list {
		called[c.label] = true
	}
	in := func(column int) {
		for _, exponent := range []int{0, -3, -6, -9} {
			if c, ok := s.clockAt(column, exponent, true); ok && !called[c.label] {
				called[c.label] = true
				list = append(list, c)
			}
		}
	}
	for _, c := range slices.Clone(list) {
		taken[c.column], taken[c.low] = true, true
		if c.judged != "" {
			in(c.column)
		}
	}
	for i := range s.stats {
		if !taken[i] && s.stats[i].rises() {
			in(i)
		}
	}
	return list
}

// rises reports whether most fields are numbers that never fall and sometimes rise.
func (s *stats) rises() bool {
	before, more := math.Inf(-1), 0
	for _, w := range s.words {
		switch v, _, ok := decimal.Float(w); {
		case !ok:
		case v < before:
			return false
		case v > before:
			before = v
			more++
		}
	}
	return more > 1 && !s.text()
}

// choose returns the clock with a label, or the default for an empty label; nil for steps. It also returns all valid labels.
func (s *shape) choose(asked string) (chosen *clock, all []string, err error) {
	list := s.choices()
	for i := range list {
		if all = append(all, list[i].label); list[i].label == asked {
			chosen = &list[i]
		}
	}
	switch named := len(s.clocks()) > 0; {
	case named:
		all = append(all, steps)
	default:
		all = append([]string{steps}, all...)
	}
	if asked == "" && all[0] != steps {
		chosen = &list[0]
	}
	if asked != "" && !slices.Contains(all, asked) {
		err = &dataset.OptionError{Arg: "Clock", Got: asked, Want: strings.Join(all[:min(len(all), 40)], " or ")}
	}
	return chosen, all, err
}
