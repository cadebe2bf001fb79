package convert

import (
	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// countUsed adds to an account the recorded samples that an aligned stream's rows use, the other samples by reason, and the rows inside
// gaps of the recording. used marks the used samples; if it is nil, usedSamples finds them.
func countUsed(a *align.Aligned, plan *align.Plan, used []bool, account *StreamAccount) (err error) {
	limit := clocks.Snapping(plan.Snap, plan.Rate)
	if used == nil {
		if used, err = usedSamples(a, limit); err != nil {
			return err
		}
	}
	snap, _ := limit.Get()
	stats := a.Recorded.Stats()
	gap := stats.Limit()
	if a.Recorded.Times.DType() == tensor.I64 {
		count(used, a.Recorded.Nanoseconds(), a.Stream.Nanoseconds(), gap, int64(snap), account)
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
	count(used, times, targets, float64(gap)/1e9, snap.Seconds(), account)
	return nil
}

// usedSamples returns a flag for each recorded sample of an aligned stream: true if a row uses it.
func usedSamples(a *align.Aligned, snap ops.Limit) ([]bool, error) {
	edge, err := ops.ParseEdge(a.How.Edge)
	if err != nil {
		return nil, err
	}
	return ops.UsedSamples(a.Recorded.Times, a.Times, len(a.Columns), ops.ResampleOptions{Channels: a.Channels, Window: a.How.Window, Edge: edge,
		Snap: snap, MaxGap: a.How.MaxGap, Tolerance: a.How.Tolerance, FillGaps: a.How.FillGaps})
}

// count adds samples to an account: as used, or as dropped before, after or between the targets. If gap is not 0, AcrossGaps counts the
// targets inside a step longer than gap, except ones within snap of a sample.
func count[T int64 | float64](used []bool, times, targets []T, gap, snap T, account *StreamAccount) {
	k := -1
	for _, x := range targets {
		for k+1 < len(times) && times[k+1] <= x {
			k++
		}
		if gap > 0 && k >= 0 && k+1 < len(times) && x-times[k] > snap && times[k+1]-x > snap && times[k+1]-times[k] > gap {
			account.AcrossGaps++
		}
	}
	for i, t := range times {
		switch {
		case used[i]:
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
