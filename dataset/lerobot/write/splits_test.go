package write

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/settest"
)

func TestSplitsAreRangesOfEpisodes(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	for _, splits := range [][]string{{"train", "odd"}, {"train"}, {"valid", "odd"}, {"valid"}, nil} {
		require.NoError(t, w.AddWith(ctx, kindsEpisode(t, 3), EpisodeOptions{Splits: splits}))
	}
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, map[string]any{"train": "0:2", "valid": "2:4"}, readJSON(t, filepath.Join(path, "meta/info.json"))["splits"])
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeSplitOrder, Subject: "split odd", Count: 2, Detail: dataset.Detail{Want: "0 to 2"}}}, w.Report().Notes)
	got, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer got.Close()
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 1}}, {Name: "valid", Episodes: []int{2, 3}}}, got.Info().Splits)
}

// TestTimesOfTheRecordingAreKeptToTheNanosecond has times that float64 has no room for.
func TestTimesOfTheRecordingAreKeptToTheNanosecond(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	e := kindsEpisode(t, 3)
	times := []int64{1_700_000_000_000_000_001, 1_700_000_000_100_000_002, 1_700_000_000_200_000_003}
	require.NoError(t, w.AddWith(ctx, e, EpisodeOptions{Times: map[string][]int64{"capture_time": times}}))
	var bad *Error
	require.ErrorAs(t, w.Add(ctx, e), &bad)
	assert.Equal(t, "capture_time", bad.Feature)
	assert.ErrorIs(t, w.AddWith(ctx, e, EpisodeOptions{Times: map[string][]int64{"capture_time": times[:2]}}), dataset.ErrShape)
	assert.ErrorIs(t, w.AddWith(ctx, e, EpisodeOptions{Times: map[string][]int64{"index": times}}), dataset.ErrOption)
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, []any{times[0], times[1], times[2]}, parquetColumns(t, filepath.Join(path, firstData))["capture_time"])
	got, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true, Clock: "capture_time"})
	require.NoError(t, err)
	defer got.Close()
	assert.Equal(t, []string{"frame_index", "timestamp", "capture_time"}, got.Info().Clocks)
	read := settest.Episode(t, got, 0)
	assert.Equal(t, times, read.Streams[0].Nanoseconds())
	feature := readJSON(t, filepath.Join(path, "meta/info.json"))["features"].(map[string]any)["capture_time"]
	assert.Equal(t, map[string]any{"dtype": "int64", "shape": []any{1.0}, "names": nil}, feature)
}

func TestModalitiesAreJSON(t *testing.T) {
	_, err := Create(filepath.Join(t.TempDir(), "new"), Options{FPS: 10, Modality: []byte("{")})
	require.ErrorIs(t, err, dataset.ErrOption)
	w, path := created(t, Options{Modality: []byte(`{"state":{"arm":{"end":2,"start":0}}}`)})
	require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 3)))
	require.NoError(t, w.Commit(context.Background()))
	s, err := lerobot.Open(context.Background(), path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer s.Close()
	text, err := s.Modality(context.Background())
	require.NoError(t, err)
	require.JSONEq(t, `{"state":{"arm":{"end":2,"start":0}}}`, string(text))
}
