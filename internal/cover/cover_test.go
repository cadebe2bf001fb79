package cover

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func TestCoversAreWholeNanosecondsWithin(t *testing.T) {
	c, err := Of("a", tensor.Must(tensor.Of([]float64{0.1, 0.3}, 2)))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, float64(c.First)/1e9, 0.1)
	assert.LessOrEqual(t, float64(c.Last)/1e9, 0.3)
	for _, bad := range []*tensor.Tensor{
		tensor.Must(tensor.Of([]int64{1, 3, 2}, 3)), tensor.Must(tensor.Of([]float64{0, math.NaN()}, 2)), tensor.Must(tensor.Of([]float32{0, 1e30}, 2)), tensor.Must(tensor.New(tensor.I64, 0)),
	} {
		_, err := Of("a", bad)
		var e *ops.ValueError
		assert.ErrorAs(t, err, &e, bad)
	}
}
