package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// numberedRow is a row of a LeRobot v2.1 table.
type numberedRow struct {
	State     []float32 `parquet:"observation.state"`
	Action    []float32 `parquet:"action"`
	Timestamp float32   `parquet:"timestamp"`
	Frame     int64     `parquet:"frame_index"`
	Episode   int64     `parquet:"episode_index"`
	Index     int64     `parquet:"index"`
	Task      int64     `parquet:"task_index"`
}

// numberedSet writes a LeRobot dataset with episodes 3, 7 and 12. The table of episode 7 is broken if broken is set.
func numberedSet(t testing.TB, broken bool) string {
	dir, episodes, index := t.TempDir(), "", int64(0)
	for _, number := range []int{3, 7, 12} {
		var rows []numberedRow
		for k := range 40 {
			v := float32((k*number)%17) / 17
			rows = append(rows, numberedRow{[]float32{v, -v}, []float32{v + 1}, float32(k) / 10, int64(k), int64(number), index, 0})
			index++
		}
		path := filepath.Join(dir, "data", "chunk-000", fmt.Sprintf("episode_%06d.parquet", number))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, parquet.WriteFile(path, rows))
		if broken && number == 7 {
			filetest.Write(t, path, "PAR1 and nothing else")
		}
		episodes += fmt.Sprintf(`{"episode_index": %d, "tasks": ["push"], "length": 40}`+"\n", number)
	}
	filetest.Write(t, filepath.Join(dir, "meta", "episodes.jsonl"), episodes)
	filetest.Write(t, filepath.Join(dir, "meta", "tasks.jsonl"), `{"task_index": 0, "task": "push"}`+"\n")
	filetest.Write(t, filepath.Join(dir, "meta", "info.json"), `{"codebase_version": "v2.1", "fps": 10, "total_episodes": 3, "total_frames": 120, "chunks_size": 1000,
		"data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet", "features": {
		"observation.state": {"dtype": "float32", "shape": [2], "names": null}, "action": {"dtype": "float32", "shape": [1], "names": null},
		"timestamp": {"dtype": "float32", "shape": [1]}, "frame_index": {"dtype": "int64", "shape": [1]}, "episode_index": {"dtype": "int64", "shape": [1]},
		"index": {"dtype": "int64", "shape": [1]}, "task_index": {"dtype": "int64", "shape": [1]}}}`)
	return dir
}

// Reports have the dataset's own numbers of episodes, and flags take them.
func TestEpisodesHaveTheNumbersOfTheDataset(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	whole, dir := numberedSet(t, false), numberedSet(t, true)
	_, stderr := good(t, "stats", dir)
	assert.Contains(t, stderr, "skipped: episode 7 7")
	state := filepath.Join(t.TempDir(), "state")
	stdout, _ := good(t, "stats", whole, "--shard", "1/2", "-o", state, "--json")
	assert.EqualValues(t, 2, unmarshal(t, stdout)["read"], "3 and 7")
	stdout, _ = good(t, "inspect", whole, "--episode", "12", "--json")
	assert.EqualValues(t, 12, unmarshal(t, stdout)["episode"].(map[string]any)["number"])
	stdout, _ = good(t, "inspect", whole, "--episode", "12")
	assert.Contains(t, stdout, "episode 12 of 3")
	_, stdout, _ = execute("doctor", dir)
	assert.Contains(t, stdout, "episode 7: ")
	_, stderr = good(t, "plan", dir)
	assert.Contains(t, stderr, "episode 7 cannot be read")
	stdout, _ = good(t, "plan", dir, "--json")
	assert.Contains(t, fmt.Sprint(noteTexts(unmarshal(t, stdout))), "episode 7 cannot be read")
	stdout, _ = good(t, "batches", dir, "--hz=10", "--backend=cpu", "--json")
	var numbers []any
	for _, e := range unmarshal(t, stdout)["by_episode"].([]any) {
		numbers = append(numbers, e.(map[string]any)["number"])
	}
	assert.Equal(t, []any{3.0, 12.0}, numbers)
	assert.Contains(t, stdout, `"number": 7`, "skipped")
	_, stderr = good(t, "batches", dir, "--hz=10", "--backend=cpu")
	assert.Contains(t, stderr, "skipped: episode 7: ")
	model := filepath.Join(t.TempDir(), "model")
	stdout, _ = good(t, "train", whole, "--hz=10", "--steps=1", "--batch=4", "--hold-out=12", "--backend=cpu", "--out", model)
	assert.Contains(t, stdout, "skill on episode 12")
	stdout, _ = good(t, "policy", model, whole, "--backend=cpu")
	assert.Contains(t, stdout, "trained on episodes 3, 7")
	code, _, stderr := execute("inspect", whole, "--episode", "1")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "3 to 12, without some")
}
