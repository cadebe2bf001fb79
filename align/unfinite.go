package align

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// Unfinite counts the samples [S,D] of which a value is NaN or infinite.
func Unfinite(values *tensor.Tensor) (n int, err error) {
	width := values.Dim(1)
	if values.Len() == 0 {
		return 0, nil
	}
	if values.DType() == tensor.F32 && values.IsContiguous() {
		list, err := tensor.Data[float32](values)
		return unfiniteRows(list, width), err
	}
	list, err := tensor.Floats(values)
	return unfiniteRows(list, width), err
}

func unfiniteRows[T float32 | float64](list []T, width int) (n int) {
	for i := 0; i+width <= len(list); i += width {
		for _, v := range list[i : i+width] {
			if v-v != 0 {
				n++
				break
			}
		}
	}
	return n
}

// Unfinite are remarks on streams with samples that are not finite.
func (r *Report) Unfinite() (list []string) {
	for i := range r.Streams {
		if s := &r.Streams[i]; s.Unfinite > 0 {
			list = append(list, fmt.Sprintf("stream %s: %d of %d samples are not finite, and are resampled as they are: valid", s.Name, s.Unfinite, s.Samples))
		}
	}
	return list
}
