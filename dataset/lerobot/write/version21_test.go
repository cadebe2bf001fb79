package write

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// jsonLines reads a file with a JSON object on each line.
func jsonLines(t *testing.T, path string) (list []map[string]any) {
	for line := range bytes.Lines(filetest.Read(t, path)) {
		var one map[string]any
		require.NoError(t, json.Unmarshal(line, &one))
		list = append(list, one)
	}
	return list
}

// schemaOf returns a Parquet file's schema, and the datasets library's description of it.
func schemaOf(t *testing.T, path string) (schema, described string) {
	b := filetest.Read(t, path)
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	described, _ = f.Lookup("huggingface")
	return f.Schema().String(), described
}

// TestVersion21IsAsLeRobotHasIt writes episodes of a real dataset again: every row, line, schema and declaration is the same.
func TestVersion21IsAsLeRobotHasIt(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	from := sharedSet(t, "lerobot_v21_g1")
	d, err := lerobot.Open(context.Background(), from, lerobot.Options{})
	require.NoError(t, err)
	defer d.Close()
	_, _, path := rewritten(t, d, Options{FPS: 30, Version: "2.1", RobotType: "Unitree_G1_Inspire"})
	for i := range d.Len() {
		name := fmt.Sprintf("data/chunk-000/episode_%06d.parquet", i)
		want, got := parquetColumns(t, filepath.Join(from, name)), parquetColumns(t, filepath.Join(path, name))
		require.Len(t, got, len(want))
		for column := range want {
			require.True(t, slices.Equal(want[column], got[column]), "%s %s", name, column)
		}
		a, b := schemaOf(t, filepath.Join(from, name))
		schema, described := schemaOf(t, filepath.Join(path, name))
		assert.JSONEq(t, b, described)
		if i == 0 {
			assert.Equal(t, a, schema)
		}
	}
	assert.Equal(t, jsonLines(t, filepath.Join(from, "meta/episodes.jsonl"))[:8], jsonLines(t, filepath.Join(path, "meta/episodes.jsonl")))
	assert.Equal(t, jsonLines(t, filepath.Join(from, "meta/tasks.jsonl")), jsonLines(t, filepath.Join(path, "meta/tasks.jsonl")))
	want, got := readJSON(t, filepath.Join(from, "meta/info.json")), readJSON(t, filepath.Join(path, "meta/info.json"))
	features := want["features"].(map[string]any)
	delete(features, "observation.images.cam_high") // has no video there
	for _, f := range features {
		if names, ok := f.(map[string]any)["names"].([]any); ok {
			f.(map[string]any)["names"] = names[0] // is a list in a list there
		}
	}
	want["total_episodes"], want["total_frames"], want["total_videos"], want["splits"], want["video_path"] = 8.0, 3313.0, 0.0, map[string]any{"train": "0:8"}, nil
	assert.Equal(t, want, got)
	assert.NoFileExists(t, filepath.Join(path, "meta/stats.json"))
}

// Both versions have the same statistics of an episode, except for quantiles.
func TestVersion21HasTheStatisticsOfVersion3(t *testing.T) {
	ctx := context.Background()
	grey, colour := painted(8, 6, 1), painted(8, 6, 2)
	e := kindsEpisode(t, 2)
	e.Media = []dataset.Media{
		camera(t, "mono", "mono8", 2, 1, []byte{3, 250}, []byte{0, 9}), camera(t, "front", "png", 8, 6, pngOf(t, grey), pngOf(t, colour)),
	}
	var path [2]string
	for i, version := range Versions {
		w, at := created(t, Options{Version: version})
		require.NoError(t, w.Add(ctx, e))
		require.NoError(t, w.Commit(ctx))
		path[i] = at
	}
	want := parquetColumns(t, filepath.Join(path[0], firstEpisodes))
	line := jsonLines(t, filepath.Join(path[1], "meta/episodes_stats.jsonl"))[0]
	assert.Equal(t, 0.0, line["episode_index"])
	all := line["stats"].(map[string]any)
	assert.Greater(t, len(all), 9)
	for feature, stats := range all {
		assert.Len(t, stats, 5)
		for name, values := range stats.(map[string]any) {
			column := want["stats/"+feature+"/"+name]
			require.NotEmpty(t, column)
			for i, v := range values.([]any) {
				if (feature == "mono" || feature == "front") && name != "count" { // [3,1,1]
					require.Len(t, values, 3)
					v = v.([]any)[0].([]any)[0]
				}
				if n, ok := column[i%len(column)].(int64); ok {
					column[i] = float64(n)
				}
				assert.Equal(t, column[i%len(column)], v, "%s %s", feature, name)
			}
		}
	}
}

