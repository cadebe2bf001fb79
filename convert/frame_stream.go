package convert

import (
	"fmt"
	"iter"
	"math"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// digits is the number of columns for a frame's number: digits of base 256, because every dtype of values holds each exactly.
const digits = 4

// noKinds are the methods for a camera's columns: none, because the defaults are for numeric columns.
var noKinds = []align.ColumnKind{}

// frameKinds are the kinds that a media stream can have.
var frameKinds = []string{"", ops.InterpPrevious.String(), ops.InterpNearest.String(), ops.InterpNext.String()}

// numbers is the stream of a media stream's frames' numbers.
func numbers(m *dataset.Media, clock tensor.DType) (s dataset.Stream, err error) {
	list := make([]float32, 0, digits*m.Len())
	for i := range m.Len() {
		for d := range digits {
			list = append(list, float32(i>>(8*d)&255))
		}
	}
	s = dataset.Stream{Name: m.Name, Type: m.Type, Columns: make([]dataset.Column, digits)}
	for d := range s.Columns {
		s.Columns[d] = dataset.Column{Name: fmt.Sprint("frame[", d, "]"), Integer: true}
	}
	if s.Values, err = tensor.Of(list, m.Len(), digits); err == nil {
		s.Times, err = clockOf(m.Times, clock)
	}
	return s, err
}

// clockOf returns times in nanoseconds as a clock of a dtype.
func clockOf(ns []int64, dtype tensor.DType) (*tensor.Tensor, error) {
	switch dtype {
	case tensor.F64:
		sec := make([]float64, len(ns))
		for i, t := range ns {
			sec[i] = float64(t) / 1e9
		}
		return tensor.Of(sec, len(sec))
	case tensor.F32:
		sec := make([]float32, len(ns))
		for i, t := range ns {
			sec[i] = float32(float64(t) / 1e9)
		}
		return tensor.Of(sec, len(sec))
	}
	return tensor.Of(ns, len(ns))
}

// number returns the frame number in a row, and false if the value is not one.
func number(row []float64) (n int, ok bool) {
	for d, v := range row {
		if !(v >= 0 && v < 256 && v == math.Trunc(v)) {
			return 0, false
		}
		n |= int(v) << (8 * d)
	}
	return n, true
}

// ordered yields the frames' numbers of a stream of them.
func ordered(values []float64) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(values); i += digits {
			if n, _ := number(values[i : i+digits]); !yield(i/digits, n) {
				return
			}
		}
	}
}

// pick makes a media stream of the frames' numbers that the clock's ticks got, and accounts for the frames.
func pick(s *align.Aligned, plan *align.Plan, m *dataset.Media, times []int64, account *StreamAccount) (out dataset.Media, err error) {
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return out, err
	}
	valid, err := tensor.Data[uint8](s.Valid)
	if err != nil {
		return out, err
	}
	p := &Picked{Recorded: m, Frames: make([]int, len(times)), Valid: valid}
	// Of a tick that has no frame the values are those to fill with. It gets the frame before it, or the first, and is not valid.
	used, recorded, k := make([]bool, m.Len()), s.Recorded.Nanoseconds(), 0
	own, err := tensor.Floats(s.Recorded.Values)
	if err != nil {
		return out, err
	}
	for i := range times {
		for k+1 < len(recorded) && recorded[k+1] <= times[i] {
			k++
		}
		row := values[digits*i : digits*(i+1)]
		n, ok := number(row)
		if !ok || valid[i] == 0 || n >= len(used) {
			n, _ = number(own[digits*k : digits*(k+1)])
		}
		p.Frames[i], used[n] = n, true
	}
	rows := make([]bool, len(recorded))
	for row, i := range ordered(own) {
		rows[row] = used[i]
	}
	if err := countUsed(s, plan, rows, account); err != nil {
		return out, err
	}
	out = dataset.Media{Name: s.Name, Type: m.Type, Times: times, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Source: p}
	if m.IsVideo() {
		out.Encoding = "rgb8"
	}
	return out, nil
}

// undecoded returns the function that counts the rows with bad frames. A row of a plan that is not valid anyway is in the note alone.
func (k *Kept) undecoded(e *dataset.Episode) func(media string, row int, err error) {
	k.Undecoded = map[string][]int{}
	return func(media string, row int, err error) {
		m := e.MediaStream(media)
		k.Notes.Add(dataset.Note{Code: dataset.CodeFramesHeld, Subject: media, Count: 1, Row: dataset.At(row), Detail: dataset.Detail{Of: m.Len(), Cause: err}})
		if p, picked := m.Source.(*Picked); !picked || p.Valid[row] != 0 {
			k.Undecoded[media] = append(k.Undecoded[media], row)
		}
	}
}
