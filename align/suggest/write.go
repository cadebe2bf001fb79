package suggest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/text"
)

// write writes the plan, and reads it back.
func (g *draft) write(chosen []*candidate) error {
	t := &planText{}
	chosen = slices.DeleteFunc(chosen, func(s *candidate) bool {
		odd := !writable(s.from) || slices.ContainsFunc(s.see.Columns, func(c dataset.Column) bool { return !writable(c.Name) })
		if odd {
			g.leave(s.from, dataset.CodeNameControl, dataset.Detail{})
		}
		return odd
	})
	if len(chosen) == 0 {
		return &clocks.NoStreamsError{Notes: g.out.Notes.Of(dataset.ClassLeftOut)}
	}
	g.head(t, chosen)
	past, ahead, short := 0, 0, ""
	if g.policy {
		past, ahead, short = g.windows()
	}
	t.WriteString("version: 1\n")
	t.value(0, "rate: "+strconv.FormatFloat(g.rate, 'f', -1, 64), "Hz of the common clock: "+g.why)
	t.because("rate", "", g.why)
	if g.sort {
		why := "timestamps step back: their samples are sorted by time"
		t.value(0, "unordered: sort", why)
		t.because("unordered", "", why)
	}
	shared := g.defaults(t, chosen)
	t.WriteString("\nstreams:\n")
	airy := slices.ContainsFunc(chosen, func(s *candidate) bool { return !g.policy || len(s.notes) > 0 || s.limit() != shared })
	for i, s := range chosen {
		if i > 0 && airy {
			t.WriteString("\n")
		}
		g.writeStream(t, i, s, shared, len(chosen) == 1)
	}
	if g.policy {
		g.writeWindows(t, chosen, past, ahead, short)
	}
	g.filter(t)
	g.tail(t)
	g.out.Text, g.out.Reasons = t.Bytes(), t.reasons
	p, err := planfile.Parse("", g.out.Text)
	if err != nil {
		return fmt.Errorf("align: the plan that was made is none: %w", err)
	}
	g.out.Plan = p
	return nil
}

// head writes the comment at the top of the file, which explains the methods in it.
func (g *draft) head(t *planText, chosen []*candidate) {
	what := fmt.Sprintf("A first plan for %s (%s), to look over and to change.", g.name, g.format)
	if g.out.Looked < g.out.Episodes {
		what += fmt.Sprintf(" It was made by looking at %d of its %s.", g.out.Looked, text.Count(g.out.Episodes, "episode"))
	}
	t.above(0, what)
	if g.info.RateFrom == "caller" {
		t.above(0, fmt.Sprintf("The recordings count steps: commands that take this plan need --rate %v too.", g.info.Rate))
	}
	if g.labelled {
		t.above(0, "Columns that are times or identifiers are left out, as no measurements.")
	}
	if slices.ContainsFunc(chosen, func(s *candidate) bool {
		return !s.whole && slices.ContainsFunc(s.columns(), func(c dataset.Column) bool { return c.Integer })
	}) {
		t.above(0, "Whole numbers keep their last value, whatever the method of their stream.")
	}
	if g.policy {
		t.above(0, "It is for training a policy. For resampling alone, methods that look ahead are better: linear, and slerp for quaternions.")
	}
}

const (
	whyGap       = "three usual steps, 20 ms at least: values between samples that are further apart are not valid"
	whyTolerance = "three usual steps, 20 ms at least: a sample that is older is not valid"
	whyAuto      = "of cameras: three usual steps, 20 ms at least; streams have their own"
	whyPrevious  = "the latest sample: a policy sees nothing later than its time"
	whyMeanStd   = "(x - mean) * (1 / std) over the episodes that are drawn from; train has its own"
)

