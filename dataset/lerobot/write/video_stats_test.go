package write

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// telling has a dataset of v2.1 tell statistics of its episodes' videos: JSON of each.
func telling(t *testing.T, s *lerobot.Set, stats ...string) {
	text := ""
	for i, one := range stats {
		text += fmt.Sprintf(`{"episode_index": %d, "stats": {"camera": %s}}`+"\n", i, one)
	}
	e := settest.Episode(t, s, 0)
	filetest.Write(t, filepath.Join(filepath.Dir(e.Attributes.Source), "../../meta/episodes_stats.jsonl"), text)
}

const (
	dark   = `{"min": [[[0.0]],[[0.1]],[[0]]], "max": [[[0.5]],[[0.5]],[[0.5]]], "mean": [[[0.25]],[[0.25]],[[0.25]]], "std": [[[0.1]],[[0.1]],[[0.1]]], "count": [10]}`
	bright = `{"min": [[[0.5]],[[0.5]],[[0.5]]], "max": [[[1]],[[0.9]],[[1]]], "mean": [[[0.75]],[[0.75]],[[0.75]]], "std": [[[0.1]],[[0.1]],[[0.1]]], "count": [30]}`
	broken = `{"min": [[[0]],[[0]],[[0]]], "max": [[[1]],[[1]],[[1]]], "mean": [[[0.5]],[[0.5]],[[0.5]]], "std": [[[0]],[[0]],[[0]]], "count": [10]}`
)

// TestWhatADatasetTellsOfItsVideosIsKept copies videos without decoding them. Version 2.1 tells no quantiles, and so none are written; what
// is written is told to the next.
func TestWhatADatasetTellsOfItsVideosIsKept(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4", "av1.mp4")
	telling(t, d, dark, bright)
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	for range 2 {
		got, _, path := rewritten(t, d, Options{FPS: 30})
		episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
		assert.Equal(t, []any{0.0, 0.1, 0.0, 0.5, 0.5, 0.5}, episodes["stats/camera/min"])
		assert.Equal(t, []any{int64(10), int64(30)}, episodes["stats/camera/count"])
		assert.NotContains(t, episodes, "stats/camera/q50")
		stats := readJSON(t, filepath.Join(path, "meta/stats.json"))["camera"].(map[string]any)
		assert.NotContains(t, stats, "q50")
		assert.Equal(t, []any{40.0}, stats["count"])
		assert.Equal(t, []any{[]any{[]any{0.0}}, []any{[]any{0.1}}, []any{[]any{0.0}}}, stats["min"])
		for name, want := range map[string]float64{"mean": 0.625, "std": 0.23848480035423} { // sqrt(0.01 + 3/16*0.25)
			for _, v := range stats[name].([]any) {
				assert.InDelta(t, want, v.([]any)[0].([]any)[0], 1e-12, name)
			}
		}
		d = got
	}
	e := settest.Episode(t, d, 1)
	cut, ok := lerobot.Cut(&e.Media[0], 0, 12)
	require.True(t, ok)
	w, _ := created(t, Options{FPS: 30})
	assert.ErrorContains(t, w.Add(ctx, &dataset.Episode{Media: []dataset.Media{cut}}), "no pixels of frame 0", "what is told is of all frames")
}

// Who is cancelled while they are read does not decide for the others what is told.
func TestWhatACancelledCallReadIsNotKept(t *testing.T) {
	d := filmed(t, 24, "av1.mp4", "av1.mp4")
	telling(t, d, dark, bright)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := settest.Episode(t, d, 1)
	from := e.Media[0].Source.(*footage.Source).Origin
	from.Dataset.Stats(ctx, from.Name, from.Episode)
	_, ok := from.Dataset.Stats(context.Background(), from.Name, from.Episode)
	assert.True(t, ok)
}

func TestStatisticsThatCannotBeAreComputed(t *testing.T) {
	d := filmed(t, 24, "av1.mp4", "av1.mp4", "av1.mp4")
	telling(t, d, broken, dark, `{"min": 3, "max": "x"}`)
	_, _, path := rewritten(t, d, Options{FPS: 30})
	episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
	assert.Equal(t, []any{int64(24), int64(24), int64(24)}, episodes["stats/camera/count"], "the first has quantiles, so that all must")
	assert.NotEqual(t, 0.0, episodes["stats/camera/std"][0])
	assert.Contains(t, episodes, "stats/camera/q50")
}

// TestAFullDiskOfVideosLeavesNothingUnderTheName has the disk full at every part of two videos.
func TestAFullDiskOfVideosLeavesNothingUnderTheName(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4", "h264_back.mp4")
	telling(t, d, dark, bright)
	whole, failed := 0, 0
	for space := 0; whole == 0; space += 1999 {
		w, path := created(t, Options{FPS: 30})
		left := space
		w.out.open = func(path string) (output, error) {
			out, err := w.out.createFile(path)
			return limited{out, &left}, err
		}
		var err error
		for i := 0; i < 2 && err == nil; i++ {
			e, failed := d.Episode(ctx, i)
			require.NoError(t, failed)
			err = w.Add(ctx, e)
		}
		if err == nil {
			err = w.Commit(ctx)
		}
		if err == nil {
			whole++
			continue
		}
		failed++
		require.ErrorIs(t, err, errFull)
		require.ErrorIs(t, w.Err(), errFull)
		require.NoError(t, w.Close())
		list, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Empty(t, list)
	}
	assert.Greater(t, failed, 8)
}

// TestAVideoThatIsGoneCostsItsEpisode closes the dataset of an episode that was read already.
func TestAVideoThatIsGoneCostsItsEpisode(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4", "av1.mp4")
	telling(t, d, dark, bright)
	w, _ := created(t, Options{FPS: 30})
	e := settest.Episode(t, d, 0)
	require.NoError(t, d.Close())
	assert.ErrorIs(t, w.Add(ctx, e), dataset.ErrMissing)
	require.NoError(t, w.Err(), "nothing was written of it")
	assert.Zero(t, w.Report().Episodes)
}
