package zarr

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/clockname"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// Episode reads the numbers in an episode. Its frames are read when they are needed.
func (s *Set) Episode(ctx context.Context, i int) (_ *dataset.Episode, err error) {
	defer dataset.Guard(format, s.path, &err)()
	if s.closed.Load() {
		return nil, fmt.Errorf("zarr: %s: %w", s.path, dataset.ErrClosed)
	}
	if err := dataset.CheckIndex(ctx, "episode", i, len(s.ends)); err != nil {
		return nil, err
	}
	from, to := s.rowsOf(i)
	longest := 0
	for k := range s.parts {
		longest = max(longest, s.parts[k].shape[0])
	}
	if to > longest {
		return nil, s.fail(dataset.ErrCorrupt, endsPath, strconv.Itoa(to), fmt.Sprintf("at most %d, as the longest array", longest))
	}
	if err := memory.Check("times", 8*int64(to-from), 0); err != nil {
		return nil, err
	}
	e := &dataset.Episode{Name: "episode_" + strconv.Itoa(i), Frames: to - from}
	e.Attributes = dataset.Attributes{Source: s.path}
	if i < len(s.about) {
		about := &s.about[i]
		e.Name, e.Attributes.Task, e.Attributes.Success = cmp.Or(about.Name, e.Name), about.Task, about.Success
	}
	e.Notes = append(append(e.Notes, s.lost...), s.left...)
	var damage, left dataset.Notes
	times, err := s.times(ctx, from, to)
	if err != nil {
		if err := s.cost(&left, &damage, s.clock.name, err); err != nil {
			return nil, err
		}
	}
	timed := times != nil
	if !timed {
		e.Steps = s.info.Rate == 0
		list, err := dataset.StepTimes(to-from, s.info.Rate)
		if err != nil {
			return nil, err
		}
		if times, err = tensor.Of(list, to-from); err != nil {
			return nil, err
		}
	}
	type read struct {
		stream dataset.Stream
		err    error
	}
	n := storage.AtOnce(s.path)
	for k, r := range inorder.Each(ctx, len(s.parts), n, n, func(read) int { return n }, func(ctx context.Context, k int) (r read) {
		p := &s.parts[k]
		switch {
		case p.array == s.clock && (timed || left != nil):
		case p.shape[0] < to:
			r.err = s.bad(p.array, dataset.ErrCorrupt, "rows", strconv.Itoa(p.shape[0]), fmt.Sprintf("%d, by %s", to, endsPath))
		case p.encoding == "":
			r.stream, r.err = s.stream(ctx, p.array, from, times)
		}
		return r
	}) {
		p := &s.parts[k]
		switch {
		case r.err != nil:
			if err := s.cost(&left, &damage, p.name, r.err); err != nil {
				return nil, err
			}
		case r.stream.Times != nil:
			e.Streams = append(e.Streams, r.stream)
		case p.encoding != "":
			clock := dataset.Stream{Times: times}
			e.Media = append(e.Media, dataset.Media{
				Name: p.name, Times: clock.Nanoseconds(), Encoding: p.encoding, Height: p.shape[1], Width: p.shape[2], Source: &frames{s, p, from},
			})
		}
	}
	e.Notes = append(append(e.Notes, damage...), left...)
	if err := s.mask(e); err != nil {
		return nil, err
	}
	return e, ctx.Err()
}

// mask removes rows that a mask marks as not valid, and the masks.
func (s *Set) mask(e *dataset.Episode) error {
	for k := range s.parts {
		p := &s.parts[k]
		at := slices.IndexFunc(e.Streams, func(s dataset.Stream) bool { return s.Name == p.name })
		to := e.Stream(p.maskOf)
		if p.maskOf == "" || at < 0 || to == nil || len(e.Streams[at].Columns) != 1 {
			continue
		}
		list, err := tensor.Floats(e.Streams[at].Values)
		if err != nil {
			return err
		}
		flags := make([]uint8, len(list))
		for i, v := range list {
			if v != 0 {
				flags[i] = 1
			}
		}
		lost, err := to.OnlyValid(flags)
		if err != nil {
			return err
		}
		if lost > 0 {
			e.Notes.Add(dataset.Note{Code: dataset.CodeRowsNotValid, Subject: p.maskOf, Count: lost})
		}
		e.Notes.Add(dataset.Note{Code: dataset.CodeMaskApplied, Subject: p.name, Count: len(flags), Detail: dataset.Detail{Got: p.maskOf}})
		e.Streams = slices.Delete(e.Streams, at, at+1)
	}
	return nil
}

// times returns the rows' timestamps from their clock; nil if there is none, or if it does not rise in these rows.
func (s *Set) times(ctx context.Context, from, to int) (*tensor.Tensor, error) {
	if s.clock == nil || s.clock.shape[0] < to || from == to {
		return nil, nil
	}
	values, err := s.numbers(ctx, s.clock, from, to)
	if err != nil {
		return nil, err
	}
	exponent, known, _ := clockname.Of(s.clock.name, s.clock.unit)
	return clockname.Times(values, exponent, known)
}

// stream reads a stream from a row on, with as many rows as times.
func (s *Set) stream(ctx context.Context, a *array, from int, times *tensor.Tensor) (none dataset.Stream, err error) {
	rows := times.Len()
	values, err := s.numbers(ctx, a, from, from+rows)
	if err != nil {
		return none, err
	}
	width, err := tensor.NumElements(a.shape[1:]...)
	if err == nil {
		values, err = values.Reshape(rows, width)
	}
	if err != nil {
		return none, err
	}
	out := dataset.Stream{Name: a.name, Times: times, Columns: make([]dataset.Column, width)}
	for i := range out.Columns {
		c := &out.Columns[i]
		c.Name, c.Type, c.Integer = strconv.Itoa(i), a.head.Type(), !values.DType().IsFloat()
		if len(a.columns) == width {
			c.Name = a.columns[i]
		} else if len(a.shape) > 2 {
			c.Name = dataset.Indices(i, a.shape[1:])
		}
	}
	out.Values, out.Inexact, err = dataset.Numbers(values, 8*a.head.ItemSize())
	if err == nil && out.Inexact > 0 {
		out.Integers = values
	}
	if err == nil {
		err = out.Check()
	}
	return out, err
}

// frames reads a camera's frames.
type frames struct {
	set  *Set
	part *part
	from int // the row with frame 0
}

func (f *frames) ReadFrame(ctx context.Context, i int) (data []byte, err error) {
	defer dataset.Guard(format, f.set.path, &err)()
	data, err = f.set.rows(ctx, f.part.array, f.from+i, f.from+i+1)
	if err != nil || !f.part.pixels {
		return data, err
	}
	whole, ok := pixels(data)
	if !ok {
		return nil, f.set.bad(f.part.array, dataset.ErrCorrupt, fmt.Sprintf("frame %d", i), "other numbers", "whole numbers from 0 to 255, as in the first frame")
	}
	return whole, nil
}

// pixels converts a float32 frame, little-endian, to bytes. It returns false unless all values are whole numbers from 0 to 255.
func pixels(data []byte) ([]byte, bool) {
	out := make([]byte, len(data)/4)
	for i := range out {
		v := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		out[i] = byte(v)
		if float32(out[i]) != v {
			return nil, false
		}
	}
	return out, true
}
