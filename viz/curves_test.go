package viz_test

import (
	"bytes"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

func streamOf(t *testing.T, name string, times []int64, values ...float64) dataset.Stream {
	v, err := tensor.Of(values, len(times), 2)
	require.NoError(t, err)
	s, err := dataset.NewStream(name, times, v, []dataset.Column{{Name: "shoulder"}, {Name: "elbow"}})
	require.NoError(t, err)
	return s
}

// A panel is drawn for each column, and each stream changes it; a value that is not finite and a gap are left open.
func TestCurvesOfSeveralStreamsShareAPanel(t *testing.T) {
	const s = int64(1e9)
	recorded := streamOf(t, "recorded", []int64{5 * s, 6 * s, 7 * s, 8 * s}, 0, 9, 1, 9, 0, 9, 1, 9)
	late := streamOf(t, "predicted", []int64{6 * s, 7 * s}, 0.5, 9, 0.2, 9)
	hole := streamOf(t, "recorded", []int64{5 * s, 6 * s, 7 * s, 8 * s}, 0, 9, math.NaN(), 9, 0, 9, 1, 9)
	drawn := func(show []int, streams ...dataset.Stream) []byte {
		var b bytes.Buffer
		require.NoError(t, viz.WriteCurvesPNG(&b, streams, show, viz.Options{Title: "Episode 1"}))
		return b.Bytes()
	}
	one := drawn([]int{0}, recorded)
	assert.Equal(t, one, drawn([]int{0}, recorded))
	assert.NotEqual(t, one, drawn([]int{1}, recorded))
	assert.NotEqual(t, one, drawn([]int{0}, recorded, late))
	assert.NotEqual(t, one, drawn([]int{0}, hole))
	height := func(b []byte) int {
		image, err := png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		return image.Bounds().Dy()
	}
	assert.Greater(t, height(drawn([]int{0, 1}, recorded)), height(one))
	drawn([]int{0}, streamOf(t, "alone", []int64{math.MinInt64}, 1, 2))
	drawn([]int{0}, streamOf(t, "far", []int64{math.MinInt64, math.MaxInt64}, 1, 2, math.Inf(1), 2))
}

func TestCurvesThatCannotBeDrawnAreErrors(t *testing.T) {
	good := streamOf(t, "recorded", []int64{1, 2}, 0, 1, 2, 3)
	other := good
	other.Columns = []dataset.Column{{Name: "wrist"}, {Name: "elbow"}}
	for name, c := range map[string]struct {
		streams []dataset.Stream
		show    []int
		kind    error
	}{
		"no stream":      {nil, []int{0}, viz.ErrOption},
		"five streams":   {[]dataset.Stream{good, good, good, good, good}, []int{0}, viz.ErrOption},
		"other columns":  {[]dataset.Stream{good, other}, []int{0}, viz.ErrShape},
		"no samples":     {[]dataset.Stream{streamOf(t, "none", nil)}, []int{0}, viz.ErrMissing},
		"no column":      {[]dataset.Stream{good}, nil, viz.ErrOption},
		"a third column": {[]dataset.Stream{good}, []int{2}, viz.ErrOption},
	} {
		var out bytes.Buffer
		err := viz.WriteCurvesPNG(&out, c.streams, c.show, viz.Options{})
		var bad *viz.Error
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, c.kind, name)
		assert.Zero(t, out.Len(), name)
	}
}
