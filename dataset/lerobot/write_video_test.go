package lerobot

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/columns"
)

// filmed makes a v2.1 dataset at 30 rows a second of which each episode's video is a file of dataset/mp4's tests, and opens it.
func filmed(t *testing.T, rows int, videos ...string) *Set {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
	root := t.TempDir()
	put := func(name string, content []byte) {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, content, 0o666))
	}
	var episodes strings.Builder
	for i, video := range videos {
		content, err := os.ReadFile(filepath.Join("../mp4/testdata", video))
		require.NoError(t, err)
		put(fmt.Sprintf("videos/chunk-000/camera/episode_%06d.mp4", i), content)
		path := fmt.Sprintf("data/chunk-000/episode_%06d.parquet", i)
		put(path, nil)
		out, err := os.Create(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		w := columns.NewWriter(out, []columns.Column{
			{Name: "action", Kind: columns.Float32}, {Name: "timestamp", Kind: columns.Float32}, {Name: "frame_index", Kind: columns.Int64},
		}, nil)
		data := make([]columns.Data, 3)
		for r := range rows {
			data[0].Float32 = append(data[0].Float32, float32(r*i))
			data[1].Float32 = append(data[1].Float32, float32(float64(r)/30))
			data[2].Int64 = append(data[2].Int64, int64(r))
		}
		require.NoError(t, w.WriteGroup(rows, data))
		_, err = w.Close()
		require.NoError(t, err)
		require.NoError(t, out.Close())
		fmt.Fprintf(&episodes, `{"episode_index": %d, "tasks": ["film"], "length": %d}`+"\n", i, rows)
	}
	put("meta/episodes.jsonl", []byte(episodes.String()))
	put("meta/tasks.jsonl", []byte(`{"task_index": 0, "task": "film"}`))
	one := []int{1}
	info, err := json.Marshal(map[string]any{
		"codebase_version": "v2.1", "fps": 30, "total_episodes": len(videos), "total_frames": rows * len(videos), "chunks_size": 1000,
		"data_path":  "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
		"video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
		"features": map[string]any{
			"action": map[string]any{"dtype": "float32", "shape": one}, "timestamp": map[string]any{"dtype": "float32", "shape": one},
			"frame_index": map[string]any{"dtype": "int64", "shape": one}, "camera": map[string]any{"dtype": "video", "shape": []int{64, 64, 3}},
		},
	})
	require.NoError(t, err)
	put("meta/info.json", info)
	s, err := Open(context.Background(), root, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestAVideoOfAnEpisodeStaysAFile(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4", "av1.mp4", "av1.mp4")
	w, path := created(t, WriteOptions{FPS: 30})
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	want, err := os.ReadFile("../mp4/testdata/av1.mp4")
	require.NoError(t, err)
	for i := range 3 {
		got, err := os.ReadFile(filepath.Join(path, fmt.Sprintf("videos/camera/chunk-000/file-%03d.mp4", i)))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
	assert.Equal(t, []any{int64(0), int64(1), int64(2)}, episodes["videos/camera/file_index"])
	assert.Equal(t, []any{0.0, 0.0, 0.0}, episodes["videos/camera/from_timestamp"])
	assert.Equal(t, []any{0.8, 0.8, 0.8}, episodes["videos/camera/to_timestamp"])
	assert.Equal(t, []any{int64(24), int64(24), int64(24)}, episodes["stats/camera/count"])
	assert.NotContains(t, parquetColumns(t, filepath.Join(path, firstData)), "camera")
	features := readJSON(t, filepath.Join(path, "meta/info.json"))["features"].(map[string]any)
	assert.Equal(t, map[string]any{
		"dtype": "video", "shape": []any{64.0, 64.0, 3.0}, "names": []any{"height", "width", "channels"}, "info": map[string]any{
			"video.height": 64.0, "video.width": 64.0, "video.codec": "av1", "video.fps": 30.0, "video.channels": 3.0, "is_depth_map": false,
		},
	}, features["camera"])
	got, err := Open(ctx, path, Options{Strict: true})
	require.NoError(t, err)
	defer got.Close()
	assert.Empty(t, got.Info().Problems)
	for e, err := range dataset.Episodes(ctx, got) {
		require.NoError(t, err)
		assert.Equal(t, 24, e.Media[0].Len())
		assert.Equal(t, "film", e.Attributes.Task)
	}
}

// TestAVideoThatDriftsIsRefused has a video of 29.97 frames a second beside 30 rows a second: each frame is 33 us later than its row than the one
// before.
func TestAVideoThatDriftsIsRefused(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 12, "sound.mov")
	e, err := d.Episode(ctx, 0)
	require.NoError(t, err)
	require.Len(t, e.Media, 1)
	w, _ := created(t, WriteOptions{FPS: 30})
	err = w.Add(ctx, e)
	require.ErrorIs(t, err, ErrNotAligned)
	assert.ErrorContains(t, err, "camera: not on one clock: got frame 4 shown 133333 ns from its row's time")
}

// TestAVideoThatLeRobotWouldNotFindIsRefused begins at half a second: LeRobot, asked for that time, takes frame 15.
func TestAVideoThatLeRobotWouldNotFindIsRefused(t *testing.T) {
	ctx := context.Background()
	e, err := filmed(t, 24, "late.mp4").Episode(ctx, 0)
	require.NoError(t, err)
	require.Len(t, e.Media, 1)
	w, _ := created(t, WriteOptions{FPS: 30})
	err = w.Add(ctx, e)
	require.ErrorIs(t, err, ErrNotAligned)
	assert.ErrorContains(t, err, "where LeRobot would take frame 15")
}

// TestWritingMendsTimesThatDrifted has a dataset that says of each episode that its video begins 1 ms later than it does.
func TestWritingMendsTimesThatDrifted(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, WriteOptions{FPS: 30})
	for e, err := range dataset.Episodes(ctx, filmed(t, 24, "av1.mp4", "av1.mp4")) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	drifted, err := Open(ctx, path, Options{})
	require.NoError(t, err)
	defer drifted.Close()
	w, path = created(t, WriteOptions{FPS: 30})
	for i := range drifted.Len() {
		at := drifted.declared[int64(i)].videos["camera"]
		at.from, at.to = at.from+0.001, at.to+0.001
		drifted.declared[int64(i)].videos["camera"] = at
		e, err := drifted.Episode(ctx, i)
		require.NoError(t, err)
		require.Contains(t, e.Damage.String(), "more than 0.1 ms from their rows")
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, []any{0.0, 0.0}, parquetColumns(t, filepath.Join(path, firstEpisodes))["videos/camera/from_timestamp"])
	mended, err := Open(ctx, path, Options{Strict: true})
	require.NoError(t, err)
	defer mended.Close()
	for _, err := range dataset.Episodes(ctx, mended) {
		assert.NoError(t, err)
	}
}

func TestAVideoIsDecodedForItsStatistics(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4")
	e, err := d.Episode(ctx, 0)
	require.NoError(t, err)
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	w, _ := created(t, WriteOptions{FPS: 30})
	err = w.Add(ctx, e)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "which its statistics need")
	e.Media = nil
	require.NoError(t, w.Add(ctx, e), "it costs itself only")
}

