package lerobot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

func contains(t *testing.T, list []string, part string) {
	t.Helper()
	assert.True(t, slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) }), "%q in %q", part, list)
}

func TestOtherVersionsAndStorageAreRefusedByName(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"storage_format", "lance", "Lance and others are not read"},
		{"codebase_version", "v1.6", "v2.0, v2.1 or v3.0"},
		{"codebase_version", "v4.0", "v2.0, v2.1 or v3.0"},
	} {
		m := make3(t)
		m.info[c.key] = c.value
		_, err := dataset.Open(context.Background(), m.write(), dataset.Options{})
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, c.want)
		assert.ErrorContains(t, err, c.value)
	}
}

// second adds a data file of two more episodes, each of 2 rows, and lists them.
func second(m *made) string {
	dir := m.write()
	m.lengths = []int{3, 2, 2, 2}
	columns := slices.Clone(m.columns)
	for i := range columns {
		at := columns[i].at
		columns[i].at = func(row int) any { return at(5 + row) }
	}
	writeParquet(m.t, m.path("data/chunk-000/file-001.parquet"), columns, []int{2, 2})
	m.writeEpisodes([]column{{"data/file_index", i64, 0, func(e int) any { return e / 2 }}})
	m.info["total_episodes"], m.info["total_frames"] = 4, 9
	m.writeInfo()
	return dir
}

// Episodes of which there is no data are counted, by what lists them or by the total alone.
func TestEpisodesWithoutDataAreCounted(t *testing.T) {
	m := make3(t)
	dir := second(m)
	info := open(t, dir, lerobot.Options{}).Info()
	assert.Nil(t, info.Absent())
	require.NoError(t, os.Remove(m.path("data/chunk-000/file-000.parquet")))
	s := open(t, dir, lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodesAbsent, Subject: "meta/episodes", Count: 2, Detail: dataset.Detail{Of: 4, Got: "0-1"}}, dataFile+": is not there")
	hasProblem(t, s, dataset.Note{Code: dataset.CodeFilesMissing, Subject: "data", Count: 1, Detail: dataset.Detail{Of: 2, Names: []string{dataFile}}})
	m.info["total_episodes"] = 7
	m.writeInfo()
	s = open(t, dir, lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodesAbsent, Subject: "meta/episodes", Count: 5, Detail: dataset.Detail{Of: 7, Got: "0-1"}}, dataFile+": is not there")
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeTotal, Subject: "meta/info.json", Count: 1, Detail: dataset.Detail{Got: "2", Want: "7"}})
}

func TestAKilledRecorderCostsItsFileOnly(t *testing.T) {
	m := make3(t)
	dir := second(m)
	require.Equal(t, 4, open(t, dir, lerobot.Options{}).Len())
	b := filetest.Read(t, m.path("data/chunk-000/file-001.parquet"))
	filetest.Write(t, m.path("data/chunk-000/file-001.parquet"), b[:len(b)/2])
	s := open(t, dir, lerobot.Options{})
	require.Equal(t, 4, s.Len())
	assert.Equal(t, []float64{3, -1.5, 4, -2}, floats(t, &episode(t, s, 1).Streams[0]))
	_, err := s.Episode(context.Background(), 3)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorContains(t, err, "no footer")
	hasProblem(t, s, dataset.Note{Code: dataset.CodeUnreadable, Subject: "data/chunk-000/file-001.parquet", Count: 1, Detail: dataset.Detail{Want: "2-3"}}, "no footer")
	hasProblem(t, s, dataset.Note{Code: dataset.CodeFrameTotal, Subject: "meta/info.json", Count: 1, Detail: dataset.Detail{Got: "5", Want: "9", Unit: "readable rows"}})
	_, err = lerobot.Open(context.Background(), dir, lerobot.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt)

	m = make3(t)
	dir = m.write2()
	filetest.Write(t, m.path("data/chunk-000/episode_000000.parquet"), "PAR1 and no more than that")
	s = open(t, dir, lerobot.Options{})
	require.Equal(t, 2, s.Len())
	_, err = s.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.Equal(t, 2, episode(t, s, 1).Frames)
}