func TestVideosOfVersion21AreFilesOfTheirOwn(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4", "av1.mp4")
	got, w, path := rewritten(t, d, Options{FPS: 30, Version: "2.1"})
	for i := range 2 {
		a, b := settest.Episode(t, d, i), settest.Episode(t, got, i)
		sameFrames(t, &a.Media[0], &b.Media[0])
		file, err := footage.Open(filepath.Join(path, fmt.Sprintf("videos/chunk-000/camera/episode_%06d.mp4", i)))
		require.NoError(t, err)
		assert.Equal(t, []int{24, 0}, []int{file.Track.Len(), file.Track.Hidden})
		ticks, _ := file.Track.Time(0)
		assert.Zero(t, ticks)
		assert.NoError(t, file.Close())
	}
	assert.Empty(t, w.Report().Notes)
	info := readJSON(t, filepath.Join(path, "meta/info.json"))
	assert.Equal(t, []any{2.0, "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"}, []any{info["total_videos"], info["video_path"]})
	assert.Contains(t, info["features"].(map[string]any)["camera"].(map[string]any)["info"], "video.is_depth_map")

	// A part that begins inside a group of pictures is encoded, because readers of version 2.1 count the frames before it.
	times, err := dataset.StepTimes(12, 30)
	require.NoError(t, err)
	e := settest.Episode(t, d, 0)
	source := e.Media[0].Source.(*footage.Source)
	track, done, err := source.Open()
	require.NoError(t, err)
	defer done()
	copies := 0
	for first := range 13 {
		cut, ok := lerobot.Cut(&e.Media[0], first, first+12)
		require.True(t, ok)
		cut.Times = times
		part := &dataset.Episode{Media: []dataset.Media{cut}}
		closed := track.IsClosed(first, first+12)
		if closed {
			copies++
		}
		if first != 0 && first != 7 && !closed {
			continue
		}
		w, path := created(t, Options{FPS: 30, Version: "2.1"})
		if err := w.Add(ctx, part); closed {
			require.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, ErrNotAligned)
			w, path = created(t, Options{FPS: 30, Version: "2.1", Codec: "h264"})
			require.NoError(t, w.Add(ctx, part))
			assert.Equal(t, []dataset.Note{{Code: dataset.CodeFramesEncoded, Subject: "camera", Count: 12, Detail: dataset.Detail{Got: "h264"}}}, []dataset.Note(w.Report().Notes))
		}
		require.NoError(t, w.Commit(ctx))
		again, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
		require.NoError(t, err)
		defer again.Close()
		if b := settest.Episode(t, again, 0); closed {
			sameFrames(t, &cut, &b.Media[0])
		} else {
			assert.Equal(t, 12, b.Media[0].Len())
		}
	}
	assert.NotZero(t, copies)
	assert.Less(t, copies, 13)
}

// Version 2.1 has no language columns, so they are left out, and a note has their names.
func TestVersion21HasNoLanguageColumns(t *testing.T) {
	w, path := created(t, Options{FPS: 20, Version: "2.1"})
	require.NoError(t, w.Add(context.Background(), spoken(t, languageSet, 0)))
	require.NoError(t, w.Commit(context.Background()))
	var names []string
	for _, n := range w.Report().Notes {
		assert.Equal(t, dataset.CodeNoPlace, n.Code)
		names = append(names, n.Subject)
	}
	assert.Subset(t, names, []string{"language_persistent", "language_events"})
	assert.NotContains(t, readJSON(t, filepath.Join(path, "meta/info.json"))["features"], "language_events")
}

// Folders have 1000 episodes, as chunks_size declares.
func TestVersion21BeginsAFolderEvery1000Episodes(t *testing.T) {
	w, _ := created(t, Options{Version: "2.1"})
	require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 1)))
	w.rows.file = 999
	require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 1)))
	assert.Equal(t, filepath.FromSlash("data/chunk-001/episode_001000.parquet"), w.rows.out.path)
	var bad *dataset.OptionError
	_, err := Create(filepath.Join(t.TempDir(), "set"), Options{FPS: 10, Version: "2.0"})
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, dataset.OptionError{Arg: "Version", Got: `"2.0"`, Want: "3.0, 2.1"}, *bad)
}
