package depth_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/sim"
)

// pointsOf returns the first episode of a folder or log with the stream "points".
func pointsOf(t *testing.T, device *ops.Device, path, clock, from string, o align.Points) (*dataset.Episode, error) {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, path, dataset.Options{Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	plan := align.Plan{Rate: 10, Streams: []align.Stream{{Name: "pose"}, {Name: "points", From: from, Points: &o}}}
	with, err := depth.WithPoints(ctx, device, d, &plan, false)
	if err != nil {
		return nil, err
	}
	assert.Equal(t, d, dataset.Recorded(with), "frames are read again without the points")
	return with.Episode(ctx, 0)
}

// note returns a note about the stream of points.
func note(code dataset.Code, count, of int, want string) dataset.Note {
	return dataset.Note{Code: code, Subject: "points", Count: count, Detail: dataset.Detail{Of: of, Want: want}}
}

// The images at 1.05 and 1.1 s have poses. Pixels 0 and 2 have 1 and 2 m, with fx 100, cx 0 and fy 100, cy 0; pixel 2 is at x = 2 * 2 / 100.
func TestPointsFromImages(t *testing.T) {
	dir := tumFolder(t, "rgbd_dataset_freiburg2_xyz")
	o := align.Points{K: 3, Intrinsics: [4]float64{100, 100, 0, 0}}
	e, err := pointsOf(t, cpu(t), dir, "", "", o)
	require.NoError(t, err)
	s := e.Stream("points")
	require.NotNil(t, s)
	assert.Equal(t, []int{2, 9}, s.Values.Shape())
	assert.Equal(t, []int64{1_050_000_000, 1_100_000_000}, s.Nanoseconds())
	assert.Equal(t, "1.y", s.Columns[4].Name)
	got := numbers(t, s.Values)
	// A quarter turn about z at 1.1 s, from x to y, and the camera at (1.1, 0, 5).
	want := []float64{1.1, 0, 6, 1.1, 0.04, 7, 1.1, 0, 6}
	assert.InDeltaSlice(t, want, got[9:], 2e-3)
	unposed := note(dataset.CodeDepthUnposed, 3, 5, "")
	assert.Equal(t, dataset.Notes{unposed, note(dataset.CodePointsFew, 2, 5, "3")}, e.Notes, "images have 2 points")

	o.Min, o.Max = [3]float64{0, 0, 6.5}, [3]float64{9, 9, 9}
	e, err = pointsOf(t, cpu(t), dir, "", "", o)
	require.NoError(t, err)
	row := numbers(t, e.Stream("points").Values)[9:]
	assert.Equal(t, append(append(got[12:15:15], got[12:15]...), got[12:15]...), row, "one point in the box, three times")

	o.Min, o.Max, o.Grid = [3]float64{0, -1, 5}, [3]float64{9, 9, 6}, "peract"
	e, err = pointsOf(t, cpu(t), dir, "", "", o)
	require.NoError(t, err)
	assert.Equal(t, 2, e.Stream("points").Len(), "the box is inclusive")
	outside := note(dataset.CodePointsOutside, 6, 6, "")
	assert.Equal(t, dataset.Notes{unposed, note(dataset.CodePointsFew, 2, 5, "3"), outside}, e.Notes, "and the grid is not")

	o.Min[2], o.Max[2] = 8, 9
	e, err = pointsOf(t, cpu(t), dir, "", "", o)
	require.NoError(t, err)
	assert.Zero(t, e.Stream("points").Len())
	assert.Equal(t, dataset.Notes{unposed, note(dataset.CodePointsNone, 2, 5, "")}, e.Notes)

	sim, err := ops.Open("sim")
	require.NoError(t, err)
	defer sim.Close()
	o.Min, o.Max, o.Grid = [3]float64{}, [3]float64{}, ""
	e, err = pointsOf(t, sim, dir, "", "", o)
	require.NoError(t, err)
	assert.Equal(t, got, numbers(t, e.Stream("points").Values), "another device gives the same bits")
}

func TestPointsThatCannotBe(t *testing.T) {
	dir := tumFolder(t, "rgbd_dataset_freiburg2_xyz")
	unknown := tumFolder(t, "mine")
	for _, c := range []struct {
		dir, key string
		points   align.Points
	}{
		{unknown, "streams[1].points.intrinsics", align.Points{K: 1}},
		{dir, "streams[1].points.intrinsics", align.Points{K: 1, Intrinsics: [4]float64{-1, 1}}},
		{dir, "streams[1].points.pose", align.Points{K: 1, Pose: [16]float64{1}}},
		{dir, "streams[1].points.fixed", align.Points{K: 1, Fixed: "map"}},
	} {
		_, err := pointsOf(t, cpu(t), c.dir, "", "", c.points)
		var bad *align.PlanError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, c.key, bad.Key)
	}
	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	taken := align.Plan{Streams: []align.Stream{{Name: "pose", Points: &align.Points{K: 1}}}}
	_, err = depth.WithPoints(context.Background(), cpu(t), d, &taken, false)
	assert.ErrorContains(t, err, `streams[0].name: got pose, a stream of the recording`)

	e, err := pointsOf(t, cpu(t), dir, "", "", align.Points{K: 1})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "depth", "1.png"), []byte("cut"), 0o600))
	f, err := pointsOf(t, cpu(t), dir, "", "", align.Points{K: 1})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, []int{e.Stream("points").Len(), f.Stream("points").Len()})
	require.Len(t, f.Notes, 2)
	assert.ErrorIs(t, f.Notes[1].Cause, dataset.ErrTruncated)
	f.Notes[1].Cause = nil
	assert.Equal(t, note(dataset.CodeDepthUnread, 1, 5, ""), f.Notes[1])

	posed := align.Points{K: 1, Intrinsics: [4]float64{100, 100, 0, 0}, Pose: [16]float64{0: 1, 3: 7, 5: 1, 10: 1, 15: 1}}
	require.NoError(t, os.Remove(filepath.Join(dir, "groundtruth.txt")))
	e, err = pointsOf(t, cpu(t), dir, "", "", posed)
	require.NoError(t, err)
	assert.Equal(t, []float32{7, 0, 1}, numbers(t, e.Stream("points").Values)[:3])
}

