package summary

import "math"

// Pooled is how many values there are, their mean and their variance, of parts of which the same is known.
type Pooled struct{ Count, Mean, Variance float64 }

// Add takes a part in, of one value or more.
func (p *Pooled) Add(count, mean, variance float64) {
	share, apart := count/(p.Count+count), mean-p.Mean
	p.Variance = p.Variance*(1-share) + variance*share + apart*apart*share*(1-share)
	p.Mean += apart * share
	p.Count += count
}

// Std is the standard deviation, divided by the count.
func (p *Pooled) Std() float64 { return math.Sqrt(p.Variance) }

// MergeQuantiles merges the Quantiles of a part into all, as LeRobot does: the smaller value up to the median, the larger one above it.
func MergeQuantiles(all, part []float64) {
	for i, share := range Quantiles {
		if share <= 0.5 {
			all[i] = min(all[i], part[i])
		} else {
			all[i] = max(all[i], part[i])
		}
	}
}
