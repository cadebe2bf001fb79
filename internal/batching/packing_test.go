package batching

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
)

// A rate is taken where recordings lack one, or say the same; where they have times or say another it would be ignored, or wrong.
func TestARateIsForRecordingsWithoutOne(t *testing.T) {
	for _, c := range []struct {
		path, clock string
		rate        float64
		want        string
	}{
		{"../../examples/data/g1", "", 0, ""},
		{"../../examples/data/g1", "", 30, ""},
		{"../../examples/data/g1", "timestamp", 30, ""},
		{"../../examples/data/g1", "", 10, "rate: got 10, want none, or the 30 steps a second"},
		{"../../examples/data/g1", "timestamp", 10, "rate: got 10, want none, or the 30 steps a second"},
		{"../../examples/data/flight.ulg", "", 10, "rate: got 10, want none: ../../examples/data/flight.ulg has times"},
		{"../../dataset/aloha/testdata/raw.hdf5", "", 50, ""},
		{"../../dataset/rlds/testdata/kinds", "", 10, ""},
	} {
		p := Packing{Path: c.path, Options: dataset.Options{Rate: c.rate, Clock: c.clock}}
		d, err := p.Read(context.Background())
		if c.want != "" {
			var option *OptionError
			require.ErrorAs(t, err, &option, c.path)
			assert.Contains(t, err.Error(), c.want)
			continue
		}
		require.NoError(t, err, c.path)
		require.NoError(t, d.Close())
	}
}
