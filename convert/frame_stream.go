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

// digits is the number of columns that hold a frame number. Each is a digit in base 256, which every dtype of values holds exactly.
const digits = 4

// noKinds are the methods for a camera's columns: none, because the defaults are for numeric columns.
var noKinds = []align.ColumnKind{}

// frameKinds are the kinds that a media stream can have.
var frameKinds = []string{"", ops.InterpPrevious.String(), ops.InterpNearest.String(), ops.InterpNext.String()}

// numbers returns the stream of a media stream's frame numbers: row i has i, as digits. clock is the dtype of its times.
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

// clockOf returns times in nanoseconds as a tensor: seconds if dtype is F64 or F32, else int64 nanoseconds.
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

// ordered yields each row of a stream of frame numbers with its frame number.
func ordered(values []float64) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(values); i += digits {
			if n, _ := number(values[i : i+digits]); !yield(i/digits, n) {
				return
			}
		}
	}
}

// pick returns a media stream with one frame a tick: the frame with the number that the aligned stream s has there. times are the ticks,
// ns. account gets the counts of used and dropped frames.
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
	// A tick without a frame has the fill value. It gets the frame before it, or else the first frame, and is not valid.
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

// undecoded returns a function that records rows with frames that cannot be decoded. All are counted in a note. Undecoded gets only the
// rows that are otherwise valid. If those are more than half of all rows, the function returns err.
func (k *Kept) undecoded(e *dataset.Episode) func(media string, row int, err error) error {
	k.Undecoded = map[string][]int{}
	return func(media string, row int, err error) error {
		m := e.MediaStream(media)
		k.Notes.Add(dataset.Note{Code: dataset.CodeFramesHeld, Subject: media, Count: 1, Row: dataset.At(row), Detail: dataset.Detail{Of: m.Len(), Cause: err}})
		if p, picked := m.Source.(*Picked); !picked || p.Valid[row] != 0 {
			k.Undecoded[media] = append(k.Undecoded[media], row)
		}
		if 2*len(k.Undecoded[media]) > m.Len() {
			return err
		}
		return nil
	}
}
