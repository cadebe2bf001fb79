package dataset

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

func TestCollapsedFloat32TimesAreRefused(t *testing.T) {
	clock := func(from, step float64, n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(from + float64(i)*step)
		}
		return list
	}
	for _, c := range []struct {
		name     string
		times    []float32
		distinct int // 0: they are good
	}{
		{"epoch seconds at 100 Hz", clock(1.7e9, .01, 100), 1},
		{"epoch seconds over hours", clock(1.7e9, 1, 1000), 9},
		{"a fine clock late in a recording", clock(1000, 1e-5, 100), 17},
		{"a robot's uptime", clock(86400, .01, 100), 0},
		{"from the beginning", clock(0, 1e-3, 1000), 0},
		{"two messages at one time", []float32{1, 1, 2, 3}, 0},
		{"a padded tail", []float32{0, 1, 1, 1}, 0},
		{"one time", []float32{5, 5}, 0},
		{"a tail padded with zeros", append(clock(.1, .1, 10), 0, 0, 0, 0, 0), 0},
		{"a step back beside two at one time", []float32{5, .1, .2, .3, .3, .4}, 0},
		{"a zero before them", []float32{0, 1.7e9, 1.7e9, 1.7e9, 1.7e9}, 2},
		{"a zero before many", append([]float32{0}, clock(1.7e9, .01, 40000)...), 5},
		{"seconds of an epoch's events", []float32{1.7e9, 1.7e9 + 1280, 1.7e9 + 1280, 1.7e9 + 5120}, 0},
		{"NaN and infinity", []float32{float32(math.NaN()), 1, 2, float32(math.Inf(1)), float32(math.Inf(1))}, 0},
		{"one sample", []float32{1.7e9}, 0},
		{"none", nil, 0},
	} {
		err := CheckSpacing(tensor.Must(tensor.Of(c.times, len(c.times))))
		if c.distinct == 0 {
			assert.NoError(t, err, c.name)
			continue
		}
		var e *CollapsedError
		require.ErrorAs(t, err, &e, c.name)
		assert.Equal(t, []int{len(c.times), c.distinct}, []int{e.Samples, e.Distinct}, c.name)
		assert.ErrorContains(t, err, "want float64 seconds")
	}
	assert.NoError(t, CheckSpacing(tensor.Must(tensor.Of([]float64{1.7e9, 1.7e9}, 2))))
}
