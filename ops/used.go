package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

// UsedSamples reports which samples of an episode a Resample reads, by the timestamps alone: a sample that no target needs can be dropped without a change
// of the result. times [S] are those of the samples, non-decreasing; targets [T] are of the same dtype, i64, f64 or f32. d is the number of features. Pchip
// and CatmullRom read the neighbours of a bracket for its slopes, also where a slope comes out as 0.
//
// Times of two dtypes are an error that is ErrDType, and options that Resample refuses are the error that it returns.
func UsedSamples(times, targets *tensor.Tensor, d int, o ResampleOptions) ([]bool, error) {
	c := &checker{op: "UsedSamples", mixed: true}
	if !c.tensor("times", times) || !c.tensor("targets", targets) {
		return nil, c.err
	}
	c.dtype("times", times, clockTypes...)
	c.dtype("targets", targets, times.DType())
	for name, t := range map[string]*tensor.Tensor{"times": times, "targets": targets} {
		if t.Rank() != 1 {
			c.set(name, ErrShape, fmt.Sprint(t.Shape()), "one dimension")
		}
		c.lastContiguous(name, t)
	}
	checkRules(c, &o)
	if c.err != nil {
		return nil, c.err
	}
	job := jobUnder(&o, false, o.Launch).ResampleJob
	if job.Channels = channelTable(c, &o, d); c.err != nil {
		return nil, c.err
	}
	return cpu.UsedSamples(job, times, targets)
}
