package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASimulatedDeviceHasTheBitsOfTheAccumulator(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	r := rand.New(rand.NewPCG(11, 12))
	const n, width = 300, 7
	list := make([]float32, n*width)
	for i := range n {
		row := list[i*width:]
		row[0], row[1], row[2] = float32(r.NormFloat64()), float32(i%2), -0.5
		row[3], row[4] = float32(math.Ldexp(r.NormFloat64(), r.IntN(200)-100)), float32(math.NaN())
		row[5] = []float32{float32(math.Inf(1)), -1, float32(math.Copysign(0, -1)), 1e-44}[i%4]
		row[6] = float32(-r.ExpFloat64())
	}
	values := tensor.Must(tensor.Of(list, n, width))
	many := make([]float64, 41) // of more prefixes than one Tally takes
	for i := range many {
		many[i] = float64(i) / 40
	}
	for _, shares := range [][]float64{nil, Quantiles, many} {
		a, err := NewAccumulator(width, tensor.F32, shares)
		require.NoError(t, err)
		for more := true; more; {
			require.NoError(t, a.Add(values))
			more, err = a.Next()
			require.NoError(t, err)
		}
		for _, name := range []string{"cpu", "sim"} {
			dev, err := ops.Open(name)
			require.NoError(t, err)
			got, err := Resident(t.Context(), dev, values, shares)
			require.NoError(t, err)
			assert.Equal(t, text(t, a.Columns()), text(t, got), "%s, %d quantiles", name, len(shares))
			there, err := dev.Upload(t.Context(), values)
			require.NoError(t, err)
			again, err := Resident(t.Context(), dev, there, shares)
			require.NoError(t, err)
			assert.Equal(t, text(t, got), text(t, again))
			require.NoError(t, there.Close())
			wrong := tensor.Must(tensor.New(tensor.F64, 3, 2))
			_, err = Resident(t.Context(), dev, wrong, shares)
			assert.ErrorIs(t, err, ops.ErrDType)
			require.NoError(t, dev.Close())
		}
	}
}