// defaults writes the settings that all streams share, and returns their common limit, or 0 if each stream has its own.
func (g *draft) defaults(t *planText, chosen []*candidate) (shared time.Duration) {
	all := map[time.Duration]bool{}
	for _, s := range chosen {
		if d := s.limit(); d > 0 || !g.policy || !s.window {
			all[d] = true
			shared = d
		}
	}
	cameras := false
	for i := range g.summary.Media { // the defaults also apply to cameras
		if r := g.summary.Media[i].Rate(); r > 0 {
			cameras = true
			all[max(shared, upTo(dataset.GapLimit(int64(1e9/r))))] = true
		}
	}
	key, why := "max_gap", whyGap
	if g.policy {
		key, why = "tolerance", whyTolerance
	}
	if len(all) != 1 || len(chosen) == 1 {
		shared = 0
	}
	if g.own = cameras && shared == 0; g.policy || g.own || shared > 0 {
		t.WriteString("\ndefaults:\n")
	}
	if g.policy {
		t.value(2, "method: "+previous, whyPrevious)
		t.because("defaults.method", "", whyPrevious)
	}
	if shared > 0 {
		t.value(2, fmt.Sprintf("%s: %v", key, shared), why)
		t.because("defaults."+key, "", why)
	}
	if g.own {
		t.value(2, key+": auto", whyAuto)
		t.because("defaults."+key, "", whyAuto)
	}
	if g.policy {
		t.value(2, "normalise: mean-std", whyMeanStd)
		t.because("defaults.normalise", "", whyMeanStd)
	}
	if shared == 0 && len(all) > 1 {
		t.WriteString("\n")
		t.above(0, key+": "+why+".")
	}
	return shared
}

// limit returns the longest step between a stream's samples that is no gap; 0 for no limit.
func (s *candidate) limit() time.Duration {
	if s.silent || s.window {
		return 0
	}
	return upTo(dataset.GapLimit(s.usual))
}

// writeStream writes the settings of a stream.
func (g *draft) writeStream(t *planText, i int, s *candidate, shared time.Duration, alone bool) {
	key := func(part string) string { return fmt.Sprintf("streams[%d].%s", i, part) }
	about := fmt.Sprintf("%s Hz", hertz(s.rate))
	if n := len(s.columns()); n > 0 {
		about += ", " + text.Count(n, "column")
	}
	for _, n := range s.notes {
		t.because(key("name"), s.from, n)
	}
	for _, n := range s.notes {
		about += ". " + strings.ToUpper(n[:1]) + n[1:]
	}
	t.above(2, about)
	t.value(2, "- name: "+quoted(s.name, false), "")
	if s.name != s.from {
		t.value(4, "from: "+quoted(s.from, false), "")
	}
	if take := s.wanted(); take != nil {
		var names, spoken []string
		for _, e := range take {
			names = append(names, quoted(e.name, true))
			if words := e.spoken(s.see.Columns, ""); words != "" {
				spoken = append(spoken, words)
			}
		}
		t.value(4, "columns: ["+strings.Join(names, ", ")+"]", strings.Join(spoken, "; "))
	}
	g.writeKinds(t, i, s)
	if s.quat != "" {
		t.value(4, "quat: "+s.quat, "")
	}
	if s.period != 0 {
		why := "for its angles, which are degrees"
		t.value(4, fmt.Sprintf("period: %v", s.period), why)
		t.because(key("period"), s.from, why)
	}
	if s.window {
		why := "a step of the clock: each sample counts once"
		t.value(4, fmt.Sprintf("window: %v", time.Duration(1e9/g.rate).Round(time.Microsecond)), why)
		t.because(key("window"), s.from, why)
	}
	if s.seldom {
		t.value(4, "edge: hold", "")
	}
	name, why := "max_gap", whyGap
	if g.policy {
		name, why = "tolerance", whyTolerance
	}
	if d := s.limit(); d == 0 && g.own {
		t.value(4, name+": none", "")
	} else if d != 0 && d != shared {
		t.because(key(name), s.from, why)
		if !alone { // already written above
			why = ""
		}
		t.value(4, fmt.Sprintf("%s: %v", name, d), why)
	}
}

