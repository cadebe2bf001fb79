package write

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// languageSet is a dataset by arrow-rs with language columns, of which values.json has the values.
const languageSet = "../testdata/language"

// languageRow is a row in values.json.
type languageRow struct {
	Episode    int `json:"episode"`
	Row        int `json:"row"`
	Persistent any `json:"language_persistent"`
	Events     any `json:"language_events"`
}

// golden returns the rows in values.json.
func golden(t *testing.T) (rows []languageRow) {
	require.NoError(t, json.Unmarshal(filetest.Read(t, languageSet+"/values.json"), &rows))
	return rows
}

// languageOf reads the language columns of a dataset by the library's own reader.
func languageOf(t *testing.T, path string) (rows []languageRow) {
	files, err := filepath.Glob(filepath.Join(path, "data", "*", "*.parquet"))
	require.NoError(t, err)
	for _, file := range files {
		list, err := parquet.ReadFile[any](file)
		require.NoError(t, err)
		for _, row := range list {
			of := row.(map[string]any)
			text, err := json.Marshal(map[string]any{"episode": of["episode_index"], "row": of["frame_index"],
				"language_persistent": of["language_persistent"], "language_events": of["language_events"]})
			require.NoError(t, err)
			var one languageRow
			require.NoError(t, json.Unmarshal(text, &one))
			rows = append(rows, one)
		}
	}
	return rows
}

// spoken reads an episode with its language columns.
func spoken(t *testing.T, path string, number int) *dataset.Episode {
	d, err := lerobot.Open(context.Background(), path, lerobot.Options{Lists: true})
	require.NoError(t, err)
	defer d.Close()
	e, err := d.Episode(context.Background(), number)
	require.NoError(t, err)
	require.Empty(t, e.Notes)
	return e
}

// wrote writes episodes and returns the dataset's path and the notes.
func wrote(t *testing.T, fps float64, episodes ...*dataset.Episode) (string, dataset.Notes) {
	path := filepath.Join(t.TempDir(), "out")
	w, err := Create(path, Options{FPS: fps})
	require.NoError(t, err)
	defer w.Close()
	for _, e := range episodes {
		require.NoError(t, w.Add(context.Background(), e))
	}
	require.NoError(t, w.Commit(context.Background()))
	return path, w.Report().Notes
}

// thin takes every step-th row of an episode from row first on, like a plan with a lower rate.
func thin(t *testing.T, e *dataset.Episode, first, step int) *dataset.Episode {
	var rows []int
	for i := first; i < e.Frames; i += step {
		rows = append(rows, i)
	}
	copied := *e
	copied.Streams = slices.Clone(e.Streams)
	for i := range copied.Streams {
		s := &copied.Streams[i]
		for _, of := range []**tensor.Tensor{&s.Times, &s.Values} {
			var err error
			*of, err = (*of).Take(0, rows)
			require.NoError(t, err)
		}
	}
	return &copied
}

// Language columns are written value by value, whatever lists are null or empty, of episodes that share a file, and of files with other types.
func TestLanguageColumnsStayAsTheyAre(t *testing.T) {
	want := golden(t)
	require.Len(t, want, 62)
	assert.Equal(t, want, languageOf(t, languageSet))
	path, notes := wrote(t, 20, spoken(t, languageSet, 0), spoken(t, languageSet, 1), spoken(t, languageSet, 2), spoken(t, languageSet, 3))
	assert.Empty(t, notes)
	assert.Equal(t, want, languageOf(t, path))
	again, _ := wrote(t, 20, spoken(t, path, 0), spoken(t, path, 1), spoken(t, path, 2), spoken(t, path, 3))
	for _, name := range []string{"file-000.parquet", "file-001.parquet", "file-002.parquet"} {
		name = filepath.Join("data", "chunk-000", name)
		assert.Equal(t, filetest.Read(t, filepath.Join(path, name)), filetest.Read(t, filepath.Join(again, name)))
	}

	d, err := lerobot.Open(context.Background(), path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer d.Close()
	assert.Empty(t, d.Info().Notes)
	for _, name := range layout.Language {
		i := slices.IndexFunc(d.Info().Features, func(f dataset.Feature) bool { return f.Name == name })
		require.GreaterOrEqual(t, i, 0)
		assert.Equal(t, dataset.Feature{Name: name, DType: "language", Shape: []int{1}}, d.Info().Features[i])
	}
}

// An episode of another order has its own values, and one of the second file begins a file of its types.
func TestLanguageColumnsOfChosenEpisodes(t *testing.T) {
	want := golden(t)
	path, _ := wrote(t, 20, spoken(t, languageSet, 2), spoken(t, languageSet, 1))
	got := languageOf(t, path)
	require.Len(t, got, 47)
	for i := range got {
		from := want[min(i+19, 58)]
		if i >= 40 {
			from = want[i-40+12]
		}
		assert.Equal(t, from.Persistent, got[i].Persistent, i)
		assert.Equal(t, from.Events, got[i].Events, i)
	}
	files, err := filepath.Glob(filepath.Join(path, "data", "*", "*"))
	require.NoError(t, err)
	assert.Len(t, files, 2)
}

// At another rate, a row has the persistent value at or before it, and each event is in the first row at or after it.
func TestLanguageColumnsOfResampledRows(t *testing.T) {
	want := golden(t)
	for _, c := range []struct {
		first, step int
		events      map[int][]int // source rows whose events a row has
		notes       dataset.Notes
	}{
		{0, 4, map[int][]int{1: {1, 2}, 2: {7}}, dataset.Notes{
			{Code: dataset.CodeEventsMoved, Subject: "language_events", Count: 3}, {Code: dataset.CodeAfterClock, Subject: "language_events", Count: 1}}},
		{1, 2, map[int][]int{0: {1}, 1: {2}, 3: {7}, 5: {11}}, dataset.Notes{
			{Code: dataset.CodeListTimes, Subject: "language_persistent", Count: 6, Detail: dataset.Detail{Got: "0.05"}},
			{Code: dataset.CodeEventsMoved, Subject: "language_events", Count: 1}}},
		{3, 4, map[int][]int{0: {1, 2}, 1: {7}, 2: {11}}, dataset.Notes{
			{Code: dataset.CodeListTimes, Subject: "language_persistent", Count: 3, Detail: dataset.Detail{Got: "0.15"}},
			{Code: dataset.CodeEventsMoved, Subject: "language_events", Count: 2}}},
	} {
		path, notes := wrote(t, 20/float64(c.step), thin(t, spoken(t, languageSet, 0), c.first, c.step))
		got := languageOf(t, path)
		for i, row := range got {
			events := []any{}
			for _, from := range c.events[i] {
				events = append(events, want[from].Events.([]any)...)
			}
			assert.Equal(t, events, row.Events, "row %d of every %d", i, c.step)
			assert.Equal(t, want[0].Persistent, row.Persistent)
		}
		assert.Equal(t, c.notes, slices.DeleteFunc(notes, func(n dataset.Note) bool { return n.Code == dataset.CodeNoPlace }), "every %d", c.step)
	}

	path, notes := wrote(t, 2, thin(t, spoken(t, languageSet, 2), 0, 10)) // rows 0, 10, 20 and 30 of values that hold for a few rows
	for i, row := range languageOf(t, path) {
		assert.Equal(t, want[19+10*i].Persistent, row.Persistent)
	}
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeBetweenTicks, Subject: "language_persistent", Count: 36}, {Code: dataset.CodeEventsMoved, Subject: "language_events", Count: 2},
	}, notes)
	persistent := spoken(t, languageSet, 1) // null, null, null, [], [], one, one
	path, notes = wrote(t, 4, thin(t, persistent, 0, 5))
	assert.Equal(t, []any{nil, want[12+5].Persistent}, []any{languageOf(t, path)[0].Persistent, languageOf(t, path)[1].Persistent})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeBetweenTicks, Subject: "language_persistent", Count: 1}}, notes)
}