func TestTheDataCountsAndNotTheList(t *testing.T) {
	m := make3(t)
	dir := second(m)
	m.writeEpisodes([]column{
		{"data/file_index", i64, 0, func(e int) any { return 0 }},
		{"dataset_from_index", i64, 0, func(e int) any { return []int{0, 3, 6, 8}[e] }},
		{"length", i64, 0, func(e int) any { return []int{3, 2, 3, 2}[e] }},
	})
	s := open(t, dir, lerobot.Options{})
	require.Equal(t, 4, s.Len())
	assert.Equal(t, []float64{5, -2.5, 6, -3}, floats(t, &episode(t, s, 2).Streams[0]))
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeLength, Subject: "meta/episodes", Count: 1, Row: dataset.At(2), Detail: dataset.Detail{Got: "3", Want: "2"}})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeRows, Subject: "meta/episodes", Count: 2, Row: dataset.At(2), Detail: dataset.Detail{Got: "6 to 7", Want: "5 to 7"}})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeFile, Subject: "meta/episodes", Count: 2, Row: dataset.At(2), Detail: dataset.Detail{Got: dataFile, Want: "data/chunk-000/file-001.parquet"}})

	require.NoError(t, os.RemoveAll(m.path("meta/episodes")))
	require.NoError(t, os.Remove(m.path("meta/stats.json")))
	require.NoError(t, os.Remove(m.path("meta/tasks.parquet")))
	s = open(t, dir, lerobot.Options{})
	require.Equal(t, 4, s.Len())
	assert.Equal(t, []float64{5, -2.5, 6, -3}, floats(t, &episode(t, s, 2).Streams[0]))
	hasProblem(t, s, dataset.Note{Code: dataset.CodeFileMissing, Subject: "meta/episodes", Count: 1})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeStatisticsMissing, Subject: "meta/stats.json", Count: 1})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeFileMissing, Subject: "meta/tasks.parquet", Count: 1})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeTaskTotal, Subject: "meta/info.json", Count: 1, Detail: dataset.Detail{Got: "0", Want: "1"}})
}

func TestGapsAreTold(t *testing.T) {
	m := make3(t)
	m.column("index", "int64", i64, nil, func(row int) any { return []int{0, 1, 2, 7, 8}[row] })
	s := open(t, m.write(), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeIndexColumn, Subject: "data", Count: 1, Row: dataset.At(1), Detail: dataset.Detail{Got: "7 to 8", Want: "3 to 4", Names: []string{dataFile}}})
	m.column("index", "int64", i64, nil, func(row int) any { return []int{0, 2, 3, 3, 4}[row] })
	m.column("frame_index", "int64", i64, nil, func(row int) any { return []int{0, 1, 3, 0, 1}[row] })
	m.column("timestamp", "float32", f32, nil, func(row int) any { return []float64{0, 0.1, 0.3, 0, 0.1}[row] })
	s = open(t, m.write(), lerobot.Options{})
	e := episode(t, s, 0)
	assert.Equal(t, []int64{0, 1e8, 3e8}, e.Streams[0].Nanoseconds())
	require.Len(t, e.Notes.Damage(), 2)
	assert.Equal(t, []any{1, dataset.At(2)}, []any{e.Notes.Find(dataset.CodeFrameIndex).Count, e.Notes.Find(dataset.CodeFrameIndex).Row})
	assert.Equal(t, []any{1, dataset.At(1)}, []any{e.Notes.Find(dataset.CodeRowIndex).Count, e.Notes.Find(dataset.CodeRowIndex).Row})

	m = make3(t)
	m.column("episode_index", "int64", i64, nil, func(row int) any { return []int{0, 0, 0, 3, 3}[row] })
	s = open(t, m.write(), lerobot.Options{})
	require.Equal(t, 2, s.Len())
	assert.Equal(t, "000003", episode(t, s, 1).Name)
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodesAbsent, Subject: "meta/episodes", Count: 1, Detail: dataset.Detail{Of: 2, Got: "1"}}, "there is no data for 1")
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeUnlisted, Subject: "meta/episodes", Count: 1, Row: dataset.At(3)})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeNumbers, Subject: "data", Count: 1, Row: dataset.At(2), Detail: dataset.Detail{Got: "2"}})

	m = make3(t)
	m.column("episode_index", "int64", i64, nil, func(row int) any { return []int{0, 1, 0, 1, 1}[row] })
	s = open(t, m.write(), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeEpisodeApart, Subject: "data", Count: 2, Row: dataset.At(0), Detail: dataset.Detail{Got: "2"}})
	assert.Equal(t, []float64{0, 0, 2, -1}, floats(t, &episode(t, s, 0).Streams[0]))

	m = make3(t)
	dir := m.write2()
	require.NoError(t, os.Rename(m.path("data/chunk-000/episode_000001.parquet"), m.path("data/chunk-000/episode_000007.parquet")))
	s = open(t, dir, lerobot.Options{})
	e = episode(t, s, 1)
	assert.Equal(t, "000007", e.Name)
	require.Len(t, e.Notes.Damage(), 1)
	n := e.Notes.Damage()[0]
	assert.Equal(t, []any{dataset.CodeEpisodeIndex, 2, dataset.At(0)}, []any{n.Code, n.Count, n.Row})
}

