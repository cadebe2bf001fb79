package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

func loadNPZ(r *request) (_ *work, err error) {
	defer dataset.Watched(r.in, &err)()
	file, err := npz.Open(r.in)
	if err != nil {
		return nil, readError(r.in, err)
	}
	defer file.Close()
	if r.planFile != "" || len(r.streams) > 0 || !file.Has("values") {
		return loadStreams(r)
	}
	if !file.Has("targets") && r.Rate == 0 {
		return nil, usagef("no clock given: %s has no array targets, want one or --hz", r.in)
	}
	j := &npzJob{path: r.in}
	if limit := r.Defaults.MaxGap; limit == align.AutoGap || limit == align.NoGap { // arrays are no recording
		r.Defaults.MaxGap = ops.Limit{}
	}
	j.maxGap, _ = r.Defaults.MaxGap.Get()
	used := []string{"values"}
	if err := j.readValues(file, r); err != nil {
		return nil, err
	}
	read := []struct {
		name string
		to   **tensor.Tensor
		get  func(string) (*tensor.Tensor, error)
		want bool
	}{
		{"times", &j.times, file.Times, true},
		{"targets", &j.targets, file.Times, r.Rate == 0},
		{"lengths", &j.lengths, file.Tensor, file.Has("lengths")},
	}
	for _, a := range read {
		if !a.want {
			continue
		}
		if *a.to, err = a.get(a.name); err != nil {
			return nil, &inputError{Path: r.in, Array: a.name, Err: err}
		}
		used = append(used, a.name)
	}
	j.ignored = append(inspection.Unused(file, used), file.Others()...)
	if err := j.rowsOfOneFeature(); err != nil {
		return nil, err
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	if r.Unordered == "sort" {
		if err := j.sort(); err != nil {
			return nil, err
		}
	}
	if err := j.makeClock(r); err != nil {
		return nil, err
	}
	return &work{j}, nil
}

// readValues reads values as floats. Whole numbers keep their previous value unless --method is given.
func (j *npzJob) readValues(file *npz.File, r *request) error {
	head, err := file.Header("values")
	if err != nil {
		return &inputError{Path: j.path, Array: "values", Err: err}
	}
	if n := len(head.Shape); n == 0 || n > 3 || head.IsRecords() {
		return j.fail("values", &head, "numbers [S], [S,D] or [B,S,D]")
	}
	t, err := file.Table("values", npy.TableOptions{BF16: r.from.Given})
	if err != nil {
		return &inputError{Path: j.path, Array: "values", Err: err}
	}
	j.values, j.columns, j.inexact = t.Values, t.Columns, t.Inexact
	if r.from.Given && j.values.DType() != tensor.BF16 {
		return j.fail("values", &head, "uint16, the bits of bf16, for --in-dtype bf16")
	}
	if len(j.columns) > 0 && j.columns[0].Integer {
		j.remarks.bits("values", &head)
		if !r.method.Given {
			r.method.Value = ops.InterpPrevious
		}
	}
	return nil
}

// bits adds a remark if a whole-number array may be bf16, because RoboCache writes bf16 as uint16.
func (l *noteList) bits(array string, head *npy.Header) {
	if strings.HasSuffix(head.Descr, "u2") {
		l.remark("uint16-values", "%s: uint16 taken as whole numbers; --in-dtype bf16 reads them as bf16", array)
	}
}

func (j *npzJob) run(r *request, device *ops.Device) (*result, error) {
	args := ops.ResampleArgs{Src: j.values, SrcTimes: j.times, Targets: j.clock, SrcLengths: j.lengths}
	out, err := device.Resample(context.Background(), args, r.options(j.snap))
	if err != nil {
		e := &inputError{Path: j.path, Err: j.sortable(r, err)}
		var arg *ops.ArgError
		var value *ops.ValueError
		if errors.As(err, &arg) {
			e.Array = arrayNames[arg.Arg]
		} else if errors.As(err, &value) {
			e.Array = arrayNames[value.Arg]
		} else {
			return nil, err
		}
		return nil, e
	}
	j.out = out
	res := &result{Input: r.in, Output: r.out, Plot: r.plot, Report: align.NewReport(j.targets, r.Rate)}
	res.Ignored, res.noteList, res.Notes = append([]string{}, j.ignored...), j.remarks, j.notes
	channels := []ops.Channel{{Hi: j.values.Dim(j.values.Rank() - 1), Interp: r.method.Value, Period: r.Defaults.Period}}
	res.Notes.Join(plausible.Degrees("values", j.values, channels))
	how := r.sampling()
	how.Edge = r.edge.Value.String()
	res.Notes.Join(r.sampling().Unused("", align.Aligned{How: how, Channels: channels}))
	d := j.values.Dim(j.values.Rank() - 1)
	line := align.StreamReport{Name: "values", Rows: j.batch(), Columns: d, DType: out.Values.DType().String(), Inexact: j.inexact, BackSteps: j.sorted, Stray: j.strays, Edge: r.edge.Value.String(), Timeless: j.timeless,
		Kinds: map[string]int{r.method.Value.String(): d}}
	for b := range j.batch() {
		timestamps, err := j.row(b)
		if err != nil {
			return nil, err
		}
		targets, err := rowOf(j.targets, b, 2)
		if err != nil {
			return nil, err
		}
		valid, err := rowOf(out.Valid, b, 2)
		if err != nil {
			return nil, err
		}
		if err := line.Count(timestamps, targets, valid); err != nil {
			return nil, err
		}
		unfinite, err := j.unfinite(b, timestamps.Len())
		if err != nil {
			return nil, err
		}
		line.Unfinite += unfinite
		clock := &dataset.Stream{Times: timestamps}
		st := dataset.StatsOf(clock.Nanoseconds())
		line.Clock(st)
		name := fmt.Sprintf("row %d", b)
		for _, n := range append(plausible.Units(name, timestamps, st), plausible.Coarse(name, clock, st, targets, j.snap)...) {
			if res.Notes.Find(n.Code) == nil { // one note for all rows
				res.Notes.Add(n)
			}
		}
	}
	rows, err := j.values.Reshape(j.batch()*j.values.Dim(j.values.Rank()-2), d)
	if err != nil {
		return nil, err
	}
	if err := line.Compare(out.Values, j.targets, 0, &dataset.Stream{Values: rows, Columns: j.columns}, j.again(device, args, r)); err != nil {
		return nil, err
	}
	if j.batch() > 1 {
		line.Rate, line.Jitter = 0, 0 // rows have different rates
	}
	res.Streams = append(res.Streams, line)
	res.NoteUnfinite()
	if r.plot != "" && j.batch() > maxPanels {
		res.remark("rows-undrawn", "the figure shows the first %d of %d rows", maxPanels, j.batch())
	}
	return res, nil
}

// unfinite returns how many of a row's first n samples have a NaN or infinite value.
func (j *npzJob) unfinite(row, n int) (int, error) {
	values, err := rowOf(j.values, row, 3)
	if err == nil {
		values, err = values.Slice(0, 0, n)
	}
	if err != nil {
		return 0, err
	}
	return plausible.Unfinite(values)
}

func (j *npzJob) arrays(w arrayfile.Writer) error {
	return addArrays(w, []named{{"values", j.out.Values}, {"valid", j.out.Valid}, {"age", j.out.Age}, {"times", j.targets}})
}

func (j *npzJob) panels() ([]viz.Panel, error) {
	var list []viz.Panel
	for b := range min(j.batch(), maxPanels) {
		p := viz.Panel{Title: "values", Gap: j.maxGap}
		if j.values.Rank() == 3 {
			p.Title = fmt.Sprintf("row %d", b)
		}
		values, err := rowOf(j.values, b, 3)
		made, err1 := rowOf(j.out.Values, b, 3)
		targets, err2 := rowOf(j.targets, b, 2)
		timestamps, err3 := j.row(b)
		if err = errors.Join(err, err1, err2, err3); err != nil {
			return nil, err
		}
		if timestamps.Len() == 0 {
			continue
		}
		if values, err = values.Slice(0, 0, timestamps.Len()); err != nil {
			return nil, err
		}
		p.Recorded, p.Resampled = viz.Series{Times: timestamps, Values: values}, viz.Series{Times: targets, Values: made}
		list = append(list, p)
	}
	return list, nil
}

// makeClock makes targets over the rows' range, in the dtype of times, unless the file has targets.
func (j *npzJob) makeClock(r *request) error {
	j.snap = r.snapping()
	if j.targets != nil {
		j.clock = ops.At(j.targets)
		return nil
	}
	list := make([]clocks.Source, 0, j.batch())
	for b := range j.batch() {
		t, err := j.row(b)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("row %d", b)
		c, core, _, _, err := cover.Core(&dataset.Stream{Name: name, Times: t})
		if err != nil {
			var value *ops.ValueError
			if errors.As(err, &value) {
				value.Row = b
			}
			return &inputError{Path: j.path, Array: "times", Err: j.sortable(r, err)}
		}
		code := dataset.CodeStrayFollowed
		switch {
		case r.Range.Mode != align.RangeCommon || c == core:
		case j.values.Rank() == 2:
			if err := j.cut(t, c, core); err != nil {
				return err
			}
			code = dataset.CodeStrayLeftOut
		default:
			code = dataset.CodeStrayIgnored
		}
		j.notes.Join(cover.Strays(name, c, core, code, j.strays))
		if r.Range.Mode == align.RangeCommon {
			c = core
		}
		list = append(list, clocks.Source{Cover: c})
	}
	// Every row in a batch narrows the range.
	span := clocks.Range{Mode: r.Range.Mode}
	if span.Mode == align.RangeCommon {
		span.Mode = align.RangeIntersection
	}
	var err error
	var over clocks.Span
	if j.clock, over, err = clocks.Over(list, clocks.Recording(list), span, r.Rate, j.snap, j.times.DType()); err == nil {
		err = clocks.Room(j.clock, j.batch(), j.batch()*j.values.Dim(j.values.Rank()-1), r.Defaults.DType)
	}
	var size *clocks.SizeError
	var long *clocks.RangeError
	switch {
	case errors.As(err, &long) && long.Targets > 0 && len(long.Streams) == 0:
		return usagef("--hz: %v", err)
	case errors.As(err, &size):
		return &inputError{Path: j.path, Err: fmt.Errorf("--hz: %w", err)}
	case err != nil:
		return &inputError{Path: j.path, Array: "times", Err: err}
	}
	j.targets, j.clock, err = clocks.Ticks(j.clock, over, j.times.DType())
	return err
}

// cut drops the stray samples from one recording: samples with timestamps outside its core range.
func (j *npzJob) cut(times *tensor.Tensor, all, core cover.Cover) (err error) {
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

// again returns a function that resamples in float64.
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