// An episode without the columns of the first has empty lists, and one with more of them loses these with a note.
func TestLanguageColumnsAreThoseOfTheFirstEpisode(t *testing.T) {
	want := golden(t)
	plain := spoken(t, languageSet, 1)
	plain.Lists = nil
	path, notes := wrote(t, 20, spoken(t, languageSet, 0), plain)
	assert.Empty(t, notes)
	got := languageOf(t, path)
	assert.Equal(t, want[:12], got[:12])
	for _, row := range got[12:] {
		assert.Equal(t, []any{[]any{}, []any{}}, []any{row.Persistent, row.Events})
	}
	path, notes = wrote(t, 20, plain, spoken(t, languageSet, 0))
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeNotInFirst, Subject: "language_persistent", Count: 12}, {Code: dataset.CodeNotInFirst, Subject: "language_events", Count: 12},
	}, notes)
	assert.NotContains(t, string(filetest.Read(t, filepath.Join(path, "meta", "info.json"))), "language")
}

// A language column that is broken is damage and left out, with its error; the other one and the numbers are read.
func TestABrokenLanguageColumnIsCounted(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.CopyFS(dir, os.DirFS(languageSet)))
	path := filepath.Join(dir, "data", "chunk-000", "file-000.parquet")
	file := filetest.Read(t, path)
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	chunks := f.Metadata().RowGroups[0].Columns
	at := slices.IndexFunc(chunks, func(c format.ColumnChunk) bool { return c.MetaData.PathInSchema[0] == "language_persistent" })
	file[chunks[at].MetaData.DataPageOffset] = 0xff
	filetest.Write(t, path, file)

	d, err := lerobot.Open(ctx, dir, lerobot.Options{Lists: true})
	require.NoError(t, err)
	defer d.Close()
	e, err := d.Episode(ctx, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"observation.state"}, e.Names())
	require.Len(t, e.Lists, 1)
	assert.Equal(t, "language_events", e.Lists[0].Name)
	require.Len(t, e.Notes, 2)
	assert.Equal(t, []dataset.Code{dataset.CodeColumnUnreadable, dataset.CodeBroken}, []dataset.Code{e.Notes[0].Code, e.Notes[1].Code})
	var bad *dataset.FormatError
	assert.ErrorAs(t, e.Notes[1].Cause, &bad)
	out, _ := wrote(t, 20, e)
	assert.Equal(t, golden(t)[7].Events, languageOf(t, out)[7].Events)

	plain, err := lerobot.Open(ctx, dir, lerobot.Options{}) // the columns are not read
	require.NoError(t, err)
	defer plain.Close()
	e, err = plain.Episode(ctx, 0)
	require.NoError(t, err)
	assert.Empty(t, e.Lists)
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeValueType, Subject: "language_persistent", Count: 12, Detail: dataset.Detail{Got: "a structure"}},
		{Code: dataset.CodeValueType, Subject: "language_events", Count: 12, Detail: dataset.Detail{Got: "a structure"}},
	}, e.Notes)
}
