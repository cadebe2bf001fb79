package lerobot

import (
	"math"

	"github.com/robocache/robocache/internal/summary"
)

// pool is the statistics of a feature's videos over episodes, some of which were told and not counted: means weighted by the frames, deviations pooled,
// and of quantiles the least up to the middle one, else the largest, as LeRobot has them.
type pool struct {
	told, bare bool
	count      float64
	all        []summary.Column // Std is the variance
}

func (p *pool) add(s featureStats) {
	p.told, p.bare = p.told || s.told, p.bare || s.bare
	n := float64(s.frames)
	first := p.all == nil
	if first {
		p.all = make([]summary.Column, len(s.columns))
	}
	for i, c := range s.columns {
		a := &p.all[i]
		variance := c.Std * c.Std
		if first {
			*a = c
			a.Std = variance
			continue
		}
		share := n / (p.count + n)
		apart := c.Mean - a.Mean
		a.Std = a.Std*(1-share) + variance*share + apart*apart*share*(1-share)
		a.Mean += apart * share
		a.Min, a.Max = min(a.Min, c.Min), max(a.Max, c.Max)
		for q, share := range summary.Quantiles {
			if share <= 0.5 {
				a.Quantiles[q] = min(a.Quantiles[q], c.Quantiles[q])
			} else {
				a.Quantiles[q] = max(a.Quantiles[q], c.Quantiles[q])
			}
		}
	}
	p.count += n
}

// columns returns the statistics of all episodes: those of the counted pixels where all were.
func (p *pool) columns(levels []summary.Levels) []summary.Column {
	list := make([]summary.Column, len(p.all))
	for i := range list {
		if !p.told {
			list[i] = levels[i].Column()
			continue
		}
		list[i] = p.all[i]
		list[i].Std = math.Sqrt(p.all[i].Std)
	}
	return list
}
