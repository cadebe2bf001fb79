package dataset

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

func TestWholeNumbersBecomeTheFloatsThatHoldTheirDType(t *testing.T) {
	values, inexact, err := Numbers(tensor.Must(tensor.Of([]uint8{0, 1, 255}, 3)), 8)
	require.NoError(t, err)
	assert.Equal(t, []any{tensor.F32, 0}, []any{values.DType(), inexact})
	values, inexact, err = Numbers(tensor.Must(tensor.Must(tensor.Of([]int32{1, 9, math.MinInt32, 9}, 2, 2)).Slice(1, 0, 1)), 32)
	require.NoError(t, err)
	assert.Equal(t, []any{tensor.F64, 0, []int{2, 1}}, []any{values.DType(), inexact, values.Shape()}, "strided too")
	list, err := tensor.Data[float64](values)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, math.MinInt32}, list)
	_, inexact, err = Numbers(tensor.Must(tensor.Of([]int64{1 << 53, 1<<53 + 1, math.MinInt64, math.MaxInt64}, 4)), 64)
	require.NoError(t, err)
	assert.Equal(t, 2, inexact)
	values, _, err = Numbers(tensor.Must(tensor.Of([]int32{math.MinInt16, math.MaxUint16}, 2)), 16)
	require.NoError(t, err)
	assert.Equal(t, tensor.F32, values.DType(), "as short as they are in the file")
	floats := tensor.Must(tensor.Of([]tensor.Float16{1}, 1))
	values, _, err = Numbers(floats, 16)
	require.NoError(t, err)
	assert.Same(t, floats, values)
}

func TestAFloatIsExactOrSaysThatItIsNot(t *testing.T) {
	for _, c := range []struct {
		v     int64
		f     float64
		exact bool
	}{{0, 0, true}, {-1, -1, true}, {1 << 53, 1 << 53, true}, {1<<53 + 1, 1 << 53, false}, {1<<53 + 3, 1<<53 + 4, false}, {math.MaxInt64, 1 << 63, false}, {math.MinInt64, -1 << 63, true}} {
		f, exact := Float[float64](c.v)
		assert.Equal(t, []any{c.f, c.exact}, []any{f, exact}, c.v)
	}
	f, exact := Float[float64](uint64(math.MaxUint64))
	assert.Equal(t, []any{math.Ldexp(1, 64), false}, []any{f, exact})
	f, exact = Float[float64](uint64(1 << 63))
	assert.Equal(t, []any{math.Ldexp(1, 63), true}, []any{f, exact})
	narrow, exact := Float[float32](int64(1<<24 + 1))
	assert.Equal(t, []any{float32(1 << 24), false}, []any{narrow, exact})
	narrow, exact = Float[float32](uint64(math.MaxUint64 - 1))
	assert.Equal(t, []any{float32(math.Ldexp(1, 64)), false}, []any{narrow, exact})
}
