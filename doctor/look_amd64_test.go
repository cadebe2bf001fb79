package doctor

import (
	"math"
	"math/rand/v2"
	"slices"
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

// So are the jumps that they find, whichever columns are looked at, and the sums of products.
func TestTheJumpsOfVectorsAreThoseOfValues(t *testing.T) {
	has := hasVector
	defer func() { hasVector = has }()
	r := rand.New(rand.NewPCG(2, 5))
	for n := range 300 {
		v := &values{rows: []int{2, 3, 31, 100}[r.IntN(4)], width: 1 + r.IntN(19)}
		list, limits := make([]float64, v.rows*v.width), make([]float64, v.width)
		for i := range list {
			if list[i] = math.Round(2 * r.NormFloat64()); r.IntN(100) == 0 {
				list[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32}[r.IntN(4)]
			}
		}
		for c := range limits {
			if limits[c] = math.Inf(1); r.IntN(3) > 0 {
				limits[c] = float64(r.IntN(5))
			}
		}
		if v.f64 = list; n%2 == 0 {
			v.f32, v.f64 = make([]float32, len(list)), nil
			for i, x := range list {
				v.f32[i] = float32(x)
			}
		}
		most := []int{0, 3, len(list)}[n%3]
		found := v.jumps(nil, limits, most)
		a, b := make([]float64, r.IntN(40)), make([]float64, 60)
		for i := range b {
			if b[i] = r.NormFloat64(); i < len(a) {
				a[i] = r.NormFloat64()
			}
		}
		sum := product(a, b)
		hasVector = false
		each := v.jumps(nil, limits, most)
		require.InDelta(t, product(a, b), sum, 1e-12)
		hasVector = has
		slices.Sort(found)
		if len(each) > most {
			require.Greater(t, len(found), most, "of so many it may end earlier")
			continue
		}
		require.Equal(t, each, found)
	}
}
