package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
)

// Values written as NaN or infinity are counted and reported as in batches.
func TestSamplesThatAreNotFiniteAreCountedAndSaid(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	streams := writeNPZ(t, map[string]*tensor.Tensor{
		"a.values": tensor.Must(tensor.Of([]float64{1, nan, inf, nan, 5, 6}, 3, 2)), "a.times": vec[int64](0, 1e9, 2e9),
		"b.values": column[float32](1, 2, 3), "b.times": vec[int64](0, 1e9, 2e9),
	})
	batch := writeNPZ(t, map[string]*tensor.Tensor{ // the last sample is padding
		"values": tensor.Must(tensor.Of([]float32{1, float32(nan), 3, 4, 5, float32(inf)}, 2, 3, 1)), "lengths": vec[int64](3, 2),
		"times": tensor.Must(tensor.Of([]int64{0, 1e9, 2e9, 0, 1e9, 1e9}, 2, 3)), "targets": vec[int64](0, 1e9),
	})
	for _, c := range []struct {
		in, command, remark string
		counts              []float64
		flags               []string
	}{
		{streams, "resample", "stream a: 2 of 3 samples have a NaN or infinite value, and are resampled as they are: valid", []float64{2, 0}, []string{"--hz=2"}},
		{streams, "fuse", "stream a: 2 of 3 samples have a NaN or infinite value, and are resampled as they are: valid", []float64{2, 0}, []string{"--hz=2"}},
		{streams, "resample", "", []float64{0}, []string{"--hz=2", "--stream=b"}},
		{batch, "resample", "stream values: 1 of 5 samples have a NaN or infinite value, and are resampled as they are: valid", []float64{1}, nil},
	} {
		args := append([]string{c.command, c.in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu"}, c.flags...)
		stdout, _ := good(t, append(args, "--json")...)
		res := unmarshal(t, stdout)
		for i, s := range res["streams"].([]any) {
			assert.Equal(t, c.counts[i], s.(map[string]any)["not_finite_samples"], args)
		}
		_, stderr := good(t, args...)
		if c.remark == "" {
			assert.NotContains(t, stderr, "finite", args)
			continue
		}
		assert.Equal(t, []any{c.remark}, noteTexts(res), args)
		assert.Equal(t, "robocache: "+c.remark+"\n", stderr, args)
	}
}
