package tensor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFloatsAreTheElementsOfEveryDType(t *testing.T) {
	want := []float64{1, 2, 3, 4}
	for _, x := range []*Tensor{
		Must(Of([]float32{1, 2, 3, 4}, 2, 2)), Must(Of([]float64{1, 2, 3, 4}, 2, 2)), Must(Of([]int32{1, 2, 3, 4}, 2, 2)),
		Must(Of([]int64{1, 2, 3, 4}, 2, 2)), Must(Of([]uint8{1, 2, 3, 4}, 2, 2)),
		Must(Of([]Float16{0x3c00, 0x4000, 0x4200, 0x4400}, 2, 2)), Must(Of([]BFloat16{0x3f80, 0x4000, 0x4040, 0x4080}, 2, 2)),
	} {
		got, err := Floats(x)
		require.NoError(t, err)
		assert.Equal(t, want, got, x.DType())
	}
	x := []float64{1, 2}
	got, err := Floats(Must(Of(x, 2)))
	require.NoError(t, err)
	got[0] = 7
	assert.Equal(t, 1.0, x[0], "a copy")
}
