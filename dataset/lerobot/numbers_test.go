package lerobot_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

func TestNumbersOfTasksWithGapsStandForTheTasksOfInfo(t *testing.T) {
	m := make3(t)
	m.tasks = []string{"lift", "hold", "put down"}
	m.column("task_index", "int64", i64, nil, func(row int) any { return []int{4, 2, 9, 0, 0}[row] })
	dir := m.write()
	writeParquet(t, m.path("meta/tasks.parquet"), []column{
		{"task_index", i64, 0, func(row int) any { return []int{0, 2, 4}[row] }}, {"task", utf8, 0, func(row int) any { return m.tasks[row] }},
	}, []int{3}, parquet.KeyValueMetadata("pandas", `{"index_columns": ["task"]}`))
	s := open(t, dir, lerobot.Options{})
	e := episode(t, s, 0)
	assert.Equal(t, "put down; hold", e.Attributes.Task)
	assert.Equal(t, m.tasks, s.Info().Tasks)
	assert.Equal(t, []float64{2, 1, -1}, floats(t, e.Stream("task_index")), "which is what WriteOptions.Tasks goes by")
}

func TestWholeNumbersWithoutASignStayPositive(t *testing.T) {
	m := make3(t)
	m.column("count", "uint64", parquet.Uint(64), nil, func(row int) any { return []any{-1, 1, nil, 0, 0}[row] }) // -1 has the bits of 2^64-1
	st := episode(t, open(t, m.write(), lerobot.Options{}), 0).Stream("count")
	assert.Equal(t, "[1.8446744073709552e+19 1 NaN]", fmt.Sprint(floats(t, st)))
	assert.Equal(t, 1, st.Inexact)
}

func TestADatasetOfNoEpisodesHasNone(t *testing.T) {
	m := make3(t)
	dir := m.write()
	require.NoError(t, os.RemoveAll(m.path("data")))
	_, err := lerobot.Open(context.Background(), dir, lerobot.Options{})
	assert.ErrorIs(t, err, dataset.ErrNotFound, "it says that it has episodes")
	require.NoError(t, os.RemoveAll(m.path("meta/episodes")))
	m.info["total_episodes"], m.info["total_frames"], m.info["splits"] = 0, 0, map[string]string{}
	m.writeInfo()
	s := open(t, dir, lerobot.Options{})
	assert.Zero(t, s.Len())
	_, err = s.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

func TestGapsAreToldWhole(t *testing.T) {
	m := make3(t)
	m.column("episode_index", "int64", i64, nil, func(row int) any { return []int{0, 0, 0, 50_000, 50_000}[row] })
	s := open(t, m.write(), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeNumbers, Subject: "data", Count: 49998, Row: dataset.At(2), Detail: dataset.Detail{Got: "2-49999"}})
	require.NoError(t, os.RemoveAll(m.path("meta/episodes")))
	m.lengths = make([]int, 30)
	for i := range m.lengths {
		m.lengths[i] = 1
	}
	m.column("episode_index", "int64", i64, nil, func(row int) any { return 3 * row })
	m.groups = []int{30}
	m.writeInfo()
	writeParquet(t, m.path(dataFile), m.columns, m.groups)
	contains(t, problems(open(t, m.dir, lerobot.Options{})), "1-2, 4-5, 7-8, 10-11, 13-14, 16-17, 19-20, 22-23 and 42 more")
}

func TestSplitsAreTheEpisodesWithThoseNumbers(t *testing.T) {
	m := make3(t)
	m.column("episode_index", "int64", i64, nil, func(row int) any { return []int{2, 2, 2, 7, 7}[row] })
	m.info["splits"] = map[string]string{"all": "0:8", "none": "3:7", "one": "7:8", "odd": "8:7"}
	s := open(t, m.write(), lerobot.Options{})
	got := map[string][]int{}
	for _, split := range s.Info().Splits {
		got[split.Name] = split.Episodes
	}
	assert.Equal(t, map[string][]int{"all": {0, 1}, "none": {}, "one": {1}}, got)
	hasProblem(t, s, dataset.Note{Code: dataset.CodeSplitRange, Subject: "split odd", Count: 1, Detail: dataset.Detail{Got: "8:7"}})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeSplitEpisodes, Subject: "split all", Count: 6, Detail: dataset.Detail{Of: 8}})
}

