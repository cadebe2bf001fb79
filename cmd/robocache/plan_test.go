package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// planFile writes a plan of 1 Hz with these lines more.
func planFile(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nrate: 1\n"+lines+"\n"), 0o644))
	return path
}

func TestResampleTakesAPlanOfAnArchivesStreams(t *testing.T) {
	f := resampleTo(t, twoStreams(t, nil), "--plan", planFile(t, "streams:\n- {name: ramp, columns: [\"1\"]}"))
	assert.Equal(t, []int{41, 1}, shape(t, f, "ramp.values"))
	assert.False(t, f.Has("count.values"))
	code, _, stderr := execute("resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--plan", planFile(t, "streams: [{name: a}]"))
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "no stream")
	code, _, _ = execute("resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--plan", "none.yaml")
	assert.Equal(t, exitInput, code)
}

func TestAMistakeInAPlanHasItsPlaceInJSON(t *testing.T) {
	plan := planFile(t, "streams:\n- name: a\n  from: airsped")
	_, stdout, _ := execute("fuse", flight, "-o", filepath.Join(t.TempDir(), "o.npz"), "--plan", plan, "--json", "--backend=cpu")
	e := unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, []any{flight, plan, 5.0, 9.0, "airsped"}, []any{e["path"], e["plan"], e["line"], e["column"], e["stream"]})
	plan = planFile(t, "streams:\n- name: airspeed\n  columns: [x]")
	_, stdout, _ = execute("fuse", flight, "-o", filepath.Join(t.TempDir(), "o.npz"), "--plan", plan, "--json", "--backend=cpu")
	e = unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, []any{flight, plan, `column "x"`}, []any{e["path"], e["plan"], e["got"]})
}

func TestThePictureComesWithTheArchiveOrNotAtAll(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	picture := filepath.Join(t.TempDir(), "old.png")
	require.NoError(t, os.WriteFile(picture, []byte("old"), 0o644))
	for _, out := range []string{filepath.Join(t.TempDir(), "none", "o.npz"), filepath.Join(t.TempDir(), "o.npz")} {
		plan := planFile(t, "streams: [{name: airspeed}]")
		if filepath.Base(filepath.Dir(out)) != "none" {
			plan = planFile(t, "streams: [{name: \"a\\0b\", from: airspeed}]")
		}
		code, _, _ := execute("resample", flight, "-o", out, "--plan", plan, "--plot", picture, "--backend=cpu")
		assert.NotEqual(t, exitGood, code)
		assert.NoFileExists(t, out)
		old, err := os.ReadFile(picture)
		require.NoError(t, err)
		assert.Equal(t, "old", string(old))
	}
}

func TestARangeNeedsAClock(t *testing.T) {
	code, _, stderr := execute("resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--range=union")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--range union without --hz")
}

func TestRemarksAreInJSONAndTrue(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	run := func(args ...string) []any {
		args = append([]string{"resample", flight, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=50", "--json", "--backend=cpu"}, args...)
		stdout, _ := good(t, args...)
		return noteTexts(unmarshal(t, stdout))
	}
	assert.Equal(t, []any{"window has no effect: it is for the window methods, such as window-mean", "fill has no effect: it is written with edge fill or hold, and with fill_gaps"}, run("--stream=airspeed", "--fill=-7", "--window=20ms"))
	assert.Empty(t, run("--stream=vehicle_attitude[q[0]]:window-mean", "--window=20ms"))
	assert.Empty(t, run("--stream=multirotor_motor_limits", "--range=union", "--fill=-7"), "it holds, and before its first sample the fill value stands")
}

func TestOneStreamThatCannotBeUsedHidesNoOtherInInspect(t *testing.T) {
	path := twoStreams(t, map[string]*tensor.Tensor{"count.values": tensor.Must(tensor.New(tensor.U8, 4, 1, 2, 3)), "ramp.times": vec[int64](0, 0, 20e9, 30e9, 40e9)})
	stdout, _ := good(t, "inspect", path)
	assert.Regexp(t, `ramp +5 .*, 1 timestamps repeat`, stdout)
	assert.Contains(t, stdout, "left out: count, array count.values: got uint8 [4,1,2,3], want [S,D]")
	assert.Contains(t, stdout, "left out: targets, int64 [4], the clock that robocache fuse takes")
}
