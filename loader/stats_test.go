package loader_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// statsOf returns the statistics that a loader has of columns of numbers, cut into episodes, as it reads them from a packed store and while it draws.
func statsOf(t *testing.T, dtype tensor.DType, rule string, columns [][]float64, cut int) []loader.ColumnStats {
	t.Helper()
	ctx := context.Background()
	var m made
	n, width := len(columns[0]), len(columns)
	for at := 0; at < n; at += cut {
		rows := min(cut, n-at)
		times, values := make([]int64, rows), make([]float64, rows*width)
		for i := range rows {
			times[i] = int64(i) * 1e8
			for d := range width {
				values[i*width+d] = columns[d][at+i]
			}
		}
		s, err := dataset.NewStream("s", times, tensor.Must(tensor.Of(values, rows, width)), nil)
		require.NoError(t, err)
		m = append(m, &dataset.Episode{Name: fmt.Sprint(at), Streams: []dataset.Stream{s}})
	}
	store, err := store.Build(ctx, m, store.BuildOptions{DType: dtype})
	require.NoError(t, err)
	p := align.Plan{Rate: 10, Shuffle: "shards", Streams: []align.Stream{{Name: "s", Sampling: align.Sampling{Normalise: rule}}}}
	resident, err := loader.New(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 1})
	require.NoError(t, err)
	defer resident.Close()
	streaming, err := loader.NewStreaming(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 1, Workers: 3})
	require.NoError(t, err)
	defer streaming.Close()
	require.Equal(t, resident.Stats("s"), streaming.Stats("s"))
	return resident.Stats("s")
}

// Statistics are exact and rounded once, for numbers of any size and sign. They do not depend on order or pieces.
func TestStatisticsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		dtype tensor.DType
		make  func(i int) float64
	}{
		{tensor.F32, func(int) float64 { return r.NormFloat64() }},
		{tensor.F32, func(i int) float64 { return float64(i%7) - 3 }},
		{tensor.F32, func(int) float64 { return 1e7 + r.Float64() }},
		{tensor.F32, func(int) float64 { return 5 }},
		{tensor.F32, func(i int) float64 { return math.Copysign(0, float64(i%2)-0.5) }},
		{tensor.F16, func(int) float64 { return r.NormFloat64() }},
		{tensor.BF16, func(int) float64 { return r.ExpFloat64() }},
		{tensor.F64, func(int) float64 { return r.NormFloat64() * math.Exp(100*r.NormFloat64()) }},
		{tensor.F64, func(i int) float64 {
			return []float64{math.SmallestNonzeroFloat64, -3e-310, 1e-300, math.NaN(), math.Inf(1)}[i%5]
		}},
		{tensor.F64, func(i int) float64 { return []float64{1e150, 1, -1e150, 3}[i%4] }},
		{tensor.F64, func(int) float64 { return math.NaN() }},
	} {
		for _, n := range []int{1, 2, 3, 101, 1000} {
			list := make([]float64, n)
			for i := range list {
				list[i] = narrowed(c.dtype, c.make(i))
			}
			other := slices.Clone(list)
			r.Shuffle(n, func(i, j int) { other[i], other[j] = other[j], other[i] })
			got := statsOf(t, c.dtype, "gr00t", [][]float64{list, other}, 100)
			want := exactStats(list)
			assert.Equal(t, []loader.ColumnStats{want, want}, got, "%v, %d numbers, %v", c.dtype, n, list[:min(n, 5)])
			want.Q01, want.Q10, want.Q90, want.Q99 = 0, 0, 0, 0
			assert.Equal(t, []loader.ColumnStats{want}, statsOf(t, c.dtype, "mean-std", [][]float64{other}, 33))
		}
	}
}

func narrowed(d tensor.DType, v float64) float64 {
	switch d {
	case tensor.F32:
		return float64(float32(v))
	case tensor.F16:
		return float64(tensor.F16FromF64(v).F32())
	case tensor.BF16:
		return float64(tensor.BF16FromF64(v).F32())
	}
	return v
}

// exactStats are the statistics in rational numbers.
func exactStats(list []float64) (s loader.ColumnStats) {
	var v []float64
	sum, squares := new(big.Rat), new(big.Rat)
	for _, x := range list {
		if x-x != 0 {
			continue
		}
		v = append(v, x)
		r := new(big.Rat).SetFloat64(x)
		sum.Add(sum, r)
		squares.Add(squares, new(big.Rat).Mul(r, r))
	}
	n := len(v)
	if n == 0 {
		return s
	}
	slices.Sort(v)
	s.Count, s.Min, s.Max = n, v[0], v[n-1]
	mean := sum.Quo(sum, big.NewRat(int64(n), 1))
	s.Mean, _ = mean.Float64()
	variance := squares.Quo(squares, big.NewRat(int64(n), 1))
	variance.Sub(variance, new(big.Rat).Mul(mean, mean))
	if variance.Sign() > 0 {
		wide := new(big.Float).SetPrec(3000).SetRat(variance)
		s.Std, _ = wide.Sqrt(wide).Float64()
	}
	quantile := func(q float64) float64 {
		at := q * float64(n-1)
		lo := int(at)
		hi := min(lo+1, n-1)
		share := at - float64(lo)
		if share >= 0.5 { // as numpy has it
			return v[hi] - float64((v[hi]-v[lo])*(1-share))
		}
		return v[lo] + float64((v[hi]-v[lo])*share)
	}
	s.Q01, s.Q10, s.Q90, s.Q99 = quantile(.01), quantile(.1), quantile(.9), quantile(.99)
	return s
}
