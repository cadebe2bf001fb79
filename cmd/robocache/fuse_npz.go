package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuseArchive is an archive of streams.
type fuseArchive struct {
	*fuseJob
	file   *npz.File
	used   map[string]bool
	bounds bounds
}

func loadFuseNPZ(r *request) (*work, error) {
	asked, err := r.parseStreams()
	if err != nil {
		return nil, err
	}
	file, err := npz.Open(r.in)
	if err != nil {
		return nil, readError(r.in, err)
	}
	defer file.Close()
	if !file.Has("targets") && r.hz.value == 0 {
		return nil, usagef("no clock given: %s has no array targets, want one or --hz", r.in)
	}
	f := &fuseArchive{&fuseJob{path: r.in}, file, map[string]bool{}, bounds{}}
	if err := f.choose(asked, r); err != nil {
		return nil, err
	}
	if err := f.makeClock(r); err != nil {
		return nil, err
	}
	var ignored []string
	for _, name := range slices.Concat(file.Names(), file.Others()) {
		if !f.used[name] {
			ignored = append(ignored, name)
		}
	}
	f.start = func(r *request) *result {
		res := newResult(r, f.targets)
		res.Ignored = append(res.Ignored, ignored...)
		if r.hz.value != 0 {
			res.Clock.bounds(f.bounds)
		}
		return res
	}
	f.options = func(p *pick, r *request) (ops.ResampleOptions, map[string]int, error) {
		o := r.options()
		if p.kind != nil {
			o.Kind = *p.kind
		}
		return o, map[string]int{o.Kind.String(): p.stream.Values.Dim(1)}, nil
	}
	f.where = func(e *inputError, m int, array string) {
		e.Stream = f.picks[m].stream.Name
		switch array {
		case "Src":
			e.Array = e.Stream + ".values"
		case "SrcTimes":
			e.Array = e.Stream + ".times"
		case "Targets":
			e.Array = "targets"
		}
	}
	return &work{f.fuseJob}, nil
}

func (f *fuseArchive) fail(array string, got any, want string) error {
	return &inputError{Path: f.path, Array: array, Msg: fmt.Sprintf("got %v, want %s", got, want)}
}

// choose reads the streams that were asked for, or all.
func (f *fuseArchive) choose(asked []streamFlag, r *request) error {
	var all []string
	for _, name := range f.file.Names() {
		if base, ok := strings.CutSuffix(name, ".values"); ok && f.file.Has(base+".times") {
			all = append(all, base)
		}
	}
	if len(asked) == 0 {
		for _, name := range all {
			asked = append(asked, streamFlag{name: name, gap: r.gap.limit})
		}
	}
	if len(asked) == 0 {
		return &inputError{Path: f.path, Msg: "no streams, want arrays NAME.values [S,D] and NAME.times [S]"}
	}
	if err := r.few(len(asked)); err != nil {
		return err
	}
	for _, a := range asked {
		if !f.file.Has(a.name + ".values") {
			return &inputError{Path: f.path, Msg: fmt.Sprintf("no stream %q, want %s", a.name, strings.Join(all, ", "))}
		}
		p, err := f.read(a, r)
		if err != nil {
			return err
		}
		f.picks = append(f.picks, *p)
	}
	return nil
}

// array reads an array of the archive.
func (f *fuseArchive) array(name string, bf16 bool) (*tensor.Tensor, error) {
	f.used[name] = true
	get := f.file.Tensor
	if bf16 {
		get = f.file.BF16
	}
	t, err := get(name)
	if err != nil {
		return nil, &inputError{Path: f.path, Array: name, Err: err}
	}
	return t, nil
}

