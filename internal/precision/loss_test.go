package precision

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// An infinity is found in whichever piece it stands, the last and shorter one too.
func TestAnInfinityIsFoundInAnyPiece(t *testing.T) {
	for at := range 2 * 5 * 3 {
		v := make([]float32, 2*5*3)
		none, err := anyInfinite(tensor.Must(tensor.Of(v, 2, 5, 3)), 1, 2)
		require.NoError(t, err)
		assert.False(t, none)
		v[at] = float32(math.Inf(1 - 2*(at%2)))
		found, err := anyInfinite(tensor.Must(tensor.Of(v, 2, 5, 3)), 1, 2)
		require.NoError(t, err)
		assert.True(t, found, at)
	}
}