func TestColumnsAndFeaturesAreCompared(t *testing.T) {
	m := make3(t)
	m.features["velocity"] = map[string]any{"dtype": "float32", "shape": []int{2}, "names": nil}
	m.order = append(m.order, "velocity")
	m.column("extra", "float32", f32, nil, func(row int) any { return row })
	delete(m.features, "extra")
	m.order = slices.DeleteFunc(m.order, func(n string) bool { return n == "extra" })
	m.features["action"] = map[string]any{"dtype": "float64", "shape": []int{3}, "names": nil}
	s := open(t, m.write(), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeColumnNone, Subject: "feature velocity", Count: 1, Detail: dataset.Detail{Want: "float32"}})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeColumnUndeclared, Subject: "column extra", Count: 1})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeColumnType, Subject: "feature action", Count: 1, Detail: dataset.Detail{Got: "float32", Want: "float64"}})
	e := episode(t, s, 0)
	assert.Equal(t, []string{"action", "extra"}, e.Names())
	assert.Equal(t, dataset.CodeColumnWidth, e.Notes.Damage()[0].Code)
	assert.Equal(t, []string{"0", "1"}, e.Streams[0].ColumnNames())
}

func TestRowsOfAnotherLengthAreNaNAndCounted(t *testing.T) {
	m := make3(t)
	m.list("action", 2, func(row int) any { return [][]float64{{1, 2}, {3}, {5, 6}, {7, 8, 9}, {0, 1}}[row] })
	s := open(t, m.write(), lerobot.Options{})
	e := episode(t, s, 0)
	assert.Equal(t, "[1 2 NaN NaN 5 6]", fmt.Sprint(floats(t, &e.Streams[0])))
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, []any{dataset.CodeRowLength, "action", 1}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Subject, e.Notes.Damage()[0].Count})
	assert.Equal(t, "[NaN NaN 0 1]", fmt.Sprint(floats(t, &episode(t, s, 1).Streams[0])))
	s = open(t, m.dir, lerobot.Options{Strict: true})
	_, err := s.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

func TestWithoutEpisodeIndexTheListSaysWhere(t *testing.T) {
	m := make3(t)
	m.drop("episode_index")
	m.groups = []int{5}
	s := open(t, m.write(), lerobot.Options{})
	require.Equal(t, 2, s.Len())
	assert.Equal(t, []float64{3, -1.5, 4, -2}, floats(t, &episode(t, s, 1).Streams[0]))

	require.NoError(t, os.RemoveAll(m.path("meta/episodes")))
	s = open(t, m.dir, lerobot.Options{})
	assert.Zero(t, s.Len())
	hasProblem(t, s, dataset.Note{Code: dataset.CodeUnreadable, Subject: dataFile, Count: 1}, "column episode_index: no such name: got none of whole numbers")
}

