package convert

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// late is an episode of 10 s whose commands come from one time to another, s, but for a pause of a second from 5 s on.
func late(t *testing.T, name string, from, to float64) *dataset.Episode {
	t.Helper()
	e := &dataset.Episode{Name: name}
	add := func(name string, hz, from, to float64) {
		var times []int64
		var values []float32
		for i := 0; float64(i)/hz+from <= to; i++ {
			if at := float64(i)/hz + from; name == "state" || at <= 5 || at >= 6 {
				times, values = append(times, int64(1e9*(100+at))), append(values, float32(at))
			}
		}
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, len(values), 1)), nil)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	add("state", 100, 0, 10)
	add("action", 20, from, to)
	return e
}

// TestRowsThatAreNotValidDoNotBecomeADataset leaves out the rows before the first command and after the last, counts those of a pause, and refuses an
// episode in which nothing overlaps. All of them stay if that is asked for.
func TestRowsThatAreNotValidDoNotBecomeADataset(t *testing.T) {
	plan := align.Plan{Rate: 20, Defaults: align.Sampling{Kind: "previous", Tolerance: ops.Within(200 * time.Millisecond)}}
	in := write(t, late(t, "a", 3, 7.5))
	out, r := made(t, leRobot(t, LeRobotOptions{}), Options{Plan: &plan}, in)
	assert.Equal(t, []int{91, 110, 15}, []int{r.Rows, r.LeftOut, r.NotValid})
	got, err := opened(t, out, dataset.Options{Strict: true}).Episode(context.Background(), 0)
	require.NoError(t, err)
	action := numbersOf(t, got.Stream("action").Values)
	require.Len(t, action, 91)
	assert.Equal(t, []float64{3, 7.5}, []float64{action[0], action[90]})
	assert.Equal(t, 103e9, numbersOf(t, got.Stream("capture_time").Values)[0])
	for _, s := range r.Streams {
		assert.NoError(t, s.check("a"))
		assert.Equal(t, 91, s.Rows)
		if s.Name == "state" {
			assert.Equal(t, []int{1001, 91}, []int{s.Read, s.Valid})
			assert.NotNil(t, s.Dropped.Find(dataset.CodeBeforeClock))
			assert.NotNil(t, s.Dropped.Find(dataset.CodeAfterClock))
		} else {
			assert.Equal(t, []int{76, 15, 0}, []int{s.Valid, s.Gapped, s.OutOfRange})
		}
	}

	_, r = made(t, leRobot(t, LeRobotOptions{}), Options{Plan: &plan, KeepInvalid: true}, in)
	assert.Equal(t, []int{201, 0, 125}, []int{r.Rows, r.LeftOut, r.NotValid})
	_, r = made(t, NPZ(), Options{Plan: &plan}, in)
	assert.Equal(t, []int{201, 0, 0}, []int{r.Rows, r.LeftOut, r.NotValid}, "it has a mask")

	apart := late(t, "b", 3, 7.5)
	require.NoError(t, later(&apart.Streams[1], time.Hour))
	opt := Options{Plan: &align.Plan{Rate: 20, Range: align.Range{Mode: align.RangeUnion}}, Device: cpu(t)}
	folder := write(t, late(t, "a", 3, 7.5), apart)
	list, err := all(filepath.Join(t.TempDir(), "out"), leRobot(t, LeRobotOptions{}), opt, folder)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{list[0].Converted, list[0].Skipped})
	skipped := SkippedInputs(list)
	require.Len(t, skipped, 1)
	assert.Equal(t, []any{folder, 2, 1, false}, []any{skipped[0].Input, skipped[0].Episodes, skipped[0].Skipped, skipped[0].Whole})
	assert.ErrorContains(t, skipped[0].First.Cause, "has a valid value for every stream (action in 91, state in 201)")
}

// TestAReportThatWasBeingWrittenIsNoPart has what a conversion leaves that was killed while it wrote its report into the dataset.
func TestAReportThatWasBeingWrittenIsNoPart(t *testing.T) {
	in, out := write(t, recorded(t, 1, 20, false)), filepath.Join(t.TempDir(), "out")
	converts(t, out, leRobot(t, LeRobotOptions{}), Options{}, in)
	want := tree(t, out)
	filetest.Write(t, filepath.Join(out, ".convert.json.243d7df1e091b6fd.tmp"), "{")
	again := converts(t, out, leRobot(t, LeRobotOptions{}), Options{}, in)
	assert.Equal(t, 1, again.Before, "it stands")
	assert.Equal(t, want, tree(t, out))
}
