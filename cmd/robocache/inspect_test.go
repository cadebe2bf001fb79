package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInspectListsStreamsAndColumns(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	stdout, _ := good(t, "inspect", flight)
	assert.Contains(t, stdout, "sample_log_small, ulog: 70 streams\n")
	assert.Regexp(t, `vehicle_attitude +1298 +204\.6 Hz +20\.327 to 26\.823 s +1 +f32 +9: q\[0\], q\[1\], q\[2\], \.\.\.\n`, stdout)
	assert.Contains(t, stdout, "left out: sensor_mag_2, no samples\n")
	stdout, _ = good(t, "inspect", flight, "--columns")
	assert.Contains(t, stdout, "quat_reset_counter")

	stdout, _ = good(t, "inspect", flight, "--json")
	e := unmarshal(t, stdout)
	assert.EqualValues(t, 1, e["episodes"])
	assert.Nil(t, e["frames"], "a log is no table")
	assert.Len(t, e["streams"], 70)
	for _, s := range e["streams"].([]any) {
		if s := s.(map[string]any); s["name"] == "vehicle_attitude" {
			assert.Equal(t, map[string]any{"name": "q[0]", "type": "float", "rotation": "quaternion wxyz"}, s["columns"].([]any)[0])
			assert.EqualValues(t, 20_326_716_000, s["first_ns"])
		}
	}

	stdout, _ = good(t, "inspect", twoStreams(t, map[string]*tensor.Tensor{"count.times": vec[int64](0, 5e9, 4e9, 30e9)}))
	assert.Regexp(t, `count +4 +0\.2 Hz +0\.000 to 30\.000 s, 1 steps back`, stdout)
}

func TestInspectListsDepthImages(t *testing.T) {
	log := mcapOf(t, "foxglove.RawImage", [2]string{"/stereo", `{"timestamp":{"sec":7,"nsec":0},"width":1,"height":1,"encoding":"16UC1","step":2,"data":"AAA="}`})
	stdout, _ := good(t, "inspect", log)
	assert.Regexp(t, `/stereo +1 .*16UC1 1x1, depth, unit 0\.001 m\n`, stdout)
	stdout, _ = good(t, "inspect", log, "--json")
	assert.InDelta(t, 0.001, unmarshal(t, stdout)["media"].([]any)[0].(map[string]any)["depth_scale"], 0)
}

func TestAnInputMayBeNamedByItsURL(t *testing.T) {
	full, err := filepath.Abs(flight)
	require.NoError(t, err)
	stdout, _ := good(t, "inspect", "file://"+full)
	assert.Contains(t, stdout, "sample_log_small, ulog: 70 streams\n")
}

func TestInspectRefusesWhatItCannotRead(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	code, _, stderr := execute("inspect")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "one file")
	whole, err := os.ReadFile(flight)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.ulg")
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)/2], 0o644))
	code, _, stderr = execute("inspect", cut, "--strict")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "truncated")
	_, stderr = good(t, "inspect", cut)
	assert.Contains(t, stderr, "robocache: lost: ")
	stdout, _ := good(t, "inspect", cut, "--json")
	assert.Positive(t, unmarshal(t, stdout)["lost_bytes"])
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	_, err = z.Create("readme.txt")
	require.NoError(t, errors.Join(err, z.Close()))
	other := filepath.Join(t.TempDir(), "other.zip")
	require.NoError(t, os.WriteFile(other, zipped.Bytes(), 0o600))
	code, _, stderr = execute("inspect", other)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "got 1 members, none of them called NAME.npy")
	code, _, _ = execute("inspect", filepath.Join(t.TempDir(), "none.ulg"))
	assert.Equal(t, exitInput, code)
}

// The same syntax names a stream in both commands: its columns in brackets, its kind, its longest gap.
func TestStreamsAreNamedAlikeInBothCommands(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, command := range []string{"resample", "fuse"} {
		out := filepath.Join(t.TempDir(), "o.npz")
		stdout, _ := good(t, command, flight, "-o", out, "--hz=50", "--max-gap=none", "--backend=cpu", "--json",
			"--stream=vehicle_local_position[x,y]", "--stream=airspeed::50ms", "--stream=vehicle_attitude[q]:linear:100ms")
		streams := unmarshal(t, stdout)["streams"].([]any)
		require.Len(t, streams, 3)
		at := func(i int) map[string]any { return streams[i].(map[string]any) }
		assert.EqualValues(t, 2, at(0)["columns"], command)
		assert.EqualValues(t, 0, at(0)["gapped"], command)
		assert.EqualValues(t, 8, at(1)["gapped"], command)
		assert.Equal(t, map[string]any{"linear": 4.0}, at(2)["methods"], command)
		for arg, want := range map[string]string{"airspeed[x": "brackets", "airspeed[]": "brackets", "[x]": "NAME", "airspeed::soon": "max-gap", "airspeed[x]:cubic": "cubic"} {
			code, _, stderr := execute(command, flight, "-o", out, "--hz=50", "--stream="+arg)
			assert.Equal(t, exitUsage, code, arg)
			assert.Contains(t, stderr, want, arg)
		}
		code, _, stderr := execute(command, flight, "-o", out, "--hz=50", "--stream=airspede", "--backend=cpu")
		assert.Equal(t, exitInput, code)
		assert.Contains(t, stderr, "did you mean airspeed?")
	}
}

