package doctor

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// The rules for angles, in turns (1 is a full turn).
const (
	wrapRange = 0.9 // least range of values of an angle that wraps
	wrapStep  = 0.8 // least step between two samples that is a wrap
)

// wraps adds a finding if column c is an angle that jumps by a full turn.
func (x *examiner) wraps(s *dataset.Stream, v *values, t *tally, c int) {
	k := &t.columns[c]
	for _, turn := range []float64{2 * math.Pi, 360} {
		if k.max-k.min < wrapRange*turn {
			continue
		}
		if !(k.min >= -turn/2*1.001 && k.max <= turn/2*1.001 || k.min >= -turn*0.001 && k.max <= turn*1.001) {
			continue
		}
		var rows []int
		n, jumps := 0, 0
		var small float64
		for i := 1; i < v.rows; i++ {
			switch d := math.Abs(v.at(i, c) - v.at(i-1, c)); {
			case d >= wrapStep*turn:
				n, rows = n+1, append(rows, i)
			case d > turn/4:
				jumps++ // too far for a turning angle
			default:
				small += d
			}
		}
		if n == 0 || jumps > n/4 || small < turn/100 {
			return
		}
		unit := "2 pi"
		period := ""
		if turn == 360 {
			unit, period = "360", ", period: 360"
		}
		f := x.add(AngleWrap, s.Name, n, fmt.Sprintf("%s jumps by a turn of %s, %s", s.Columns[c].Name, unit, text.Count(n, "time")))
		x.show(f, s, v, []int{c}, rows)
		f.WhatToDo = fmt.Sprintf("Give the column method: angle%s in the plan, so that it is not interpolated through the turn; for a network, take its sine and cosine.", period)
		return
	}
}
