package serve

import (
	"errors"
	"math"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// slotArray is an array of a batch, and where in a slot it begins. Its part is values, frames, valid, pad or age of a stream or camera, or without a name
// one of the rows': episode, tick, anchor (ns), timestamp (seconds after the first tick of the episode's clock) and, of several datasets, dataset.
type slotArray struct {
	Name  string `json:"name"`
	Part  string `json:"part"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    int    `json:"at"`

	from *tensor.Tensor // the loader's; nil of rows that fill makes
	size int            // bytes
}

// layout is what a slot holds.
type layout struct {
	arrays  []slotArray
	bytes   int // of a slot
	several bool
	numbers []int64 // [B], to be filled in
}

const (
	slotAlign = 64   // of arrays in a slot
	slotPage  = 4096 // of slots
)

// layoutOf lays out the batches of a loader whose streams lie apart.
func layoutOf(b *loader.Batch, several bool) (*layout, error) {
	l := &layout{several: several, numbers: make([]int64, b.Episodes.Dim(0))}
	var errs []error
	add := func(name, part string, t *tensor.Tensor) {
		if t == nil {
			return
		}
		shape := t.Shape()
		n, err := tensor.Fits(t.DType(), shape...)
		errs = append(errs, err)
		l.add(slotArray{Name: name, Part: part, DType: t.DType().String(), Shape: shape, from: t, size: n * t.DType().Size()})
	}
	for _, s := range b.Streams {
		add(s.Name, "values", s.Values)
		add(s.Name, "pad", s.Pad)
		add(s.Name, "valid", s.Valid)
		add(s.Name, "age", s.Age)
	}
	for _, c := range b.Cameras {
		add(c.Name, "frames", c.Frames)
		add(c.Name, "pad", c.Pad)
		add(c.Name, "valid", c.Valid)
		add(c.Name, "age", c.Age)
	}
	add("", "tick", b.Ticks)
	add("", "anchor", b.Anchors)
	rows := len(l.numbers)
	l.add(slotArray{Part: "episode", DType: "i64", Shape: []int{rows}, size: 8 * rows})
	l.add(slotArray{Part: "timestamp", DType: "f32", Shape: []int{rows}, size: 4 * rows})
	if several {
		l.add(slotArray{Part: "dataset", DType: "i64", Shape: []int{rows}, size: 8 * rows})
	}
	if l.bytes > math.MaxInt/mostSlots {
		errs = append(errs, &RequestError{Arg: "batch", Got: "more than memory can hold"})
	}
	l.bytes = (l.bytes + slotPage - 1) / slotPage * slotPage
	return l, errors.Join(errs...)
}

func (l *layout) add(a slotArray) {
	a.At = (l.bytes + slotAlign - 1) / slotAlign * slotAlign
	l.bytes = a.At + a.size
	l.arrays = append(l.arrays, a)
}

// fill copies the loader's batch into a slot. Episodes get their numbers in their dataset.
func (l *layout) fill(slot []byte, from *loader.Loader, hz float64) error {
	b := from.Batch()
	episodes, err := tensor.Data[int64](b.Episodes)
	if err != nil {
		return err
	}
	ticks, err := tensor.Data[int64](b.Ticks)
	if err != nil {
		return err
	}
	for i := range l.arrays {
		a := &l.arrays[i]
		to := slot[a.At : a.At+a.size]
		switch {
		case a.from != nil:
			bytes, err := raw.Of(a.from)
			if err != nil {
				return err
			}
			copy(to, bytes)
		case a.Part == "timestamp":
			seconds := make([]float32, len(ticks))
			for row, tick := range ticks {
				seconds[row] = float32(float64(max(tick, 0)) / hz)
			}
			copy(to, raw.Bytes(seconds))
		default:
			for row, e := range episodes {
				dataset, _ := from.StoreOf(e)
				if l.numbers[row] = int64(dataset); a.Part == "episode" {
					_, number := from.Known(e)
					l.numbers[row] = int64(number)
				}
			}
			copy(to, raw.Bytes(l.numbers))
		}
	}
	return nil
}