// A folder of recordings is a dataset with one episode per file.
func TestAFolderOfRecordings(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]uint64{"run_2": 20, "run_10": 30} {
		var stamps []uint64
		var values []any
		for i := range n {
			stamps, values = append(stamps, i*100_000), append(values, float32(i))
		}
		log, err := os.ReadFile(writeLog(t, topic{"v", "float x", stamps, values}))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".ulg"), log, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("not data"), 0o600))
	stdout, _ := good(t, "inspect", dir, "--json")
	got := unmarshal(t, stdout)
	assert.Equal(t, "ulog", got["format"])
	assert.EqualValues(t, 2, got["episodes"])
	v := got["streams"].([]any)[0].(map[string]any)
	assert.EqualValues(t, 50, v["samples"])
	for i, name := range []string{"run_2", "run_10"} {
		stdout, _ = good(t, "inspect", dir, "--json", "--episode", strconv.Itoa(i))
		one := unmarshal(t, stdout)
		assert.Equal(t, name, one["episode"].(map[string]any)["name"])
		assert.EqualValues(t, 20+10*i, one["streams"].([]any)[0].(map[string]any)["samples"])
	}

	out := filepath.Join(t.TempDir(), "o.npz")
	for episode, samples := range []int{20, 30} {
		good(t, "resample", dir, "-o", out, "--hz=10", "--backend=cpu", "--episode", strconv.Itoa(episode))
		f := open(t, out)
		assert.Equal(t, []int{samples, 1}, shape(t, f, "v.values"))
		good(t, "fuse", dir, "-o", out, "--hz=10", "--backend=cpu", "--episode", strconv.Itoa(episode))
	}
	for want, args := range map[string][]string{
		"holds 2 episodes, want --episode 0 to 1": {dir, "--hz=10"}, "--episode: got 2": {dir, "--hz=10", "--episode=2"}, "want --hz": {dir, "--episode=0"},
		"is one recording": {"testdata/ramp.npz", "--episode=1"}, "--rate is for recordings without times": {"testdata/ramp.npz", "--rate=5"},
	} {
		code, _, stderr := execute(append([]string{"resample", "-o", out}, args...)...)
		assert.Equal(t, exitUsage, code, want)
		assert.Contains(t, stderr, want)
	}
	_, stderr := good(t, "resample", dir, "-o", out, "--hz=10", "--episode=0", "--rate=5")
	assert.Contains(t, stderr, "rate has no effect")
	ramp, err := os.ReadFile("testdata/ramp.npz")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.npz"), ramp, 0o600))
	code, _, stderr := execute("inspect", dir)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "recordings of several: 1 of npz, 2 of ulog")
	code, _, stderr = execute("inspect", t.TempDir())
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "without a recording in any known format")
}

func TestInspectSaysHowManyWholeNumbersAreRounded(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	stdout, _ := good(t, "inspect", "../../dataset/robomimic/testdata/kinds.hdf5", "--json")
	got := unmarshal(t, stdout)
	rounded := map[string]any{}
	for _, s := range got["streams"].([]any) {
		s := s.(map[string]any)
		rounded[s["name"].(string)] = s["lossy_integers"]
	}
	assert.EqualValues(t, 3+2+1, rounded["obs/large"], "every second one from 2^53 on, of 7, 5 and 3 steps")
	assert.EqualValues(t, 0, rounded["obs/small"])
	assert.Contains(t, got["notes"], map[string]any{"class": "remark", "first": 0., "code": dataset.CodeIntegersRounded.String(), "subject": "obs/large", "count": 6., "row": nil, "episode": "", "episodes": 0.,
		"text": "obs/large: whole numbers that are rounded because f64 does not hold them: 6"})
}

func TestInspectNamesAFewOfManyClocks(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	path := filepath.Join(t.TempDir(), "many.csv")
	require.NoError(t, os.WriteFile(path, []byte("1,2,3\n2,3,4\n3,4,5\n"), 0o600))
	stdout, _ := good(t, "inspect", path)
	assert.Contains(t, stdout, "many, csv: 1 stream, clock steps (--clock: also 0 [s], 0 [ms], 0 [us], 0 [ns], 1 [s], 1 [ms], 1 [us] and 5 more)\n")
}
