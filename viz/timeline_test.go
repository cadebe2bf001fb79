package viz

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func timelineOf(t *testing.T, rows ...Timeline) image.Image {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteTimelinePNG(&b, rows, Options{Title: "test"}))
	img, err := png.Decode(&b)
	require.NoError(t, err)
	return img
}

func every(n int, step, from int64) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = from + int64(i)*step
	}
	return times
}

func TestATimelineShowsGapsAndWhatHasSamples(t *testing.T) {
	whole := every(1000, 1e7, 5e9)
	holed := append(every(300, 1e7, 5e9), every(300, 1e7, 12e9)...)
	img := timelineOf(t, Timeline{Name: "whole", Times: whole}, Timeline{Name: "holed", Times: holed}, Timeline{Name: "camera", Times: every(300, 33e6, 5e9), Media: true}, Timeline{Name: "none"})
	blue, orange, green := count(img, colours[0]), count(img, gapColour), count(img, colours[2])
	assert.Positive(t, orange)
	assert.InDelta(t, 16.0/4, float64(blue)/float64(orange), 0.3, "10 + 6 s with samples, 4 s without")
	assert.InDelta(t, 9.9/16, float64(green)/float64(blue), 0.05)
}

// The picture shades the gaps that dataset.Stats counts.
func TestGapsOfPicturesAreThoseOfTables(t *testing.T) {
	for name, c := range map[string]struct {
		times []int64
		gap   bool
	}{
		"a second":          {append(every(100, 1e6, 0), every(100, 1e6, 1e9)...), true},
		"15 ms of 1 kHz":    {append(every(100, 1e6, 0), every(100, 1e6, 114e6)...), false},
		"of no steady rate": {[]int64{0, 1e9, 1.1e9, 9e9, 9.1e9, 9.2e9, 15e9, 15.1e9}, false},
	} {
		assert.Equal(t, c.gap, dataset.StatsOf(c.times).Gaps > 0, name)
		assert.Equal(t, c.gap, count(timelineOf(t, Timeline{Name: "s", Times: c.times}), gapColour) > 0, name)
		sec := make([]float64, len(c.times))
		for i, ns := range c.times {
			sec[i] = float64(ns) / 1e9
		}
		gaps, _ := gapsOf(sec, 0)
		assert.Equal(t, c.gap, len(gaps) > 0, name)
	}
}

// A stamp of boot time or of another epoch does not squeeze the rest together.
func TestAStraySampleIsOffTheAxis(t *testing.T) {
	times := every(1000, 1e7, 0)
	for _, stray := range []int64{-1e18, 1e15, 1e18, math.MaxInt64, math.MinInt64} {
		from, to := axisOf([]Timeline{{Times: times}, {Times: []int64{stray}}})
		assert.Equal(t, [2]int64{0, 999e7}, [2]int64{from, to})
	}
	from, to := axisOf([]Timeline{{Times: times}, {Times: []int64{15e9}}})
	assert.Equal(t, [2]int64{0, 15e9}, [2]int64{from, to}, "that one is near")
	from, to = axisOf([]Timeline{{Times: []int64{0}}, {Times: []int64{1e15}}})
	assert.Equal(t, from, to, "of two samples far from each other one is shown")
}

func TestWhateverTheClocksATimelineComesOut(t *testing.T) {
	many := make([]Timeline, maxTimelines+5)
	for _, rows := range [][]Timeline{
		{{}}, {{Times: []int64{0}}}, {{Times: []int64{math.MinInt64, math.MaxInt64}}}, {{Times: []int64{5, 5, 5}}}, {{Times: []int64{9, 1, 5, 3}}}, many,
		{{Name: "a name that is much longer than the room that there is for it", Times: every(5, 1, math.MaxInt64-10)}},
	} {
		timelineOf(t, rows...)
	}
	require.ErrorIs(t, WriteTimelinePNG(&bytes.Buffer{}, nil, Options{}), ErrMissing)
}

func TestTimelinesOfAnEpisode(t *testing.T) {
	s, err := dataset.NewStream("arm", []int64{1, 2}, tensor.Must(tensor.New(tensor.F32, 2, 3)), nil)
	require.NoError(t, err)
	rows := TimelinesOf(&dataset.Episode{Streams: []dataset.Stream{s}, Media: []dataset.Media{{Name: "camera", Times: []int64{1}}}})
	assert.Equal(t, []Timeline{{Name: "arm", Times: []int64{1, 2}}, {Name: "camera", Times: []int64{1}, Media: true}}, rows)
}
