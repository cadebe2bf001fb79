package write

import (
	"github.com/robocache/robocache/internal/summary"
)

// videoPool pools statistics for a feature's videos over episodes, because copied videos' pixels were not counted.
type videoPool struct {
	copied, bare bool
	all          []summary.Column // per channel; its means and deviations are in moments
	moments      []summary.Pooled
}

func (p *videoPool) add(s featureStats) {
	p.copied, p.bare = p.copied || s.origin != nil, p.bare || s.bare
	n := float64(s.frames)
	first := p.all == nil
	if first {
		p.all, p.moments = make([]summary.Column, len(s.columns)), make([]summary.Pooled, len(s.columns))
	}
	for i, c := range s.columns {
		a := &p.all[i]
		if p.moments[i].Add(n, c.Mean, c.Std*c.Std); first {
			*a = c
			continue
		}
		a.Min, a.Max = min(a.Min, c.Min), max(a.Max, c.Max)
		summary.MergeQuantiles(a.Quantiles[:], c.Quantiles[:])
	}
}

// columns returns the statistics over all episodes, from the counted pixels if all were counted.
func (p *videoPool) columns(levels []summary.Levels) []summary.Column {
	list := make([]summary.Column, len(p.all))
	for i := range list {
		if !p.copied {
			list[i] = levels[i].Column()
			continue
		}
		list[i] = p.all[i]
		list[i].Mean, list[i].Std = p.moments[i].Mean, p.moments[i].Std()
	}
	return list
}
