package write

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// streamFor returns a stream of rows at 10 rows a second, whose columns have types.
func streamFor[T float32 | float64](t *testing.T, name string, values []T, types ...string) dataset.Stream {
	rows := len(values) / len(types)
	times, err := dataset.StepTimes(rows, 10)
	require.NoError(t, err)
	columns := make([]dataset.Column, len(types))
	for i, typ := range types {
		columns[i] = dataset.Column{Name: fmt.Sprintf("c%d", i), Type: typ, Integer: strings.HasPrefix(typ, "int") || typ == "bool"}
	}
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, len(types))), columns)
	require.NoError(t, err)
	return s
}

// kindsEpisode has a stream of each type, some of one column; n rows of which those with an even number are zeros.
func kindsEpisode(t *testing.T, n int) *dataset.Episode {
	f32, f64, scalar, whole, truth := make([]float32, 3*n), make([]float64, 2*n), make([]float32, n), make([]float64, 2*n), make([]float32, n)
	for i := 1; i < n; i += 2 {
		for k := range 3 {
			f32[3*i+k] = float32(i) / float32(k+3)
		}
		f64[2*i], f64[2*i+1] = math.Sqrt(float64(i)), -float64(i)/7
		scalar[i], truth[i] = float32(i), 1
		whole[2*i], whole[2*i+1] = float64(i)-3, 1<<52+float64(i)
	}
	return &dataset.Episode{Streams: []dataset.Stream{
		streamFor(t, "observation.state", f32, "float32", "float32", "float32"), streamFor(t, "action", f64, "float64", "float64"),
		streamFor(t, "reward", scalar, "float32"), streamFor(t, "counts", whole, "int64", "int64"), streamFor(t, "next.done", truth, "bool"),
	}, Attributes: dataset.Attributes{Task: "lift the cup"}}
}