func TestAGoodFileGoesBeforeABrokenOneOfTheSameEpisode(t *testing.T) {
	m := make3(t)
	dir := m.write2()
	good := m.path("data/chunk-001/episode_000000.parquet")
	require.NoError(t, os.MkdirAll(filepath.Dir(good), 0o755))
	require.NoError(t, os.Rename(m.path("data/chunk-000/episode_000000.parquet"), good))
	filetest.Write(t, m.path("data/chunk-000/episode_000000.parquet"), "PAR1 cut off here")
	s := open(t, dir, lerobot.Options{})
	require.Equal(t, 2, s.Len())
	assert.Equal(t, []float64{0, 0, 1, -0.5, 2, -1}, floats(t, &episode(t, s, 0).Streams[0]))
}

// A dataset whose files are all broken, and one without a column of episodes, take time in proportion to their episodes.
func TestManyEpisodesAreListedInTimeThatGrowsWithThem(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const n = 10_000
	m := make3(t)
	m.lengths = make([]int, n)
	for i := range m.lengths {
		m.lengths[i] = 1
	}
	m.columns = m.columns[:1] // the timestamps, which are 0
	m.column("timestamp", "float32", f32, nil, func(int) any { return 0 })
	m.tasks = m.tasks[:1]
	dir := m.write()
	m.writeEpisodes([]column{
		{"dataset_from_index", i64, 0, func(e int) any { return e }}, {"dataset_to_index", i64, 0, func(e int) any { return e + 1 }},
		{"data/file_index", i64, 0, func(e int) any { return e / 10 }},
	})
	begin := time.Now()
	s := open(t, dir, lerobot.Options{})
	assert.Equal(t, n, s.Len())
	assert.Equal(t, "000017", episode(t, s, 17).Name)
	for i := range n / 10 {
		filetest.Write(t, m.path(fmt.Sprintf("data/chunk-000/file-%03d.parquet", i)), "PAR1 cut off here")
	}
	s = open(t, dir, lerobot.Options{})
	assert.Equal(t, n, s.Len())
	_, err := s.Episode(context.Background(), 17)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.Less(t, time.Since(begin), time.Minute)
}

func TestAnEpisodeMayGoOnInTheNextFile(t *testing.T) {
	list := pictures(t, 5)
	m := make3(t)
	m.add(column{"top", nil, 0, func(row int) any { return image{bytes: list[row]} }}, map[string]any{"dtype": "image", "shape": []int{3, 4, 3}, "names": nil})
	dir := m.write()
	columns := slices.Clone(m.columns)
	writeParquet(t, m.path(dataFile), columns, []int{2, 2})
	for i := range columns {
		at := columns[i].at
		columns[i].at = func(row int) any { return at(4 + row) }
	}
	writeParquet(t, m.path("data/chunk-000/file-001.parquet"), columns, []int{1})
	s := open(t, dir, lerobot.Options{Strict: true})
	e := episode(t, s, 1)
	assert.Equal(t, []float64{3, -1.5, 4, -2}, floats(t, &e.Streams[0]))
	assert.Equal(t, []int64{0, 1e8}, e.Streams[0].Nanoseconds())
	assert.Equal(t, "lift the cup", e.Attributes.Task)
	for i := range 2 {
		b, err := e.Media[0].Frame(context.Background(), i)
		require.NoError(t, err)
		assert.Equal(t, list[3+i], b)
	}

	// Without the first file there is what the second has of it, and that is told.
	filetest.Write(t, m.path(dataFile), "PAR1 cut off here")
	s = open(t, dir, lerobot.Options{})
	require.Equal(t, 2, s.Len())
	_, err := s.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	e = episode(t, s, 1)
	assert.Equal(t, []float64{4, -2}, floats(t, &e.Streams[0]))
	assert.Equal(t, []int64{1e8}, e.Streams[0].Nanoseconds())
	assert.NotNil(t, e.Notes.Find(dataset.CodeFrameIndex))
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeLength, Subject: "meta/episodes", Count: 1, Row: dataset.At(1), Detail: dataset.Detail{Got: "2", Want: "1"}})
}

