package write

import (
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// copied writes every episode of a dataset as v3.0 without its media, and opens what was written.
func copied(t *testing.T, d dataset.Dataset, opt Options) *lerobot.Set {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "copy")
	w, err := Create(path, opt)
	require.NoError(t, err)
	defer w.Close()
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		e.Media = nil
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	s, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRecordingsAreReadBackAsTheyWere reads recordings of all versions, writes them, and reads them again, refusing whatever is not right.
func TestRecordingsAreReadBackAsTheyWere(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	for name, episodes := range map[string]int{"lerobot_v21_g1": 8, "lerobot_v2_gr1_sim": 5, "lerobot_v3_g1": 8} {
		d, err := lerobot.Open(ctx, sharedSet(t, name), lerobot.Options{})
		require.NoError(t, err, name)
		defer d.Close()
		got := copied(t, d, Options{FPS: d.Info().Rate})
		require.Equal(t, episodes, got.Len(), name)
		assert.Empty(t, got.Info().Notes, name)
		for i := range episodes {
			a := settest.Episode(t, d, i)
			b := settest.Episode(t, got, i)
			assert.Empty(t, b.Notes)
			assert.Equal(t, a.Attributes.Task, b.Attributes.Task)
			require.Equal(t, a.Names(), b.Names())
			for k := range a.Streams {
				assert.Equal(t, a.Streams[k].Columns, b.Streams[k].Columns, a.Streams[k].Name)
				from, to := a.Streams[k].Nanoseconds(), b.Streams[k].Nanoseconds()
				for r := range to {
					require.InDelta(t, from[r]-from[0], to[r], float64(layout.Tolerance), "%s row %d: within tolerance of what was recorded", name, r)
				}
				assert.Equal(t, numbersOf(t, a.Streams[k].Values), numbersOf(t, b.Streams[k].Values), a.Streams[k].Name)
			}
		}
	}
}

func numbersOf(t *testing.T, v *tensor.Tensor) []float64 {
	list, err := tensor.Floats(v)
	require.NoError(t, err)
	return list
}

// TestKindsAreReadBackAsTheyWere has a stream of each type.
func TestKindsAreReadBackAsTheyWere(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{RobotType: "arm"})
	want := kindsEpisode(t, 9)
	want.Media = []dataset.Media{camera(t, "observation.images.a", "png", 0, 0, pngOf(t, painted(6, 4, 0)))}
	want.Media[0].Times, want.Media[0].Source = want.Streams[0].Nanoseconds(), frameList(nine(pngOf(t, painted(6, 4, 1))))
	require.NoError(t, w.Add(ctx, want))
	require.NoError(t, w.Commit(ctx))
	d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
	require.NoError(t, err)
	defer d.Close()
	assert.Equal(t, 10.0, d.Info().Rate)
	assert.Empty(t, d.Info().Notes)
	got := settest.Episode(t, d, 0)
	require.Equal(t, want.Names(), got.Names())
	for i := range want.Streams {
		a, b := want.Streams[i], got.Streams[i]
		assert.Equal(t, a.ColumnNames(), b.ColumnNames())
		assert.Equal(t, a.AllInteger(), b.AllInteger(), a.Name)
		assert.Equal(t, numbersOf(t, a.Values), numbersOf(t, b.Values), a.Name)
	}
	require.Len(t, got.Media, 1)
	a, err := want.Media[0].Frame(ctx, 8)
	require.NoError(t, err)
	b, err := got.Media[0].Frame(ctx, 8)
	require.NoError(t, err)
	assert.Equal(t, a, b)
	assert.Equal(t, "png", got.Media[0].Encoding)
}

func nine(frame []byte) (list [][]byte) {
	for range 9 {
		list = append(list, frame)
	}
	return list
}

