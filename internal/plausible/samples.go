package plausible

import (
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Sorted returns the notes about samples of a stream that were recorded out of order, or without a time.
func Sorted(name string, late, lost int) (notes dataset.Notes) {
	if late > 0 {
		notes.Add(dataset.Note{Code: dataset.CodeBackSteps, Subject: name, Count: late})
	}
	if lost > 0 {
		notes.Add(dataset.Note{Code: dataset.CodeTimeless, Subject: name, Count: lost})
	}
	return notes
}

// Unfinite counts the samples [S,D] that have a NaN or infinite value.
func Unfinite(values *tensor.Tensor) (n int, err error) {
	width := values.Dim(1)
	if values.Len() == 0 {
		return 0, nil
	}
	if stride := values.Stride(0); values.DType() == tensor.F32 && values.Stride(1) == 1 && stride >= width { // also some columns of a stream
		list, err := tensor.Elements[float32](values)
		return unfiniteRows(list, width, stride), err
	}
	list, err := tensor.Floats(values)
	return unfiniteRows(list, width, width), err
}

func unfiniteRows[T float32 | float64](list []T, width, stride int) (n int) {
	for i := 0; i+width <= len(list); i += stride {
		for _, v := range list[i : i+width] {
			if v-v != 0 {
				n++
				break
			}
		}
	}
	return n
}
