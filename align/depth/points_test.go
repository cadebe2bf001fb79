package depth_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/sim"
)

func pointsOf(t *testing.T, device *ops.Device, dir string, o align.Points) (*dataset.Episode, error) {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, dir, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	plan := align.Plan{Rate: 10, Streams: []align.Stream{{Name: "pose"}, {Name: "points", Points: &o}}}
	with, err := depth.WithPoints(ctx, device, d, &plan)
	if err != nil {
		return nil, err
	}
	return with.Episode(ctx, 0)
}

// The images at 1.05 and 1.1 s have poses. Pixels 0 and 2 have 1 and 2 m, with fx 100, cx 0 and fy 100, cy 0; pixel 2 is at x = 2 * 2 / 100.
func TestPointsFromImages(t *testing.T) {
	dir := tumFolder(t, "rgbd_dataset_freiburg2_xyz")
	o := align.Points{K: 3, Intrinsics: [4]float64{100, 100, 0, 0}}
	e, err := pointsOf(t, cpu(t), dir, o)
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
	assert.Equal(t, []string{"depth-unposed points 3 5 ", "points-few points 2 5 3"}, noteTexts(e.Notes), "of an image with 2 points")

	o.Min, o.Max = [3]float64{0, 0, 6.5}, [3]float64{9, 9, 9}
	e, err = pointsOf(t, cpu(t), dir, o)
	require.NoError(t, err)
	row := numbers(t, e.Stream("points").Values)[9:]
	assert.Equal(t, append(append(got[12:15:15], got[12:15]...), got[12:15]...), row, "one point in the box, three times")

	o.Min[2] = 8
	e, err = pointsOf(t, cpu(t), dir, o)
	require.NoError(t, err)
	assert.Zero(t, e.Stream("points").Len())
	assert.Contains(t, noteTexts(e.Notes), "points-none points 2 5 ")

	sim, err := ops.Open("sim")
	require.NoError(t, err)
	defer sim.Close()
	o.Min, o.Max = [3]float64{}, [3]float64{}
	e, err = pointsOf(t, sim, dir, o)
	require.NoError(t, err)
	assert.Equal(t, got, numbers(t, e.Stream("points").Values), "another device gives the same bits")
}

func noteTexts(notes dataset.Notes) (list []string) {
	for _, n := range notes {
		list = append(list, fmt.Sprintln(n.Code, n.Subject, n.Count, n.Of, n.Want))
		list[len(list)-1] = strings.TrimSuffix(list[len(list)-1], "\n")
	}
	return list
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
	} {
		_, err := pointsOf(t, cpu(t), c.dir, c.points)
		var bad *align.PlanError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, c.key, bad.Key)
	}
	e, err := pointsOf(t, cpu(t), dir, align.Points{K: 1})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "depth", "1.png"), []byte("cut"), 0o600))
	f, err := pointsOf(t, cpu(t), dir, align.Points{K: 1})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, []int{e.Stream("points").Len(), f.Stream("points").Len()})
	assert.Contains(t, noteTexts(f.Notes), "depth-unread points 1 5 ")

	posed := align.Points{K: 1, Intrinsics: [4]float64{100, 100, 0, 0}, Pose: [16]float64{0: 1, 3: 7, 5: 1, 10: 1, 15: 1}}
	require.NoError(t, os.Remove(filepath.Join(dir, "groundtruth.txt")))
	e, err = pointsOf(t, cpu(t), dir, posed)
	require.NoError(t, err)
	assert.Equal(t, []float32{7, 0, 1}, numbers(t, e.Stream("points").Values)[:3])
}
