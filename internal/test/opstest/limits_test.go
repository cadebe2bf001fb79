package opstest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/tensor"
)

// TestLimitsHaveEveryEndOfASearch follows the kernels' search in float64, and checks that the rows cover each way in which a search
// can end.
func TestLimitsHaveEveryEndOfASearch(t *testing.T) {
	ends := map[string]int{}
	number := 0
	for i := range 3 {
		for k, d := range limitWidths {
			for o := range limitOptions {
				number++
				if form := (o/3 + k + i) % 3; form < 2 {
					c := limitCase(uint64(50_000+number), tensor.F32, tensor.F64, d, o, form)
					n, x := c.Times.shape[1], c.Targets.floats()
					m := c.Targets.shape[len(c.Targets.shape)-1]
					for r, row := range [][]float64{c.Times.floats()[:n], c.Times.floats()[n:]} {
						for pos := range m {
							x := x[(r*m+pos)%len(x)]
							if row[0] <= x && x < row[n-1] {
								end, _ := searchEnd(row, x, int(float64(pos)*float64(n-1)/float64(m-1)))
								ends[end]++
							}
						}
					}
				}
			}
		}
	}
	for _, end := range []string{"at once", "turn 0", "turn 1", "turn 2", "up 3", "up to the end", "up and on", "down 3", "down broken off", "down to the end", "down and on"} {
		assert.Greater(t, ends[end], 3, "%s: %v", end, ends)
	}
}

// TestSearchesStepToTheTargetItself: a step that lands exactly on the target is one too many upward, but not downward.
func TestSearchesStepToTheTargetItself(t *testing.T) {
	searches(func(c *resampling, _ *fusing, _ layout) {
		ways := map[string]int{}
		n, m := c.Times.shape[1], c.Targets.shape[1]
		for r := range c.Times.shape[0] {
			row := c.Times.floats()[r*n:][:n]
			for pos, x := range c.Targets.floats()[r*m:][:m] {
				if row[0] <= x && x < row[n-1] {
					if end, on := searchEnd(row, x, int(float64(pos)*float64(n-1)/float64(m-1))); on {
						ways[end[:2]]++
					}
				}
			}
		}
		assert.True(t, ways["up"] > 0 && ways["do"] > 0, "%s: %v", c.Name, ways)
	})
}

// searchEnd follows the kernels' search in a row for a target time x, from a first guess, and returns how it ends: "at once" in the
// first window, "turn N" in a later one, or with the direction of doubling steps and their end, for example "up broken off" (the
// first step passed the target), "up and on" (a later one did) or "up to the end" of the row. on reports whether a step landed on a
// timestamp equal to x. A window covers two timestamps above the guess, so the first step up is never too far.
func searchEnd(row []float64, x float64, guess int) (end string, on bool) {
	n := len(row)
	at := func(g int) int { return max(0, min(g, n-2)) }
	holds := func(g int) bool { return row[max(g-1, 0)] <= x && x < row[min(g+2, n-1)] }
	w := at(guess)
	if holds(w) {
		return "at once", false
	}
	pace := float64(n-1) / (row[n-1] - row[0])
	for turn := range 3 {
		next := at(int(float64(w) + (x-row[w])*pace))
		if holds(next) {
			return fmt.Sprint("turn ", turn), false
		}
		if p := float64(next-w) / (row[next] - row[w]); p > 0 {
			pace = p
		}
		w = next
	}
	way, left, past := "up", n-1-w, func(step int) bool { on = on || row[w+step] == x; return row[w+step] > x }
	if row[w] > x {
		way, left, past = "down", w, func(step int) bool { on = on || row[w-step] == x; return row[w-step] <= x }
	}
	if left == 3 {
		return way + " 3", false
	}
	gone := 0
	for step := 2; step < left-gone; step *= 2 {
		if past(gone + step) {
			if gone > 0 {
				return way + " and on", on
			}
			return way + " broken off", on
		}
		gone += step
	}
	return way + " to the end", on
}