// The points of a log are in the frame of tf that a plan names.
func TestPointsInLogs(t *testing.T) {
	pixels := []byte{0xe8, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0xd0, 7} // 1 m at u = 0, v = 0, and 2 m at u = 2, v = 1
	log := []sent{
		picture("/cam/depth/image_raw", 50, "16UC1", false, pixels), picture("/other/image_raw", 50, "16UC1", false, pixels),
		info("/cam/depth/camera_info", 0, []float64{0, 0.1, 0, 0, 0}, 2, 4, 0, 0),
		move("/tf_static", 0, "map", "base", 100, 0, 0, 0, 0, 0, 1), move("/tf_static", 0, "base", "optical", 0, 0, 5, 0, 0, 0, 1),
	}
	path := mcapFile(t, log...)
	for fixed, x := range map[string]float32{"": 100, "map": 100, "base": 0} {
		e, err := pointsOf(t, cpu(t), path, "header", "/cam/depth/image_raw", align.Points{K: 2, Fixed: fixed})
		require.NoError(t, err)
		assert.Equal(t, []float32{x, 0, 6, x + 2, 0.5, 7}, numbers(t, e.Stream("points").Values), fixed)
		assert.Contains(t, e.Notes, note(dataset.CodeDistortionIgnored, 1, 1, ""))
	}
	for key, c := range map[string]struct {
		from string
		align.Points
	}{
		"streams[1].from":              {"", align.Points{K: 1}},
		"streams[1].points.fixed":      {"/cam/depth/image_raw", align.Points{K: 1, Fixed: "odom"}},
		"streams[1].points.intrinsics": {"/other/image_raw", align.Points{K: 1}},
	} {
		_, err := pointsOf(t, cpu(t), path, "header", c.from, c.Points)
		var bad *align.PlanError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, key, bad.Key)
	}
	e, err := pointsOf(t, cpu(t), mcapFile(t, log[3:]...), "header", "", align.Points{K: 2})
	require.NoError(t, err)
	assert.Equal(t, 6, len(e.EmptyStream("points").Columns), "an episode without depth images")
}
