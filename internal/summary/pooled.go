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
