package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

// UsedSamples reports for each sample whether a Resample would read it. It uses only the timestamps: if no target needs
// a sample, the sample can be dropped without changing the result. times [S] are the sample times, non-decreasing;
// targets [T] have the same dtype: i64, f64 or f32. d is the number of features. Pchip and CatmullRom also read the
// neighbours of a bracket for its slopes, even if a slope turns out to be 0.
//
// If times and targets differ in dtype, the error has the kind ErrDType. If Resample refuses the options, UsedSamples
// returns the same error.
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
