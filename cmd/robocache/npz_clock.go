package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// makeClock makes targets over the range of the rows, in the clock's own dtype, unless the file gave them.
func (j *npzJob) makeClock(r *request) error {
	j.snap = r.snapping()
	if j.targets != nil {
		j.clock = ops.At(j.targets)
		return nil
	}
	covers := make([]align.Cover, 0, j.batch())
	for b := range j.batch() {
		t, err := j.row(b)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("row %d", b)
		c, core, err := align.CoversOf(&dataset.Stream{Name: name, Times: t})
		if err != nil {
			var value *ops.ValueError
			if errors.As(err, &value) {
				value.Row = b
			}
			return &inputError{Path: j.path, Array: "times", Err: j.sortable(r, err)}
		}
		code := dataset.CodeStrayFollowed
		switch {
		case r.span.value != align.RangeCommon || c == core:
		case j.values.Rank() == 2:
			if err := j.cut(t, c, core); err != nil {
				return err
			}
			code = dataset.CodeStrayLeftOut
		default:
			code = dataset.CodeStrayIgnored
		}
		j.notes.Join(align.Strays(name, c, core, code, j.strays))
		if r.span.value == align.RangeCommon {
			c = core
		}
		covers = append(covers, c)
	}
	// Of a batch every row counts.
	span := align.Range{Mode: r.span.value}
	if span.Mode == align.RangeCommon {
		span.Mode = align.RangeIntersection
	}
	var err error
	var over align.Span
	if j.clock, over, err = align.ClockOver(covers, span, r.hz, align.EndSnap(j.snap, j.times.DType(), covers)); err == nil {
		err = align.Room(j.clock, j.batch(), j.batch()*j.values.Dim(j.values.Rank()-1), r.dtype.value)
	}
	var size *align.SizeError
	var long *align.RangeError
	switch {
	case errors.As(err, &size), errors.As(err, &long) && long.Targets > 0 && len(long.Streams) == 0:
		return usagef("--hz: %v", err)
	case err != nil:
		return &inputError{Path: j.path, Array: "times", Err: err}
	}
	j.targets, j.clock, err = align.Ticks(j.clock, over, j.times.DType())
	return err
}

// cut leaves out the stray samples of one recording, whose timestamps lie outside the core of what they cover.
func (j *npzJob) cut(times *tensor.Tensor, all, core align.Cover) (err error) {
	ns := (&dataset.Stream{Times: times}).Nanoseconds()
	lo, hi := 0, len(ns)
	if core.First != all.First {
		lo, _ = slices.BinarySearch(ns, core.First)
	}
	if core.Last != all.Last {
		hi, _ = slices.BinarySearch(ns, core.Last+1)
	}
	j.strays, j.lengths = len(ns)-(hi-lo), nil
	if j.times, err = times.Slice(0, lo, hi); err == nil {
		j.values, err = j.values.Slice(0, lo, hi)
	}
	return err
}

// again resamples once more, in float64.
func (j *npzJob) again(device *ops.Device, args ops.ResampleArgs, r *request) func(ops.Clock) (*tensor.Tensor, error) {
	opts := r.options(j.snap)
	opts.DType = tensor.F64
	return func(clock ops.Clock) (*tensor.Tensor, error) {
		a := args
		a.Targets = clock
		out, err := device.Resample(context.Background(), a, opts)
		return out.Values, err
	}
}
