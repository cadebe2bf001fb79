package all_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// tableRow is a row of a LeRobot v2.1 table.
type tableRow struct {
	State     []float32 `parquet:"observation.state"`
	Action    []float32 `parquet:"action"`
	Note      string    `parquet:"note"`
	Timestamp float32   `parquet:"timestamp"`
	Frame     int64     `parquet:"frame_index"`
	Episode   int64     `parquet:"episode_index"`
	Index     int64     `parquet:"index"`
	Task      int64     `parquet:"task_index"`
}

// tables writes a LeRobot dataset of two episodes with 12 rows each.
func tables(t *testing.T, change func(row *tableRow)) string {
	dir, episodes := t.TempDir(), ""
	for number := range int64(2) {
		var rows []tableRow
		for k := range int64(12) {
			v := float32(k)
			row := tableRow{[]float32{v, -v}, []float32{v + 1}, fmt.Sprint("n", k), v / 10, k, number, number*12 + k, 0}
			if number == 0 {
				change(&row)
			}
			rows = append(rows, row)
		}
		path := filepath.Join(dir, "data", "chunk-000", fmt.Sprintf("episode_%06d.parquet", number))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, parquet.WriteFile(path, rows))
		episodes += fmt.Sprintf(`{"episode_index": %d, "tasks": ["push"], "length": 12}`+"\n", number)
	}
	filetest.Write(t, filepath.Join(dir, "meta", "episodes.jsonl"), episodes)
	filetest.Write(t, filepath.Join(dir, "meta", "tasks.jsonl"), `{"task_index": 0, "task": "push"}`+"\n")
	filetest.Write(t, filepath.Join(dir, "meta", "info.json"), `{"codebase_version": "v2.1", "fps": 10, "total_episodes": 2, "total_frames": 24, "chunks_size": 1000,
		"data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet", "features": {
		"observation.state": {"dtype": "float32", "shape": [2], "names": null}, "action": {"dtype": "float32", "shape": [1], "names": null},
		"note": {"dtype": "string", "shape": [1]},
		"timestamp": {"dtype": "float32", "shape": [1]}, "frame_index": {"dtype": "int64", "shape": [1]}, "episode_index": {"dtype": "int64", "shape": [1]},
		"index": {"dtype": "int64", "shape": [1]}, "task_index": {"dtype": "int64", "shape": [1]}}}`)
	return dir
}

// If a list in one row of a table has another length, all other values are read, and a note counts the row.
func TestARowOfAnotherSizeCostsItself(t *testing.T) {
	s := sweep{}
	whole, err := s.read(t.Context(), tables(t, func(*tableRow) {}))
	require.NoError(t, err)
	require.Empty(t, whole.errs)
	for what, change := range map[string]func(list []float32) []float32{
		"empty": func([]float32) []float32 { return nil }, "doubled": func(l []float32) []float32 { return append(l, l...) }, "shorter": func(l []float32) []float32 { return l[:1] },
	} {
		for _, at := range []int64{0, 5, 11} {
			part, err := s.read(t.Context(), tables(t, func(row *tableRow) {
				if row.Frame == at {
					row.State = change(row.State)
				}
			}))
			require.NoError(t, err)
			require.Empty(t, part.errs)
			lost := 0
			for element, n := range whole.elements {
				lost += max(n-part.elements[element], 0)
			}
			require.Equal(t, [2]int{whole.count, 1}, [2]int{part.count, lost}, "%s, row %d: the row is there without its values", what, at)
			require.Error(t, part.noted(whole), "%s, row %d", what, at)
		}
	}
}

// If one array of an archive has another length, the streams of the other arrays are read, and a note names it.
func TestAnArrayOfAnotherSizeCostsItself(t *testing.T) {
	archive := func(rows, columns int) string {
		path := filepath.Join(t.TempDir(), "a.npz")
		f, err := os.Create(path)
		require.NoError(t, err)
		w := npz.NewWriter(f, npz.Options{})
		for _, name := range []string{"arm", "hand"} {
			times, err := tensor.New(tensor.F64, 12)
			require.NoError(t, err)
			list, err := tensor.Data[float64](times)
			require.NoError(t, err)
			for i := range list {
				list[i] = float64(i)
			}
			n, m := 12, 2
			if name == "arm" {
				n, m = rows, columns
			}
			values, err := tensor.New(tensor.F64, n, m)
			require.NoError(t, err)
			require.NoError(t, w.Add(name+".times", times))
			require.NoError(t, w.Add(name+".values", values))
		}
		require.NoError(t, w.Close())
		require.NoError(t, f.Close())
		return path
	}
	s := sweep{}
	whole, err := s.read(t.Context(), archive(12, 2))
	require.NoError(t, err)
	require.Equal(t, 24, whole.count)
	for _, shape := range [][2]int{{0, 2}, {24, 2}, {11, 2}, {12, 0}} {
		part, err := s.read(t.Context(), archive(shape[0], shape[1]))
		require.NoError(t, err)
		require.Empty(t, part.errs)
		require.Equal(t, 12, part.count, "%v: the hand", shape)
		require.Error(t, part.noted(whole), "%v", shape)
	}
}
