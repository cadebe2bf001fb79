package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// sharedCase returns the path of a shared case.
func sharedCase(t *testing.T, name string) string {
	path := "../../../shared/cases/" + name
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	return path
}

// convertedStream returns a stream's account in the JSON of convert.
func convertedStream(t *testing.T, stdout, name string) map[string]any {
	for _, shard := range unmarshal(t, stdout)["shards"].([]any) {
		for _, s := range shard.(map[string]any)["streams"].([]any) {
			if account := s.(map[string]any); account["name"] == name {
				return account
			}
		}
	}
	require.Fail(t, "no stream "+name, stdout)
	return nil
}

func TestCameraGapNotCounted(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in, dir := sharedCase(t, "camera-gap-not-counted/gap.mcap"), t.TempDir()
	plan := filepath.Join(dir, "plan.yaml")
	good(t, "plan", in, "-o", plan)
	for i, how := range [][]string{{"--hz=30"}, {"--plan=" + plan}, {"--hz=30", "--max-gap=none"}} {
		stdout, _ := good(t, append([]string{"convert", in, "-o", filepath.Join(dir, fmt.Sprint(i)), "--to=mcap", "--json"}, how...)...)
		for _, name := range []string{"/beside_cam", "/cam/compressed"} {
			a := convertedStream(t, stdout, name)
			assert.EqualValues(t, 30, a["across_gaps"], name)
			assert.EqualValues(t, []int{150, 150, 180}[i], a["valid"], name)
		}
	}
	stdout, _ := good(t, "batches", in, "--hz=30", "--camera=/cam/compressed=8x8", "--stream=/beside_cam", "--batch=180", "--backend=cpu", "--json")
	report := unmarshal(t, stdout)
	assert.EqualValues(t, 60, report["invalid"], "30 of the stream and 30 of the camera")
	for _, list := range []string{"streams", "cameras"} {
		assert.EqualValues(t, 30, report[list].([]any)[0].(map[string]any)["windows_in_gaps"], list)
	}
}

func TestConvertSilentOnVideoOffsets(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, name := range []string{"same_from", "wrong_file"} {
		in, dir := sharedCase(t, "convert-silent-on-video-offsets/"+name), t.TempDir()
		stdout, _ := good(t, "convert", in, "-o", filepath.Join(dir, "out"), "--to=lerobot", "--json")
		assert.Contains(t, stdout, `"video-overlap"`)
		report, err := os.ReadFile(filepath.Join(dir, "out", "convert.json"))
		require.NoError(t, err)
		assert.Contains(t, string(report), "video-overlap")
		_, stderr := good(t, "convert", in, "-o", filepath.Join(dir, "again"), "--to=lerobot", "--media=none")
		assert.Contains(t, stderr, "episodes with videos that overlap in their file: 1-2")
		for _, command := range [][]string{{"batches", "--backend=cpu"}, {"stats"}} {
			stdout, _ = good(t, append(command, in, "--json")...)
			assert.Contains(t, fmt.Sprint(unmarshal(t, stdout)["problems"]), "video-overlap", command)
			_, stderr = good(t, append(command, in)...)
			assert.Contains(t, stderr, "with videos that overlap", command)
		}
	}
}

// A dataset of another format: a folder in which a recording cannot be opened.
func TestProblemsOfAFolderReachEachCommand(t *testing.T) {
	dir := t.TempDir()
	holes(t, dir, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "z.mcap"), []byte("no log at all, but its name"), 0o666))
	stdout, _ := good(t, "inspect", dir, "--json")
	want := len(unmarshal(t, stdout)["problems"].([]any))
	for _, command := range [][]string{{"batches", "--hz=20", "--batch=1", "--backend=cpu"}, {"stats"}} {
		stdout, _ = good(t, append(command, dir, "--json")...)
		assert.Len(t, unmarshal(t, stdout)["problems"], want, command)
	}
}

// holes writes episodes at 20 Hz. The first has a hole of 10 s.
func holes(t *testing.T, dir string, episodes int) {
	for e := range episodes {
		var times []int64
		var values []float32
		for i := range 400 {
			if e == 0 && i >= 100 && i < 300 {
				continue
			}
			times, values = append(times, int64(i)*50e6), append(values, float32(i%7), float32(i%11))
		}
		clock, rows := vec(times...), tensor.Must(tensor.Of(values, len(times), 2))
		path := writeNPZ(t, map[string]*tensor.Tensor{"action.values": rows, "action.times": clock, "observation.state.values": rows, "observation.state.times": clock})
		require.NoError(t, os.Rename(path, filepath.Join(dir, fmt.Sprintf("ep%d.npz", e))))
	}
}

func TestPythonHolesValid(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	holes(t, dir, 3)
	draw := []string{"batches", dir, "--hz=20", "--batch=1200", "--window=action=0s:0.05s", "--backend=cpu"}
	stdout, stderr := good(t, append(draw, "--json")...)
	assert.EqualValues(t, 400, unmarshal(t, stdout)["invalid"], "200 windows of two streams")
	assert.NotContains(t, stderr, "in gaps")
	stdout, _ = good(t, append(draw, "--json", "--max-gap=none")...)
	assert.EqualValues(t, 0, unmarshal(t, stdout)["invalid"])
	const remark = "stream action: 200 of 1200 windows are anchored in sample gaps"
	_, stderr = good(t, append(draw, "--max-gap=none")...)
	assert.Contains(t, stderr, remark)
	_, stderr = good(t, append(draw, "--max-gap=none", "--streaming")...)
	assert.Contains(t, stderr, remark)
	_, stderr = good(t, "train", dir, "--hz=20", "--hold-out=2", "--steps=2", "--backend=cpu")
	assert.Contains(t, stderr, "200 of 800 windows are anchored in sample gaps")
}

// If a table in another format lacks 12 s, nothing is reported as 100 % valid.
func TestATableWithAHoleIsNotAllValid(t *testing.T) {
	var b strings.Builder
	b.WriteString("timestamp,x\n")
	for i := range 400 {
		if i < 100 || i >= 220 {
			fmt.Fprintf(&b, "%.1f,%d\n", float64(i)/10, i)
		}
	}
	in := filepath.Join(t.TempDir(), "hole.csv")
	require.NoError(t, os.WriteFile(in, []byte(b.String()), 0o666))
	for _, command := range []string{"resample", "fuse"} {
		for how, valid := range map[string]float64{"auto": 280, "none": 400, "13s": 400} {
			stdout, _ := good(t, command, in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=10", "--backend=cpu", "--json", "--max-gap="+how)
			assert.EqualValues(t, valid, unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)["valid"], how)
		}
		stdout, _ := good(t, command, in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=10", "--backend=cpu")
		assert.Contains(t, stdout, "70.0 %")
	}
	code, _, stderr := execute("convert", in, "-o", filepath.Join(t.TempDir(), "o"), "--to=npz", "--max-gap=1s")
	assert.Equal(t, exitUsage, code, stderr)
}
