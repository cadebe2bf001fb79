package main

import (
	"math"

	"github.com/robocache/robocache/tensor"
)

// nanoseconds returns a clock in nanoseconds, rounded if it is in seconds.
func nanoseconds(times *tensor.Tensor) ([]int64, error) {
	var out []int64
	switch times.DType() {
	case tensor.I64:
		return tensor.Data[int64](times)
	case tensor.F64:
		sec, err := tensor.Data[float64](times)
		if err != nil {
			return nil, err
		}
		for _, v := range sec {
			out = append(out, int64(math.Round(v*1e9)))
		}
	default:
		sec, err := tensor.Data[float32](times)
		if err != nil {
			return nil, err
		}
		for _, v := range sec {
			out = append(out, int64(math.Round(float64(v)*1e9)))
		}
	}
	return out, nil
}
