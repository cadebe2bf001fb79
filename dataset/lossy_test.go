package dataset_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Nanoseconds of this century that float64 rounds are as good as before; identifiers of that size are others.
func TestRoundedTimesAreNoLoss(t *testing.T) {
	for _, c := range []struct {
		name    string
		values  []float64
		inexact int
		want    int
	}{
		{"times", []float64{1.7e18, 1.7e18 + 256, 0, 12}, 2, 0},
		{"identifiers", []float64{1.7e18, 9e18}, 2, 2},
		{"before this century", []float64{-1.7e18, 5}, 1, 1},
		{"nothing rounded", []float64{9e18, 5}, 0, 0},
	} {
		s, err := dataset.NewStream("s", make([]int64, len(c.values)), tensor.Must(tensor.Of(c.values, len(c.values), 1)), nil)
		require.NoError(t, err)
		s.Inexact = c.inexact
		assert.Equal(t, c.want, s.Lossy(), c.name)
		var sum dataset.Summary
		sum.Add(&dataset.Episode{Streams: []dataset.Stream{s}})
		assert.Equal(t, []int{c.inexact, c.want}, []int{sum.Streams[0].Inexact, sum.Streams[0].Lossy}, c.name)
	}
}