func created(t *testing.T, opt Options) (*Writer, string) {
	path := filepath.Join(t.TempDir(), "set")
	if opt.FPS == 0 {
		opt.FPS = 10
	}
	w, err := Create(path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	return w, path
}

// files returns the content of every file under a folder by its name there.
func files(t *testing.T, root string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		text, err := os.ReadFile(path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return out
}

const firstData, firstEpisodes = "data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet"

func TestEveryZeroIsWrittenAndRead(t *testing.T) {
	w, path := created(t, Options{})
	ctx := context.Background()
	require.NoError(t, w.Add(ctx, kindsEpisode(t, 5)))
	require.NoError(t, w.Add(ctx, kindsEpisode(t, 1)))
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, map[string][]any{
		"observation.state": {
			float32(0), float32(0), float32(0), float32(1) / 3, float32(1) / 4, float32(1) / 5, float32(0), float32(0), float32(0), float32(1), float32(3) / 4,
			float32(3) / 5, float32(0), float32(0), float32(0), float32(0), float32(0), float32(0),
		},
		"action": {0.0, 0.0, 1.0, -1.0 / 7, 0.0, 0.0, math.Sqrt(3), -3.0 / 7, 0.0, 0.0, 0.0, 0.0},
		"reward": {float32(0), float32(1), float32(0), float32(3), float32(0), float32(0)},
		"counts": {
			int64(0), int64(0), int64(-2), int64(1<<52 + 1), int64(0), int64(0), int64(0),
			int64(1<<52 + 3), int64(0), int64(0), int64(0), int64(0),
		},
		"next.done":     {false, true, false, true, false, false},
		"timestamp":     {float32(0), float32(0.1), float32(0.2), float32(0.3), float32(0.4), float32(0)},
		"frame_index":   {int64(0), int64(1), int64(2), int64(3), int64(4), int64(0)},
		"episode_index": {int64(0), int64(0), int64(0), int64(0), int64(0), int64(1)},
		"index":         {int64(0), int64(1), int64(2), int64(3), int64(4), int64(5)},
		"task_index":    {int64(0), int64(0), int64(0), int64(0), int64(0), int64(0)},
	}, parquetColumns(t, filepath.Join(path, firstData)))

	info := readJSON(t, filepath.Join(path, "meta/info.json"))
	features := info["features"].(map[string]any)
	for name, want := range map[string]map[string]any{
		"observation.state": {"dtype": "float32", "shape": []any{3.0}, "names": []any{"c0", "c1", "c2"}},
		"action":            {"dtype": "float64", "shape": []any{2.0}, "names": []any{"c0", "c1"}},
		"reward":            {"dtype": "float32", "shape": []any{1.0}, "names": []any{"c0"}},
		"counts":            {"dtype": "int64", "shape": []any{2.0}, "names": []any{"c0", "c1"}},
		"next.done":         {"dtype": "bool", "shape": []any{1.0}, "names": []any{"c0"}},
		"timestamp":         {"dtype": "float32", "shape": []any{1.0}, "names": nil},
		"task_index":        {"dtype": "int64", "shape": []any{1.0}, "names": nil},
	} {
		assert.Equal(t, want, features[name], name)
	}
	delete(info, "features")
	assert.Equal(t, map[string]any{
		"codebase_version": "v3.0", "fps": 10.0, "total_episodes": 2.0, "total_frames": 6.0, "total_tasks": 1.0, "chunks_size": 1000.0,
		"data_files_size_in_mb": 100.0, "video_files_size_in_mb": 200.0, "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
		"video_path": nil, "robot_type": nil, "splits": map[string]any{"train": "0:2"},
	}, info)

	episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
	assert.Equal(t, []any{int64(0), int64(5)}, episodes["dataset_from_index"])
	assert.Equal(t, []any{int64(5), int64(6)}, episodes["dataset_to_index"])
	assert.Equal(t, []any{int64(5), int64(1)}, episodes["stats/reward/count"])
	assert.Equal(t, []any{3.0, 0.0}, episodes["stats/reward/max"])
	assert.Equal(t, []any{"lift the cup", "lift the cup"}, episodes["tasks"])
	for name, list := range episodes {
		assert.NotContains(t, list, nil, name)
	}
	text := files(t, path)["meta/stats.json"]
	assert.Regexp(t, `"reward": \{\s+"min": \[\s+0\.0\s+\],\s+"max": \[\s+3\.0\s+\]`, text, "floats, for Python")
	assert.Regexp(t, `"count": \[\s+6\s+\]`, text)
	r := w.Report()
	assert.Equal(t, Report{Episodes: 2, Frames: 6, Tasks: 1, Files: 5, Bytes: r.Bytes, Shift: r.Shift}, r)
	size := 0
	for _, f := range files(t, path) {
		size += len(f)
	}
	assert.EqualValues(t, size, r.Bytes)
}

func TestStreamsMustBeOnOneClock(t *testing.T) {
	ctx := context.Background()
	for what, change := range map[string]func(e *dataset.Episode){
		"another rate": func(e *dataset.Episode) {
			times, _ := dataset.StepTimes(5, 11)
			for i := range e.Streams {
				e.Streams[i].Times = tensor.Must(tensor.Of(times, 5))
			}
		},
		"a stream of more rows": func(e *dataset.Episode) { e.Streams[2] = streamFor(t, "reward", make([]float32, 6), "float32") },
		"a stream that starts later": func(e *dataset.Episode) {
			e.Streams[1].Times = tensor.Must(tensor.Of([]int64{200_000, 100_200_000, 200_200_000, 300_200_000, 400_200_000}, 5))
		},
		"times in disorder": func(e *dataset.Episode) {
			e.Streams[4].Times = tensor.Must(tensor.Of([]int64{0, 200_000_000, 100_000_000, 300_000_000, 400_000_000}, 5))
		},
		"times at the ends of int64": func(e *dataset.Episode) {
			for i := range e.Streams { // a tenth of a second apart, if a difference may overflow
				end := int64(math.MinInt64)
				list := []int64{math.MaxInt64, end + 99_999_999, end + 199_999_999, end + 299_999_999, end + 399_999_999}
				e.Streams[i].Times = tensor.Must(tensor.Of(list, 5))
			}
		},
	} {
		w, path := created(t, Options{})
		e := kindsEpisode(t, 5)
		change(e)
		err := w.Add(ctx, e)
		var bad *Error
		require.ErrorAs(t, err, &bad, what)
		assert.ErrorIs(t, err, ErrNotAligned, what)
		assert.ErrorContains(t, err, "align the recording", what)
		assert.NotEmpty(t, bad.Feature, what)
		assert.ErrorIs(t, w.Commit(ctx), ErrNoEpisodes, what)
		assert.NoDirExists(t, path)
	}
}

func TestAClockWithinToleranceIsTakenAndCounted(t *testing.T) {
	w, _ := created(t, Options{})
	e := kindsEpisode(t, 3)
	for i := range e.Streams {
		e.Streams[i].Times = tensor.Must(tensor.Of([]int64{7_000_000_000, 7_100_090_000, 7_199_950_000}, 3))
	}
	require.NoError(t, w.Add(context.Background(), e))
	assert.Equal(t, 90*time.Microsecond, w.Report().Shift)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoPlace, Subject: "the time of the first row", Count: 1, Detail: dataset.Detail{Want: "LeRobot", Unit: "it"}}}, w.Report().Notes)
}

