package rlds

import (
	"bytes"
	"cmp"
	"fmt"
	"github.com/robocache/robocache/dataset"
	"slices"
	"strings"
	"unicode/utf8"
)

// taskOf returns the leaf with the instruction, or nil: a text, preferably in the steps, or numbers that spell a text, as in
// language_table.
func taskOf(leaves []*leaf) *leaf {
	names := []string{"language_instruction", "natural_language_instruction"}
	rank := func(l *leaf) int {
		i := slices.Index(names, l.last())
		switch {
		case l.why != "":
		case l.kind == texts && i >= 0 && l.perStep():
			return i
		case l.kind == texts && i >= 0:
			return i + 2
		case l.last() == "instruction" && l.perStep() && l.depth == 1 && l.dtype == "int32" && len(l.shape) == 1 && l.encoding == "":
			return 4
		}
		return 5
	}
	if len(leaves) == 0 {
		return nil
	}
	best := slices.MinFunc(leaves, func(a, b *leaf) int {
		return cmp.Or(rank(a)-rank(b), len(a.key)-len(b.key), cmp.Compare(a.key, b.key))
	})
	if rank(best) == 5 {
		return nil
	}
	return best
}

// say adds a text for the whole episode: the task, or an attribute.
func (b *builder) say(p *part, text string) {
	if p.leaf == b.set.task {
		b.e.Attributes.Task = text
		return
	}
	b.e.Attributes.Other[p.key] = text
}

// text adds each step's text. If all are equal, it is the episode's text; otherwise an attribute lists the changes. Steps without a
// text do not change the task.
func (b *builder) text(p *part, times []int64) {
	series := dataset.TextStream{Name: p.key}
	var last, only []byte // the previous text; the only text that is not empty
	var first []byte
	var changes []string
	step, bad, several := 0, -1, false
	for w := p.body; ; step++ {
		text, ok := w.item() // count has checked that all items are valid
		if !ok {
			break
		}
		if step > 0 && bytes.Equal(text, last) {
			continue
		}
		if bad < 0 && !utf8.Valid(text) {
			bad = step
		}
		if bad < 0 && step < len(times) {
			series.Times, series.Values = append(series.Times, times[step]), append(series.Values, string(text))
		}
		if bad < 0 && step == 0 {
			first = text
		} else if bad < 0 {
			changes = append(changes, fmt.Sprintf("%d: %s", step, text))
		}
		if last = text; len(text) > 0 {
			several = several || len(only) > 0 && !bytes.Equal(text, only)
			only = text
		}
	}
	series.Task = p.leaf == b.set.task && several
	if bad < 0 && len(series.Times) > 0 && (series.Task || p.leaf != b.set.task || p.key == b.set.opt.TaskFrom) {
		b.e.Texts = append(b.e.Texts, series)
	}
	switch {
	case bad >= 0:
		b.e.Notes = append(b.e.Notes, dataset.Note{Code: dataset.CodeNotUTF8, Subject: p.name(), Count: p.n, Row: dataset.At(bad)})
	case step > 0 && len(changes) == 0:
		b.say(p, string(last))
	case step > 0:
		b.e.Attributes.Other[p.key] = strings.Join(append([]string{fmt.Sprintf("0: %s", first)}, changes...), "\n")
		if p.leaf == b.set.task && !several {
			b.e.Attributes.Task = string(only)
		}
	}
}

// text returns the UTF-8 text that numbers spell, one byte each, padded with zeros; empty if they spell none, or change.
func (v *values) text(width int) string {
	if len(v.double) < width || width == 0 {
		return ""
	}
	for i, x := range v.double[width:] {
		if x != v.double[i] {
			return ""
		}
	}
	var b []byte
	for _, x := range v.double[:width] {
		if x < 0 || x > 255 {
			return ""
		}
		if x != 0 {
			b = append(b, byte(x))
		}
	}
	if !utf8.Valid(b) {
		return ""
	}
	return string(b)
}