// TestVideosAreCopiedAsTheyAre has two cameras in three files of several episodes each.
func TestVideosAreCopiedAsTheyAre(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
	ctx := context.Background()
	source := sharedSet(t, "lerobot_v3_g1")
	d, err := lerobot.Open(ctx, source, lerobot.Options{})
	require.NoError(t, err)
	defer d.Close()
	path := filepath.Join(t.TempDir(), "copy")
	w, err := Create(path, Options{FPS: 30})
	require.NoError(t, err)
	defer w.Close()
	some := []int{0, 7} // in different files of the one camera, and in one of the other
	for _, i := range some {
		e := settest.Episode(t, d, i)
		require.Len(t, e.Media, 2)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	assert.Empty(t, w.Report().Notes)

	a, b := parquetColumns(t, filepath.Join(source, firstEpisodes)), parquetColumns(t, filepath.Join(path, firstEpisodes))
	for name := range a {
		each := len(a[name]) / 8
		a[name] = append(a[name][:each], a[name][7*each:]...)
		switch {
		case strings.HasPrefix(name, "stats/observation.images."):
			for i := range a[name] {
				if v, ok := a[name][i].(float64); ok { // those of the shared file are of what was painted, before it was encoded
					assert.InDelta(t, v, b[name][i], 0.1, name)
				}
			}
		}
	}
	got, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer got.Close()
	assert.Empty(t, got.Info().Notes)
	for i, of := range some {
		x := settest.Episode(t, d, of)
		y := settest.Episode(t, got, i)
		assert.Empty(t, y.Notes.Damage())
		for k, m := range x.Media {
			require.Equal(t, m.Len(), y.Media[k].Len())
			for _, f := range []int{0, m.Len() / 2, m.Len() - 1} {
				want, err := m.Frame(ctx, f)
				require.NoError(t, err)
				frame, err := y.Media[k].Frame(ctx, f)
				require.NoError(t, err)
				assert.Equal(t, want, frame, "%s frame %d of episode %d", m.Name, f, i)
			}
		}
	}
	info, want := readJSON(t, filepath.Join(path, "meta/info.json")), readJSON(t, filepath.Join(source, "meta/info.json"))
	assert.Equal(t, want["video_path"], info["video_path"])
	for _, name := range []string{"observation.images.front", "observation.images.wrist"} {
		x, y := want["features"].(map[string]any)[name].(map[string]any), info["features"].(map[string]any)[name].(map[string]any)
		assert.Equal(t, x["shape"], y["shape"])
		for k, v := range y["info"].(map[string]any) {
			assert.Equal(t, x["info"].(map[string]any)[k], v, k)
		}
	}
}

// TestIntegersKeepAllBits writes whole numbers that float64 does not hold, and has them again after another time of reading and writing.
// Values that were changed after reading count, not the numbers that they were.
func TestIntegersKeepAllBits(t *testing.T) {
	ctx := context.Background()
	list := []int64{1_764_201_600_123_456_789, 1<<53 + 1, -(1<<62 + 3), math.MaxInt64, math.MinInt64, 7}
	action := tensor.Must(tensor.Of(make([]float32, len(list)), len(list), 1))
	times, err := dataset.StepTimes(len(list), 10)
	require.NoError(t, err)
	s, err := dataset.NewStream("action", times, action, nil)
	require.NoError(t, err)
	write := func(e *dataset.Episode, b EpisodeOptions) *dataset.Episode {
		path := filepath.Join(t.TempDir(), "set")
		w, err := Create(path, Options{FPS: 10})
		require.NoError(t, err)
		defer w.Close()
		require.NoError(t, w.AddWith(ctx, e, b))
		require.NoError(t, w.Commit(ctx))
		d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
		require.NoError(t, err)
		t.Cleanup(func() { d.Close() })
		return settest.Episode(t, d, 0)
	}
	integers := func(e *dataset.Episode) []int64 {
		got := e.Stream("ticks")
		require.NotNil(t, got.Integers)
		assert.Equal(t, 4, got.Inexact)
		data, err := tensor.Data[int64](got.Integers)
		require.NoError(t, err)
		return data
	}
	once := write(&dataset.Episode{Streams: []dataset.Stream{s}}, EpisodeOptions{Times: map[string][]int64{"ticks": list}})
	assert.Equal(t, list, integers(once))
	assert.Nil(t, once.Stream("action").Integers)
	twice := write(once, EpisodeOptions{})
	assert.Equal(t, list, integers(twice))

	other := *twice.Stream("ticks")
	other.Values = tensor.Must(tensor.Of([]float64{1, 2, 3, 4, 5, 6}, 6, 1))
	changed := write(&dataset.Episode{Streams: []dataset.Stream{s, other}}, EpisodeOptions{})
	values, err := tensor.Floats(changed.Stream("ticks").Values)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, values)

	other.Integers = tensor.Must(tensor.Of([]int64{1}, 1, 1))
	assert.ErrorIs(t, other.Check(), dataset.ErrShape)
}
