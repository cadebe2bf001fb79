package tensor

// Floats returns a copy of a host tensor's elements as float64, in row-major order. The values are exact, except i64
// beyond 2^53. If the tensor is not on the host, the error is the same as from [Data].
func Floats(t *Tensor) ([]float64, error) {
	c, err := t.Contiguous()
	if err != nil {
		return nil, err
	}
	switch c.DType() {
	case F32:
		return floats(c, func(v float32) float64 { return float64(v) })
	case F64:
		return floats(c, func(v float64) float64 { return v })
	case F16:
		return floats(c, func(v Float16) float64 { return float64(v.F32()) })
	case BF16:
		return floats(c, func(v BFloat16) float64 { return float64(v.F32()) })
	case I32:
		return floats(c, func(v int32) float64 { return float64(v) })
	case I64:
		return floats(c, func(v int64) float64 { return float64(v) })
	}
	return floats(c, func(v uint8) float64 { return float64(v) })
}

func floats[T Element](t *Tensor, f func(T) float64) ([]float64, error) {
	data, err := Data[T](t)
	if err != nil {
		return nil, err
	}
	out, err := zeros[float64]("Floats", len(data), t.Shape())
	if err != nil {
		return nil, err
	}
	for i, v := range data {
		out[i] = f(v)
	}
	return out, nil
}

// Cast converts numbers to another type, as Go converts each.
func Cast[To, From ~float32 | ~float64 | ~int32 | ~int64 | ~uint8](list []From) []To {
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = To(v)
	}
	return out
}