func TestARowGroupWithoutEpisodesIsTold(t *testing.T) {
	m := make3(t)
	m.lengths, m.groups = []int{3, 1, 1}, []int{3, 2}
	m.options = []parquet.WriterOption{parquet.Compression(&parquet.Uncompressed)}
	dir := m.write()
	require.NoError(t, os.RemoveAll(m.path("meta/episodes")))
	changeFooter(t, m.path(dataFile), func(meta *format.FileMetaData) { meta.RowGroups[1].Columns[1].MetaData.Codec = format.LZO })
	s := open(t, dir, lerobot.Options{})
	assert.Equal(t, 1, s.Len())
	hasProblem(t, s, dataset.Note{Code: dataset.CodeRowGroupUnplaced, Subject: dataFile, Count: 1}, "LZO")
}

func TestABrokenColumnOfEpisodeNumbersCostsItself(t *testing.T) {
	m := make3(t)
	m.groups = []int{5}
	m.options = []parquet.WriterOption{parquet.Compression(&parquet.Uncompressed)}
	dir := m.write()
	for codec, told := range map[format.CompressionCodec]string{format.LZO: "compression LZO", format.Snappy: "snappy data"} {
		changeFooter(t, m.path(dataFile), func(meta *format.FileMetaData) { meta.RowGroups[0].Columns[1].MetaData.Codec = codec })
		s := open(t, dir, lerobot.Options{})
		hasProblem(t, s, dataset.Note{Code: dataset.CodeColumnUnused, Subject: "feature episode_index", Count: 1}, "")
		require.Equal(t, 2, s.Len())
		e := episode(t, s, 1)
		assert.Equal(t, []float64{3, -1.5, 4, -2}, floats(t, &e.Streams[0]))
		left := e.Notes.Of(dataset.ClassLeftOut)
		require.Len(t, left, 1)
		assert.Contains(t, left[0].Reason(), told)
		assert.Equal(t, map[bool]dataset.Code{true: dataset.CodeBroken, false: dataset.CodeUnsupported}[codec == format.Snappy], left[0].Code)
		assert.Equal(t, codec == format.Snappy, e.Notes.Damage() != nil)
	}
}

func TestAnEpisodeWithoutRows(t *testing.T) {
	m := make3(t)
	m.lengths = []int{2, 0}
	s := open(t, m.write2(), lerobot.Options{Strict: true})
	require.Equal(t, 2, s.Len())
	e := episode(t, s, 1)
	assert.Empty(t, e.Streams)
	require.Len(t, e.Notes, 1)
	assert.Equal(t, dataset.CodeNoSamples, e.Notes[0].Code)
	assert.Len(t, e.Empty[0].Columns, 2)
}

// A feature of language is no stream of numbers, in an episode without rows either.
func TestAnEpisodeWithoutRowsHasNoNumbersOfLanguage(t *testing.T) {
	m := make3(t)
	m.lengths = []int{2, 0}
	m.column("language_events", "language", utf8, nil, func(int) any { return "[]" })
	e := episode(t, open(t, m.write2(), lerobot.Options{}), 1)
	assert.NotNil(t, e.Notes.Find(dataset.CodeNoSamples))
	require.Len(t, e.Empty, 1)
	assert.Equal(t, "action", e.Empty[0].Name)
}

// readAll reads what there is, and fails on an error that is neither the format's nor the system's, and on streams that are not sound.
func readAll(t testing.TB, dir string, opt lerobot.Options) {
	_, wrong := mutate.Read(func(opt dataset.Options) (dataset.Dataset, error) {
		return lerobot.Open(context.Background(), dir, opt)
	}, opt)
	require.NoError(t, wrong)
}

// withImages is a small dataset with columns of every kind.
func withImages(t testing.TB) *made {
	m := make3(t)
	m.add(column{"top", nil, 0, func(row int) any { return image{bytes: []byte("\xff\xd8\xff picture"), path: "p.jpg"} }},
		map[string]any{"dtype": "image", "shape": []int{3, 4, 3}, "names": nil})
	m.column("note", "string", utf8, nil, func(row int) any { return fmt.Sprint("note ", row/2) })
	m.column("next.done", "bool", flag, nil, func(row int) any { return row == 4 })
	return m
}

