package summary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var shares = []float64{0, .001, .01, .1, .25, .5, .9, .99, 1}

// exactOf adds rows in pieces of so many values from two goroutines, as often as is needed.
func exactOf[T Float](t testing.TB, rows []T, width, piece int) []ExactColumn {
	var zero T
	_, wide := any(zero).(float64)
	x := NewExact(width, wide, shares)
	for more := true; more; {
		var wait sync.WaitGroup
		for g := range 2 {
			wait.Go(func() {
				for i, part := 0, rows; len(part) > 0; i++ {
					n := min(piece*width, len(part))
					if i%2 == g {
						switch list := any(part[:n]).(type) {
						case []float32:
							x.Add32(list)
						case []float64:
							x.Add64(list)
						}
					}
					part = part[n:]
				}
			})
		}
		wait.Wait()
		var err error
		more, err = x.Next()
		require.NoError(t, err)
		require.Less(t, x.pass, 4)
	}
	return x.Columns()
}

// wanted computes the same by rational numbers and by sorting.
func wanted[T Float](rows []T, width, c int) ExactColumn {
	var w ExactColumn
	var list []float64
	sum, squares := new(big.Rat), new(big.Rat)
	for i := c; i < len(rows); i += width {
		v := float64(rows[i])
		if math.IsNaN(v) || math.IsInf(v, 0) {
			w.NotFinite++
			continue
		}
		list = append(list, v)
		r := new(big.Rat).SetFloat64(v)
		sum.Add(sum, r)
		squares.Add(squares, r.Mul(r, r))
	}
	if w.Count = int64(len(list)); w.Count == 0 {
		w.Mean, w.Std, w.Min, w.Max = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		for range shares {
			w.Quantiles = append(w.Quantiles, math.NaN())
		}
		return w
	}
	n := new(big.Rat).SetInt64(w.Count)
	mean := new(big.Rat).Quo(sum, n)
	w.Mean, _ = mean.Float64()
	variance := new(big.Rat).Quo(squares, n)
	variance.Sub(variance, mean.Mul(mean, mean))
	w.Std, _ = new(big.Float).Sqrt(new(big.Float).SetPrec(200).SetRat(variance)).Float64()
	slices.Sort(list)
	w.Min, w.Max = list[0]+0, list[len(list)-1]+0
	for _, q := range shares {
		at := q * float64(len(list)-1)
		k := int(at)
		a, b, share := list[k], list[min(k+1, len(list)-1)], at-float64(k)
		// As numpy's _lerp has it.
		v := a + float64((b-a)*share)
		if share >= .5 {
			v = b - float64((b-a)*(1-share))
		}
		if math.IsInf(b-a, 1) {
			v = a*(1-share) + b*share
		}
		w.Quantiles = append(w.Quantiles, v+0)
	}
	return w
}

// sameColumn compares bits, NaN being equal to NaN.
func sameColumn(t *testing.T, want, got ExactColumn, what ...any) {
	t.Helper()
	bitsOf := func(c ExactColumn) []uint64 {
		list := []uint64{uint64(c.Count), uint64(c.NotFinite)}
		for _, v := range append([]float64{c.Mean, c.Std, c.Min, c.Max}, c.Quantiles...) {
			list = append(list, math.Float64bits(v))
		}
		return list
	}
	if !slices.Equal(bitsOf(want), bitsOf(got)) {
		assert.Fail(t, "columns differ", "want %+v\ngot  %+v %v", want, got, what)
	}
}

func generated[T Float](n int) (rows []T, width int) {
	r := rand.New(rand.NewPCG(3, 4))
	kinds := []func(i int) float64{
		func(int) float64 { return r.NormFloat64() },
		func(int) float64 { return 1e6 + r.Float64() },
		func(i int) float64 { return float64(i % 2) },
		func(int) float64 { return -7.25 },
		func(int) float64 { return -r.ExpFloat64() * 1e-40 },
		func(int) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(250)-125) },
		func(i int) float64 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 3}[i%6]
		},
		func(int) float64 { return math.NaN() },
		func(i int) float64 { return []float64{math.MaxFloat32, -math.MaxFloat32}[i%2] },
		func(i int) float64 { return math.Round(r.NormFloat64()*1000) / 64 },
		func(i int) float64 { return math.Pi + float64(i%3)*1e-9 },
		func(i int) float64 { return -1 - r.Float64()*1e-5 },
	}
	for i := range n {
		for _, f := range kinds {
			rows = append(rows, T(f(i)))
		}
	}
	return rows, len(kinds)
}

func TestExactStatisticsAreThoseOfTheNumbers(t *testing.T) {
	for _, n := range []int{1, 2, 3, 31, 1200} {
		rows, width := generated[float32](n)
		doubles, _ := generated[float64](n)
		narrow, wide := exactOf(t, rows, width, 100), exactOf(t, doubles, width, 100)
		for c := range width {
			sameColumn(t, wanted(rows, width, c), narrow[c], "float32", n, c)
			sameColumn(t, wanted(doubles, width, c), wide[c], "float64", n, c)
		}
	}
}

func TestManyValuesInABinAreCountedByTheirNextBits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := listed + 5000
	doubles, rows := make([]float64, n), make([]float32, n)
	for i := range rows {
		rows[i] = float32(-1 - r.Float64()/256) // of one bin of 16 bits
		doubles[i] = 1 + r.Float64()/(1<<19)    // of one of 32
	}
	sameQuantiles(t, rows, exactOf(t, rows, 1, 1000)[0])
	sameQuantiles(t, doubles, exactOf(t, doubles, 1, 1000)[0])
}

// sameQuantiles compares the quantiles of a column of many values, whose sums in rational numbers take long.
func sameQuantiles[T Float](t *testing.T, rows []T, got ExactColumn) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(rows))
	for i, q := range shares {
		at := q * float64(len(sorted)-1)
		k := int(at)
		assert.Equal(t, between(float64(sorted[k]), float64(sorted[min(k+1, len(sorted)-1)]), at-float64(k)), got.Quantiles[i], "%v", q)
	}
}

func BenchmarkExact(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, width = 1 << 16, 26
	rows := make([]float32, n*width)
	for i := range rows {
		rows[i] = float32(r.NormFloat64() * float64(1+i%width))
	}
	doubles := floatsOf(rows)
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/value")
	}
	for _, pass := range []string{"first", "second"} {
		b.Run("dtype=f32/pass="+pass, func(b *testing.B) {
			x := NewExact(width, false, Quantiles[:])
			if pass == "second" {
				x.Add32(rows)
				_, err := x.Next()
				require.NoError(b, err)
			}
			for b.Loop() {
				x.Add32(rows)
			}
			report(b)
		})
		b.Run("dtype=f64/pass="+pass, func(b *testing.B) {
			x := NewExact(width, true, Quantiles[:])
			if pass == "second" {
				x.Add64(doubles)
				_, err := x.Next()
				require.NoError(b, err)
			}
			for b.Loop() {
				x.Add64(doubles)
			}
			report(b)
		})
	}
}

func floatsOf(rows []float32) []float64 {
	out := make([]float64, len(rows))
	for i, v := range rows {
		out[i] = float64(v)
	}
	return out
}
