package main

import (
	"fmt"
	"testing"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/zarr"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/require"
	"math"
	"slices"
)

func TestX(t *testing.T) {
	d, err := dataset.Open(t.Context(), "/work/shared/data/pusht_zarr/pusht_cchi_v7_replay.zarr", dataset.Options{})
	require.NoError(t, err)
	var final []float64
	for i := range d.Len() {
		ep, err := d.Episode(t.Context(), i)
		require.NoError(t, err)
		st, ac := ep.Stream("state").Values, ep.Stream("action").Values
		row := func(k int) (s state) {
			for j := range s {
				s[j] = float64(must[float32](t, st)[k*5+j])
			}
			return s
		}
		e := newEnv(row(0))
		worst := 0.0
		for k := range ep.Stream("action").Len() - 1 {
			e.step(vec{float64(must[float32](t, ac)[2*k]), float64(must[float32](t, ac)[2*k+1])})
			got, want := e.state(), row(k+1)
			worst = 0
			for j := range 4 {
				worst = max(worst, math.Abs(got[j]-want[j]))
			}
		}
		final = append(final, worst)
	}
	slices.Sort(final)
	fmt.Println(final[103], final[185], final[203:])
}

func must[T tensor.Element](t *testing.T, x *tensor.Tensor) []T {
	v, err := tensor.Data[T](x)
	require.NoError(t, err)
	return v
}
