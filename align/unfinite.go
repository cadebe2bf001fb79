package align

import (
	"github.com/robocache/robocache/dataset"
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

// NoteUnfinite adds a note for each stream with samples that are not finite.
func (r *Report) NoteUnfinite() {
	for i := range r.Streams {
		if s := &r.Streams[i]; s.Unfinite > 0 {
			r.Notes.Add(dataset.Note{Code: dataset.CodeNotFinite, Subject: s.Name, Count: s.Unfinite, Detail: dataset.Detail{Of: s.Samples}})
		}
	}
}
