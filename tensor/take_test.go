package tensor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTakeIsWhatIndexingGives(t *testing.T) {
	whole := Must(New(I64, 3, 4, 5))
	data, err := Data[int64](whole)
	require.NoError(t, err)
	for i := range data {
		data[i] = int64(i)
	}
	x := Must(whole.Slice(2, 1, 4)) // strided
	for dim, at := range [][]int{{2, 0, 2}, {3, 1}, {1, 1, 0, 2}} {
		got, err := x.Take(dim, at)
		require.NoError(t, err)
		shape := []int{3, 4, 3}
		shape[dim] = len(at)
		require.Equal(t, shape, got.Shape())
		var want []int64
		for i := range shape[0] {
			for j := range shape[1] {
				for k := range shape[2] {
					index := []int{i, j, k}
					index[dim] = at[index[dim]]
					want = append(want, int64(20*index[0]+5*index[1]+index[2]+1))
				}
			}
		}
		list, err := Data[int64](got)
		require.NoError(t, err)
		assert.Equal(t, want, list, dim)
	}
	none, err := x.Take(1, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 0, 3}, none.Shape())
	for _, dtype := range []DType{F32, F64, F16, BF16, I32, U8} {
		got, err := Must(New(dtype, 2)).Take(0, []int{1, 0, 1})
		require.NoError(t, err)
		assert.Equal(t, [2]any{dtype, 3}, [2]any{got.DType(), got.Len()})
	}
	for _, bad := range []struct {
		dim int
		at  []int
	}{{3, nil}, {-1, nil}, {0, []int{3}}, {1, []int{0, -1}}} {
		_, err := x.Take(bad.dim, bad.at)
		assert.ErrorIs(t, err, ErrShape)
	}
	require.NoError(t, whole.Close())
	_, err = x.Take(0, []int{0})
	assert.ErrorIs(t, err, ErrClosed)
}