func (f *fuseArchive) read(a streamFlag, r *request) (*pick, error) {
	// Of a uint16 array --in-dtype says what it is; others are what they are.
	head, err := f.file.Header(a.name + ".values")
	if err != nil {
		return nil, &inputError{Path: f.path, Array: a.name + ".values", Err: err}
	}
	v, err := f.array(a.name+".values", r.from.set && strings.HasSuffix(head.Descr, "u2"))
	if err != nil {
		return nil, err
	}
	t, err := f.array(a.name+".times", false)
	switch {
	case err != nil:
		return nil, err
	case v.Rank() != 2:
		return nil, f.fail(a.name+".values", v, "[S,D]")
	case v.Dim(1) == 0:
		return nil, f.fail(a.name+".values", v, "at least one feature")
	case !v.DType().IsFloat():
		return nil, f.fail(a.name+".values", v, "f32, f64 or f16, or --in-dtype bf16 for bf16 stored as uint16")
	case !slices.Contains([]tensor.DType{tensor.I64, tensor.F64, tensor.F32}, t.DType()):
		return nil, f.fail(a.name+".times", t, "int64 nanoseconds, or float64 or float32 seconds")
	case !slices.Equal(t.Shape(), []int{v.Dim(0)}):
		return nil, f.fail(a.name+".times", t, fmt.Sprintf("[%d], one stamp a sample", v.Dim(0)))
	case len(f.picks) > 0 && t.DType() != f.picks[0].times.DType():
		first := f.picks[0]
		return nil, f.fail(a.name+".times", t, fmt.Sprintf("%v, as %s.times: streams of one clock's dtype", first.times.DType(), first.stream.Name))
	}
	s := &dataset.Stream{Name: a.name, Values: v}
	for d := range v.Dim(1) {
		s.Columns = append(s.Columns, dataset.Column{Name: fmt.Sprint(d), Type: v.DType().String()})
	}
	return &pick{stream: s, times: t, kind: a.kind, gap: a.gap}, nil
}

// makeClock reads the targets, or makes them over the range of the streams.
func (f *fuseArchive) makeClock(r *request) error {
	dtype := f.picks[0].times.DType()
	if r.hz.value == 0 {
		var err error
		if f.targets, err = f.array("targets", false); err != nil {
			return err
		}
		if f.targets.Rank() != 1 || f.targets.DType() != dtype {
			return f.fail("targets", f.targets, fmt.Sprintf("%v [T], as %s.times", dtype, f.picks[0].stream.Name))
		}
		f.clock = ops.At(f.targets)
		return nil
	}
	var ranges []extent
	columns := 0
	for _, p := range f.picks {
		columns += p.stream.Values.Dim(1)
		if p.times.Len() == 0 {
			continue
		}
		e, err := extentOf(r.op, p.stream.Name, 0, p.times)
		if err != nil {
			return &inputError{Path: f.path, Stream: p.stream.Name, Array: p.stream.Name + ".times", Err: err}
		}
		ranges = append(ranges, e)
	}
	var err error
	if f.clock, f.bounds, err = clockOver(ranges, r); err != nil {
		return &inputError{Path: f.path, Err: err}
	}
	if err := checkOutput(f.clock, len(f.picks), columns, r); err != nil {
		return err
	}
	f.targets, err = writeOut(f.clock, dtype)
	return err
}

// blanked returns values as f64 with NaN, which is not drawn, where stream m is not valid.
func blanked(values, valid *tensor.Tensor, m int) (*tensor.Tensor, error) {
	flags, err := tensor.Data[uint8](valid)
	if err != nil {
		return nil, err
	}
	out, err := tensor.New(tensor.F64, values.Shape()...)
	if err != nil {
		return nil, err
	}
	to, err := tensor.Data[float64](out)
	if err != nil {
		return nil, err
	}
	from, err := numbers(values)
	if err != nil {
		return nil, err
	}
	width, streams := values.Dim(1), valid.Dim(1)
	for i := range to {
		if to[i] = from(i); flags[i/width*streams+m] == 0 {
			to[i] = math.NaN()
		}
	}
	return out, nil
}

// numbers returns what reads a contiguous tensor of values as float64.
func numbers(t *tensor.Tensor) (func(i int) float64, error) {
	switch t.DType() {
	case tensor.F32:
		d, err := tensor.Data[float32](t)
		return func(i int) float64 { return float64(d[i]) }, err
	case tensor.F64:
		d, err := tensor.Data[float64](t)
		return func(i int) float64 { return d[i] }, err
	case tensor.F16:
		d, err := tensor.Data[tensor.Float16](t)
		return func(i int) float64 { return float64(d[i].F32()) }, err
	}
	d, err := tensor.Data[tensor.BFloat16](t)
	return func(i int) float64 { return float64(d[i].F32()) }, err
}
