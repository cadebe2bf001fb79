package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// taskRows returns the task of each row of an episode of a LeRobot dataset.
func taskRows(t *testing.T, d dataset.Dataset, episode int) (list []string) {
	t.Helper()
	e, err := d.Episode(t.Context(), episode)
	require.NoError(t, err)
	s := e.Stream("task_index")
	if s == nil {
		return []string{e.Attributes.Task}
	}
	values, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	for _, v := range values {
		list = append(list, d.Info().Tasks[int(v)])
	}
	return list
}

func opened(t *testing.T, path string) dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// Instructions that change become the tasks of LeRobot's rows. Features with strings stay strings. Each target lists the texts that it
// cannot hold.
func TestLanguageLostWithoutAWord(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	const folder = "../../../shared/cases/language-lost-without-a-word/"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	dir := t.TempDir()
	_, stderr := good(t, "convert", folder+"rlds", "-o", filepath.Join(dir, "l"), "--to=lerobot", "--rate=5")
	assert.NotContains(t, stderr, "language_instruction")
	d := opened(t, filepath.Join(dir, "l"))
	rows := taskRows(t, d, 0)
	assert.Greater(t, len(d.Info().Tasks), 2)
	assert.NotEqual(t, rows[0], rows[len(rows)-1])
	assert.NotContains(t, rows, "")
	for _, to := range []string{"npz", "safetensors"} {
		_, stderr := good(t, "convert", folder+"rlds", "-o", filepath.Join(dir, to), "--to", to, "--rate=5")
		assert.Contains(t, stderr, "steps/language_instruction: "+to+" has no place for it")
	}
	_, stderr = good(t, "convert", folder+"rlds", "-o", filepath.Join(dir, "w"), "--to=webdataset", "--rate=5")
	assert.NotContains(t, stderr, "language_instruction")
	assert.Contains(t, stderr, "tfds_id")

	_, stderr = good(t, "convert", folder+"lerobot", "-o", filepath.Join(dir, "s"), "--to=lerobot")
	assert.NotContains(t, stderr, "left out")
	for i := range 2 {
		from, err := opened(t, folder+"lerobot").Episode(t.Context(), i)
		require.NoError(t, err)
		to, err := opened(t, filepath.Join(dir, "s")).Episode(t.Context(), i)
		require.NoError(t, err)
		assert.NotEmpty(t, from.Texts)
		assert.Equal(t, from.Texts, to.Texts)
	}
	stdout, _ := good(t, "doctor", filepath.Join(dir, "s"))
	assert.Contains(t, stdout, "0 errors and 0 warnings")
	_, stderr = good(t, "convert", folder+"lerobot", "-o", filepath.Join(dir, "n"), "--to=npz")
	assert.Contains(t, stderr, "language_instruction: npz has no place for it")
}

// Texts of a dataset that this test writes: one of each episode, and one that changes, resampled to another rate.
func TestTextsOfRowsFollowTheClock(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	w, err := lerobotwrite.Create(in, lerobotwrite.Options{FPS: 10})
	require.NoError(t, err)
	times, values, phase := make([]int64, 20), make([]float32, 20), make([]string, 20)
	for i := range times {
		times[i], values[i], phase[i] = int64(i)*1e8, float32(i), []string{"reach", "lift \"it\"\nup"}[i/10]
	}
	s, err := dataset.NewStream("action", times, tensor.Must(tensor.Of(values, 20, 1)), []dataset.Column{{Name: "x"}})
	require.NoError(t, err)
	for _, style := range []string{"slow", ""} {
		same := make([]string, 20)
		for i := range same {
			same[i] = style
		}
		require.NoError(t, w.AddWith(t.Context(), &dataset.Episode{Streams: []dataset.Stream{s}, Attributes: dataset.Attributes{Task: "cup"}},
			lerobotwrite.EpisodeOptions{Texts: []lerobotwrite.TextFeature{{Name: "phase", Rows: phase}, {Name: "style", Rows: same}}}))
	}
	require.NoError(t, w.Commit(t.Context()))
	require.NoError(t, w.Close())
	var stated map[string]any
	text, err := os.ReadFile(filepath.Join(in, "meta", "stats.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &stated))
	assert.NotContains(t, stated, "phase")

	_, stderr := good(t, "convert", in, "-o", filepath.Join(dir, "out"), "--to=lerobot", "--hz=5")
	assert.NotContains(t, stderr, "left out")
	e, err := opened(t, filepath.Join(dir, "out")).Episode(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, []dataset.TextStream{{Name: "phase", Times: []int64{0, 1e9}, Values: []string{"reach", phase[10]}}, {Name: "style", Times: []int64{0}, Values: []string{"slow"}}}, e.Texts)
	_, stderr = good(t, "convert", in, "-o", filepath.Join(dir, "st"), "--to=safetensors")
	assert.Contains(t, stderr, "safetensors has no place for it: phase, style")
}
