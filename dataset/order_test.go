package dataset_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func TestSortedKeepsEverySampleThatHasAPlace(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	s := dataset.Stream{
		Name:   "a",
		Times:  tensor.Must(tensor.Of([]float64{3, 1, nan, 2, 3, inf, 2, -1e10, 4}, 9)),
		Values: tensor.Must(tensor.Of([]float32{30, 10, -1, 20, 31, -1, 21, -1, 40}, 9, 1)), Columns: make([]dataset.Column, 1),
	}
	got, late, lost, err := s.Sorted()
	require.NoError(t, err)
	assert.Equal(t, 2, late, "from 3 to 1, and from 3 to the second 2")
	assert.Equal(t, 3, lost, "NaN, infinity, and beyond 2^62 ns")
	assert.Equal(t, []float64{1, 2, 2, 3, 3, 4}, floats(t, got.Times))
	assert.Equal(t, []float64{10, 20, 21, 30, 31, 40}, floats(t, got.Values), "those of one timestamp in their order")
	assert.Equal(t, 9, s.Len(), "the stream itself is as it was")

	// Columns that are a part of wider values, and a clock in nanoseconds.
	wide := tensor.Must(tensor.Of([]float64{0, 1, 2, 3, 4, 5}, 2, 3))
	part, err := wide.Slice(1, 1, 3)
	require.NoError(t, err)
	s = dataset.Stream{Times: tensor.Must(tensor.Of([]int64{7, 5}, 2)), Values: part, Columns: make([]dataset.Column, 2)}
	s.Integers = tensor.Must(tensor.Of([]int64{1, 2, 4, 5}, 2, 2))
	got, late, lost, err = s.Sorted()
	require.NoError(t, err)
	assert.Equal(t, [2]int{1, 0}, [2]int{late, lost})
	assert.Equal(t, []float64{4, 5, 1, 2}, floats(t, got.Values))
	assert.Equal(t, []float64{4, 5, 1, 2}, floats(t, got.Integers))
}

func floats(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.Floats(x)
	require.NoError(t, err)
	return list
}
