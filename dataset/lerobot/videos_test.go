package lerobot_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/mp4"
)

const camera = "observation.images.front"

// filmed is a dataset of 30 frames a second with a video of 24 frames, or of three times those, joined.
func filmed(t testing.TB, lengths ...int) *made {
	m := make3(t)
	m.lengths = lengths
	m.info["fps"] = 30
	m.column("timestamp", "float32", f32, nil, func(row int) any { _, f := m.where(row); return float32(f) / 30 })
	m.features[camera] = map[string]any{"dtype": "video", "shape": []int{64, 64, 3}, "names": []string{"height", "width", "channels"}}
	m.order = append(m.order, camera)
	m.info["video_path"] = nil
	return m
}

func (m *made) film(name, to string) {
	b, err := os.ReadFile(filepath.Join("../mp4/testdata", name))
	require.NoError(m.t, err)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.path(to)), 0o755))
	require.NoError(m.t, os.WriteFile(m.path(to), b, 0o644))
}

// shots are the frames of a video as they are encoded.
func shots(t testing.TB, name string) (list [][]byte) {
	f, err := mp4.Open(filepath.Join("../mp4/testdata", name))
	require.NoError(t, err)
	defer f.Close()
	track, err := f.Video()
	require.NoError(t, err)
	for i := range track.Len() {
		b, err := track.ReadFrame(context.Background(), i)
		require.NoError(t, err)
		list = append(list, b)
	}
	return list
}

// shows asserts that a media stream has these frames.
func shows(t *testing.T, want [][]byte, m *dataset.Media) {
	t.Helper()
	require.Equal(t, len(want), m.Len())
	for i := range want {
		got, err := m.Frame(context.Background(), i)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want[i], got), "frame %d", i)
	}
}

const film2 = "videos/chunk-000/" + camera + "/episode_000000.mp4"

func TestAVideoOfOneEpisode(t *testing.T) {
	list := shots(t, "h264_front.mp4")
	require.Len(t, list, 24)
	one := func(rows int, change func(m *made), opt lerobot.Options) *dataset.Episode {
		m := filmed(t, rows)
		if change != nil {
			change(m)
		}
		m.film("h264_front.mp4", film2)
		return episode(t, open(t, m.write2(), opt), 0)
	}
	e := one(24, nil, lerobot.Options{})
	assert.Nil(t, e.Damage)
	require.Len(t, e.Media, 1)
	assert.Equal(t, []any{"h264", 64, 64}, []any{e.Media[0].Encoding, e.Media[0].Width, e.Media[0].Height})
	assert.Equal(t, e.Streams[0].Nanoseconds(), e.Media[0].Times)
	shows(t, list, &e.Media[0])

	e = one(26, nil, lerobot.Options{})
	shows(t, list, &e.Media[0])
	assert.Equal(t, e.Streams[0].Nanoseconds()[:24], e.Media[0].Times)
	assert.Equal(t, "rows without a video frame", e.Damage[0].What)
	assert.Equal(t, 2, e.Damage[0].Count)

	e = one(20, nil, lerobot.Options{})
	shows(t, list[:20], &e.Media[0])
	assert.Equal(t, "video frames without a row", e.Damage[0].What)
	assert.Equal(t, 4, e.Damage[0].Count)

	// Rows are missing in the table, and the video has all frames.
	e = one(5, func(m *made) {
		frames := []int{0, 1, 4, 5, 9}
		m.column("frame_index", "int64", i64, nil, func(row int) any { return frames[row] })
		m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(frames[row]) / 30 })
	}, lerobot.Options{})
	shows(t, [][]byte{list[0], list[1], list[4], list[5], list[9]}, &e.Media[0])

	// The timestamps begin late: the last row has none of the video's times, so the frames are counted.
	e = one(24, func(m *made) {
		m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row+1) / 30 })
	}, lerobot.Options{Clock: "timestamp"})
	shows(t, list, &e.Media[0])
	assert.Equal(t, "videos whose times are not those of the rows: their frames are counted", e.Damage[0].What)

	// A rate of the caller's is for the clock, not for finding frames.
	e = one(24, nil, lerobot.Options{Rate: 10})
	assert.Nil(t, e.Damage)
	shows(t, list, &e.Media[0])
	assert.Equal(t, int64(23e8), e.Media[0].Times[23])
}

func TestAVideoOfSeveralEpisodes(t *testing.T) {
	list := shots(t, "joined.mp4")
	require.Len(t, list, 72)
	write := func(m *made, from []float64) string {
		dir := m.write()
		m.film("joined.mp4", "videos/"+camera+"/chunk-000/file-000.mp4")
		m.writeEpisodes([]column{
			{"videos/" + camera + "/chunk_index", i64, 0, func(int) any { return 0 }}, {"videos/" + camera + "/file_index", i64, 0,
				func(int) any { return 0 }},
			{"videos/" + camera + "/from_timestamp", f64, 0, func(e int) any { return from[e] }},
			{"videos/" + camera + "/to_timestamp", f64, 0, func(e int) any { return from[e] + 0.8 }},
		})
		return dir
	}
	s := open(t, write(filmed(t, 24, 24, 24), []float64{0, 0.8, 1.6}), lerobot.Options{})
	for i := range 3 {
		e := episode(t, s, i)
		assert.Nil(t, e.Damage)
		shows(t, list[24*i:24*i+24], &e.Media[0])
	}
	// A table of more rows than the video has frames does not get those of the next episode.
	e := episode(t, open(t, write(filmed(t, 24, 26, 22), []float64{0, 0.8, 1.6}), lerobot.Options{}), 1)
	shows(t, list[24:48], &e.Media[0])
	assert.Equal(t, 2, e.Damage[0].Count)
	// Times that drift by less than half a frame still find the frames, and are told.
	e = episode(t, open(t, write(filmed(t, 24, 24, 24), []float64{0, 0.802, 1.6}), lerobot.Options{}), 1)
	shows(t, list[24:48], &e.Media[0])
	assert.Equal(t, "video frames that are more than 0.1 ms from their rows", e.Damage[0].What)
	assert.Equal(t, 24, e.Damage[0].Count)
	first := episode(t, s, 0)
	require.NoError(t, s.Close())
	_, err := first.Media[0].Frame(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestVideosThatAreNotThere(t *testing.T) {
	m := filmed(t, 24)
	s := open(t, m.write2(), lerobot.Options{})
	contains(t, problems(s), "video files that are missing: "+film2)
	assert.Equal(t, []dataset.LeftOut{{Name: camera, Count: 24, Reason: "there is no file " + film2}}, episode(t, s, 0).LeftOut)

	m.film("fragmented.mp4", film2)
	e := episode(t, open(t, m.dir, lerobot.Options{}), 0)
	require.Len(t, e.LeftOut, 1)
	assert.Contains(t, e.LeftOut[0].Reason, "fragmented")
	require.NoError(t, os.WriteFile(m.path(film2), []byte("no video"), 0o644))
	e = episode(t, open(t, m.dir, lerobot.Options{}), 0)
	assert.Equal(t, "columns that cannot be read", e.Damage[0].What)
	assert.Len(t, e.Streams, 1)

	m = filmed(t, 24)
	s = open(t, m.write(), lerobot.Options{})
	contains(t, problems(s), "videos that cannot be found: episode 0: meta/episodes does not say where it is")
	m = filmed(t, 24)
	m.info["video_path"] = "../../{video_key}.mp4"
	s = open(t, m.write2(), lerobot.Options{})
	contains(t, problems(s), "leads out of the dataset")
}
