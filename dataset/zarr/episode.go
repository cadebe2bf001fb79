package zarr

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
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
	if err := dataset.CheckIndex(ctx, "episode", i, len(s.ends)); err != nil {
		return nil, err
	}
	from, to := 0, s.ends[i]
	if i > 0 {
		from = s.ends[i-1]
	}
	longest := 0
	for _, a := range s.arrays {
		longest = max(longest, a.Shape[0])
	}
	if to > longest && len(s.arrays) > 0 { // without arrays, notes have the reasons
		return nil, fail(dataset.ErrCorrupt, s.path, endsPath, strconv.Itoa(to), fmt.Sprintf("at most %d, as the longest array has", longest))
	}
	if err := memory.Check("times", 8*int64(to-from), 0); err != nil {
		return nil, err
	}
	e := &dataset.Episode{Name: "episode_" + strconv.Itoa(i), Frames: to - from}
	e.Attributes.Source = s.path
	if i < len(s.about) {
		about := &s.about[i]
		e.Name, e.Attributes.Task, e.Attributes.Success = cmp.Or(about.Name, e.Name), about.Task, about.Success
	}
	e.Notes = append(append(e.Notes, s.lost...), s.left...)
	var damage, left dataset.Notes
	times, err := s.times(ctx, from, to)
	timed := times != nil || err != nil
	if err != nil {
		if err := s.cost(ctx, &left, &damage, s.clock.Name, err); err != nil {
			return nil, err
		}
	}
	if times == nil {
		e.Steps = s.info.Rate == 0
		list, err := dataset.StepTimes(to-from, s.info.Rate)
		if err != nil {
			return nil, err
		}
		if times, err = tensor.Of(list, to-from); err != nil {
			return nil, err
		}
	}
	clock, streams, absent := dataset.Stream{Times: times}, make([]dataset.Stream, len(s.arrays)), make([]dataset.Notes, len(s.arrays))
	n := storage.AtOnce(s.path)
	for k, err := range inorder.Each(ctx, len(streams), n, n, func(error) int { return n }, func(ctx context.Context, k int) (err error) {
		a := s.arrays[k]
		switch {
		case a == s.clock && timed:
		case a.encoding != "":
			_, err = s.rows(ctx, a, to, to, nil)
		default:
			streams[k], err = s.stream(ctx, a, from, times, &absent[k])
		}
		return err
	}) {
		a := s.arrays[k]
		switch {
		case err != nil:
			if err := s.cost(ctx, &left, &damage, a.Name, err); err != nil {
				return nil, err
			}
		case a.encoding != "":
			e.Media = append(e.Media, dataset.Media{
				Name: a.Name, Times: clock.Nanoseconds(), Encoding: a.encoding, Height: a.Shape[1], Width: a.Shape[2], Source: &frames{s, a, from},
			})
		case streams[k].Times != nil:
			if lost := e.Frames - streams[k].Len(); lost > 0 {
				e.Notes.Add(dataset.Note{Code: dataset.CodeRowsNotValid, Subject: a.Name, Count: lost})
			}
			e.Streams, e.Notes = append(e.Streams, streams[k]), append(e.Notes, absent[k]...)
		}
	}
	e.Notes = append(append(e.Notes, damage...), left...)
	return e, ctx.Err()
}

// ColumnName returns the name of column i if its array has no attribute columns. shape is a row's: "3" for [7], and "[1][0]" for [2,3].
func ColumnName(i int, shape []int) string {
	if len(shape) > 1 {
		return dataset.Indices(i, shape)
	}
	return strconv.Itoa(i)
}

// times returns the rows' timestamps from their clock; nil if there is none, or if it does not rise in these rows.
func (s *Set) times(ctx context.Context, from, to int) (*tensor.Tensor, error) {
	if s.clock == nil || from == to {
		return nil, nil
	}
	values, err := s.numbers(ctx, s.clock, from, to, nil)
	if err != nil {
		return nil, err
	}
	exponent, known, _ := clockname.Of(s.clock.Name, s.clock.Unit)
	return clockname.Times(values, exponent, known)
}

// stream reads a stream from a row on, with as many rows as times, less those that its mask excludes.
func (s *Set) stream(ctx context.Context, a *array, from int, times *tensor.Tensor, absent *dataset.Notes) (out dataset.Stream, err error) {
	rows := times.Len()
	width, _ := tensor.NumElements(a.Shape[1:]...)
	values, err := s.numbers(ctx, a, from, from+rows, absent)
	if err == nil {
		values, err = values.Reshape(rows, width)
	}
	if err != nil {
		return out, err
	}
	columns := make([]dataset.Column, width)
	for i := range columns {
		columns[i] = dataset.Column{Name: ColumnName(i, a.Shape[1:]), Type: a.typ, Integer: !values.DType().IsFloat()}
		if len(a.Columns) == width {
			columns[i].Name = a.Columns[i]
		}
	}
	one := dataset.Stream{Name: a.Name, Times: times, Columns: columns}
	if one.Values, one.Inexact, err = dataset.Numbers(values, 8*a.item); one.Inexact > 0 {
		one.Integers = values
	}
	if err == nil {
		err = one.Check()
	}
	if mask := s.masks[a.Name]; mask != nil && err == nil {
		var flags []byte
		if flags, err = s.rows(ctx, mask, from, from+rows, absent); err == nil {
			_, err = one.OnlyValid(flags)
		}
	}
	if err != nil {
		return out, err
	}
	return one, nil
}

// frames reads a camera's frames.
type frames struct {
	set   *Set
	array *array
	from  int // the row with frame 0
}

func (f *frames) ReadFrame(ctx context.Context, i int) (data []byte, err error) {
	defer dataset.Guard(format, f.set.path, &err)()
	data, err = f.set.rows(ctx, f.array, f.from+i, f.from+i+1, nil)
	if err != nil || !f.array.pixels {
		return data, err
	}
	whole, ok := pixels(data)
	if !ok {
		return nil, fail(dataset.ErrCorrupt, f.set.files.where(f.array.path), fmt.Sprintf("frame %d", i), "other numbers",
			"whole numbers from 0 to 255, as in the first frame")
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
