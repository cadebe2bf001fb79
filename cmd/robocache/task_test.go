package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// spoken is a log with 40 messages on /arm at 10 Hz, and texts on /task at 1, 2 and 3 s.
func spoken(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "spoken.mcap")
	require.NoError(t, mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
		arm, err := w.AddChannel("/arm", "json", 0, nil)
		require.NoError(t, err)
		task, err := w.AddChannel("/task", "json", 0, nil)
		require.NoError(t, err)
		for i := range 40 {
			at := uint64(1e18) + uint64(i)*1e8
			if i > 0 && i%10 == 0 {
				text := fmt.Sprintf(`{"data":%q}`, []string{"", "reach", "grasp", "reach"}[i/10])
				require.NoError(t, w.Message(&mcap.Message{ChannelID: task, LogTime: at, PublishTime: at, Data: []byte(text)}))
			}
			require.NoError(t, w.Message(&mcap.Message{ChannelID: arm, LogTime: at, PublishTime: at, Data: fmt.Appendf(nil, `{"x":%d}`, i)}))
		}
		return nil
	}))
	return path
}

// A text topic is each row's task in targets that store tasks; the others list it as lost.
func TestATopicIsTheTask(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in, dir := spoken(t), t.TempDir()
	out := filepath.Join(dir, "l")
	_, stderr := good(t, "convert", in, "-o", out, "--to=lerobot", "--hz=10", "--task-from=/task", "--name=/arm=action")
	require.Equal(t, "rows-without-task", dataset.CodeRowsWithoutTask.String())
	assert.Contains(t, stderr, "/task: 10 of 40 rows come before the first text, and have no task")
	set := opened(t, out)
	e, err := set.Episode(t.Context(), 0)
	require.NoError(t, err)
	tasks := set.Info().Tasks
	assert.Equal(t, []string{"", "reach", "grasp"}, tasks)
	numbers := e.Stream("task_index")
	require.NotNil(t, numbers)
	rows, err := tensor.Floats(numbers.Values)
	require.NoError(t, err)
	for row, want := range map[int]string{0: "", 9: "", 10: "reach", 19: "reach", 20: "grasp", 29: "grasp", 30: "reach", 39: "reach"} {
		assert.Equal(t, want, tasks[int(rows[row])], row)
	}
	text, err := os.ReadFile(filepath.Join(out, "convert.json"))
	if err == nil {
		assert.Contains(t, string(text), `"task_from": "/task"`)
	}
	for _, to := range []string{"npz", "safetensors"} {
		_, stderr = good(t, "convert", in, "-o", filepath.Join(dir, to), "--to", to, "--hz=10", "--task-from=/task")
		assert.Contains(t, stderr, "/task: "+to+" has no place for it")
	}
	_, stderr = good(t, "convert", in, "-o", filepath.Join(dir, "w"), "--to=webdataset", "--hz=10", "--task-from=/task")
	assert.NotContains(t, stderr, "no place")
	for _, args := range [][]string{{"inspect", in}, {"stats", in}, {"plan", in}, {"doctor", in}, {"batches", in, "--hz=10", "--batch=2"}} {
		good(t, append(args, "--task-from=/task")...)
	}
}

func TestATopicThatIsNoTaskIsRefused(t *testing.T) {
	in := spoken(t)
	for topic, got := range map[string]string{"/none": "got /none, want", "/arm": "got /arm, which is no text, want"} {
		code, _, stderr := execute("inspect", in, "--task-from", topic)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, "--task-from: "+got+" a text topic or column: /task")
		code, stdout, _ := execute("convert", in, "-o", filepath.Join(t.TempDir(), "o"), "--to=lerobot", "--hz=10", "--json", "--task-from", topic)
		assert.Equal(t, exitUsage, code)
		var failed struct{ Error report }
		require.NoError(t, json.Unmarshal([]byte(stdout), &failed))
		assert.NotEmpty(t, failed.Error.Want)
	}
	table := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(table, []byte("time,x\n0,1\n1,2\n"), 0o600))
	code, _, stderr := execute("inspect", table, "--task-from=x")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "have no texts that change")
}

// Text columns in LeRobot and RLDS can be the task too.
func TestAColumnIsTheTask(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	folder := inCases(t, "language-lost-without-a-word")
	for name, column := range map[string]string{"lerobot": "language_instruction", "rlds": "steps/language_instruction"} {
		out := filepath.Join(t.TempDir(), "out")
		d, err := dataset.Open(t.Context(), filepath.Join(folder, name), dataset.Options{Rate: 0})
		require.NoError(t, err)
		from, err := d.Episode(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		var values []string
		for _, text := range from.Texts {
			if text.Name == column {
				values = text.Values
			}
		}
		require.NotEmpty(t, values, "%s: %v", name, from.TextNames())
		args := []string{"convert", filepath.Join(folder, name), "-o", out, "--to=lerobot", "--task-from", column}
		if name == "rlds" {
			args = append(args, "--rate=5")
		}
		good(t, args...)
		for _, v := range values {
			assert.Contains(t, opened(t, out).Info().Tasks, v, name)
		}
	}
}

// A name without texts is a wrong flag in each command that reads, and none passes over its episodes.
func TestATaskWithoutTextsIsAWrongFlag(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	path := filepath.Join("..", "..", "dataset", "rlds", "testdata", "kinds")
	out := t.TempDir()
	for _, command := range []string{
		"inspect", "doctor", "stats", "plan -o OUT/p.yaml", "pack -o OUT/s.safetensors", "batches --hz=5 --batch=2 --backend=cpu", "train --backend=cpu --out=OUT/t",
		"convert --to=npz -o OUT/c",
	} {
		args := strings.Fields(strings.ReplaceAll(command, "OUT", out))
		code, _, stderr := execute(append(args, path, "--rate=5", "--task-from=nothing")...)
		assert.Equal(t, exitUsage, code, command)
		assert.Contains(t, stderr, "robocache: --task-from: got nothing, want ", command)
		assert.Empty(t, listed(t, out), command)
	}
}
