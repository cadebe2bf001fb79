package lerobot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// problems collects notes about wrong declarations. Each pair of code and subject has one note, which counts the others.
type problems struct {
	list dataset.Notes
	at   map[problemKey]int // index in list
}

type problemKey struct {
	code    dataset.Code
	subject string
}

type detail = dataset.Detail

// add counts a problem, and returns its note. The note keeps the first problem's row and details.
func (p *problems) add(code dataset.Code, subject string, row dataset.Row, d detail) *dataset.Note {
	key := problemKey{code, subject}
	i, ok := p.at[key]
	if !ok {
		if p.at == nil {
			p.at = map[problemKey]int{}
		}
		i = len(p.list)
		p.at[key] = i
		p.list = append(p.list, dataset.Note{Code: code, Subject: subject, Row: row, Detail: d})
	}
	p.list[i].Count++
	return &p.list[i]
}

// episodeRow returns the row for a note about an episode.
func episodeRow(number int64) dataset.Row { return dataset.At(int(number)) }

// span is a range of consecutive numbers; both ends are included.
type span struct{ from, to int64 }

// spansOf converts ascending numbers to spans.
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

// countOf counts the numbers in spans.
func countOf(spans []span) (n int64) {
	for _, s := range spans {
		n += s.to - s.from + 1
	}
	return n
}

// ranges formats numbers: "3, 7-9 and 12 more".
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
