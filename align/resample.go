package align

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/precision"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Resample puts each of the plan's streams on the common clock, with one launch per stream. The error is a *PlanError if the plan
// has a mistake, and a *StreamError if a stream cannot be put on the clock. It wraps dataset.ErrNotFound if the recording lacks a
// stream, ops.ErrTooLarge if there are too many targets for a clock or for the memory, and ops.ErrMissing if the timestamps count
// steps and the rate is unknown. After such an error nothing was computed.
func Resample(ctx context.Context, device *ops.Device, e *dataset.Episode, plan Plan) (*Resampled, error) {
	j, err := prepare(e, plan, false)
	if err != nil {
		return nil, err
	}
	out := &Resampled{Clock: j.clock, Times: j.targets, Report: j.report(e)}
	for i := range j.takes {
		t := &j.takes[i]
		opts := j.options(t)
		pad, err := tensor.New(tensor.U8, j.targets.Len())
		if err != nil {
			return nil, err
		}
		args := ops.ResampleArgs{Pad: pad, Src: t.stream.Values, SrcTimes: t.stream.Times, Targets: j.ticks}
		got, err := device.Resample(ctx, args, opts)
		if err != nil {
			return nil, ofStream(t.from, err)
		}
		a := Aligned{Stream: *t.stream, Valid: got.Valid, Age: got.Age, Pad: pad, Channels: opts.Channels, How: t.resolved(), Recorded: t.stream}
		a.Times, a.Values, a.Integers = j.targets, got.Values, nil
		err = out.Report.account(t, &a, j.targets, j.snap, func(n *precision.Loss) error {
			wide := opts
			wide.DType = tensor.F64
			return n.Compare(got.Values, j.targets, 0, a.Recorded, func(clock ops.Clock) (*tensor.Tensor, error) {
				again := args
				again.Pad, again.Targets = nil, clock
				out, err := device.Resample(ctx, again, wide)
				return out.Values, err
			})
		})
		if err != nil {
			return nil, err
		}
		out.Streams = append(out.Streams, a)
	}
	return out, ctx.Err()
}
