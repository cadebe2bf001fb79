package convert

import (
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// usage finds which samples of a stream the ticks of a clock are made of. It follows the rules of ops.Resample by the timestamps alone, so that it says
// what could have had a part in a result: a pchip takes the neighbours beyond a bracket for its slopes, even where these come out as 0.
type usage[T int64 | float64] struct {
	times  []T // [S], non-decreasing
	used   []bool
	snap   T
	gap    T // a step longer than this is a gap of the recording; 0 for none
	across int

	edge          ops.Edge
	fill          bool // FillGaps
	maxGap, near  T
	limited, tied bool // whether there is a MaxGap, and a Tolerance
	kinds         []ops.Interp
	windows       []span[T]
}

// span is a window kind's: how long it is, and up to which sample it was looked at.
type span[T int64 | float64] struct {
	length T
	last   bool // its kind takes the last sample of the window alone
	next   int
}

// used counts the samples of an aligned stream that its rows were made of, why the others were not used, and the rows across gaps of the recording.
func used(a *align.Aligned, plan *align.Plan, account *StreamAccount) error {
	st := a.Recorded.Stats()
	gap := dataset.GapFactor * st.Median
	snap, _ := align.Snapping(plan.Snap, plan.Rate) // which was checked
	if a.Recorded.Times.DType() == tensor.I64 {
		times, targets := a.Recorded.Nanoseconds(), a.Stream.Nanoseconds()
		u := newUsage(a, times, func(d time.Duration) int64 { return int64(d) }, snap, gap)
		u.count(targets, account)
		return nil
	}
	times, err := tensor.Floats(a.Recorded.Times)
	if err != nil {
		return err
	}
	targets, err := tensor.Floats(a.Times)
	if err != nil {
		return err
	}
	u := newUsage(a, times, func(d time.Duration) float64 { return float64(d) / 1e9 }, snap, gap)
	u.count(targets, account)
	return nil
}

func newUsage[T int64 | float64](a *align.Aligned, times []T, of func(time.Duration) T, snap ops.Limit, gap int64) *usage[T] {
	u := &usage[T]{times: times, used: make([]bool, len(times)), gap: of(time.Duration(gap)), fill: a.How.FillGaps}
	u.edge, _ = ops.ParseEdge(a.How.Edge)
	limit := func(l ops.Limit) (T, bool) {
		d, given := l.Get()
		return of(d), given
	}
	u.snap, _ = limit(snap)
	u.maxGap, u.limited = limit(a.How.MaxGap)
	u.near, u.tied = limit(a.How.Tolerance)
	for _, c := range a.Channels {
		if !c.Interp.Windowed() {
			u.kinds = append(u.kinds, c.Interp)
			continue
		}
		w, given := limit(c.Window)
		if !given {
			w, _ = limit(a.How.Window)
		}
		u.windows = append(u.windows, span[T]{length: w, last: c.Interp == ops.InterpWindowLast})
	}
	return u
}

// count marks what the ticks use, which are in order, and fills in the account.
func (u *usage[T]) count(targets []T, account *StreamAccount) {
	k, n := -1, len(u.times)
	for _, x := range targets {
		for k+1 < n && u.times[k+1] <= x {
			k++
		}
		u.tick(x, k)
	}
	account.AcrossGaps = u.across
	for i, is := range u.used {
		switch t := u.times[i]; {
		case is:
			account.Used++
		case len(targets) == 0 || t < targets[0]:
			account.drop(dataset.CodeBeforeClock, 1)
		case t > targets[len(targets)-1]:
			account.drop(dataset.CodeAfterClock, 1)
		default:
			account.drop(dataset.CodeBetweenTicks, 1)
		}
	}
}

// tick marks what a tick at x is made of, of which k is the last sample at or before it.
func (u *usage[T]) tick(x T, k int) {
	n := len(u.times)
	if n == 0 {
		return
	}
	switch hit := u.hit(x, k); {
	case hit >= 0:
		u.used[hit] = u.used[hit] || len(u.kinds) > 0
	case k < 0:
		u.outside(0, 1)
		return
	case k == n-1:
		u.outside(k, -1)
		return
	default:
		step := u.times[k+1] - u.times[k]
		if u.gap > 0 && step > u.gap {
			u.across++
		}
		if u.fill && u.limited && step > u.maxGap+u.snap {
			return
		}
		for _, kind := range u.kinds {
			u.between(kind, x, k)
		}
	}
	for i := range u.windows {
		u.window(&u.windows[i], x)
	}
}

// hit returns the sample that a tick is on, or -1.
func (u *usage[T]) hit(x T, k int) int {
	if k >= 0 && u.times[k] == x {
		return k
	}
	best := -1
	if k >= 0 && x-u.times[k] <= u.snap {
		best = k
	}
	if k+1 < len(u.times) && u.times[k+1]-x <= u.snap && (best < 0 || u.times[k+1]-x < x-u.times[k]) {
		for best = k + 1; best+1 < len(u.times) && u.times[best+1] == u.times[best]; { // the later of equal timestamps
			best++
		}
	}
	return best
}

// between marks what a tick strictly between samples k and k+1 is made of.
func (u *usage[T]) between(kind ops.Interp, x T, k int) {
	one := func(i int, away T) {
		if !u.fill || !u.tied || away <= u.near+u.snap {
			u.used[i] = true
		}
	}
	before, after := x-u.times[k], u.times[k+1]-x
	switch kind {
	case ops.InterpPrevious:
		one(k, before)
	case ops.InterpNext:
		one(k+1, after)
	case ops.InterpNearest:
		if after < before {
			one(k+1, after)
		} else {
			one(k, before)
		}
	case ops.InterpPchip, ops.InterpCatmullRom:
		for i := max(k-1, 0); i <= min(k+2, len(u.times)-1); i++ {
			u.used[i] = true
		}
	default:
		u.used[k], u.used[k+1] = true, true
	}
}

// outside marks what a tick beyond the end of the samples is made of: end is the sample there, and step leads back into them.
func (u *usage[T]) outside(end, step int) {
	linear := 0
	switch u.edge {
	case ops.EdgeHold:
		u.used[end] = u.used[end] || step < 0
		return
	case ops.EdgeFill:
		return
	case ops.EdgeExtrapolate:
		for _, kind := range u.kinds {
			if kind == ops.InterpLinear {
				linear++
			}
		}
	}
	u.used[end] = u.used[end] || linear < len(u.kinds)+len(u.windows)
	if linear == 0 {
		return
	}
	i := end // to the nearest bracket of a length
	for i+step >= 0 && i+step < len(u.times) && u.times[i+step] == u.times[end] {
		i += step
	}
	if i+step < 0 || i+step >= len(u.times) {
		i = end // of all samples at one time
	} else {
		u.used[i+step] = true
	}
	u.used[i] = true
}

// window marks the samples in (x-w, x], which begin and end later from tick to tick, or the last of them.
func (u *usage[T]) window(w *span[T], x T) {
	for w.next < len(u.times) && u.times[w.next] <= x-w.length+u.snap {
		w.next++
	}
	begun := w.next
	for ; w.next < len(u.times) && u.times[w.next] <= x+u.snap; w.next++ {
		u.used[w.next] = u.used[w.next] || !w.last
	}
	if i := w.next - 1; w.last && i >= 0 && (i >= begun || u.times[i] > x-w.length+u.snap) {
		u.used[i] = true
	}
}