// writeKinds writes the kinds of a stream's columns.
func (g *draft) writeKinds(t *planText, i int, s *candidate) {
	key := fmt.Sprintf("streams[%d].method", i)
	kind, ok := s.uniform()
	if ok && g.policy && kind == previous { // the default in a policy's plan
		return
	}
	if ok {
		why := g.kindly(s, kind)
		for _, c := range s.causes {
			if c != "" && kind != linear && kind != mean {
				why = c
			}
		}
		t.value(4, "method: "+kind, why)
		t.because(key, s.from, why)
		return
	}
	groups := s.groups()
	if len(groups) == 1 {
		t.value(4, fmt.Sprintf("method: {%s: %s}", quoted(groups[0].entry, true), groups[0].kind), groups[0].why)
		t.because(key+"."+groups[0].entry, s.from, groups[0].why)
		return
	}
	if len(groups) == 0 {
		return
	}
	t.value(4, "method:", "")
	for _, g := range groups {
		t.value(6, quoted(g.entry, false)+": "+g.kind, g.why)
		t.because(key+"."+g.entry, s.from, g.why)
	}
}

// kindly returns the reason for a method that all columns of a stream have.
func (g *draft) kindly(s *candidate, kind string) string {
	switch {
	case kind == mean:
		return "a sensor that is faster than the clock: the mean of its samples, none is lost"
	case kind == previous && s.role == command:
		return "a command, which holds until the next"
	case kind == previous && s.whole:
		return "whole numbers are held, not interpolated"
	}
	return ""
}

// writeWindows writes the windows of a policy.
func (g *draft) writeWindows(t *planText, chosen []*candidate, past, ahead int, short string) {
	t.WriteString("\n")
	t.above(0, "From the anchor: a policy sees the ticks up to it, and predicts those from it on.")
	if short != "" {
		t.above(0, "They are "+short+".")
	}
	t.WriteString("windows:\n")
	for _, s := range chosen {
		window, why := fmt.Sprintf("[-%v, 0s]", ticksLong(past, g.rate)), text.Count(past, "tick")
		if s.role == action {
			window, why = fmt.Sprintf("[0s, %v]", ticksLong(ahead, g.rate)), text.Count(ahead, "tick")
		}
		t.value(2, quoted(s.name, false)+": "+window, why)
		t.because("windows."+s.name, s.from, why+strings.TrimRight(", "+short, ", "))
	}
}

// filter writes the plan's filter, if the plan is for a policy: the training split if other splits have episodes, too, and successful
// episodes if all episodes that were read have a success flag and some failed.
func (g *draft) filter(t *planText) {
	var parts, why []string
	if g.policy {
		with := 0
		for _, s := range g.info.Splits {
			if len(s.Episodes) > 0 {
				with++
			}
		}
		for _, s := range g.info.Splits {
			if with > 1 && (s.Name == "train" || s.Name == "training") && len(s.Episodes) > 0 {
				parts, why = append(parts, "split: "+s.Name), append(why, "the other splits are not trained on")
				break
			}
		}
		if g.good > 0 && g.bad > 0 && g.good+g.bad == g.out.Looked {
			parts, why = append(parts, "success: true"), append(why, fmt.Sprintf("%d of %d failed", g.bad, g.out.Looked))
		}
	}
	if len(parts) > 0 {
		t.WriteString("\n")
		t.value(0, "filter: {"+strings.Join(parts, ", ")+"}", strings.Join(why, "; "))
		t.because("filter", "", strings.Join(why, "; "))
	}
}

// tail lists cameras, and streams that the plan does not take.
func (g *draft) tail(t *planText) {
	if media := g.summary.Media; len(media) > 0 {
		t.WriteString("\n")
		t.above(0, "Cameras are taken by robocache batches --camera NAME=WIDTHxHEIGHT:")
		for i := range media {
			m := &media[i]
			size := ""
			if m.Width > 0 {
				size = fmt.Sprintf(" %dx%d", m.Width, m.Height)
			}
			t.item(fmt.Sprintf("%s, %s%s, %s Hz", m.Name, m.Encoding, size, hertz(m.Rate())))
		}
	}
	left := g.out.Notes.Of(dataset.ClassLeftOut)
	if len(left) == 0 {
		return
	}
	t.WriteString("\n")
	t.above(0, "Not taken; a line \"- name: NAME\" under streams takes one that has samples:")
	var reasons []string
	names := map[string][]string{}
	for _, n := range left {
		reason := g.sentence(n)
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], n.Subject)
	}
	for _, r := range reasons {
		t.item(strings.Join(names[r], ", ") + ": " + r)
	}
}
