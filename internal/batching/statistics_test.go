package batching

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A number that JSON has no word for is null.
func TestNumbersThatAreNotFiniteAreNull(t *testing.T) {
	text, err := json.Marshal(tensor.Cast[Number]([]float32{1.5, float32(math.Inf(-1)), float32(math.NaN()), 1e30}))
	require.NoError(t, err)
	assert.Equal(t, "[1.5,null,null,1.0000000150474662e+30]", string(text))
}
