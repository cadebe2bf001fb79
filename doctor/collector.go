package doctor

import (
	"maps"
	"slices"
)

// mostDrawn is the number of findings of one kind in one stream that have a picture.
const mostDrawn = 3

// findingGroup is the findings of one kind in one stream.
type findingGroup struct {
	kind   Kind
	stream string
}

// collector adds the findings of episodes to a report: up to MostOfKind of each group, with pictures of the first mostDrawn.
type collector struct {
	report        *Report
	listed, drawn map[findingGroup]int
	still         map[string][]Finding // findings about streams that are constant in an episode, up to MostOfKind of each stream
	rates         map[string]int       // index in Checked.Rates by stream
	constant      map[string]int       // number of episodes in which a stream is constant
	moving        map[string]int       // number of episodes in which it changes
}

func newCollector(r *Report) *collector {
	return &collector{report: r, listed: map[findingGroup]int{}, drawn: map[findingGroup]int{}, still: map[string][]Finding{}, rates: map[string]int{}, constant: map[string]int{},
		moving: map[string]int{}}
}

// addStill counts the changing and the constant streams in an episode.
func (k *collector) addStill(x *examiner) {
	for _, f := range x.still {
		if k.constant[f.Subject()]++; k.constant[f.Subject()] <= MostOfKind {
			if len(k.still[f.Subject()]) < mostDrawn {
				f.Plot = f.draw()
			}
			f.draw = nil
			k.still[f.Subject()] = append(k.still[f.Subject()], f)
		}
	}
	for _, name := range x.moving {
		k.moving[name]++
	}
}

// addRates updates the rates of the report by the clocks of an episode.
func (k *collector) addRates(x *examiner) {
	for _, c := range x.clocked {
		if c.stats.Median == 0 || x.e.Steps {
			continue
		}
		at, seen := k.rates[c.stream]
		if !seen {
			at = len(k.report.Checked.Rates)
			k.rates[c.stream] = at
			k.report.Checked.Rates = append(k.report.Checked.Rates, Rate{Path: x.opt.Path, Stream: c.stream, Lowest: c.stats.Rate})
		}
		r := &k.report.Checked.Rates[at]
		r.Episodes++
		r.Lowest, r.Highest, r.Jitter = min(r.Lowest, c.stats.Rate), max(r.Highest, c.stats.Rate), max(r.Jitter, c.stats.Jitter)
	}
}

// stillRare is the least ratio of the episodes in which a stream changes to the episodes in which it is constant, if the latter are faults.
// Below this ratio the stream may be one that is rarely used, such as a second arm.
const stillRare = 4

// stuck returns the findings about constant streams if these change in nearly all other episodes.
func (k *collector) stuck() (list []Finding) {
	for _, name := range slices.Sorted(maps.Keys(k.still)) {
		if k.moving[name] < stillRare*k.constant[name] {
			continue
		}
		list = append(list, k.still[name]...)
		k.report.Checked.Unlisted += k.constant[name] - len(k.still[name])
	}
	return list
}

// add adds a finding, or counts it as unlisted if its group is full.
func (k *collector) add(f Finding) {
	at := findingGroup{f.Kind, f.Subject()}
	if k.listed[at]++; k.listed[at] > MostOfKind {
		k.report.Checked.Unlisted++
		return
	}
	if f.draw != nil && k.drawn[at] < mostDrawn {
		k.drawn[at]++
		f.Plot = f.draw()
	}
	f.draw = nil // because it keeps the episode in memory
	k.report.Findings = append(k.report.Findings, f)
}

// has reports whether an episode has a finding of one of these kinds.
func (k *collector) has(kinds ...Kind) bool {
	for at := range k.listed {
		if slices.Contains(kinds, at.kind) {
			return true
		}
	}
	return false
}