func TestRatesThatAreNoWholeNumbers(t *testing.T) {
	m := make3(t)
	m.lengths = []int{3000}
	m.info["fps"] = 29.97
	m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(float64(row) / 29.97) })
	s := open(t, m.write(), lerobot.Options{})
	for _, p := range problems(s) {
		assert.NotContains(t, p, dataset.CodeTimestampColumn.String())
	}
	times := episode(t, s, 0).Streams[0].Nanoseconds()
	assert.Equal(t, int64(math.Round(2999*1e9/29.97)), times[2999])
}

func TestPathsAreThoseThatInfoSays(t *testing.T) {
	m := filmed(t, 24, 24)
	m.info["chunks_size"] = 1
	m.info["video_path"] = "movies/{video_key}/{episode_chunk}-{episode_index:04d}.mp4"
	dir := m.write2()
	m.info["data_path"] = "tables/part-{episode_chunk:02d}/ep_{episode_index}.parquet"
	m.writeInfo()
	for e := range 2 {
		to := m.path(fmt.Sprintf("tables/part-%02d/ep_%d.parquet", e, e))
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.Rename(m.path(fmt.Sprintf("data/chunk-000/episode_%06d.parquet", e)), to))
		m.film("h264_front.mp4", fmt.Sprintf("movies/%s/%d-%04d.mp4", camera, e, e))
	}
	s := open(t, dir, lerobot.Options{Strict: true})
	require.Equal(t, 2, s.Len())
	shows(t, shots(t, "h264_front.mp4"), &episode(t, s, 1).Media[0])
	filetest.Write(t, m.path("tables/part-01/ep_1.parquet"), "PAR1 cut off here")
	hasProblem(t, open(t, dir, lerobot.Options{}), dataset.Note{Code: dataset.CodeUnreadable, Subject: "tables/part-01/ep_1.parquet", Count: 1, Detail: dataset.Detail{Want: "1"}}, "")

	// A path that leads out of the dataset is not followed.
	m.info["data_path"] = "../" + filepath.Base(dir) + "/tables/part-{episode_chunk:02d}/ep_{episode_index}.parquet"
	m.writeInfo()
	_, err := lerobot.Open(context.Background(), dir, lerobot.Options{})
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

func TestAFeatureThatIsDeclaredTwiceIsOne(t *testing.T) {
	m := make3(t)
	dir := m.write()
	b := filetest.Read(t, m.path("meta/info.json"))
	one := `"action":{"dtype":"float32","shape":[2],"names":["left","right"]}`
	b = bytes.Replace(b, []byte(`"timestamp"`), []byte(one+`, `+strings.Replace(one, "left", "x", 1)+`, "timestamp"`), 1)
	b = bytes.Replace(b, []byte(`,"action":{"dtype":"float32","names":null,"shape":[2]}`), nil, 1)
	filetest.Write(t, m.path("meta/info.json"), b)
	s := open(t, dir, lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeDeclaration, Subject: "feature action", Count: 1}, "there are two")
	e := episode(t, s, 0)
	require.Equal(t, []string{"action"}, e.Names())
	assert.Equal(t, []string{"x", "right"}, e.Streams[0].ColumnNames())
}

func TestAnImageWhoseFileIsNotThereCostsItsStreamOnly(t *testing.T) {
	m := make3(t)
	m.add(column{"top", nil, 0, func(int) any { return image{path: "images/gone.png"} }},
		map[string]any{"dtype": "image", "shape": []int{3, 4, 3}, "names": nil})
	e := episode(t, open(t, m.write(), lerobot.Options{}), 0)
	assert.Equal(t, []string{"action"}, e.Names())
	left := e.Notes.Of(dataset.ClassLeftOut)
	require.Len(t, left, 1)
	assert.Contains(t, left[0].Reason(), `no file "images/gone.png"`)
	assert.Equal(t, dataset.CodeColumnUnreadable, e.Notes.Damage()[0].Code)
}
