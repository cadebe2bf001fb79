package serve

import (
	"errors"
	"math"
	"sync"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// slotArray is a batch array and its offset in a slot. Part is values, frames, valid, pad or age for a stream or camera. If the client makes
// a camera's frames, its frames are in no slot, At is -1, and there are also the parts stored, select and keys of [loader.StoredFrames], where
// the next batch may have fewer stored frames. If Name is empty,
// it is one value per window: episode (its number in the dataset), tick, anchor (ns) or, with several datasets, dataset.
type slotArray struct {
	Name  string `json:"name"`
	Part  string `json:"part"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    int    `json:"at"`

	from func() *tensor.Tensor // returns the loader's tensor for the present batch; nil for arrays that fill computes
	size int                   // bytes
}

// layout has the arrays and the size of a slot, which is the room for one batch in the shared memory.
type layout struct {
	arrays  []slotArray
	bytes   int     // the slot's size
	numbers []int64 // [B], computed by fill
}

const (
	slotAlign = 64   // the alignment of arrays in a slot
	slotPage  = 4096 // the alignment of slots
)

// layoutOf returns the slot layout for a batch. The loader's streams must not share tensors. If several is true, the slot also has the
// dataset index of each window.
func layoutOf(from *loader.Loader, several bool) (*layout, error) {
	b := from.Batch()
	l := &layout{numbers: make([]int64, b.Episodes.Dim(0))}
	var errs []error
	for _, o := range outputs(b) {
		errs = append(errs, l.addTensor(o.Name, o.Part, func() *tensor.Tensor { return o.tensor }))
		if a := &l.arrays[len(l.arrays)-1]; a.Part == "episode" {
			a.from = nil // replaced with the numbers in the dataset
		}
	}
	for i := range b.Cameras {
		c := &b.Cameras[i]
		if c.Frames != nil {
			continue
		}
		dtype, shape := from.FramesShape(i)
		l.arrays = append(l.arrays, slotArray{Name: c.Name, Part: "frames", DType: dtype.String(), Shape: shape, At: -1})
		errs = append(errs, l.addTensor(c.Name, "stored", func() *tensor.Tensor { return c.Stored.Frames }),
			l.addTensor(c.Name, "select", func() *tensor.Tensor { return c.Stored.Select }))
		if c.Stored.Keys != nil {
			errs = append(errs, l.addTensor(c.Name, "keys", func() *tensor.Tensor { return c.Stored.Keys }))
		}
	}
	if rows := len(l.numbers); several {
		l.add(slotArray{Part: "dataset", DType: "i64", Shape: []int{rows}, size: 8 * rows})
	}
	if l.bytes > math.MaxInt/mostSlots {
		errs = append(errs, &RequestError{Arg: "batch", Got: "more than memory can hold"})
	}
	l.bytes = (l.bytes + slotPage - 1) / slotPage * slotPage
	return l, errors.Join(errs...)
}

// addTensor adds an array with a tensor's present dtype and shape.
func (l *layout) addTensor(name, part string, from func() *tensor.Tensor) error {
	t := from()
	n, err := tensor.Fits(t.DType(), t.Shape()...)
	l.add(slotArray{Name: name, Part: part, DType: t.DType().String(), Shape: t.Shape(), from: from, size: n * t.DType().Size()})
	return err
}

func (l *layout) add(a slotArray) {
	a.At = (l.bytes + slotAlign - 1) / slotAlign * slotAlign
	l.bytes = a.At + a.size
	l.arrays = append(l.arrays, a)
}

// fill copies the loader's batch to a slot.
func (l *layout) fill(slot []byte, from *loader.Loader) error {
	episodes, err := tensor.Data[int64](from.Batch().Episodes)
	if err != nil {
		return err
	}
	for i := range l.arrays {
		a := &l.arrays[i]
		if a.At < 0 {
			continue
		}
		to := slot[a.At : a.At+a.size]
		if a.from != nil {
			bytes, err := raw.Of(a.from())
			if err != nil {
				return err
			}
			copyAll(to, bytes)
			continue
		}
		for row, e := range episodes {
			dataset, _ := from.StoreOf(e)
			if l.numbers[row] = int64(dataset); a.Part == "episode" {
				_, number := from.Known(e)
				l.numbers[row] = int64(number)
			}
		}
		copy(to, raw.Bytes(l.numbers))
	}
	return nil
}

// copiedEach is how many bytes are worth a goroutine.
const copiedEach = 1 << 21

// copyAll copies bytes, with several goroutines if they are many.
func copyAll(to, from []byte) {
	var parts sync.WaitGroup
	for len(from) > copiedEach {
		part, rest := to[:copiedEach], from[:copiedEach]
		parts.Go(func() { copy(part, rest) })
		to, from = to[copiedEach:], from[copiedEach:]
	}
	copy(to, from)
	parts.Wait()
}
