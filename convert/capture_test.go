package convert

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// Datasets join whose columns of when it was recorded differ: one that has none gets those of its rows, in any order, and those that there are stay.
func TestTimesOfTheRecordingAreNoReasonToSkip(t *testing.T) {
	images := leRobot(t, LeRobotOptions{Cameras: "image"})
	with, _ := made(t, images, Options{Plan: &align.Plan{Rate: 30}, Device: cpu(t)}, write(t, recorded(t, 3, 40, true)))
	e := episodes(t, with)[0]
	own := e.Stream("capture_time").Integers
	require.NotNil(t, e.Stream("capture_time.front"))
	bare := *e
	bare.Streams = slices.DeleteFunc(slices.Clone(e.Streams), func(s dataset.Stream) bool { return isCapture(s.Name) })
	without, _ := made(t, images, Options{}, write(t, &bare))
	require.Nil(t, episodes(t, without)[0].Stream("capture_time"))
	for _, in := range [][]string{{with, without}, {without, with}} {
		out, r := made(t, images, Options{}, in...)
		require.Equal(t, []int{2, 0}, []int{r.Converted, r.Skipped}, "%v", r.Pieces[0].Episodes)
		got := episodes(t, out)
		if in[0] == without {
			slices.Reverse(got)
		}
		numbersEqual := func(want, name string, e *dataset.Episode) {
			assert.Equal(t, numbersOf(t, got[0].Stream(want).Values), numbersOf(t, e.Stream(name).Values))
		}
		numbersEqual("capture_time.front", "capture_time.front", e)
		assert.Equal(t, own, got[0].Stream("capture_time").Integers)
		for _, name := range []string{"capture_time", "capture_time.front"} {
			require.NotNil(t, got[1].Stream(name))
			for i, v := range numbersOf(t, got[1].Stream(name).Values) {
				require.Equal(t, float64(got[1].Streams[0].Nanoseconds()[i]), v)
			}
		}
	}
}