// TestWritingMendsVideosThatLeRobotJoined joins five episodes of ten frames as LeRobot does, by ffmpeg's concat demuxer. It begins each file at the
// end of the one before, which mp4 keeps in milliseconds: frames come later and later than LeRobot writes down.
func TestWritingMendsVideosThatLeRobotJoined(t *testing.T) {
	ctx := context.Background()
	names := []string{"av1.mp4", "av1.mp4", "av1.mp4", "av1.mp4", "av1.mp4"}
	d := filmed(t, 10, names...)
	w, path := created(t, WriteOptions{FPS: 30})
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	run := func(args ...string) {
		cmd := exec.Command("ffmpeg", append([]string{"-nostdin", "-loglevel", "error", "-y"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	dir := t.TempDir()
	one, list := filepath.Join(dir, "one.mp4"), filepath.Join(dir, "list.txt")
	run("-i", "../mp4/testdata/av1.mp4", "-frames:v", "10", "-c", "copy", one)
	require.NoError(t, os.WriteFile(list, []byte(strings.Repeat("file one.mp4\n", 5)), 0o666))
	run("-f", "concat", "-i", list, "-c", "copy", filepath.Join(path, "videos/camera/chunk-000/file-000.mp4"))

	joined, err := Open(ctx, path, Options{})
	require.NoError(t, err)
	defer joined.Close()
	w, path = created(t, WriteOptions{FPS: 30})
	drifted := 0
	for i := range 5 {
		joined.declared[int64(i)].videos["camera"] = video{from: float64(i) / 3, to: float64(i+1) / 3}
		e, err := joined.Episode(ctx, i)
		require.NoError(t, err)
		if strings.Contains(e.Damage.String(), "more than 0.1 ms from their rows") {
			drifted++
		}
		require.NoError(t, w.Add(ctx, e))
	}
	assert.Greater(t, drifted, 0, "ffmpeg joined without a drift")
	require.NoError(t, w.Commit(ctx))
	mended, err := Open(ctx, path, Options{Strict: true})
	require.NoError(t, err)
	defer mended.Close()
	for e, err := range dataset.Episodes(ctx, mended) {
		require.NoError(t, err)
		assert.Empty(t, e.Damage)
		assert.Equal(t, 10, e.Media[0].Len())
	}
	from := parquetColumns(t, filepath.Join(path, firstEpisodes))["videos/camera/from_timestamp"]
	t.Logf("%d of 5 episodes drifted; they begin at %v", drifted, from)
}
