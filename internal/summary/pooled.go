package summary

import "math"

// Pooled combines the count, mean and variance of parts.
type Pooled struct{ Count, Mean, Variance float64 }

// Add adds a part with at least one value.
func (p *Pooled) Add(count, mean, variance float64) {
	share, apart := count/(p.Count+count), mean-p.Mean
	p.Variance = p.Variance*(1-share) + variance*share + apart*apart*share*(1-share)
	p.Mean += apart * share
	p.Count += count
}

// Std returns the population standard deviation.
func (p *Pooled) Std() float64 { return math.Sqrt(p.Variance) }

// MergeQuantiles merges a part's Quantiles into all, like LeRobot: the smaller value up to the median, and the larger value above it.
func MergeQuantiles(all, part []float64) {
	for i, share := range Quantiles {
		if share <= 0.5 {
			all[i] = min(all[i], part[i])
		} else {
			all[i] = max(all[i], part[i])
		}
	}
}
