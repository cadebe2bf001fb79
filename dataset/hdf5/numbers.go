package hdf5

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// filler returns a function that writes numbers to a tensor, at an offset counted in stored elements.
func filler(v *Values, base *Type, t *tensor.Tensor) func(at int, b []byte) error {
	order := base.order()
	switch t.DType() {
	case tensor.F64:
		return fill(v, base, t, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) })
	case tensor.F32:
		return fill(v, base, t, func(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) })
	case tensor.F16:
		return fill(v, base, t, func(b []byte) tensor.Float16 { return tensor.Float16(order.Uint16(b)) })
	case tensor.BF16:
		return fill(v, base, t, func(b []byte) tensor.BFloat16 { return tensor.BFloat16(order.Uint16(b)) })
	case tensor.I32:
		return fill(v, base, t, func(b []byte) int32 { return int32(integer(b, base)) })
	case tensor.I64:
		return fill(v, base, t, func(b []byte) int64 { return int64(integer(b, base)) })
	}
	return fill(v, base, t, func(b []byte) uint8 { return b[0] })
}

func fill[T tensor.Element](v *Values, base *Type, t *tensor.Tensor, get func([]byte) T) func(at int, b []byte) error {
	out, err := tensor.Data[T](t)
	per, size := v.typ.Size/base.Size, base.Size
	wide := base.Kind == Uint && size == 8
	memory, plain := raw.Bytes(out), v.plain(base, t.DType())
	return func(at int, b []byte) error {
		if err != nil {
			return err
		}
		if plain {
			copy(memory[at*v.stored:], b)
			return nil
		}
		for to := at * per; len(b) > 0; b = b[v.stored:] {
			for k := range per {
				element := b[v.offset+k*size:][:size]
				if wide && integer(element, base) > math.MaxInt64 {
					return v.fail(dataset.ErrUnsupported, fmt.Sprintf(": number %d", to), fmt.Sprint(integer(element, base)), "at most 2^63-1")
				}
				out[to] = get(element)
				to++
			}
		}
		return nil
	}
}

// plain reports whether elements have the same bytes in the file as in a tensor.
func (v *Values) plain(base *Type, dtype tensor.DType) bool {
	return v.stored == v.typ.Size && base.Size == dtype.Size() && (base.Size == 1 || raw.Little && !base.Big) && !((base.Kind == Uint || base.Kind == Time) && base.Size == 8)
}