func TestWhatCannotBeCarriedIsRefused(t *testing.T) {
	ctx := context.Background()
	one := func(name string, v float64, typ string) *dataset.Episode {
		return &dataset.Episode{Streams: []dataset.Stream{streamFor(t, name, []float64{0, v}, typ)}}
	}
	twice := one("a", 1, "double")
	twice.Streams = append(twice.Streams, twice.Streams[0])
	wrong := one("a", 1, "double")
	wrong.Streams[0].Columns = nil
	for what, c := range map[string]struct {
		e    *dataset.Episode
		kind error
		text string
	}{
		"NaN":                   {one("a", math.NaN(), "double"), ErrNotFinite, "NaN in row 1, column c0"},
		"an infinity":           {one("a", math.Inf(-1), "double"), ErrNotFinite, "-Inf in row 1"},
		"infinite squares":      {one("a", 1e200, "double"), ErrNotFinite, "infinite in float64"},
		"half a whole number":   {one("a", 0.5, "int64"), dataset.ErrDType, "0.5 in row 1"},
		"half a truth":          {one("a", 0.5, "bool"), dataset.ErrDType, "0.5 in row 1"},
		"beyond 64 bits":        {one("a", 1<<63, "int64"), dataset.ErrDType, "row 1"},
		"a slash":               {one("slash", 1, "double"), dataset.ErrOption, "under another name"},
		"a reserved name":       {one("timestamp", 1, "double"), dataset.ErrOption, "LeRobot uses itself"},
		"a task column":         {one("task", 1, "double"), dataset.ErrOption, "LeRobot uses itself"},
		"no name":               {one("", 1, "double"), dataset.ErrOption, "an empty name"},
		"dots":                  {one("..", 1, "double"), dataset.ErrOption, "printed"},
		"a newline":             {one("a\nb", 1, "double"), dataset.ErrOption, "printed"},
		"a path of Windows":     {one(`..\..\b`, 1, "double"), dataset.ErrOption, "which can be a folder's"},
		"a long name":           {one(strings.Repeat("b", 201), 1, "double"), dataset.ErrOption, "at most 200 bytes"},
		"a name twice":          {twice, dataset.ErrOption, "two streams"},
		"no streams":            {&dataset.Episode{}, dataset.ErrMissing, "without streams"},
		"no rows":               {&dataset.Episode{Streams: []dataset.Stream{streamFor(t, "a", []float32{}, "float32")}}, dataset.ErrMissing, "no rows"},
		"a stream that is none": {wrong, dataset.ErrShape, "a: "},
		"a task not in UTF-8":   {&dataset.Episode{Streams: one("a", 1, "double").Streams, Attributes: dataset.Attributes{Task: "\xff"}}, dataset.ErrOption, "UTF-8"},
	} {
		w, _ := created(t, Options{Names: map[string]string{"slash": "a/b"}})
		err := w.Add(ctx, c.e)
		assert.ErrorIs(t, err, c.kind, what)
		assert.ErrorContains(t, err, c.text, what)
		var bad *Error
		if assert.ErrorAs(t, err, &bad, what) {
			assert.Zero(t, bad.Episode)
		}
		require.NoError(t, w.Add(ctx, kindsEpisode(t, 2)), "it costs itself only: "+what)
	}
}

