package store

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

func TestNumbersAreRoundedToSinglesAsTheyAreOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	edges := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 0x1p-126, 0x1p-127, 0x1p-149, 0x1p-150, 0x1p-151, 0x1.000001p-126, math.MaxFloat32, -math.MaxFloat32,
		0x1.ffffffp127, 0x1.fffffefp127, 0x1p127, 0x1p128, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0x1.0000010000001p0, 0x1.000002p0}
	for range 2000 {
		from := make([]float64, 1+r.IntN(40))
		for i := range from {
			switch r.IntN(30) {
			case 0:
				from[i] = math.Float64frombits(r.Uint64())
			case 1:
				from[i] = edges[r.IntN(len(edges))]
			case 2:
				from[i] = float64(float32(r.NormFloat64()))
			default:
				from[i] = r.NormFloat64()
			}
		}
		to := make([]float32, len(from))
		rounded, overflowed := singles(to, from)
		for i, v := range from {
			require.Equal(t, math.Float32bits(float32(v)), math.Float32bits(to[i]), "%v", v)
			if w := float64(to[i]); w != v && v == v {
				rounded--
				if math.IsInf(w, 0) {
					overflowed--
				}
			}
		}
		require.Zero(t, rounded, "%v", from)
		require.Zero(t, overflowed, "%v", from)
	}
}

// Samples are copied by their strides: contiguous ones, some columns of a stream, and columns that are stored one after the other.
func TestSamplesOfAnyStridesAreCopied(t *testing.T) {
	list := []float32{0, 1, 2, 3, 4, 5}
	for _, s := range [][]int{{2, 1}, {3, 1}, {1, 3}} {
		values, err := tensor.Must(tensor.Of(list, 6)).AsStrided([]int{2, 2}, s, 0)
		require.NoError(t, err)
		got := make([]float32, 6)
		require.NoError(t, Samples{Values: values}.CopyTo(Samples{Values: tensor.Must(tensor.Of(got, 3, 2))}, 1))
		require.Equal(t, []float32{0, 0, 0, list[s[1]], list[s[0]], list[s[0]+s[1]]}, got)
	}
}
