package plain_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/aloha"
	_ "github.com/robocache/robocache/dataset/isaaclab"
	_ "github.com/robocache/robocache/dataset/robomimic"
)

// clockOf is what a stream's clock is tested by.
type clockOf struct {
	samples     int
	first, step int64 // ns
}

func clocks(t *testing.T, path string) (map[string]clockOf, *dataset.Episode) {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	e, err := d.Episode(context.Background(), 0)
	require.NoError(t, err)
	got := map[string]clockOf{}
	for i := range e.Streams {
		times := e.Streams[i].Nanoseconds()
		got[e.Streams[i].Name] = clockOf{len(times), times[0], times[1] - times[0]}
	}
	return got, e
}

func shared(t *testing.T, folder string) string {
	folder = "../../../../shared/cases/" + folder + "/"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the shared recordings are not here: ", err)
	}
	return folder
}

func TestHdf5ClocksAndTPlus1(t *testing.T) {
	folder := shared(t, "hdf5-clocks-and-t-plus-1")
	got, e := clocks(t, folder+"own_times.hdf5")
	assert.Equal(t, map[string]clockOf{"cam/x": {40, 1.7e18, 25e6}, "joint/position": {20, 1.7e18, 50e6}}, got)
	assert.Empty(t, e.Notes)
	assert.False(t, e.Steps)
	got, _ = clocks(t, folder+"one_clock.hdf5")
	assert.Len(t, got, 2)
	assert.Equal(t, 20, got["action"].samples)
	assert.InDelta(t, 50e6, got["observations/qpos"].step, 200)
	got, e = clocks(t, folder+"t_plus_1.hdf5")
	assert.Equal(t, map[string]clockOf{"action": {20, 0, 50e6}, "reward": {20, 0, 50e6}, "state": {21, 0, 50e6}}, got)
	assert.Empty(t, e.Notes)
}

func TestHdf5MatricesLeftOut(t *testing.T) {
	folder := shared(t, "hdf5-matrices-left-out")
	_, e := clocks(t, folder+"egodex_like.hdf5")
	assert.Equal(t, []string{"confidences/leftHand", "transforms/camera", "transforms/leftHand", "transforms/rightHand"}, e.Names())
	names := e.Stream("transforms/camera").ColumnNames()
	assert.Equal(t, []any{16, "[0][0]", "[3][3]"}, []any{len(names), names[0], names[15]})
	assert.Empty(t, e.Notes)
	_, e = clocks(t, folder+"isaac_mimic_like.hdf5")
	assert.Equal(t, []string{"actions", "obs/datagen_info/eef_pose/franka", "obs/one"}, e.Names())
	assert.Equal(t, "[0][6]", e.Stream("obs/one").ColumnNames()[6])
}

// The HDF5 part of small-ones.
func TestSmallOnes(t *testing.T) {
	_, e := clocks(t, shared(t, "small-ones")+"user_block_4096.hdf5")
	assert.Equal(t, []string{"actions"}, e.Names())
}

func TestDatasetsHaveTheClockThatNamesAndAttributesState(t *testing.T) {
	for file, want := range map[string]map[string]clockOf{
		"droid": {"action/joint_position": {12, 1.7e18, 66e6}, "observation/robot_state/joint_positions": {12, 1.7e18, 66e6}, "observation/extrinsics/left": {12, 1.7e18, 66e6},
			"observation/timestamp/control/step_end": {12, 1.7e18, 66e6}, "observation/timestamp/skip_action": {12, 1.7e18, 66e6}},
		"rates":  {"camera/mean": {24, 0, 33333333}, "robot/q": {60, 0, 10e6}, "robot/tau": {60, 0, 10e6}},
		"names":  {"imu": {48, 0, 5e6}, "joints": {24, 0, 10e6}, "hand/q": {36, 1.7e18, 20e6}, "gps/data": {12, 0, 1e9}},
		"still":  {"action": {12, 0, 1e9}, "timestamp": {12, 0, 1e9}, "step_time": {12, 0, 1e9}},
		"after":  {"action": {12, 3e9, 50e6}, "obs/q": {12, 3e9, 50e6}},
		"trials": {"data/qp": {12, 0, 40e6}, "derived/pose": {12, 0, 40e6}},
	} {
		got, e := clocks(t, "testdata/layouts/"+file+".hdf5")
		assert.Equal(t, want, got, file)
		assert.Equal(t, file == "still", e.Steps, file)
		switch file {
		case "droid":
			assert.Equal(t, "observation/timestamp/control/step_start", e.Notes.Of(dataset.ClassRemark)[0].Got)
			assert.Equal(t, dataset.CodeClockAssumed, e.Notes[0].Code)
		case "rates", "names":
			assert.Equal(t, dataset.CodeStepCount, e.Notes[0].Code, file)
			assert.Len(t, e.Notes, 1, file)
			assert.Zero(t, e.Frames, "they have no steps in common")
		case "still":
			assert.Equal(t, []any{dataset.CodeValueShape, "map"}, []any{e.Notes[0].Code, e.Notes[0].Subject})
		case "after":
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeTimeless, Subject: "obs/q", Count: 1}}, e.Notes, "nothing says when the last state was")
		}
	}
}

// Steps are not mixed with times: without a rate the actions have no place among the joint's samples, and with one they begin with them.
func TestRowsWithoutAClockBesideOne(t *testing.T) {
	got, e := clocks(t, "testdata/layouts/mixed.hdf5")
	assert.Equal(t, map[string]clockOf{"joint/q": {24, 7e9, 50e6}}, got)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeClockMismatch, Subject: "action", Count: 12,
		Detail: dataset.Detail{Got: "action", Names: []string{"action.times"}, Want: "joint/time", Of: 24}}}, e.Notes)
	d, err := dataset.Open(context.Background(), "testdata/layouts/mixed.hdf5", dataset.Options{Rate: 10})
	require.NoError(t, err)
	defer d.Close()
	e, err = d.Episode(context.Background(), 0)
	require.NoError(t, err)
	assert.Equal(t, []int64{7e9, 71e8}, e.Stream("action").Nanoseconds()[:2])
	assert.Equal(t, []int64{7e9, 705e7}, e.Stream("joint/q").Nanoseconds()[:2])
}

func TestEpisodesAreGroupsThatAreAlike(t *testing.T) {
	for file, want := range map[string][]string{
		"data": {"trial_00", "trial_01"}, "words": {"pick_cup", "pour_water"}, "dates": {"2024-05-01_10-00", "2024-05-02_09-30"}, "trials": {"Trial0", "Trial1"},
		"deep": {"kitchen/day1/run_1", "kitchen/day1/run_2", "office/day2/run_1"}, "arms": {"arms"}, "cameras": {"cameras"}, "objects": {"objects"}, "names": {"names"},
	} {
		d, err := dataset.Open(context.Background(), "testdata/layouts/"+file+".hdf5", dataset.Options{Strict: true})
		require.NoError(t, err)
		var names []string
		for i := range d.Len() {
			e, err := d.Episode(context.Background(), i)
			require.NoError(t, err)
			names = append(names, e.Name)
		}
		assert.Equal(t, want, names, file)
		if file == "data" {
			assert.Equal(t, "mask_train, returns", d.Info().Attributes["other objects"])
			assert.Equal(t, 24, d.Info().Frames)
		}
		require.NoError(t, d.Close())
	}
}
