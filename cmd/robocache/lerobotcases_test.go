package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// inCases returns the path of a folder of shared/cases, or skips the test.
func inCases(t *testing.T, name string) string {
	path := filepath.Join("../../../shared/cases", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", name)
	}
	return path
}

// A policy runs on the clock that it was trained on, with the skill that train printed. If another clock is chosen, it prints a remark.
func TestPythonClockNotKept(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	data := filepath.Join(inCases(t, "python-drifted-timestamps"), "dataset_jitter")
	for trained, clock := range map[string]string{"": "frame_index", "frame_index": "frame_index", "timestamp": "timestamp"} {
		out := filepath.Join(t.TempDir(), "p")
		args := []string{"train", data, "--hold-out=2", "--steps=3", "--backend=cpu", "--json", "--out", out}
		if trained != "" {
			args = append(args, "--clock="+trained)
		}
		stdout, _ := good(t, args...)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		var said struct {
			Skill map[string]float64 `json:"skill"`
		}
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &said))
		require.NotEmpty(t, said.Skill)
		text, err := os.ReadFile(filepath.Join(out, "config.json"))
		require.NoError(t, err)
		var config struct{ Clock string }
		require.NoError(t, json.Unmarshal(text, &config))
		assert.Equal(t, clock, config.Clock, "trained with --clock %q", trained)
		for _, chosen := range []string{"", "frame_index", "timestamp"} {
			args := []string{"policy", out, data, "--episode=2", "--backend=cpu", "--json"}
			if chosen != "" {
				args = append(args, "--clock="+chosen)
			}
			stdout, _ := good(t, args...)
			var ran struct {
				Skill map[string]float64 `json:"skill"`
				noteList
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &ran))
			same := chosen == "" || chosen == clock
			assert.Equal(t, same, !slices.ContainsFunc(ran.Entries, func(n notetext.EpisodeEntry) bool { return n.Code == "clock-other" }), "%q, then %q", trained, chosen)
			if same {
				assert.Equal(t, said.Skill, ran.Skill, "%q, then %q", trained, chosen)
			} else {
				assert.NotEqual(t, said.Skill, ran.Skill, "%q, then %q", trained, chosen)
			}
		}
	}
}

// If a LeRobot folder has only some episodes, flags and reports use LeRobot's numbers. A store of it does too.
func TestPythonEpisodeIndex(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	inCases(t, "python-episode-index")
	dir := filepath.Join(t.TempDir(), "some")
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../../shared/data/lerobot_v21_g1")))
	for _, name := range []string{"episode_000000.parquet", "episode_000003.parquet"} {
		require.NoError(t, os.Remove(filepath.Join(dir, "data/chunk-000", name)))
	}
	packed := filepath.Join(t.TempDir(), "some.safetensors")
	good(t, "pack", dir, "-o", packed)
	for _, in := range []string{dir, packed} {
		var listed struct {
			ByEpisode []struct {
				Number int    `json:"number"`
				Name   string `json:"name"`
			} `json:"by_episode"`
		}
		stdout, _ := good(t, "batches", in, "--batch=8", "--steps=1", "--backend=cpu", "--json")
		require.NoError(t, json.Unmarshal([]byte(stdout), &listed))
		var numbers []int
		for _, e := range listed.ByEpisode {
			numbers = append(numbers, e.Number)
		}
		assert.Equal(t, []int{1, 2, 4, 5, 6, 7}, numbers, in)
		frames := map[string]int{}
		for _, episode := range []string{"4", "7"} {
			var found struct{ Streams []struct{ Samples int } }
			stdout, _ := good(t, "inspect", in, "--episode", episode, "--json")
			require.NoError(t, json.Unmarshal([]byte(stdout), &found))
			frames[episode] = found.Streams[0].Samples
		}
		assert.Equal(t, map[string]int{"4": rowsOf(t, "4"), "7": rowsOf(t, "7")}, frames, in)
		for _, episode := range []string{"0", "3", "8"} {
			code, _, stderr := execute("inspect", in, "--episode", episode)
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, stderr, "numbered 1 to 7, without some")
		}
		code, _, stderr := execute("train", in, "--hold-out=3", "--steps=1", "--backend=cpu")
		assert.Equal(t, exitUsage, code, stderr)
	}
	var report struct {
		Evaluation struct{ Episodes []int }
	}
	stdout, _ := good(t, "train", dir, shortPlan(t), "--hold-out=4", "--steps=1", "--backend=cpu", "--json")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &report))
	assert.Contains(t, lines[len(lines)-1], `[4]`)
}

// rowsOf returns how many samples an episode of the whole dataset has.
func rowsOf(t *testing.T, episode string) int {
	var found struct{ Streams []struct{ Samples int } }
	stdout, _ := good(t, "inspect", "../../../shared/data/lerobot_v21_g1", "--episode", episode, "--json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &found))
	return found.Streams[0].Samples
}

// Streams that have no rate are asked for it by name, not called missing, packed or streamed.
func TestPythonRobomimicRateError(t *testing.T) {
	inCases(t, "python-robomimic-rate-error")
	const in = "../../../shared/data/robomimic_bridge/lowdim_v18.hdf5"
	for _, args := range [][]string{{"--stream=obs/state", "--stream=actions"}, {"--stream=actions"}, {}, {"--stream=actions", "--streaming"}} {
		code, _, stderr := execute(append([]string{"batches", in, "--batch=4", "--backend=cpu", "--hz=5"}, args...)...)
		assert.Equal(t, exitInput, code, args)
		assert.Contains(t, stderr, "want --rate HZ", args)
		assert.NotContains(t, stderr, "no episode has", args)
	}
	code, _, stderr := execute("batches", in, "--batch=4", "--backend=cpu", "--hz=5", "--stream=nothing")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, `"nothing", which no episode has`)
}

// What train advises of timestamps that step back is a flag that it takes, and a policy keeps it.
func TestPythonTrainUnordered(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for k := range 3 {
		times, values := make([]int64, 100), make([]float32, 100)
		for i := range times {
			times[i], values[i] = int64(i)*50_000_000, float32(i%7+k)
		}
		if k == 0 {
			slices.Reverse(times)
		}
		in := writeNPZ(t, map[string]*tensor.Tensor{"action.values": column(values...), "action.times": vec(times...), "state.values": column(values...), "state.times": vec(times...)})
		require.NoError(t, os.Rename(in, filepath.Join(dir, "ep"+strconv.Itoa(k)+".npz")))
	}
	out := filepath.Join(t.TempDir(), "p")
	args := []string{"train", dir, "--hz=20", "--hold-out=1", "--steps=1", "--backend=cpu", "--out", out}
	_, stderr := good(t, args...)
	assert.Contains(t, stderr, "left out")
	assert.Contains(t, stderr, "--unordered sort")
	require.NoError(t, os.RemoveAll(out))
	_, stderr = good(t, append(args, "--unordered=sort")...)
	assert.NotContains(t, stderr, "left out")
	text, err := os.ReadFile(filepath.Join(out, "config.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "unordered: sort")
	_, stderr = good(t, "policy", out, dir, "--episode=0", "--backend=cpu")
	assert.NotContains(t, stderr, "left out")
	code, _, stderr := execute(append(args[:len(args)-2:len(args)-2], "--unordered=maybe")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "drop, sort, error")
}
