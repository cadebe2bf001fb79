package record

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/tensor"
)

// Tensor describes an argument of a plan, which is a tensor on the device.
type Tensor struct {
	Name    string
	DType   tensor.DType
	Shape   []int
	Strides []int // in elements; nil for a contiguous tensor
	Align   int   // the lowest four bits of the address
}

// TensorError reports a bad field in a tensor's description.
type TensorError struct {
	Name, Field, Got, Want string
}

func (e *TensorError) Error() string {
	return fmt.Sprintf("record: tensor %s: %s: got %s, want %s", e.Name, e.Field, e.Got, e.Want)
}

// bytes returns the extent of the tensor in bytes, including gaps.
func (t *Tensor) bytes() (int64, error) {
	size := uint64(t.DType.Size())
	switch {
	case size == 0:
		return 0, &TensorError{t.Name, "dtype", t.DType.String(), "one of f32, f64, f16, bf16, i32, i64, u8"}
	case t.Align < 0 || t.Align > 15 || t.Align%int(size) != 0:
		return 0, &TensorError{t.Name, "align", fmt.Sprint(t.Align), fmt.Sprintf("a multiple of %d below 16", size)}
	case t.Strides != nil && len(t.Strides) != len(t.Shape):
		return 0, &TensorError{t.Name, "strides", tensor.FormatShape(t.Strides), fmt.Sprintf("%d, as the shape has", len(t.Shape))}
	}
	n, err := tensor.NumElements(t.Shape...)
	if err != nil {
		return 0, err
	}
	last, over := uint64(n), uint64(0)
	if t.Strides != nil && n > 0 {
		last = 1
		for i, d := range t.Shape {
			if t.Strides[i] < 0 {
				return 0, &TensorError{t.Name, "strides", tensor.FormatShape(t.Strides), "0 or more"}
			}
			hi, lo := bits.Mul64(uint64(d-1), uint64(t.Strides[i]))
			var carry uint64
			last, carry = bits.Add64(last, lo, 0)
			over |= hi | carry
		}
	}
	if over != 0 || last > most/size {
		return 0, &TensorError{t.Name, "shape", fmt.Sprintf("%s by %s", tensor.FormatShape(t.Shape), tensor.FormatShape(t.Strides)), fmt.Sprintf("at most %d bytes", int64(most))}
	}
	return int64(last * size), nil
}

// home is the device name that tensors on a recording device report.
const home = "record:0"

// place adapts an argument's memory to a tensor's buffer.
type place struct{ *memory }

func (p place) Addr() uint64   { return p.base }
func (p place) Size() int64    { return p.bytes }
func (p place) Device() string { return home }
func (p place) Close() error   { return nil }

// tensor creates an argument's tensor.
func (w *world) tensor(t *Tensor) (*tensor.Tensor, error) {
	n, err := t.bytes()
	if err != nil {
		return nil, err
	}
	m := w.add(n, true, t.Align)
	whole, err := tensor.OnDevice(place{m}, t.DType, int(n)/t.DType.Size())
	switch {
	case err != nil:
		return nil, err
	case t.Strides == nil:
		return whole.Reshape(t.Shape...)
	}
	return whole.AsStrided(t.Shape, t.Strides, 0)
}

func put(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
