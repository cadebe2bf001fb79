package clockname

import (
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Times returns the timestamps for a Stream from numbers [T] or [T,1], T > 0. Their unit is an exponent of 10 of seconds, or comes from Judge
// if it is unknown. The result is nil if most of them do not rise, or if they count rows.
func Times(values *tensor.Tensor, exponent int, known bool) (*tensor.Tensor, error) {
	list, err := tensor.Floats(values)
	if err != nil {
		return nil, err
	}
	up, down, counts := 0, 0, !known
	for i, v := range list[1:] {
		if v > list[i] {
			up++
		} else if v < list[i] {
			down++
		}
		counts = counts && v == list[i]+1
	}
	if counts || up <= 9*down || 2*up < len(list)-1 {
		return nil, nil
	}
	if !known {
		exponent, _ = Judge(list)
	}
	if values, err = values.Reshape(len(list)); err != nil || dataset.CheckSpacing(values) != nil {
		return nil, err
	}
	if exponent == 0 && (values.DType() == tensor.F64 || values.DType() == tensor.F32) {
		return values, nil
	}
	whole, _ := tensor.Data[int64](values) // nil if they have another type
	scale := math.Pow10(9 + exponent)
	ns := make([]int64, len(list))
	for i, v := range list {
		if !(math.Abs(v)*scale <= 1<<62) {
			return nil, nil
		}
		if ns[i] = int64(math.Round(v * scale)); whole != nil {
			ns[i] = whole[i] * int64(scale)
		}
	}
	return tensor.Of(ns, len(ns))
}
