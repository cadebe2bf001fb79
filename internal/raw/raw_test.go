package raw

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
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

func TestATensorIsOverTheBytes(t *testing.T) {
	list := []float64{1, 2, 3}
	b := Bytes(list)
	for dtype, n := range map[tensor.DType]int{tensor.F64: 3, tensor.F32: 6, tensor.F16: 12, tensor.BF16: 12, tensor.I64: 3, tensor.I32: 6, tensor.U8: 24} {
		v, err := Over(b, nil, dtype, n)
		require.NoError(t, err)
		same, err := Of(v)
		require.NoError(t, err)
		assert.Same(t, &b[0], &same[0], dtype.String())
		assert.Len(t, same, 24)
		_, err = Over(b, nil, dtype, n+1)
		assert.ErrorIs(t, err, tensor.ErrShape)
		v, err = Over(nil, nil, dtype, 0, 3)
		require.NoError(t, err)
		assert.Zero(t, v.Len())
	}
	v, err := Over(b[4:20], nil, tensor.F64, 2)
	require.NoError(t, err)
	assert.Nil(t, v, "not aligned")
	v, err = Over(b[4:11], nil, tensor.F32, 1)
	require.NoError(t, err)
	assert.Nil(t, v, "no whole number of elements")
}

func TestHoldsKnowsItsBytes(t *testing.T) {
	b := make([]byte, 10)
	at := address(b)
	assert.True(t, Holds(b, at))
	assert.True(t, Holds(b[:3], at+2))
	assert.False(t, Holds(b[:3], at+3))
	assert.False(t, Holds(b[1:], at))
	assert.False(t, Holds(nil, at))
}

// Memory is of the length that was asked for, and apart from all other memory, whatever it holds.
func TestMemoryIsTheCallersAlone(t *testing.T) {
	var lists [][]byte
	for i, n := range []int{0, 1, large - 1, large, large + 1, advised - 1, advised, advised + 1, 3*advised + 4097} {
		b := Memory(n)
		require.Len(t, b, n)
		for k := range b {
			b[k] = byte(i)
		}
		lists = append(lists, b)
	}
	runtime.GC()
	for i, b := range lists {
		assert.Equal(t, len(b), bytes.Count(b, []byte{byte(i)}), "%d bytes", len(b))
	}
}

func TestNewTensorsAreThoseOfTheirShape(t *testing.T) {
	for dtype, size := range map[tensor.DType]int{tensor.F64: 8, tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2, tensor.I64: 8, tensor.I32: 4, tensor.U8: 1} {
		for _, rows := range []int{0, 1, large / size, 3 * large / size} {
			x, err := New(dtype, rows, 3)
			require.NoError(t, err)
			assert.Equal(t, []int{rows, 3}, x.Shape())
			assert.Equal(t, dtype, x.DType())
			b, err := Of(x)
			require.NoError(t, err)
			assert.Len(t, b, 3*rows*size, dtype.String())
		}
	}
	for kind, shape := range map[error][]int{tensor.ErrOutOfMemory: {1 << 46}, tensor.ErrShape: {-1}, tensor.ErrTooLarge: {1 << 30, 1 << 31}} {
		_, err := New(tensor.F32, shape...)
		assert.ErrorIs(t, err, kind)
	}
}
