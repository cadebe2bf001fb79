package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/text"
)

// apart reports chosen streams that have no common time with the other streams in an episode, for example because another
// computer's clock was wrong. On one clock no target would have both. A stream that is published on change may end before the
// others begin, unless the distance exceeds their length.
func (g *draft) apart(chosen []*candidate) {
	type gap struct {
		other    string
		away     int64
		later    bool
		episodes int
	}
	gaps := map[string]*gap{}
	for _, list := range g.covers {
		var in []covered
		for _, s := range chosen {
			if c, ok := list[s.from]; ok {
				in = append(in, c)
			}
		}
		rest, groups := mostTogether(in)
		for _, group := range groups {
			first, last := groupCover(group), groupCover(rest)
			away, later := first.First-last.Last, true
			if first.Last < last.First {
				away, later = last.First-first.Last, false
			}
			for _, c := range group {
				if !c.even && float64(away) < max(first.Length(), last.Length()) {
					continue
				}
				if gaps[c.Name] == nil {
					gaps[c.Name] = &gap{rest[0].Name, away, later, 0}
				}
				gaps[c.Name].episodes++
			}
		}
	}
	for _, s := range chosen {
		x := gaps[s.from]
		if x == nil {
			continue
		}
		where := "before those of " + x.other + " begin"
		if x.later {
			where = "after those of " + x.other + " end"
		}
		read := text.Count(g.out.Looked, "episode")
		away := time.Duration(x.away).Round(time.Millisecond)
		text := fmt.Sprintf("its samples lie %v or more %s, and share no moment with them", away, where)
		if g.out.Looked > 1 {
			text += fmt.Sprintf(", in %d of the %s that were read", x.episodes, read)
		}
		s.note("%s: give it an offset, or leave it out", text)
		g.out.Notes.Add(dataset.Note{Code: dataset.CodeClocksApart, Subject: s.from, Count: x.episodes,
			Detail: dataset.Detail{Of: g.out.Looked, Got: away.String(), Names: []string{x.other}}})
	}
}

// mostTogether sorts covers into groups that overlap, and returns the group with the most streams, and the other groups.
func mostTogether(list []covered) (most []covered, others [][]covered) {
	slices.SortStableFunc(list, func(a, b covered) int { return cmp.Compare(a.First, b.First) })
	var groups [][]covered
	until := int64(0)
	for _, c := range list {
		if len(groups) == 0 || c.First > until {
			groups, until = append(groups, nil), c.Last
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
		until = max(until, c.Last)
	}
	at := 0
	for i, group := range groups {
		if len(group) > len(groups[at]) {
			at = i
		}
	}
	if len(groups) < 2 {
		return list, nil
	}
	return groups[at], slices.Delete(slices.Clone(groups), at, at+1)
}

// groupCover returns the time from the first sample to the last in a group of streams.
func groupCover(list []covered) (all cover.Cover) {
	all = list[0].Cover
	for _, c := range list {
		all.First, all.Last = min(all.First, c.First), max(all.Last, c.Last)
	}
	return all
}