func TestAFileThatEndsAnywhereIsReadAsFarAsItGoes(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := make3(t)
	m.lengths = []int{2}
	everywhere := func(dir, name string, at func(n int)) {
		whole := filetest.Read(t, m.path(name))
		for n := range whole {
			if near := min(n, len(whole)-n); near > 32 && n%97 != 0 && n%thorough.Of(8, 1) != 0 {
				continue
			}
			filetest.Write(t, m.path(name), whole[:n])
			readAll(t, dir, lerobot.Options{})
			if n%97 == 0 {
				at(n)
			}
		}
		filetest.Write(t, m.path(name), whole)
	}
	dir := m.write()
	for _, name := range []string{"meta/episodes/chunk-000/file-000.parquet", "meta/tasks.parquet"} {
		everywhere(dir, name, func(int) {
			s := open(t, dir, lerobot.Options{})
			contains(t, problems(s), "unreadable "+name)
			assert.Equal(t, []float64{0, 0, 1, -0.5}, floats(t, &episode(t, s, 0).Streams[0]))
		})
	}
	m.dir += "2"
	dir = m.write2()
	const data = "data/chunk-000/episode_000000.parquet"
	everywhere(dir, data, func(int) {
		s := open(t, dir, lerobot.Options{})
		hasProblem(t, s, dataset.Note{Code: dataset.CodeUnreadable, Subject: data, Count: 1, Detail: dataset.Detail{Want: "0"}}, "")
		_, err := s.Episode(context.Background(), 0)
		assert.ErrorIs(t, err, dataset.ErrTruncated)
	})
	everywhere(dir, "meta/info.json", func(int) {
		_, err := lerobot.Open(context.Background(), dir, lerobot.Options{})
		assert.Error(t, err)
	})
	everywhere(dir, "meta/episodes.jsonl", func(int) { open(t, dir, lerobot.Options{}) })
}

func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	v3, v2 := withImages(t), withImages(t)
	dir := filepath.Dir(v3.dir)
	v2.dir = filepath.Join(dir, "v2")
	v3.write()
	v2.write2()
	seeds, err := mutate.Files(dir, "made/"+dataFile, "made/meta/episodes/chunk-000/file-000.parquet", "made/meta/tasks.parquet", "made/meta/info.json",
		"v2/data/chunk-000/episode_000001.parquet", "v2/meta/info.json", "v2/meta/episodes.jsonl", "v2/meta/tasks.jsonl")
	require.NoError(t, err)
	for i, s := range seeds {
		if strings.HasSuffix(s.Name, ".parquet") { // the footer declares the sizes
			seeds[i].From = max(0, len(s.Data)-2000)
		}
	}
	words := []string{"{", "}", "[", "]", ",", ":", "\"", "null", "-1", "1e300", "99999999999", "\n", "/", "{chunk_index:03d}"}
	mutate.Run(t, mutate.Plan{Seeds: seeds, Words: words, Few: 1000, Most: 256 << 20, Try: func(m mutate.Mutant) {
		set, _, _ := strings.Cut(m.Seed.Name, "/")
		require.NoError(t, m.In(dir, func() { readAll(t, filepath.Join(dir, set), lerobot.Options{Strict: m.N%3 == 0}) }))
	}})
}

// Whatever a data file holds: no panic, errors that are typed, streams that are sound.
func FuzzData(f *testing.F) {
	m := withImages(f)
	dir := m.write()
	whole, err := os.ReadFile(m.path(dataFile))
	require.NoError(f, err)
	f.Add(whole)
	if b, err := os.ReadFile(filepath.Join("../../../shared/data/lerobot_studio/lerobotv3", dataFile)); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		filetest.Write(t, m.path(dataFile), b)
		readAll(t, dir, lerobot.Options{})
	})
}

// The same of what a dataset says of itself.
func FuzzInfo(f *testing.F) {
	m := withImages(f)
	dir := m.write()
	whole, err := os.ReadFile(m.path("meta/info.json"))
	require.NoError(f, err)
	f.Add(whole)
	var info map[string]any
	require.NoError(f, json.Unmarshal(whole, &info))
	f.Fuzz(func(t *testing.T, b []byte) {
		filetest.Write(t, m.path("meta/info.json"), b)
		readAll(t, dir, lerobot.Options{})
	})
}

