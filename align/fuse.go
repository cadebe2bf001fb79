package align

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/precision"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Fuse puts the plan's streams on the common clock, side by side, in one launch. A named stream without samples gets the fill value
// and is not valid. Errors are the same as in Resample; more than ops.MaxStreams streams are an ops.ErrTooLarge too.
func Fuse(ctx context.Context, device *ops.Device, e *dataset.Episode, plan Plan) (*Fused, error) {
	j, err := prepare(e, plan, true)
	if err != nil {
		return nil, err
	}
	pad, err := tensor.New(tensor.U8, j.targets.Len(), len(j.takes))
	if err != nil {
		return nil, err
	}
	args := ops.FuseArgs{Pad: pad, Targets: j.ticks}
	out := &Fused{Clock: j.clock, Times: j.targets, Report: j.report(e)}
	for i := range j.takes {
		t := &j.takes[i]
		o := j.options(t)
		o.DType = 0
		args.Streams = append(args.Streams, ops.FuseStream{Src: t.stream.Values, SrcTimes: t.stream.Times, Offset: t.how.Offset, Options: o})
	}
	got, err := device.Fuse(ctx, args, ops.FuseOptions{DType: j.dtype})
	if err != nil {
		return nil, j.explain(err)
	}
	out.Values, out.Valid, out.Age, out.Pad = got.Values, got.Valid, got.Age, pad
	if err := out.split(j, args); err != nil {
		return nil, err
	}
	again := func(clock ops.Clock) (*tensor.Tensor, error) {
		a := args
		a.Pad, a.Targets = nil, clock
		wide, err := device.Fuse(ctx, a, ops.FuseOptions{DType: tensor.F64})
		return wide.Values, err
	}
	first := 0
	for i := range out.Streams {
		a := &out.Streams[i]
		err := out.Report.account(&j.takes[i], a, j.targets, j.snap, func(n *precision.Loss) error {
			return n.Compare(got.Values, j.targets, first, a.Recorded, again)
		})
		if err != nil {
			return nil, err
		}
		first += len(a.Columns)
	}
	return out, ctx.Err()
}

// split sets each stream's values and masks to views on the fused tensors, and counts the targets at which all streams are valid.
func (f *Fused) split(j *job, args ops.FuseArgs) error {
	flags, err := tensor.Data[uint8](f.Valid)
	if err != nil {
		return err
	}
	all, m := 0, len(j.takes)
	for i := 0; i < len(flags); i += m {
		if !bytes.Contains(flags[i:i+m], []byte{0}) {
			all++
		}
	}
	f.Report.AllValid = &all
	lo, rows := 0, f.Times.Len()
	for i, t := range j.takes {
		a := Aligned{Stream: *t.stream, Channels: args.Streams[i].Options.Channels, How: t.resolved(), Recorded: t.stream}
		a.Times = f.Times
		var errs [4]error
		a.Values, errs[0] = f.Values.Slice(1, lo, lo+len(a.Columns))
		at := min(i, f.Valid.Len())
		a.Valid, errs[1] = f.Valid.AsStrided([]int{rows}, []int{m}, at)
		a.Age, errs[2] = f.Age.AsStrided([]int{rows}, []int{m}, at)
		a.Pad, errs[3] = f.Pad.AsStrided([]int{rows}, []int{m}, at)
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		lo += len(a.Columns)
		f.Streams = append(f.Streams, a)
	}
	return nil
}

// explain adds the stream to an error of the operation.
func (j *job) explain(err error) error {
	var m int
	if _, failed := fmt.Sscanf(ops.Argument(err), "Streams[%d].", &m); failed == nil && m < len(j.takes) {
		return &StreamError{Stream: j.takes[m].from, Err: err}
	}
	return err
}
