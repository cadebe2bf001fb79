package main

import (
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

// Each target has a counted note about LeRobot's language columns, because none of them has a place for lists of structures.
func TestLanguageColumnsAreLeftOutWithANote(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in, dir := languageSet(t), t.TempDir()
	for _, to := range []string{"lerobot", "npz", "safetensors", "mcap", "webdataset"} {
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