func TestFilesAndFoldersThatCannotBeReadAreTold(t *testing.T) {
	m := make3(t)
	dir := m.write()
	require.NoError(t, os.Symlink("nowhere", m.path("data/chunk-000/file-001.parquet")))
	hasProblem(t, open(t, dir, lerobot.Options{}), dataset.Note{Code: dataset.CodeFileMissing, Subject: "data/chunk-000/file-001.parquet", Count: 1})
	require.NoError(t, os.MkdirAll(m.path("data/chunk-001"), 0))
	if os.Geteuid() == 0 {
		t.Skip("root may read everywhere")
	}
	hasProblem(t, open(t, dir, lerobot.Options{}), dataset.Note{Code: dataset.CodeUnreadable, Subject: "data/chunk-001", Count: 1}, "")
}

func TestVideosThatInfoAloneHasTakeNoMemoryForEachEpisode(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	m := make3(t)
	const n = 1000 // videos, and episodes
	m.lengths = make([]int, n)
	for i := range m.lengths {
		m.lengths[i] = 1
	}
	for i := range n {
		name := fmt.Sprint("camera", i)
		m.features[name] = map[string]any{"dtype": "video"}
		m.order = append(m.order, name)
	}
	m.columns = slices.DeleteFunc(m.columns, func(c column) bool { return c.name != "episode_index" })
	dir := m.write()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	open(t, dir, lerobot.Options{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, after.HeapAlloc, before.HeapAlloc+25<<20, "a million places would take 100 MB")
}

func TestAFileThatWasNotFetchedSaysSo(t *testing.T) {
	m := make3(t)
	dir := m.write()
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	filetest.Write(t, m.path(dataFile), pointer)
	s := open(t, dir, lerobot.Options{})
	contains(t, problems(s), "a pointer of Git LFS stands for the file, which was not fetched")
	require.Equal(t, 2, s.Len())
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	dir := make3(t).write()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := lerobot.Open(ctx, dir, lerobot.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

// One long row among many short ones would take the memory of as many long ones.
func TestAColumnOfRowsOfVeryDifferentLengthsIsLeftOut(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := make3(t)
	m.lengths = []int{30}
	m.list("long", 1<<20, func(row int) any { return make([]float64, 1+row/29*(1<<20-1)) })
	e := episode(t, open(t, m.write(), lerobot.Options{}), 0)
	require.Len(t, e.Notes.Damage(), 1)
	n := e.Notes.Damage()[0]
	assert.Equal(t, []any{dataset.CodeRowLengths, "long"}, []any{n.Code, n.Subject})
	assert.Equal(t, "long", e.Notes.Of(dataset.ClassLeftOut)[0].Subject)
}

func TestTimesThatCannotBeUsedAreCounted(t *testing.T) {
	m := make3(t)
	m.column("timestamp", "float32", f32, nil, func(row int) any { return []float64{0, 0.1, math.Inf(1), 0, 0.1}[row] })
	m.column("frame_index", "float32", f32, nil, func(row int) any { return []float64{0, 0.5, 1, 0, 1}[row] })
	e := episode(t, open(t, m.write(), lerobot.Options{Clock: "timestamp"}), 0)
	for _, code := range []dataset.Code{dataset.CodeTimestampUnusable, dataset.CodeIndexNotWhole, dataset.CodeTimesCounted} {
		if n := e.Notes.Find(code); assert.NotNil(t, n, code) {
			assert.Equal(t, 1, n.Count)
		}
	}
	assert.Equal(t, []int64{0, 1e8, 2e8}, e.Streams[0].Nanoseconds())
}

func TestAVideoWithoutFramesIsCounted(t *testing.T) {
	m := filmed(t, 24)
	m.film("h264_front.mp4", film2)
	dir := m.write2()
	b := filetest.Read(t, m.path(film2))
	for _, table := range []string{"stsz", "stts"} {
		i := bytes.Index(b, []byte(table)) + len(table) + 4
		clear(b[i : i+8]) // the numbers of its entries
	}
	filetest.Write(t, m.path(film2), b)
	e := episode(t, open(t, dir, lerobot.Options{}), 0)
	n := e.Notes.Find(dataset.CodeVideoEmpty)
	require.NotNil(t, n, "%v", e.Notes)
	assert.Equal(t, []any{camera, 1}, []any{n.Subject, n.Count})
}
