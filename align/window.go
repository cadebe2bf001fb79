package align

import "math"

// Ticks returns the targets of a window at an anchor, as nanoseconds from it: the ticks j of the rate with From < j/rate <= To where To is at most 0, else
// those with From <= j/rate < To. Tick j is at floor(j*1e9/rate + 0.5).
func (w Window) Ticks(rate float64) []int64 {
	near := func(v float64) float64 { // a third of a second is a whole number of steps, but for what a Duration rounds
		if r := math.Round(v); math.Abs(v-r) < 0.6e-9*rate+1e-14*math.Abs(v) {
			return r
		}
		return v
	}
	from, to := near(w.From.Seconds()*rate), near(w.To.Seconds()*rate)
	lo, hi := math.Ceil(from), math.Ceil(to)-1
	if w.To <= 0 {
		lo, hi = math.Floor(from)+1, math.Floor(to)
	}
	var list []int64
	for j := lo; j <= hi; j++ {
		list = append(list, int64(math.Floor(j*1e9/rate+0.5)))
	}
	return list
}
