package dataset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

func TestSamplesThatAreNotValidAreLeftOutAndCounted(t *testing.T) {
	s, err := NewStream("state", []int64{1, 2, 3}, tensor.Must(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 3, 2)), nil)
	require.NoError(t, err)
	s.Integers = tensor.Must(tensor.Of([]int64{1, 2, 3, 4, 5, 6}, 3, 2))
	lost, err := s.OnlyValid([]uint8{1, 1})
	require.ErrorIs(t, err, ErrShape)
	assert.ErrorContains(t, err, "stream state: valid: got [2], want [3]")
	assert.Zero(t, lost)
	whole := s
	lost, err = s.OnlyValid([]uint8{1, 1, 1})
	require.NoError(t, err)
	assert.Zero(t, lost)
	assert.Same(t, whole.Values, s.Values)
	lost, err = s.OnlyValid([]uint8{1, 0, 1})
	require.NoError(t, err)
	assert.Equal(t, 1, lost)
	require.NoError(t, s.Check())
	assert.Equal(t, []int64{1, 3}, s.Nanoseconds())
	for _, part := range []*tensor.Tensor{s.Values, s.Integers} {
		got, err := tensor.Floats(part)
		require.NoError(t, err)
		assert.Equal(t, []float64{1, 2, 5, 6}, got)
	}
}
