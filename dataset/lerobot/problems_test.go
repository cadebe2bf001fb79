package lerobot_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
)

// Each difference between what a dataset declares and what it has is a note with the first place and the number of places.
func TestEachDifferenceIsANote(t *testing.T) {
	text := func(m *made, name, text string) {
		require.NoError(m.t, os.WriteFile(m.path(name), []byte(text), 0o644))
	}
	const tasks, list = "meta/tasks.parquet", "meta/episodes/chunk-000/file-000.parquet"
	for _, c := range []struct {
		version int
		change  func(m *made) // after the dataset was written
		want    dataset.Note
		cause   []string
	}{
		{2, func(m *made) { text(m, "meta/tasks.jsonl", "no\n{}\n") }, dataset.Note{Code: dataset.CodeLineUnreadable, Subject: "meta/tasks.jsonl", Count: 2}, []string{"tasks.jsonl"}},
		{2, func(m *made) {
			text(m, "meta/tasks.jsonl", `{"task_index": 5, "task": "a"}`+"\n"+`{"task_index": 5, "task": "b"}`+"\n")
		}, dataset.Note{Code: dataset.CodeNumberTwice, Subject: "meta/tasks", Count: 1, Detail: dataset.Detail{Got: "5", Names: []string{"task"}}}, nil},
		{2, func(m *made) { text(m, "meta/tasks.jsonl", `{"task_index": 5, "task": "a"}`+"\n") },
			dataset.Note{Code: dataset.CodeTaskNumbers, Subject: "meta/tasks", Count: 1, Row: dataset.At(0), Detail: dataset.Detail{Got: "5"}}, nil},
		{2, func(m *made) { text(m, "meta/episodes.jsonl", "") }, dataset.Note{Code: dataset.CodeNoEpisodeListed, Subject: "meta/episodes.jsonl", Count: 1}, nil},
		{2, func(m *made) {
			b := filetest.Read(t, m.path("data/chunk-000/episode_000001.parquet"))
			text(m, "data/chunk-000/episode_1.parquet", string(b))
		}, dataset.Note{Code: dataset.CodeEpisodeFileTwice, Subject: "data/chunk-000/episode_1.parquet", Count: 1, Row: dataset.At(1)}, nil},
		{3, func(m *made) {
			writeParquet(t, m.path(tasks), []column{
				{"task_index", i64, 0, func(row int) any { return 1 - row }}, {"task", utf8, 0, func(row int) any { return []string{"a", "b"}[row] }},
			}, []int{2})
		}, dataset.Note{Code: dataset.CodeRowNumber, Subject: tasks, Count: 2, Row: dataset.At(0), Detail: dataset.Detail{Got: "1", Names: []string{"task"}}}, nil},
		{3, func(m *made) {
			writeParquet(t, m.path(tasks), []column{{"task_index", i64, 0, func(row int) any { return row }}, {"task", utf8, 0, func(int) any { return "a" }}}, []int{1})
		}, dataset.Note{Code: dataset.CodeTasksUnindexed, Subject: tasks, Count: 1}, nil},
		{3, func(m *made) { m.writeEpisodes([]column{{"episode_index", i64, 0, func(e int) any { return 1 - e }}}) },
			dataset.Note{Code: dataset.CodeRowNumber, Subject: list, Count: 2, Row: dataset.At(0), Detail: dataset.Detail{Got: "1", Names: []string{"episode"}}}, nil},
		{3, func(m *made) { m.writeEpisodes([]column{{"length", utf8, 0, func(int) any { return "three" }}}) },
			dataset.Note{Code: dataset.CodeColumnMissing, Subject: list, Count: 1, Detail: dataset.Detail{Names: []string{"length"}}}, nil},
		{3, func(m *made) {
			m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row) })
			writeParquet(t, m.path(dataFile), m.columns, m.lengths)
		}, dataset.Note{Code: dataset.CodeTimestampColumn, Subject: "data", Count: 2, Row: dataset.At(0), Detail: dataset.Detail{Got: "0 s to 2 s", Want: "0 s to 0.2 s", Names: []string{dataFile}}}, nil},
		{3, func(m *made) {
			columns := slices.Clone(m.columns)
			m.drop("action")
			writeParquet(t, m.path("data/chunk-000/file-001.parquet"), m.columns, m.lengths)
			m.columns = columns
		}, dataset.Note{Code: dataset.CodeFileColumns, Subject: "data", Count: 1, Detail: dataset.Detail{Want: dataFile, Names: []string{"data/chunk-000/file-001.parquet"}}}, nil},
		{3, func(m *made) {
			m.features["action"] = map[string]any{"dtype": "video", "shape": []int{2}}
			m.writeInfo()
		}, dataset.Note{Code: dataset.CodeColumnIsVideo, Subject: "feature action", Count: 1, Detail: dataset.Detail{Got: "float32"}}, nil},
		{3, func(m *made) {
			m.order = slices.DeleteFunc(m.order, func(n string) bool { return n == "index" })
			m.writeInfo()
		}, dataset.Note{Code: dataset.CodeFeatureUndeclared, Subject: "meta/info.json", Count: 1, Detail: dataset.Detail{Names: []string{"index"}}}, nil},
		{3, func(m *made) { m.info["fps"] = 0; m.writeInfo() }, dataset.Note{Code: dataset.CodeRateInvalid, Subject: "meta/info.json", Count: 1, Detail: dataset.Detail{Got: "0"}}, nil},
		{3, func(m *made) { m.info["splits"] = "all"; m.writeInfo() }, dataset.Note{Code: dataset.CodeDeclaration, Subject: "meta/info.json", Count: 1}, []string{"splits: "}},
		{3, func(m *made) { text(m, "meta/modality.json", `{"action": {"arm": {"start": 0, "end": 9}}}`) },
			dataset.Note{Code: dataset.CodeSliceBeyond, Subject: "meta/modality.json", Count: 1, Detail: dataset.Detail{Got: "action[0:9]", Want: "2", Names: []string{"modality.action.arm"}}}, nil},
	} {
		m := make3(t)
		write := map[int]func(*made) string{2: (*made).write2, 3: (*made).write}[c.version]
		dir := write(m)
		c.change(m)
		s := open(t, dir, lerobot.Options{})
		hasProblem(t, s, c.want, c.cause...)
		_, err := lerobot.Open(t.Context(), dir, lerobot.Options{Strict: true})
		assert.ErrorIs(t, err, dataset.ErrCorrupt, c.want)
	}
}
