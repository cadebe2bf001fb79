package raw

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

func TestBytesAreTheMemoryOfTheNumbers(t *testing.T) {
	list := []float32{1, -2.5}
	b := Bytes(list)
	require.Len(t, b, 8)
	assert.Equal(t, math.Float32bits(-2.5), binary.NativeEndian.Uint32(b[4:]))
	binary.NativeEndian.PutUint32(b, math.Float32bits(7))
	assert.Equal(t, float32(7), list[0])
	assert.Nil(t, Bytes[int64](nil))
	for dtype, size := range map[tensor.DType]int{tensor.F64: 8, tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2, tensor.I64: 8, tensor.I32: 4, tensor.U8: 1} {
		b, err := Of(tensor.Must(tensor.New(dtype, 3, 2)))
		require.NoError(t, err)
		assert.Len(t, b, 6*size, dtype.String())
	}
	_, err := Of(tensor.Must(tensor.Must(tensor.New(tensor.F32, 3, 2)).Slice(1, 0, 1)))
	assert.Error(t, err, "not contiguous")
}