func TestEveryEpisodeHasTheFeaturesOfTheFirst(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	require.NoError(t, w.Add(ctx, kindsEpisode(t, 2)))
	for what, change := range map[string]func(e *dataset.Episode){
		"a stream is missing": func(e *dataset.Episode) { e.Streams = e.Streams[:4] },
		"one more": func(e *dataset.Episode) {
			e.Streams = append(e.Streams, streamFor(t, "more", []float32{1, 2}, "float32"))
		},
		"another type": func(e *dataset.Episode) { e.Streams[2] = streamFor(t, "reward", []float64{1, 2}, "double") },
		"another width": func(e *dataset.Episode) {
			e.Streams[2] = streamFor(t, "reward", []float32{1, 2, 3, 4}, "float32", "float32")
		},
		"another column": func(e *dataset.Episode) { e.Streams[2].Columns[0].Name = "price" },
	} {
		e := kindsEpisode(t, 2)
		change(e)
		err := w.Add(ctx, e)
		var bad *Error
		require.ErrorAs(t, err, &bad, what)
		assert.Equal(t, 1, bad.Episode)
		assert.Contains(t, []string{"next.done", "more", "reward"}, bad.Feature, what)
	}
	turned := kindsEpisode(t, 2)
	turned.Streams[0], turned.Streams[3] = turned.Streams[3], turned.Streams[0]
	require.NoError(t, w.Add(ctx, turned), "the order of streams may differ")
	require.NoError(t, w.Commit(ctx))
	data := parquetColumns(t, filepath.Join(path, firstData))
	assert.Equal(t, data["counts"][:4], data["counts"][4:])
}

func TestTasksAreNumberedAsTheyCome(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	for _, task := range []string{"lift", "whatever", "drop", "lift"} {
		e := kindsEpisode(t, 1)
		e.Attributes.Task = task
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, []any{int64(0), int64(1), int64(2), int64(0)}, parquetColumns(t, filepath.Join(path, firstData))["task_index"])
	assert.Equal(t, map[string][]any{"task_index": {int64(0), int64(1), int64(2)}, "task": {"lift", "whatever", "drop"}},
		parquetColumns(t, filepath.Join(path, "meta/tasks.parquet")))
}

func TestTasksMayChangeWithinAnEpisode(t *testing.T) {
	ctx := context.Background()
	steps := func(list ...float32) *dataset.Episode {
		e := &dataset.Episode{Streams: []dataset.Stream{
			streamFor(t, "a", make([]float32, len(list)), "float32"), streamFor(t, "task_index", list, "int64"),
		}}
		e.Attributes.Task = "lift; drop"
		return e
	}
	w, path := created(t, Options{Tasks: []string{"drop", "wait", "lift"}})
	require.NoError(t, w.Add(ctx, steps(2, 2, 0, 2)))
	require.NoError(t, w.Add(ctx, steps(1, 0)))
	for _, n := range []float32{3, -1, 0.5} {
		err := w.Add(ctx, steps(1, n))
		assert.ErrorIs(t, err, dataset.ErrNotFound)
		assert.ErrorContains(t, err, "in row 1")
	}
	alone := steps(0, 0)
	alone.Streams = alone.Streams[:1]
	alone.Attributes.Task = "wait"
	require.NoError(t, w.Add(ctx, alone))
	require.NoError(t, w.Commit(ctx))
	data := parquetColumns(t, filepath.Join(path, firstData))
	assert.Equal(t, []any{int64(0), int64(0), int64(1), int64(0), int64(2), int64(1), int64(2), int64(2)}, data["task_index"])
	assert.Equal(t, []any{"lift", "drop", "wait"}, parquetColumns(t, filepath.Join(path, "meta/tasks.parquet"))["task"])
	assert.Equal(t, []any{"lift", "drop", "wait", "drop", "wait"}, parquetColumns(t, filepath.Join(path, firstEpisodes))["tasks"])

	d, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer d.Close()
	e := settest.Episode(t, d, 0)
	assert.Equal(t, "lift; drop", e.Attributes.Task)
	assert.Equal(t, []float64{0, 0, 1, 0}, numbersOf(t, e.Stream("task_index").Values))
	again, _ := created(t, Options{Tasks: d.Info().Tasks})
	require.NoError(t, again.Add(ctx, e))

	refused, _ := created(t, Options{})
	assert.ErrorIs(t, refused.Add(ctx, e), dataset.ErrOption, "nobody says what the numbers stand for")
}

