package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// predictionFile writes a file as robocache policy -o does: chunks of 3 actions at 10 Hz, by rows of episode and tick. An action's value is
// 100 * episode + 10 * tick + its place in the chunk. The episodes end at tick 6.
func predictionFile(t *testing.T, rows [][2]int64) string {
	var anchors, episodes, ticks []int64
	var chunks []float64
	var counts []uint8
	for _, r := range rows {
		episodes, ticks, anchors = append(episodes, r[0]), append(ticks, r[1]), append(anchors, 1000+r[1]*1e8)
		for k := range int64(3) {
			chunks = append(chunks, float64(100*r[0]+10*r[1]+k))
			counts = append(counts, map[bool]uint8{true: 1}[r[1]+k < 6])
		}
	}
	var b bytes.Buffer
	w := npz.NewWriter(&b, npz.Options{})
	add := func(name string, v *tensor.Tensor, err error) {
		require.NoError(t, err)
		require.NoError(t, w.Add(name, v))
	}
	n := len(rows)
	v, err := tensor.Of(chunks, n, 3, 1)
	add("chunks", v, err)
	v, err = tensor.Of(counts, n, 3)
	add("counts", v, err)
	for name, list := range map[string][]int64{"anchors": anchors, "episodes": episodes, "ticks": ticks} {
		v, err = tensor.Of(list, n)
		add(name, v, err)
	}
	require.NoError(t, w.AddStrings("columns", []string{"elbow"}))
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "predictions.npz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

// Chunks follow each other without overlap, up to the end of an episode.
func TestPredictedChunksFollowEachOther(t *testing.T) {
	list, err := readPredictions(predictionFile(t, [][2]int64{{7, 1}, {7, 2}, {7, 3}, {7, 4}, {7, 5}, {2, 3}}))
	require.NoError(t, err)
	require.Len(t, list, 2)
	s := list[7][0]
	values, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	assert.Equal(t, "prediction", s.Name)
	assert.Equal(t, "elbow", s.Columns[0].Name)
	assert.Equal(t, []float64{710, 711, 712, 740, 741}, values)
	assert.Equal(t, []int64{1e8 + 1000, 2e8 + 1000, 3e8 + 1000, 4e8 + 1000, 5e8 + 1000}, s.Nanoseconds())
	assert.Equal(t, []int64{3e8 + 1000, 4e8 + 1000, 5e8 + 1000}, list[2][0].Nanoseconds())
}

func TestOtherFilesAreNoPredictions(t *testing.T) {
	_, err := readPredictions(flight)
	assert.Error(t, err)
	var b bytes.Buffer
	require.NoError(t, npz.NewWriter(&b, npz.Options{}).Close())
	path := filepath.Join(t.TempDir(), "empty.npz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	_, err = readPredictions(path)
	assert.ErrorContains(t, err, "want the file of robocache policy -o")
	_, err = readPredictions(filepath.Join(t.TempDir(), "none.npz"))
	assert.ErrorContains(t, err, "none.npz")
}
