package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

const sharedFolder = "../../../../shared/data"

func sharedSet(t *testing.T, name string) string {
	folder := filepath.Join(sharedFolder, name)
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the shared recordings are not here: ", name)
	}
	return folder
}

// parquetColumns reads a file by the library, value by value: each leaf's values in order, nil for a null.
func parquetColumns(t *testing.T, path string) map[string][]any {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	st, err := file.Stat()
	require.NoError(t, err)
	f, err := parquet.OpenFile(file, st.Size())
	require.NoError(t, err)
	out := map[string][]any{}
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 16)
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				for _, v := range row {
					path := f.Schema().Columns()[v.Column()]
					name := path[0]
					if last := path[len(path)-1]; last == "path" {
						name += ".path"
					}
					out[name] = append(out[name], plainValue(v))
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, rows.Close())
	}
	return out
}

func plainValue(v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	switch v.Kind() {
	case parquet.Float:
		return v.Float()
	case parquet.Double:
		return v.Double()
	case parquet.Int64:
		return v.Int64()
	case parquet.Boolean:
		return v.Boolean()
	}
	return string(v.ByteArray())
}

// g1Episode reads an episode of the v2.1 recording as a stream each of state and action.
func g1Episode(t *testing.T, i int) *dataset.Episode {
	cols := parquetColumns(t, filepath.Join(sharedSet(t, "lerobot_v21_g1"), "data", "chunk-000", fmt.Sprintf("episode_%06d.parquet", i)))
	rows := len(cols["index"])
	times, err := dataset.StepTimes(rows, 30)
	require.NoError(t, err)
	e := &dataset.Episode{Name: fmt.Sprintf("%06d", i)}
	for _, name := range []string{"observation.state", "action"} {
		values := make([]float32, len(cols[name]))
		for k, v := range cols[name] {
			values[k] = v.(float32)
		}
		columns := make([]dataset.Column, len(values)/rows)
		for c := range columns {
			columns[c] = dataset.Column{Name: fmt.Sprint(c), Type: "float32"}
		}
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, len(columns))), columns)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	return e
}

// g1Tasks are those that the shared v3 dataset gives the episodes.
func g1Tasks(t *testing.T) []string {
	var out []string
	for _, v := range parquetColumns(t, filepath.Join(sharedSet(t, "lerobot_v3_g1"), "meta/episodes/chunk-000/file-000.parquet"))["tasks"] {
		out = append(out, v.(string))
	}
	return out
}

// writeG1 writes the eight episodes as v3, with a new file where the shared dataset has one.
func writeG1(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "g1")
	w, err := Create(path, Options{FPS: 30, RobotType: "Unitree_G1_Inspire"})
	require.NoError(t, err)
	defer w.Close()
	w.limit = 512 << 10
	for i, task := range g1Tasks(t) {
		e := g1Episode(t, i)
		e.Attributes.Task = task
		require.NoError(t, w.Add(context.Background(), e))
	}
	require.NoError(t, w.Commit(context.Background()))
	return path
}

// TestG1AsLeRobotHasIt compares with the same episodes in v3.0, of which other software wrote tables and statistics.
func TestG1AsLeRobotHasIt(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	want := sharedSet(t, "lerobot_v3_g1")
	got := writeG1(t)

	a, b := map[string][]any{}, map[string][]any{}
	for _, file := range []string{"data/chunk-000/file-000.parquet", "data/chunk-000/file-001.parquet"} {
		for k, v := range parquetColumns(t, filepath.Join(want, file)) {
			a[k] = append(a[k], v...)
		}
		for k, v := range parquetColumns(t, filepath.Join(got, file)) {
			b[k] = append(b[k], v...)
		}
	}
	require.Len(t, b, len(a))
	for k := range a {
		require.Len(t, b[k], len(a[k]), k)
		for i := range a[k] {
			require.Equal(t, a[k][i], b[k][i], "%s %d", k, i)
		}
	}
	assert.Len(t, b["index"], 3313)

	episodes := "meta/episodes/chunk-000/file-000.parquet"
	a, b = parquetColumns(t, filepath.Join(want, episodes)), parquetColumns(t, filepath.Join(got, episodes))
	apart := 0
	for k := range a {
		if strings.HasPrefix(k, "videos/") || strings.HasPrefix(k, "stats/observation.images.") {
			continue // painted videos, which were not added
		}
		if k == "data/file_index" {
			continue // rows take fewer bytes here, where a dictionary would be larger than the values
		}
		// numpy's first edge is 1e-10 below the minimum, which float32 can tell where the minimum is nearly 0. The shared file has the
		// minimum itself.
		if feature, quantile := path.Split(k); strings.HasPrefix(quantile, "q") {
			for i, v := range b[k] {
				low := math.Abs(b[feature+"min"][i].(float64)) < 1e-10*(1<<24)
				if low && math.Abs(v.(float64)-a[k][i].(float64)) <= 1e-10+math.Abs(v.(float64))/(1<<23) {
					b[k][i] = a[k][i]
					apart++
				}
			}
		}
		assert.Equal(t, a[k], b[k], k)
	}
	for k := range b {
		assert.Contains(t, a, k)
	}
	t.Log("quantiles that are 1e-10 apart: ", apart)
	assert.Equal(t, parquetColumns(t, filepath.Join(want, "meta/tasks.parquet")), parquetColumns(t, filepath.Join(got, "meta/tasks.parquet")))
}

func readJSON(t *testing.T, path string) (out map[string]any) {
	text := filetest.Read(t, path)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// TestG1StatisticsOfAllRows compares stats.json with LeRobot's: minimum, maximum and count to the bit, mean and deviation as far as the
// float32 of its episodes goes; its quantiles are bounds of ours.
func TestG1StatisticsOfAllRows(t *testing.T) {
	const float32Sum = 504.0 / (1 << 24) // each of the up to 504 additions of an episode rounds by half a unit in the last place of float32, at most
	a := readJSON(t, filepath.Join(sharedSet(t, "lerobot_v3_g1"), "meta/stats.json"))
	b := readJSON(t, filepath.Join(writeG1(t), "meta/stats.json"))
	for feature, v := range b {
		ours, theirs := v.(map[string]any), a[feature].(map[string]any)
		for _, name := range layout.StatNames {
			x, y := ours[name].([]any), theirs[name].([]any)
			require.Len(t, x, len(y), feature)
			for i := range x {
				g, w := x[i].(float64), y[i].(float64)
				where := fmt.Sprintf("%s %s %d", feature, name, i)
				switch name {
				case "min", "max", "count":
					assert.Equal(t, w, g, where)
				case "mean":
					assert.InDelta(t, w, g, float32Sum*(1+math.Abs(w)), where)
				case "std": // the difference of two such sums
					mean := theirs["mean"].([]any)[i].(float64)
					assert.InDelta(t, w*w, g*g, 2*float32Sum*(mean*mean+w*w+1e-30), where)
				}
			}
		}
	}
}
