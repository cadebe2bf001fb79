package decimal_test

import (
	"math"
	"testing"

	"github.com/robocache/robocache/internal/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNumbersOfGoSourceAreNone(t *testing.T) {
	for _, s := range []string{"1_000", "0x1p-2", "0X10", "0x_1p2", "1_0.5", "_1", "", "1,5"} {
		_, err := decimal.ParseFloat(s, 64)
		assert.Error(t, err, s)
	}
	for s, want := range map[string]float64{"1e5": 1e5, "-.5": -.5, "+3": 3, "inf": math.Inf(1), "-Infinity": math.Inf(-1)} {
		v, err := decimal.ParseFloat(s, 64)
		require.NoError(t, err, s)
		assert.Equal(t, want, v, s)
	}
}
