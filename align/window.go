package align

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/text"
)

// UnmarshalJSON reads a list with From and To in seconds, or an object with At, as in a plan file. Examples: [-0.5, 0] and
// {"at": [-0.4, -0.1, 0]}.
func (w *Window) UnmarshalJSON(text []byte) error {
	var seconds []float64
	single := struct {
		At *[]float64 `json:"at"`
	}{&seconds}
	isRange := json.Unmarshal(text, &seconds) == nil
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if isRange && len(seconds) != 2 || !isRange && (d.Decode(&single) != nil || len(seconds) == 0) {
		return bad("windows", string(text), `[from, to] in seconds, or {"at": [-0.4, 0]}`)
	}
	*w = Window{}
	for _, s := range seconds {
		if math.Abs(s) >= 9e9 {
			return bad("windows", fmt.Sprint(s), "seconds")
		}
		w.At = append(w.At, time.Duration(math.Round(s*1e9)))
	}
	if isRange {
		*w = Window{From: w.At[0], To: w.At[1]}
	}
	return nil
}

// String returns for example "-500ms to 0s", or "at -400ms, 0s".
func (w Window) String() string {
	if len(w.At) == 0 {
		return fmt.Sprintf("%v to %v", w.From, w.To)
	}
	return "at " + text.Join(w.At, 8, ", ", func(d *time.Duration) string { return d.String() })
}

// Ticks returns the targets in a window, in nanoseconds relative to the anchor: the times At, or the ticks j with From < j/rate <= To
// if To is at most 0, otherwise with From <= j/rate < To. Tick j is at floor(j*1e9/rate + 0.5).
func (w Window) Ticks(rate float64) []int64 {
	var list []int64
	tick := func(j float64) { list = append(list, int64(math.Floor(j*1e9/rate+0.5))) }
	for _, d := range w.At {
		if j := steps(d, rate, windowTolerance); j == math.Round(j) {
			tick(j)
		} else {
			list = append(list, int64(d))
		}
	}
	if len(w.At) > 0 {
		return list
	}
	lo, hi := w.span(rate)
	for j := lo; j <= hi; j++ {
		tick(j)
	}
	return list
}

// reach returns the first and the last time in a window.
func (w Window) reach() (from, to time.Duration) {
	if len(w.At) == 0 {
		return w.From, w.To
	}
	return slices.Min(w.At), slices.Max(w.At)
}

// span returns the first and the last tick of a window, or those around its single times. If the window has none, lo is after hi.
func (w Window) span(rate float64) (lo, hi float64) {
	if len(w.At) > 0 {
		from, to := w.reach()
		return math.Floor(steps(from, rate, windowTolerance)), math.Ceil(steps(to, rate, windowTolerance))
	}
	for _, tolerance := range []float64{windowTolerance, 0} { // 0 if the window is shorter than the tolerance
		from, to := steps(w.From, rate, tolerance), steps(w.To, rate, tolerance)
		if lo, hi = math.Ceil(from), math.Ceil(to)-1; w.To <= 0 {
			lo, hi = math.Floor(from)+1, math.Floor(to)
		}
		if lo <= hi {
			break
		}
	}
	return lo, hi
}

// windowTolerance is LeRobot's tolerance for delta_timestamps, in seconds. Example: 0.0333 s counts as a step at 30 Hz.
const windowTolerance = 1e-4

// steps returns how many steps of a rate, Hz, a duration has. If that is a whole number within the tolerance, in seconds, it is rounded.
// A tolerance over a quarter of a step counts as 0. A Duration's own rounding is always corrected, so a third of a second has 10 steps at
// 30 Hz.
func steps(d time.Duration, rate, tolerance float64) float64 {
	v := d.Seconds() * rate
	if tolerance*rate > 0.25 {
		tolerance = 0
	}
	if r := math.Round(v); math.Abs(v-r) < max(0.6e-9*rate+1e-14*math.Abs(v), tolerance*rate) {
		return r
	}
	return v
}

// diffusionPolicy is the padding that also chooses the windows.
const diffusionPolicy = "diffusion_policy"

// Anchors returns how many ticks of an episode, from the first on, have a window. The plan must have passed Check and have a rate.
// Without the padding diffusion_policy every tick has a window. With it, no window reaches beyond the last tick by more than
// PadAfter.
//
// Source: the sequence sampler in the diffusion policy project, as published in 2023. From an episode with n steps it takes the
// sequences of h steps that begin at steps -before to n-h+after; steps outside the episode repeat its first or last step. Here h is
// the number of ticks from the first tick in any window to the last, including the anchor. before is the number of ticks before the
// anchor, n_obs_steps-1 in its configurations, so the first tick is an anchor. after is PadAfter, n_action_steps-1 steps in its
// configurations, which excludes only the last anchors.
func (p *Plan) Anchors(ticks int) int {
	if p.Padding != diffusionPolicy {
		return ticks
	}
	after, _ := p.PadAfter.Get()
	return max(0, ticks-int(p.ahead()-math.Floor(steps(after, p.Rate, windowTolerance))))
}

// ahead returns how many ticks windows reach beyond their anchor.
func (p *Plan) ahead() float64 {
	most := 0.0
	for _, w := range p.Windows {
		_, hi := w.span(p.Rate)
		most = max(most, hi)
	}
	return most
}

func (p *Plan) checkPadding() error {
	after, given := p.PadAfter.Get()
	if p.Padding != diffusionPolicy {
		if given {
			return bad("pad_after", after.String(), "none, unless padding is "+diffusionPolicy)
		}
		return nil
	}
	switch {
	case p.Targets != nil:
		return bad("padding", diffusionPolicy+" with targets", "a rate")
	case !given:
		return bad("pad_after", "none", "how far windows may reach beyond an episode: n_action_steps-1 steps in the project's configurations")
	case after < 0 || steps(after, p.Rate, windowTolerance) > p.ahead():
		return bad("pad_after", after.String(), fmt.Sprintf("0s to %v, which is as far as windows reach beyond their anchor", time.Duration(p.ahead()/p.Rate*1e9)))
	}
	return nil
}
