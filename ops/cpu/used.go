package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// UsedSamples reports for each sample in one row whether a Resample reads it. The job supplies the rules and channels;
// times [S] and targets [T] have the same dtype.
func UsedSamples(job *backend.ResampleJob, times, targets *tensor.Tensor) ([]bool, error) {
	switch times.DType() {
	case tensor.I64:
		return usedSamples[int64](job, times, targets)
	case tensor.F64:
		return usedSamples[float64](job, times, targets)
	}
	return usedSamples[float32](job, times, targets)
}

func usedSamples[C clockElement](job *backend.ResampleJob, times, targets *tensor.Tensor) ([]bool, error) {
	p := resamplePlan[C]{ResampleJob: job, limits: newLimits[C](job)}
	var err error
	if p.times, err = tensor.Elements[C](times); err != nil {
		return nil, err
	}
	if p.targets, err = tensor.Elements[C](targets); err != nil {
		return nil, err
	}
	used := make([]bool, len(p.times))
	guess := 0
	for _, x := range p.targets {
		if len(used) == 0 {
			break
		}
		l := locate(p.times, x, guess, &p.limits)
		guess = l.k
		switch {
		case p.filled(&l), l.place == nowhere:
		case l.place == exact && !p.limits.hasWindow:
			used[l.k] = true
		default:
			for c := range p.Channels {
				lo, hi := p.sources(&p.Channels[c], &l, x)
				for i := lo; i < hi; i++ {
					used[i] = true
				}
			}
		}
	}
	return used, nil
}

// sources returns the range lo to hi-1 of the samples that a channel reads for a target.
func (p *resamplePlan[C]) sources(c *backend.Channel, l *located, x C) (lo, hi int) {
	switch {
	case c.Interp.Windowed() && (l.place == inside || l.place == exact):
		lo, hi = firstInWindow(p.times[:l.end+1], x, lengthIn[C](p.WindowFrom(c.Window))), l.end+1
		if c.Interp == backend.InterpWindowLast {
			lo = max(lo, hi-1)
		}
		return lo, hi
	case l.place != inside && c.Interp == backend.InterpLinear && p.Edge == backend.EdgeExtrapolate && l.line:
		return l.base, l.base + 2
	case l.place != inside, c.Interp == backend.InterpPrevious, c.Interp == backend.InterpNearest && !l.later:
		return l.k, l.k + 1
	case c.Interp == backend.InterpNext, c.Interp == backend.InterpNearest:
		return l.k + 1, l.k + 2
	case c.Interp == backend.InterpPchip, c.Interp == backend.InterpCatmullRom:
		return max(l.k-1, 0), min(l.k+3, len(p.times))
	}
	return l.k, l.k + 2
}