func TestNamesAreThoseThatAreAskedFor(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{Names: map[string]string{"obs/state": "observation.state"}, RobotType: "arm"})
	yes := true
	e := &dataset.Episode{Streams: []dataset.Stream{streamFor(t, "obs/state", []float32{1, 2}, "float32")}}
	e.Streams[0].Columns[0].Name = "0"
	e.Streams[0].Inexact = 2
	e.Streams = append(e.Streams, streamFor(t, "more", []float32{1, 2}, "float32"))
	e.Streams[1].Inexact = 1
	e.Attributes = dataset.Attributes{Source: "/home/someone/recording", Success: &yes, Other: map[string]string{"operator": "someone"}}
	require.NoError(t, w.Add(ctx, e))
	require.NoError(t, w.Add(ctx, e))
	require.NoError(t, w.Commit(ctx))
	features := readJSON(t, filepath.Join(path, "meta/info.json"))["features"].(map[string]any)
	assert.Equal(t, map[string]any{"dtype": "float32", "shape": []any{1.0}, "names": nil}, features["observation.state"], "an index is no name")
	r := w.Report()
	assert.Equal(t, map[string]string{"obs/state": "observation.state"}, r.Renamed)
	assert.Equal(t, 6, r.Inexact)
	require.Len(t, r.Notes, 2)
	assert.Equal(t, "operator", r.Notes[0].Subject)
	assert.Equal(t, dataset.Note{Code: dataset.CodeNoPlace, Subject: "success", Count: 2, Detail: dataset.Detail{Want: "LeRobot", Unit: "it"}}, r.Notes[1])
	for name, text := range files(t, path) {
		assert.NotContains(t, text, "someone", name)
	}
}

func TestASlashBecomesADot(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	e := &dataset.Episode{Streams: []dataset.Stream{streamFor(t, "observation/state", []float32{1, 2}, "float32")}}
	require.NoError(t, w.Add(ctx, e))
	require.NoError(t, w.Commit(ctx))
	assert.Contains(t, parquetColumns(t, filepath.Join(path, firstData)), "observation.state")
	assert.Equal(t, map[string]string{"observation/state": "observation.state"}, w.Report().Renamed)
}

func TestTheSameEpisodesGiveTheSameBytes(t *testing.T) {
	ctx := context.Background()
	var all [2]map[string]string
	for i := range all {
		w, path := created(t, Options{RobotType: "arm"})
		for n := 1; n < 4; n++ {
			require.NoError(t, w.Add(ctx, kindsEpisode(t, 50*n)))
		}
		require.NoError(t, w.Commit(ctx))
		all[i] = files(t, path)
		for name, text := range all[i] {
			assert.NotContains(t, text, t.TempDir()[:8], name)
		}
	}
	assert.Equal(t, all[0], all[1])
}

// TestAFileThatIsFullBeginsTheNext has LeRobot's rule: the next begins where this one would reach the limit.
func TestAFileThatIsFullBeginsTheNext(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	w.limit = 4000
	for range 120 {
		require.NoError(t, w.Add(ctx, kindsEpisode(t, 20)))
	}
	require.NoError(t, w.Commit(ctx))
	episodes := map[string][]any{}
	all := files(t, path)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if text := all[name]; strings.HasPrefix(name, "data/") {
			assert.Less(t, len(text), 4000+5000, "rows up to the limit, and a footer")
		}
		if strings.HasPrefix(name, "meta/episodes/") {
			for k, v := range parquetColumns(t, filepath.Join(path, name)) {
				episodes[k] = append(episodes[k], v...)
				if k == "meta/episodes/file_index" {
					for _, at := range v {
						assert.Equal(t, fmt.Sprintf("meta/episodes/chunk-000/file-%03d.parquet", at), name)
					}
				}
			}
		}
	}
	require.Len(t, episodes["episode_index"], 120)
	assert.Equal(t, []any{int64(0), int64(1)}, episodes["meta/episodes/file_index"][99:101], "a hundred episodes are a row group")
	last := episodes["data/file_index"][119].(int64)
	assert.Greater(t, last, int64(20))
	for i := range 120 {
		name := fmt.Sprintf("data/chunk-%03d/file-%03d.parquet", episodes["data/chunk_index"][i], episodes["data/file_index"][i])
		assert.Contains(t, parquetColumns(t, filepath.Join(path, name))["episode_index"], int64(i), name)
	}
}

