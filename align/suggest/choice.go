package suggest

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
)

// This file chooses the streams that a plan takes.

// usable returns the streams that can be put on a clock, without the ones that only count time. It adds notes about the others.
func (g *draft) usable() (list []*candidate) {
	for _, s := range g.streams {
		columns := s.see.Columns
		labels := s.see.Labels()
		_, never := s.see.NotFinite()
		rest := slices.DeleteFunc(indices(0, len(columns)), func(i int) bool { return slices.Contains(labels, i) || slices.Contains(never, i) })
		switch {
		case s.samples == 0:
			g.leave(s.from, dataset.CodeNoSamples, dataset.Detail{})
			continue
		case len(columns) == 0:
			g.leave(s.from, dataset.CodeNoColumns, dataset.Detail{})
			continue
		case s.single:
			g.leave(s.from, dataset.CodeSingleTimestamp, dataset.Detail{})
			continue
		case len(rest) == 0 && len(never) > 0:
			g.leave(s.from, dataset.CodeNeverFinite, dataset.Detail{})
			continue
		case len(rest) == 0 && len(g.streams) > 1:
			g.leave(s.from, dataset.CodeOnlyIdentifiers, dataset.Detail{})
			continue
		}
		if s.backs > 0 {
			g.sort = true
			s.note("its timestamps step back %s: unordered sorts its samples", text.Count(s.backs, "time"))
		}
		if len(rest) < len(columns) && len(rest) > 0 {
			if s.take = rest; !s.sayable() { // in a plan, for columns of one name
				s.take = nil
			} else {
				g.without(s, labels, never)
			}
		}
		s.name, s.whole = s.from, true
		for _, i := range s.taken() {
			s.whole = s.whole && columns[i].Integer
		}
		s.seldom = s.seldom && s.whole
		list = append(list, s)
	}
	return list
}

// common returns the streams that at least half of the episodes have, with notes about the others. If there is none, it returns all.
func (g *draft) common(can []*candidate) []*candidate {
	rest := slices.DeleteFunc(slices.Clone(can), func(s *candidate) bool { return 2*s.episodes < g.out.Looked })
	if len(rest) == 0 {
		g.out.Notes.Add(dataset.Note{Code: dataset.CodeStreamsDiffer, Count: g.out.Looked})
		return can
	}
	for _, s := range can {
		switch {
		case 2*s.episodes < g.out.Looked:
			g.out.Notes.Add(dataset.Note{Code: dataset.CodeFewEpisodes, Subject: s.from, Count: s.episodes, Detail: dataset.Detail{Of: g.out.Looked}})
		case s.episodes < g.out.Looked:
			s.note("in %d of %s", s.episodes, text.Count(g.out.Looked, "episode"))
		}
	}
	return rest
}

// without adds remarks about a stream's columns that the plan does not take: labels are times or identifiers, never are never finite.
func (g *draft) without(s *candidate, labels, never []int) {
	names := columns.Names(s.see.Columns)
	if len(labels) > 0 {
		g.labelled = true
		s.note("without %s", text.List(runs(names, labels), mostNames))
	}
	if len(never) > 0 {
		s.note("without %s, never finite", text.List(runs(names, never), mostNames))
	}
}

// unlogged returns the streams except the ones about the robot's software. If there are no others, it returns all.
func (g *draft) unlogged(can []*candidate) []*candidate {
	rest := slices.DeleteFunc(slices.Clone(can), func(s *candidate) bool { return recognise.IsLog(s.from) })
	if len(rest) == 0 {
		return can
	}
	for _, s := range can {
		if recognise.IsLog(s.from) {
			g.leave(s.from, dataset.CodeOfPrograms, dataset.Detail{})
		}
	}
	return rest
}

