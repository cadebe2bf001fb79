package serve

import (
	"errors"
	"math"
	"sync"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// slotArray is a batch array and its offset in a slot. Part is values, frames, valid, pad or age for a stream or camera. If Name is empty,
// it is one value per window: episode (its number in the dataset), tick, anchor (ns) or, with several datasets, dataset.
type slotArray struct {
	Name  string `json:"name"`
	Part  string `json:"part"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    int    `json:"at"`

	from *tensor.Tensor // the loader's tensor; nil for arrays that fill computes
	size int            // bytes
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
func layoutOf(b *loader.Batch, several bool) (*layout, error) {
	l := &layout{numbers: make([]int64, b.Episodes.Dim(0))}
	var errs []error
	for _, o := range outputs(b) {
		n, err := tensor.Fits(o.tensor.DType(), o.Shape...)
		errs = append(errs, err)
		a := slotArray{Name: o.Name, Part: o.Part, DType: o.DType, Shape: o.Shape, from: o.tensor, size: n * o.tensor.DType().Size()}
		if a.Part == "episode" {
			a.from = nil // replaced with the numbers in the dataset
		}
		l.add(a)
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
		to := slot[a.At : a.At+a.size]
		if a.from != nil {
			bytes, err := raw.Of(a.from)
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
