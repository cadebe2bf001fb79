package robomimic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/tensor"
)

// Episode reads demonstration i: its numbers. Its frames are read when they are asked for.
func (s *Set) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if i < 0 || i >= len(s.demos) {
		return nil, &dataset.RangeError{What: "episode", Got: i, Len: len(s.demos)}
	}
	demo, err := s.data.Group(s.demos[i])
	if err != nil {
		return nil, err
	}
	e := &dataset.Episode{Name: s.demos[i], Steps: s.info.Rate == 0}
	e.Attributes = dataset.Attributes{Source: s.path, Other: map[string]string{}}
	attrs, err := demo.Attrs()
	if err != nil {
		return nil, err
	}
	steps := -1
	for _, a := range attrs {
		switch text, ok := textOf(a); {
		case a.Name == "num_samples":
			if n, ok := numberOf(a); ok {
				steps = int(n)
			}
		case a.Name == "ep_meta" && ok:
			var meta struct{ Lang string }
			if json.Unmarshal([]byte(text), &meta) == nil {
				e.Attributes.Task = meta.Lang
			}
			e.Attributes.Other[a.Name] = text
		case ok:
			e.Attributes.Other[a.Name] = text
		}
	}
	if steps < 0 && demo.Has("actions") { // the raw layout does not say
		actions, err := demo.Dataset("actions")
		if err != nil {
			return nil, err
		}
		steps = actions.Len()
	}
	e.Frames = max(steps, 0)
	r := &reader{set: s, episode: e, steps: steps}
	err = demo.Walk(func(path string, o hdf5.Object, failed error) error {
		path = strings.TrimPrefix(path, demo.Path()+"/")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d, ok := o.(*hdf5.Dataset); ok && failed == nil {
			failed = r.add(path, d)
		}
		return r.passOver(path, failed)
	})
	return e, err
}

// reader turns a demonstration's datasets into streams and media.
type reader struct {
	set     *Set
	episode *dataset.Episode
	steps   int // -1 until one says
	times   []int64
}

// passOver leaves out what cannot be read, unless that is refused. An error that is none of the file's is one.
func (r *reader) passOver(path string, err error) error {
	if err == nil {
		return nil
	}
	bad, broken := dataset.AsDamage(err)
	switch {
	case broken && r.set.strict:
		return err
	case broken:
		r.episode.Damage.Add("datasets that are broken", 0, bad)
		r.leave(path, 0, err.Error())
		return nil
	}
	if errors.Is(err, dataset.ErrUnsupported) {
		r.leave(path, 0, err.Error())
		return nil
	}
	return err
}

func (r *reader) leave(path string, count int, why string) {
	r.episode.LeftOut = append(r.episode.LeftOut, dataset.LeftOut{Name: path, Count: count, Reason: why})
}

func (r *reader) add(path string, d *hdf5.Dataset) error {
	shape := d.Shape()
	if len(shape) == 0 {
		r.leave(path, 1, "one value and no series")
		return nil
	}
	n := shape[0]
	if r.steps < 0 {
		r.steps = n
	}
	dtype, numbers := d.Type().DType()
	image := len(shape) == 4 && dtype == tensor.U8 && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4)
	switch {
	case n != r.steps:
		r.leave(path, n, fmt.Sprintf("%d samples, want %d, as the episode has steps", n, r.steps))
		return nil
	case !numbers:
		r.leave(path, n, "values of "+d.Type().String())
		return nil
	case image:
		return r.media(path, d, shape)
	case len(shape) > 2:
		r.leave(path, n, fmt.Sprintf("values %s, want [T,D], or images [T,H,W,C] of bytes", tensor.FormatShape(shape)))
		return nil
	case len(shape) == 2 && shape[1] == 0:
		r.leave(path, n, "no columns")
		return nil
	}
	values, err := d.Read()
	if err != nil {
		return err
	}
	times, err := r.clock()
	if err != nil {
		return err
	}
	stream, err := streamOf(path, times, values, d.Type())
	if err != nil {
		return err
	}
	r.episode.Streams = append(r.episode.Streams, stream)
	return nil
}

// clock returns the steps' timestamps, ns.
func (r *reader) clock() (times []int64, err error) {
	if len(r.times) != r.steps {
		r.times, err = dataset.StepTimes(r.steps, r.set.info.Rate)
	}
	return r.times, err
}

func (r *reader) media(path string, d *hdf5.Dataset, shape []int) error {
	times, err := r.clock()
	if err != nil {
		return err
	}
	r.episode.Media = append(r.episode.Media, dataset.Media{
		Name: path, Times: times, Encoding: map[int]string{1: "mono8", 3: "rgb8", 4: "rgba8"}[shape[3]], Height: shape[1], Width: shape[2], Source: frames{d},
	})
	return nil
}

// frames reads images.
type frames struct{ d *hdf5.Dataset }

func (f frames) ReadFrame(_ context.Context, i int) ([]byte, error) { return f.d.Raw(i, i+1) }

// streamOf makes a stream of numbers [T] or [T,D]. Whole numbers become f32 where that holds their type exactly, else f64.
func streamOf(name string, times []int64, values *tensor.Tensor, t *hdf5.Type) (dataset.Stream, error) {
	width := 1
	if values.Rank() == 2 {
		width = values.Dim(1)
	}
	whole := !values.DType().IsFloat()
	values, inexact, err := dataset.Numbers(values)
	if err != nil {
		return dataset.Stream{}, err
	}
	if values, err = values.Reshape(len(times), width); err != nil {
		return dataset.Stream{}, err
	}
	columns := make([]dataset.Column, width)
	for i := range columns {
		columns[i] = dataset.Column{Name: fmt.Sprint(i), Type: t.String(), Integer: whole}
	}
	s, err := dataset.NewStream(name, times, values, columns)
	s.Inexact = inexact
	return s, err
}

// numberOf returns an attribute that is one number.
func numberOf(a *hdf5.Attr) (float64, bool) {
	t, err := a.Read()
	if err != nil || t.Len() != 1 {
		return 0, false
	}
	list, err := tensor.Floats(t)
	if err != nil || math.IsNaN(list[0]) || math.Abs(list[0]) > 1<<53 {
		return 0, false
	}
	return list[0], true
}
