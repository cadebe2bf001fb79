package suggest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// niceRates are common rates, Hz.
var niceRates = []float64{1, 2, 5, 10, 12.5, 15, 20, 25, 30, 40, 50, 60, 75, 80, 100, 120, 125,
	150, 200, 250, 300, 400, 500, 600, 800, 1000, 2000, 4000, 5000, 8000, 10000}

// niceRate returns a clock rate, Hz, for samples with the given rate. If the nearest of niceRates differs by at most the share within, it
// is that. Otherwise it is the given rate with four digits if own is true, because all samples have it, or else the nearest of niceRates.
func niceRate(rate, within float64, own bool) float64 {
	nearest := niceRates[0]
	for _, n := range niceRates {
		if math.Abs(math.Log(n/rate)) < math.Abs(math.Log(nearest/rate)) {
			nearest = n
		}
	}
	beyond := rate < niceRates[0] || rate > niceRates[len(niceRates)-1]
	if math.Abs(rate-nearest) <= within*nearest || !own && !beyond {
		return nearest
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64) // cannot fail
	return rounded
}

const (
	nearRate   = .005 // the share by which a stream's rate may differ from one of niceRates and count as that
	nearCamera = .011 // the same for a camera, because 29.97 Hz and steps of 33 ms count as 30 Hz
)

// chooseRate returns the clock's rate and the reason: the declared rate, or the rate of the fastest camera, or of the action, or
// the median over the streams.
func (g *draft) chooseRate(chosen []*candidate) (float64, string) {
	if g.info.Rate > 0 {
		says := map[string]string{"caller": "as --rate says", "known datasets": "as known for this dataset"}
		return g.info.Rate, cmp.Or(says[g.info.RateFrom], "as the dataset declares")
	}
	const slowest, fastest = 4, 121 // Hz: rates of a camera for which each frame gets a row
	camera, name := 0.0, ""
	for i := range g.summary.Media {
		m := &g.summary.Media[i]
		if r := m.Rate(); r > max(camera, slowest) && r < fastest && m.Frames > 1 {
			camera, name = r, m.Name
		}
	}
	if camera > 0 {
		return niceRate(camera, nearCamera, true), "that of camera " + name + ": a row for each frame"
	}
	changing := slices.DeleteFunc(slices.Clone(chosen), func(s *candidate) bool { return s.whole || s.constant() })
	if len(changing) == 0 {
		changing = slices.Clone(chosen)
	}
	slices.SortStableFunc(changing, func(a, b *candidate) int { return cmp.Compare(a.rate, b.rate) })
	lowest, middle, highest := changing[0].rate, changing[(len(changing)-1)/2], changing[len(changing)-1].rate
	alike := 0 // number of streams with even steps and the median rate
	for _, s := range chosen {
		if s.role == action {
			return niceRate(s.clock(), nearRate, s.even), fmt.Sprintf("that of %s, %s Hz", s.from, hertz(s.rate))
		}
		if math.Abs(s.rate-middle.rate) < .01*middle.rate && s.even {
			alike++
		}
	}
	rate := niceRate(middle.clock(), nearRate, 2*alike >= len(changing))
	why := "that of its samples"
	if math.Abs(rate-middle.rate) > .005*rate {
		why = fmt.Sprintf("about that of its samples, %s Hz", hertz(middle.rate))
	}
	if lowest != highest {
		why = fmt.Sprintf("the middle one of the streams' rates, %s to %s Hz", hertz(lowest), hertz(highest))
	}
	return rate, why
}

const (
	pastSeconds  = .2 // the past that a policy sees
	aheadSeconds = 1. // the future that it predicts
)

// windows returns the number of past ticks that a policy sees, and the number of ticks that it predicts: a fifth of a second and one
// second. They are at most a quarter and a half of the median episode. If that shortens them, why is the reason; else it is empty.
func (g *draft) windows() (past, ahead int, why string) {
	lengths := slices.Clone(g.lengths)
	slices.Sort(lengths)
	ticks := lengths[(len(lengths)-1)/2].Seconds()*g.rate + 1
	past, ahead = max(int(math.Round(pastSeconds*g.rate)), 2), max(int(math.Round(aheadSeconds*g.rate)), 2)
	if mostPast, mostAhead := max(int(ticks/4), 1), max(int(ticks/2), 1); past > mostPast || ahead > mostAhead {
		past, ahead = min(past, mostPast), min(ahead, mostAhead)
		why = fmt.Sprintf("no more than a quarter and half of an episode, which has about %.0f", ticks)
	}
	return past, ahead, why
}