// roles sets each stream's role, and returns the streams for the plan. If there are an action and states, the plan is for a policy, and
// takes only these. An option Action that does not exist, or that has no states next to it, is an error.
func (g *draft) roles(can []*candidate) ([]*candidate, error) {
	at, err := g.actionOf(can)
	if err != nil {
		return nil, err
	}
	var states []*candidate
	excluded := make([][]recognise.Exclusion, len(can))
	for i, s := range can {
		if recognise.IsCommand(s.from) {
			s.role = command
		}
		if excluded[i] = recognise.Exclusions(&g.info, s.from, s.see.Columns); i != at && !s.excluded(excluded[i]) {
			states = append(states, s)
		}
	}
	if g.policy = at >= 0 && len(states) > 0; !g.policy {
		if g.action != "" {
			return nil, &align.StreamError{Stream: g.action, Got: "no stream of states beside it", Want: "one that a policy may see"}
		}
		return can, nil
	}
	g.out.Policy = true
	for i, s := range can {
		for _, x := range excluded[i] {
			switch {
			case i == at:
			case s.excluded(excluded[i]):
				g.leave(s.from, dataset.CodeNotState, dataset.Detail{Got: x.Reason})
			default:
				g.leaveColumns(s, x)
			}
		}
	}
	act := can[at]
	if act.role = action; !recognise.IsAction(act.from) {
		act.name = "action"
		act.note("called action, the name for a policy's predictions")
	}
	return append(states, act), nil
}

// excluded reports whether the exclusions remove all selected columns of a stream.
func (s *candidate) excluded(list []recognise.Exclusion) bool {
	left := slices.Clone(s.taken())
	for _, x := range list {
		left = slices.DeleteFunc(left, func(i int) bool { return x.Columns == nil || slices.Contains(x.Columns, i) })
	}
	return len(left) == 0
}

// leaveColumns removes the columns of an exclusion from a stream's selection, with a note, if a plan can name the remaining columns.
func (g *draft) leaveColumns(s *candidate, x recognise.Exclusion) {
	all, taken := s.taken(), s.take
	s.take = slices.DeleteFunc(slices.Clone(all), func(i int) bool { return slices.Contains(x.Columns, i) })
	switch {
	case len(s.take) == len(all):
		s.take = taken
	case !s.sayable():
		s.take = taken
	default:
		names := columns.Names(s.see.Columns)
		g.leave(s.from, dataset.CodeColumnsNotState, dataset.Detail{Got: x.Reason, Names: runs(names, x.Columns)})
	}
}

// actionOf returns the index of the action's stream; -1 if there is none, or if several streams could be the action. If the option Action
// does not exist, the error is a *clocks.MissingError.
func (g *draft) actionOf(can []*candidate) (at int, err error) {
	if g.action != "" {
		if at = slices.IndexFunc(can, func(s *candidate) bool { return s.from == g.action }); at >= 0 {
			return at, nil
		}
		var names []string
		for _, s := range can {
			names = append(names, s.from)
		}
		return -1, &clocks.MissingError{Stream: g.action, Near: text.NearestStreams(g.action, names), Names: names}
	}
	if at = slices.IndexFunc(can, func(s *candidate) bool { return recognise.IsAction(s.from) }); at >= 0 {
		return at, nil
	}
	for i, s := range can {
		switch {
		case !recognise.IsAction(path.Base(s.from)):
		case at >= 0: // which of them is a person's choice
			return -1, nil
		default:
			at = i
		}
	}
	return at, nil
}

// mostStates is the maximum number of state streams in a plan for a policy.
const mostStates = 14

// ranked returns the streams by priority for a plan: the action first, then streams that change, most samples first.
func ranked(can []*candidate) []*candidate {
	list := slices.Clone(can)
	rank := func(s *candidate) int {
		switch {
		case s.role == action:
			return math.MaxInt
		case s.constant():
			return s.samples - 1<<50
		case recognise.IsInternal(s.from):
			return s.samples - 1<<49
		}
		return s.samples
	}
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(rank(b), rank(a)) })
	return list
}

// some returns the streams with the highest priority, in their given order: at most as many as one Fuse, or a policy, takes. It adds
// notes about the others.
func (g *draft) some(can []*candidate) []*candidate {
	most := ops.MaxStreams
	if g.policy {
		most = mostStates + 1
	}
	if len(can) <= most {
		return can
	}
	ranked := ranked(can)
	var list []*candidate
	for _, s := range can {
		if slices.Contains(ranked[:most], s) {
			list = append(list, s)
			continue
		}
		code, d := dataset.CodeFewSamples, dataset.Detail{Unit: "one plan for fuse has", Want: "16"}
		switch {
		case g.policy:
			d = dataset.Detail{Unit: "a policy takes", Want: strconv.Itoa(mostStates)}
		case s.constant():
			code, d = dataset.CodeConstant, dataset.Detail{}
		case recognise.IsInternal(s.from):
			code, d = dataset.CodeOfPrograms, dataset.Detail{}
		}
		g.leave(s.from, code, d)
	}
	return list
}
