package doctor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Vectors of columns give what one value at a time gives, whatever the width, and whatever values are not finite.
func TestTheScanOfVectorsIsThatOfValues(t *testing.T) {
	has := hasVector // where there are none, it is the same code twice
	defer func() { hasVector = has }()
	r := rand.New(rand.NewPCG(1, 5))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat32, -math.MaxFloat32, math.MaxFloat64}
	for n := range 400 {
		v := &values{rows: []int{1, 2, 3, 31, 100, 500}[r.IntN(6)], width: 1 + r.IntN(19)}
		list := make([]float64, v.rows*v.width)
		for i := range list {
			switch {
			case i >= v.width && r.IntN(4) == 0:
				list[i] = list[i-v.width]
			case n%3 == 0 && r.IntN(40) == 0:
				list[i] = odd[r.IntN(len(odd))]
			default:
				list[i] = float64(float32(r.NormFloat64()))
			}
		}
		if v.f64 = list; n%2 == 0 {
			v.f32, v.f64 = make([]float32, len(list)), nil
			for i, x := range list {
				v.f32[i] = float32(x)
			}
		}
		var vectors, each tally
		v.scan(&vectors)
		hasVector = false
		v.scan(&each)
		hasVector = has
		require.Equal(t, each.bad, vectors.bad)
		require.Equal(t, each.runs, vectors.runs)
		for c, want := range each.columns {
			got := vectors.columns[c]
			require.Equal(t, []any{want.min, want.max, want.equal, want.limit, want.bad, math.IsInf(want.step, 1)}, []any{got.min, got.max, got.equal, got.limit, got.bad, math.IsInf(got.step, 1)})
			if !math.IsInf(want.step, 1) && !math.IsInf(want.square, 1) {
				require.InEpsilon(t, 1+want.step, 1+got.step, 1e-6)
				require.InEpsilon(t, 1+want.square, 1+got.square, 1e-9)
				require.InDelta(t, want.sum, got.sum, 1e-9*(1+want.square))
			}
		}
	}
}
