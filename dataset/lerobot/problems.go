package lerobot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// problems counts what is not as declared, each kind at each place once.
type problems struct {
	list []problem
	at   map[[2]string]int
}

type problem struct {
	where, what, first string
	count              int
}

func (p *problems) add(where, what, detail string) {
	key := [2]string{where, what}
	if i, ok := p.at[key]; ok {
		p.list[i].count++
		return
	}
	if p.at == nil {
		p.at = map[[2]string]int{}
	}
	p.at[key] = len(p.list)
	p.list = append(p.list, problem{where, what, detail, 1})
}

// told returns the problems as dataset.Info has them.
func (p *problems) told() []dataset.Problem {
	list := make([]dataset.Problem, len(p.list))
	for i, one := range p.list {
		what := one.what + ": " + one.first
		if one.count > 1 {
			what = fmt.Sprintf("%s: %d, the first: %s", one.what, one.count, one.first)
		}
		list[i] = dataset.Problem{Where: one.where, What: what}
	}
	return list
}

// span is numbers that follow each other, both ends among them.
type span struct{ from, to int64 }

// spansOf returns the spans of numbers that ascend.
func spansOf(list []int64) (spans []span) {
	for _, n := range list {
		if last := len(spans) - 1; last >= 0 && spans[last].to == n-1 {
			spans[last].to = n
		} else {
			spans = append(spans, span{n, n})
		}
	}
	return spans
}

// ranges lists numbers: "3, 7-9 and 12 more".
func ranges(spans []span) string {
	var parts []string
	more := int64(0)
	for i, s := range spans {
		switch {
		case i >= 8:
			more += s.to - s.from + 1
		case s.from == s.to:
			parts = append(parts, strconv.FormatInt(s.from, 10))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", s.from, s.to))
		}
	}
	text := strings.Join(parts, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
