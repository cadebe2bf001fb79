package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/kitti"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// load returns the points of a file, or the requested clouds or depth images from a recording.
func (a *app) load(ctx context.Context, r *voxelRequest, device *ops.Device) (_ *cloud, err error) {
	done := a.Step("reading " + r.in)
	defer done()
	form, none := cloudFormat(r.in, r.columns != nil)
	asked := r.stream != "" || r.one >= 0 || r.episode >= 0 || len(r.reading.Definitions) > 0 || r.imageFlag != ""
	if none == nil && !(asked && form == "bin") { // because bare numbers match any format
		if asked {
			return nil, usagef("--stream, --cloud, --episode, --msg-path and the flags of depth images are for recordings, got a .%s file", form)
		}
		return loadCloud(r.in, kitti.Options{Columns: r.columns, Strict: r.reading.Strict})
	}
	d, err := dataset.Open(ctx, r.in, r.reading)
	if err != nil {
		if none != nil && !asked && errors.Is(err, dataset.ErrUnsupported) {
			return nil, none
		}
		return nil, readError(r.in, err)
	}
	if !asked && d.Format() == "npz" { // a folder of archives, which have no clouds
		return nil, errors.Join(none, d.Close())
	}
	defer func() { joinClose(&err, d) }()
	if r.columns != nil {
		return nil, usagef("--columns is for .bin files, which do not name their columns, got a recording")
	}
	e, err := r.episode.of(ctx, d, r.in)
	if err != nil {
		return nil, err
	}
	names, name := e.CloudNames(), r.stream
	if deep := e.DepthNames(); slices.Contains(deep, name) || name == "" && len(deep) > 0 && (len(names) == 0 || r.imageFlag != "") {
		if r.one >= 0 {
			return nil, usagef("--cloud is for point clouds, got depth images")
		}
		if d, err = r.stamped(ctx, d); err == nil {
			e, err = r.episode.of(ctx, d, r.in)
		}
		if err != nil {
			return nil, err
		}
		done()
		return a.deproject(ctx, r, device, e)
	}
	switch {
	case r.imageFlag != "":
		return nil, usagef("--%s is for depth images, got point clouds", r.imageFlag)
	case len(names) == 0:
		return nil, &inputError{Path: r.in, Got: "no point clouds in it", Want: "a recording that has some, or depth images"}
	case name == "" && len(names) > 1:
		return nil, usagef("%s holds %d cloud series, want --stream %s", r.in, len(names), orOf(names))
	case name == "":
		name = names[0]
	case !slices.Contains(names, name):
		return nil, &inputError{Path: r.in, Stream: name, Msg: fmt.Sprintf("no series of clouds has that name, want %s", orOf(names)), Want: orOf(names)}
	}
	s := e.CloudStream(name)
	c := &cloud{path: r.in, noteList: newNotes()}
	c.notes(e.Notes.Damage())
	if r.one < 0 {
		return c, c.all(ctx, s, r.reading.Strict)
	}
	if int(r.one) >= s.Len() {
		return nil, usagef("--cloud: got %d, and %s of %s holds %s", r.one, name, r.in, text.Count(s.Len(), "cloud"))
	}
	read, err := s.Cloud(ctx, int(r.one))
	if err != nil {
		return nil, readError(r.in, err)
	}
	c.take(read)
	return c, nil
}

// all reads all clouds in a series as a batch. A cloud that cannot be read becomes a row without points; with strict it is an error.
func (c *cloud) all(ctx context.Context, s *dataset.CloudStream, strict bool) error {
	var points, features pile
	offsets, lost, inexact, others := []int64{0}, 0, 0, 0
	var why error
	for i := range s.Len() {
		read, err := s.Cloud(ctx, i)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && strict:
			return readError(c.path, err)
		case err != nil:
			if lost++; why == nil {
				why = err
			}
			offsets = append(offsets, offsets[len(offsets)-1])
			continue
		}
		if c.names == nil {
			c.names = append([]string{}, read.Names()...)
		}
		if !slices.Equal(c.names, read.Names()) {
			return &inputError{Path: c.path, Stream: s.Name, Msg: fmt.Sprintf("got a cloud %d with features %q, want %q, as the others have, or --cloud N for one alone", i, read.Names(), c.names)}
		}
		if err := errors.Join(points.add(read.Points), features.add(read.Features)); err != nil {
			return &inputError{Path: c.path, Stream: s.Name, Err: fmt.Errorf("cloud %d: %w", i, err)}
		}
		if need, most := points.bytes()+features.bytes(), int64(tensor.Available()); need > most/2 { // the other half is for the operation
			return usagef("--stream %s: got %.1f GiB of points in %d of its %d clouds, want --cloud N, one of them", s.Name, float64(need)/(1<<30), i+1, s.Len())
		}
		offsets = append(offsets, offsets[len(offsets)-1]+int64(read.Len()))
		inexact += read.Inexact
		others += len(read.Notes)
	}
	if lost > 0 && lost == s.Len() {
		return &inputError{Path: c.path, Stream: s.Name, Msg: fmt.Sprintf("none of its %d clouds can be read", lost), Err: why}
	}
	var err error
	if c.points, err = points.tensor(3); err != nil {
		return err
	}
	if len(c.names) > 0 {
		if c.features, err = features.tensor(len(c.names)); err != nil {
			return err
		}
	}
	if c.offsets, err = tensor.Of(offsets, len(offsets)); err != nil {
		return err
	}
	if c.times, err = tensor.Of(slices.Clone(s.Times), s.Len()); err != nil {
		return err
	}
	c.inexact(inexact)
	if lost > 0 {
		c.remark("clouds-unread", "%d of %d clouds cannot be read and have no points, the first: %v", lost, s.Len(), why)
	}
	if others > 0 {
		c.remark("values-left-out", "%d fields without numbers, or broken points, were left out", others)
	}
	return nil
}

// pile is a growing list of numbers, all f32 or all f64.
type pile struct {
	f32 []float32
	f64 []float64
}

func (p *pile) bytes() int64 { return int64(4*len(p.f32) + 8*len(p.f64)) }

// add appends a tensor's numbers. An f64 tensor makes all numbers f64.
func (p *pile) add(t *tensor.Tensor) error {
	t, err := t.Contiguous()
	if err != nil {
		return err
	}
	if t.DType() == tensor.F32 && p.f64 == nil {
		list, err := tensor.Data[float32](t)
		p.f32 = append(p.f32, list...)
		return err
	}
	for _, v := range p.f32 {
		p.f64 = append(p.f64, float64(v))
	}
	p.f32 = nil
	list, err := tensor.Floats(t)
	if p.f64 = append(p.f64, list...); p.f64 == nil {
		p.f64 = []float64{}
	}
	return err
}

func (p *pile) tensor(width int) (*tensor.Tensor, error) {
	if p.f64 != nil {
		return tensor.Of(p.f64, len(p.f64)/width, width)
	}
	return tensor.Of(p.f32, len(p.f32)/width, width)
}