// The numbers of row groups are of 16 bits in a file.
func TestAFileHasNotMoreRowGroupsThanHaveNumbers(t *testing.T) {
	w, path := created(t, Options{})
	require.Equal(t, 1<<15, w.groups)
	w.groups = 3
	for range 7 {
		require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 1)))
	}
	require.NoError(t, w.Commit(context.Background()))
	for file, want := range [][]any{{int64(0), int64(1), int64(2)}, {int64(3), int64(4), int64(5)}, {int64(6)}} {
		assert.Equal(t, want, parquetColumns(t, filepath.Join(path, fmt.Sprintf("data/chunk-000/file-%03d.parquet", file)))["episode_index"])
	}
}

func TestAChunkOfFilesThatIsFullBeginsTheNext(t *testing.T) {
	w, _ := created(t, Options{})
	require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 1)))
	w.rows.file, w.rows.limit = layout.ChunkFiles-1, 1
	require.NoError(t, w.Add(context.Background(), kindsEpisode(t, 1)))
	assert.Equal(t, layout.ChunkFiles, w.rows.file)
	assert.Equal(t, filepath.FromSlash("data/chunk-001/file-000.parquet"), w.rows.out.path)
}

func TestOptionsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	for _, opt := range []Options{{}, {FPS: -1}, {FPS: math.NaN()}, {FPS: 1e10}, {FPS: 30, DataFileMB: -1}, {FPS: 30, RobotType: "\xff"}} {
		_, err := Create(filepath.Join(dir, "set"), opt)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestTheNameIsTakenAtCommitOnly(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	require.NoError(t, w.Add(ctx, kindsEpisode(t, 2)))
	assert.NoDirExists(t, path)
	require.NoError(t, w.Close())
	assert.ErrorIs(t, w.Add(ctx, kindsEpisode(t, 2)), dataset.ErrClosed)
	assert.ErrorIs(t, w.Commit(ctx), dataset.ErrClosed)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Empty(t, left, "what was not committed is removed")

	for i, overwrite := range []bool{false, true} {
		w, err = Create(path, Options{FPS: 10, Overwrite: overwrite})
		require.NoError(t, err)
		for range i + 1 {
			require.NoError(t, w.Add(ctx, kindsEpisode(t, 2)))
		}
		require.NoError(t, w.Commit(ctx))
		assert.ErrorIs(t, w.Add(ctx, kindsEpisode(t, 2)), dataset.ErrClosed)
		require.NoError(t, w.Close())
		assert.Len(t, parquetColumns(t, filepath.Join(path, firstEpisodes))["length"], i+1)
	}
	_, err = Create(path, Options{FPS: 10})
	assert.ErrorIs(t, err, fs.ErrExist)
	_, err = Create(filepath.Dir(path), Options{FPS: 10, Overwrite: true})
	assert.ErrorContains(t, err, "is no LeRobot dataset", "nothing else is removed")
	assert.DirExists(t, path)
}

// TestQuantilesOfManyNumbersThatBeginAlike needs a third pass over the rows, which reads them back once more.
func TestQuantilesOfManyNumbersThatBeginAlike(t *testing.T) {
	const n = 70_000
	list, times := make([]float64, n), make([]int64, n)
	for i := range list {
		list[i], times[i] = 1+float64(i*7919%n)*0x1p-40, int64(i)*1e8
	}
	s, err := dataset.NewStream("phase", times, tensor.Must(tensor.Of(list, n, 1)), nil)
	require.NoError(t, err)
	w, path := created(t, Options{})
	require.NoError(t, w.Add(t.Context(), &dataset.Episode{Streams: []dataset.Stream{s}}))
	require.NoError(t, w.Commit(t.Context()))
	stats := readJSON(t, filepath.Join(path, "meta/stats.json"))["phase"].(map[string]any)
	assert.Equal(t, []any{1 + 34999.5*0x1p-40}, stats["q50"])
	assert.Equal(t, []any{1 + 699.99*0x1p-40}, stats["q01"])
	assert.Equal(t, len(files(t, path)), w.Report().Files, "files that are read back again count once")
}
