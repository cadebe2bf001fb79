package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// event is an element of LeRobot's column language_events.
type event struct {
	Role    string   `parquet:"role"`
	Content *string  `parquet:"content,optional"`
	Style   *string  `parquet:"style,optional"`
	Camera  *string  `parquet:"camera,optional"`
	Calls   []string `parquet:"tool_calls,optional,list"`
}

// utterance is an element of LeRobot's column language_persistent.
type utterance struct {
	Role    string   `parquet:"role"`
	Content *string  `parquet:"content,optional"`
	Style   *string  `parquet:"style,optional"`
	Time    float32  `parquet:"timestamp"`
	Camera  *string  `parquet:"camera,optional"`
	Calls   []string `parquet:"tool_calls,optional,list"`
}

// languageRow is a row of a table with the language columns of LeRobot 0.6.
type languageRow struct {
	numberedRow
	Persistent []utterance `parquet:"language_persistent,optional,list"`
	Events     []event     `parquet:"language_events,optional,list"`
}

// languageSet writes a LeRobot dataset with the language columns.
func languageSet(t testing.TB) string {
	dir := numberedSet(t, false)
	tables, err := filepath.Glob(filepath.Join(dir, "data", "*", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, tables, 3)
	content, style := "reach the cup", "subtask"
	for _, path := range tables {
		numbers, err := parquet.ReadFile[numberedRow](path)
		require.NoError(t, err)
		rows := make([]languageRow, len(numbers))
		for i, n := range numbers {
			rows[i] = languageRow{numberedRow: n, Persistent: []utterance{{Role: "assistant", Content: &content, Style: &style}}}
		}
		rows[3].Events = []event{{Role: "assistant", Calls: []string{`{"name":"say"}`}}}
		require.NoError(t, parquet.WriteFile(path, rows))
	}
	info := filepath.Join(dir, "meta", "info.json")
	text, err := os.ReadFile(info)
	require.NoError(t, err)
	filetest.Write(t, info, strings.Replace(string(text), `"features": {`, `"features": {
		"language_persistent": {"dtype": "language", "shape": [1], "names": null},
		"language_events": {"dtype": "language", "shape": [1], "names": null},`, 1))
	return dir
}

// Each target but LeRobot has a counted note about LeRobot's language columns, because it has no place for lists of structures.
func TestLanguageColumnsAreLeftOutWithANote(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in, dir := languageSet(t), t.TempDir()
	for _, to := range []string{"npz", "safetensors", "mcap", "webdataset"} {
		for name, rate := range map[string][]string{"whole": nil, "resampled": {"--hz=5"}} {
			_, stderr := good(t, append([]string{"convert", in, "-o", filepath.Join(dir, to, name), "--to", to}, rate...)...)
			assert.Contains(t, stderr, "values of a structure: language_persistent, language_events: 240 (in 3 episodes)", to)
		}
	}
	_, stderr := good(t, "pack", in, "-o", filepath.Join(dir, "pack.safetensors"))
	for _, column := range []string{"language_persistent", "language_events"} {
		assert.Contains(t, stderr, "left out: "+column+", values of a structure (in 3 episodes)")
	}
	e, err := opened(t, in).Episode(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeValueType, Subject: "language_persistent", Count: 40, Detail: dataset.Detail{Got: "a structure"}},
		{Code: dataset.CodeValueType, Subject: "language_events", Count: 40, Detail: dataset.Detail{Got: "a structure"}},
	}, e.Notes.Of(dataset.ClassLeftOut))
}

// spokenRow is a row with LeRobot's language columns.
type spokenRow struct {
	Episode    int `json:"episode_index"`
	Row        int `json:"frame_index"`
	Persistent any `json:"language_persistent"`
	Events     any `json:"language_events"`
}

// spokenRows reads a dataset's language columns by the library's own reader.
func spokenRows(t *testing.T, dir string) (rows []spokenRow) {
	files, err := filepath.Glob(filepath.Join(dir, "data", "*", "*.parquet"))
	require.NoError(t, err)
	for _, file := range files {
		list, err := parquet.ReadFile[any](file)
		require.NoError(t, err)
		text, err := json.Marshal(list)
		require.NoError(t, err)
		var of []spokenRow
		require.NoError(t, json.Unmarshal(text, &of))
		rows = append(rows, of...)
	}
	return rows
}

// LeRobot's language columns go to a LeRobot dataset as they are, also in shards that are joined, and if a plan's filter selects
// episodes. At another rate, notes count the lists that were moved or left out.
func TestLanguageColumnsGoToLeRobot(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	const in = "../../dataset/lerobot/testdata/language" // by arrow-rs; dataset/lerobot/write compares it with its golden values
	dir := t.TempDir()
	out := func(name string, args ...string) (string, string) {
		to := filepath.Join(dir, name)
		_, stderr := good(t, append([]string{"convert", "-o", to, "--to", "lerobot"}, args...)...)
		return to, stderr
	}
	want := spokenRows(t, in)
	require.Len(t, want, 62)
	whole, stderr := out("whole", in)
	assert.Equal(t, want, spokenRows(t, whole))
	assert.NotContains(t, stderr, "language")
	stdout, _ := good(t, "doctor", whole)
	assert.Contains(t, stdout, "0 errors and 0 warnings in 4 episodes")
	good(t, "inspect", whole)
	good(t, "stats", whole)

	parts, _ := out("parts", in, "--shards=3")
	joined, _ := out("joined", parts)
	for _, name := range []string{"data/chunk-000/file-000.parquet", "data/chunk-000/file-001.parquet", "data/chunk-000/file-002.parquet", "meta/info.json"} {
		assert.Equal(t, filetest.Read(t, filepath.Join(whole, name)), filetest.Read(t, filepath.Join(joined, name)), name)
	}

	plan := filepath.Join(dir, "plan.yaml")
	filetest.Write(t, plan, "version: 1\nrate: 20\nfilter: {split: late}\nstreams: [{name: observation.state}]\n")
	late := filepath.Join(dir, "late-in")
	require.NoError(t, os.CopyFS(late, os.DirFS(in)))
	info := filepath.Join(late, "meta", "info.json")
	filetest.Write(t, info, strings.Replace(string(filetest.Read(t, info)), `"train": "0:4"`, `"train": "0:1", "late": "1:4"`, 1))
	filtered, stderr := out("filtered", late, "--plan", plan)
	assert.NotContains(t, stderr, "language")
	got := spokenRows(t, filtered)
	require.Len(t, got, 50)
	for i := range got {
		assert.Equal(t, want[12+i].Persistent, got[i].Persistent)
		assert.Equal(t, want[12+i].Events, got[i].Events)
	}

	_, stderr = out("slow", in, "--hz=5")
	assert.Contains(t, stderr, "language_events: the events in 4 rows are in the first row after, because their own was not written (in 2 episodes)")
	assert.Contains(t, stderr, "left out: language_events: after the clock ends: 1 (in 1 episode)")
	assert.Contains(t, stderr, "left out: language_persistent: between ticks: the stream is faster than the clock: 31 (in 2 episodes)")

	plain := numberedSet(t, false)
	_, stderr = out("first", plain, languageSet(t))
	assert.Contains(t, stderr, "the first written episode lacks it: language_persistent, language_events")
	both, stderr := out("both", languageSet(t), plain)
	assert.NotContains(t, stderr, "language")
	assert.Len(t, spokenRows(t, both), 240)
}
