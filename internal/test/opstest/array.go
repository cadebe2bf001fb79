package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/tensor"
)

// array is a strided view of bit patterns. Tests make tensors from it on any device. Element [i,j,..] is raw[offset + i*strides[0] +
// j*strides[1] + ..].
type array struct {
	dtype   tensor.DType
	raw     []uint64
	shape   []int
	strides []int
	offset  int
}

// arr returns a contiguous array with the elements of data.
func arr[T tensor.Element](data []T, shape ...int) *array {
	t := tensor.Must(tensor.Of(data, shape...))
	return &array{dtype: t.DType(), raw: bitsOf(t), shape: shape, strides: t.Strides()}
}

// vals returns a contiguous array of numbers rounded to dtype.
func vals(dtype tensor.DType, data []float64, shape ...int) *array {
	raw := make([]uint64, len(data))
	for i, x := range data {
		raw[i] = encode(dtype, x)
	}
	return packed(dtype, raw, shape...)
}

// packed returns a contiguous array of bit patterns.
func packed(dtype tensor.DType, raw []uint64, shape ...int) *array {
	strides, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return &array{dtype: dtype, raw: raw, shape: shape, strides: strides}
}

func (a *array) len() int {
	n := 1
	for _, d := range a.shape {
		n *= d
	}
	return n
}

// at returns the index in raw of an element.
func (a *array) at(index ...int) int {
	p := a.offset
	for i, x := range index {
		p += x * a.strides[i]
	}
	return p
}

// each calls f for every element in row-major order, with its number in that order and its index in raw.
func (a *array) each(f func(n, at int)) {
	index, at := make([]int, len(a.shape)), a.offset
	for n := range a.len() {
		f(n, at)
		for i := len(index) - 1; i >= 0; i-- {
			at += a.strides[i]
			if index[i]++; index[i] < a.shape[i] {
				break
			}
			at -= index[i] * a.strides[i]
			index[i] = 0
		}
	}
}

// float returns the element at an index in raw as float64, which is exact for every dtype of values.
func (a *array) float(at int) float64 { return decode(a.dtype, a.raw[at]) }

// floats returns the elements in row-major order as float64.
func (a *array) floats() []float64 {
	out := make([]float64, a.len())
	a.each(func(n, at int) { out[n] = a.float(at) })
	return out
}

// int returns the element at an index in raw of an int64 array.
func (a *array) int(at int) int64 { return int64(a.raw[at]) }

// dense returns the bit patterns of the elements in row-major order.
func (a *array) dense() []uint64 {
	out := make([]uint64, a.len())
	a.each(func(n, at int) { out[n] = a.raw[at] })
	return out
}

// restride returns a copy with other strides and another offset. Places in raw between the elements get the bit pattern hole, and pad
// more follow at the end. Two elements must not share a place.
func (a *array) restride(strides []int, offset, pad int, hole uint64) *array {
	out := &array{dtype: a.dtype, shape: a.shape, strides: strides, offset: offset}
	last := offset + pad
	for i, d := range a.shape {
		last += max(d-1, 0) * strides[i]
	}
	out.raw = make([]uint64, last+1)
	for i := range out.raw {
		out.raw[i] = hole
	}
	in := a.dense()
	out.each(func(n, at int) { out.raw[at] = in[n] })
	return out
}

// broadcast returns the array with another first dimension of length n and stride 0.
func (a *array) broadcast(n int) *array {
	return &array{a.dtype, a.raw, append([]int{n}, a.shape...), append([]int{0}, a.strides...), a.offset}
}

// host returns a host tensor with the array's elements and strides.
func (a *array) host() *tensor.Tensor {
	if a == nil {
		return nil
	}
	return a.view(tensorOf(a.dtype, a.raw))
}

func (a *array) view(base *tensor.Tensor) *tensor.Tensor {
	return tensor.Must(base.AsStrided(a.shape, a.strides, a.offset))
}

// tensorOf returns a host tensor [len(raw)] of bit patterns.
func tensorOf(dtype tensor.DType, raw []uint64) *tensor.Tensor {
	switch dtype {
	case tensor.F32:
		return hostOf(raw, func(b uint64) float32 { return math.Float32frombits(uint32(b)) })
	case tensor.F64:
		return hostOf(raw, math.Float64frombits)
	case tensor.F16:
		return hostOf(raw, func(b uint64) tensor.Float16 { return tensor.Float16(b) })
	case tensor.BF16:
		return hostOf(raw, func(b uint64) tensor.BFloat16 { return tensor.BFloat16(b) })
	case tensor.I32:
		return hostOf(raw, func(b uint64) int32 { return int32(b) })
	case tensor.I64:
		return hostOf(raw, func(b uint64) int64 { return int64(b) })
	}
	return hostOf(raw, func(b uint64) uint8 { return uint8(b) })
}

func hostOf[T tensor.Element](raw []uint64, f func(uint64) T) *tensor.Tensor {
	data := make([]T, len(raw))
	for i, b := range raw {
		data[i] = f(b)
	}
	return tensor.Must(tensor.Of(data, len(data)))
}

// bitsOf returns the bit patterns of a contiguous host tensor.
func bitsOf(t *tensor.Tensor) []uint64 {
	switch t.DType() {
	case tensor.F32:
		return rawOf(t, func(x float32) uint64 { return uint64(math.Float32bits(x)) })
	case tensor.F64:
		return rawOf(t, math.Float64bits)
	case tensor.F16:
		return rawOf(t, func(x tensor.Float16) uint64 { return uint64(x) })
	case tensor.BF16:
		return rawOf(t, func(x tensor.BFloat16) uint64 { return uint64(x) })
	case tensor.I32:
		return rawOf(t, func(x int32) uint64 { return uint64(uint32(x)) })
	case tensor.I64:
		return rawOf(t, func(x int64) uint64 { return uint64(x) })
	}
	return rawOf(t, func(x uint8) uint64 { return uint64(x) })
}

func rawOf[T tensor.Element](t *tensor.Tensor, f func(T) uint64) []uint64 {
	data, err := tensor.Data[T](t)
	if err != nil {
		panic(err)
	}
	raw := make([]uint64, len(data))
	for i, x := range data {
		raw[i] = f(x)
	}
	return raw
}

// encode rounds a number once to a dtype and returns its bit pattern.
func encode(dtype tensor.DType, x float64) uint64 {
	switch dtype {
	case tensor.F32:
		return uint64(math.Float32bits(float32(x)))
	case tensor.F64:
		return math.Float64bits(x)
	case tensor.F16:
		return uint64(tensor.F16FromF64(x))
	case tensor.BF16:
		return uint64(tensor.BF16FromF64(x))
	}
	return uint64(int64(x))
}

// decode returns the number with a bit pattern.
func decode(dtype tensor.DType, b uint64) float64 {
	switch dtype {
	case tensor.F32:
		return float64(math.Float32frombits(uint32(b)))
	case tensor.F64:
		return math.Float64frombits(b)
	case tensor.F16:
		return float64(tensor.Float16(b).F32())
	case tensor.BF16:
		return float64(tensor.BFloat16(b).F32())
	}
	return float64(int64(b))
}

// poison returns a dtype's bit pattern for the elements around an output, where a write shows as a change, and inside an output without
// initial values, where a missing write shows.
func poison(dtype tensor.DType) uint64 {
	return 0xa5a5a5a5a5a5a5a5 >> (64 - 8*dtype.Size())
}

// show formats a bit pattern for a failure message, as a number and as bits.
func show(dtype tensor.DType, b uint64) string {
	return fmt.Sprintf("%v (%#x)", decode(dtype, b), b)
}
