package tensor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// More than there is would end the program.
func TestMoreMemoryThanThereIsIsAnError(t *testing.T) {
	for _, shape := range [][]int{{1 << 46}, {1 << 20, 1 << 31}, {3, 1 << 58}} {
		_, err := New(U8, shape...)
		assert.ErrorIs(t, err, ErrOutOfMemory, "%v", shape)
		assert.NotErrorIs(t, err, ErrTooLarge, "%v", shape)
	}
	_, err := New(F64, 1<<46)
	assert.ErrorContains(t, err, "f64 [70368744177664], 562949953421312 bytes")
	// A view with a stride of 0 is small, its copy is not.
	one := Must(New(F32, 1, 1, 8))
	wide := Must(one.Expand(1<<22, 1<<22, 8))
	_, err = wide.Contiguous()
	assert.ErrorIs(t, err, ErrOutOfMemory)
}

// closes counts how often it was closed.
type closes int

func (c *closes) Close() error {
	*c++
	return nil
}

func TestMemoryThatIsNotGosIsClosedOnceByItsTensor(t *testing.T) {
	var owner closes
	data := []float32{1, 2, 3, 4}
	x, err := Over(data, &owner, 2, 2)
	require.NoError(t, err)
	assert.True(t, x.OnHost())
	view := Must(x.Slice(0, 1, 2))
	assert.Same(t, &owner, view.Owner())
	require.NoError(t, view.Close())
	assert.Zero(t, owner, "a view owns nothing")
	got, err := Data[float32](view)
	require.NoError(t, err)
	assert.Equal(t, []float32{3, 4}, got)
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())
	assert.EqualValues(t, 1, owner)
	_, err = Data[float32](view)
	assert.ErrorIs(t, err, ErrClosed)

	_, err = Over(data, &owner, 3)
	assert.ErrorIs(t, err, ErrShape)
	assert.EqualValues(t, 1, owner, "it stays with the caller")
	assert.Nil(t, Must(Of(data, 4)).Owner())
}
