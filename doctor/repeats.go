package doctor

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
)

// leastRepeats is the least number of runs of equal rows that show a repetition.
const leastRepeats = 20

// repeated reports streams in which each row occurs several times, because samples were written faster than they were measured.
func (x *examiner) repeated(s *dataset.Stream, v *values, t *tally) {
	if s.AllInteger() || x.work.role(s.Name).command {
		return
	}
	all, several, rows := 0, 0, 0
	for n, k := range t.lengths {
		all += k
		if n > 1 && n < len(t.lengths)-1 {
			several += k
			rows += n * k
		}
	}
	if several < leastRepeats || float64(t.lengths[1]) > 0.02*float64(all) || float64(several) < 0.9*float64(all) {
		return
	}
	each := float64(rows) / float64(several)
	why := fmt.Sprintf("each value comes %s times in a row: %d changes in %d samples", short(math.Round(each*100)/100), all+1, v.rows)
	if c := x.clockOf[s.Name]; !x.e.Steps && c != nil {
		rate := c.stats.Rate
		why += fmt.Sprintf("; it is recorded at %s and measured at about %s", hertz(rate), hertz(rate/each))
	}
	f := x.add(Repeated, s.Name, v.rows-all-2, why)
	f.whole(x.times[s.Name])
	f.WhatToDo = "Resample at the rate at which it is measured, or keep the first of each: linear interpolation makes steps of it, and velocities come out as 0 and twice the truth. A publisher that is faster than its sensor does this."
	f.draw = x.series(s, v, v.moving(t), nil)
}
