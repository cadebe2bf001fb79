package lerobot_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// column is a column to be written: for each row nil, a number, a text, an image, or a list of numbers or texts or lists of numbers.
type column struct {
	name string
	leaf parquet.Node // nil for images
	deep int          // of lists
	at   func(row int) any
}

// image is a value of a column of images.
type image struct {
	bytes []byte
	path  string
}

var (
	f32  = parquet.Leaf(parquet.FloatType)
	f64  = parquet.Leaf(parquet.DoubleType)
	i64  = parquet.Int(64)
	i8   = parquet.Int(8)
	flag = parquet.Leaf(parquet.BooleanType)
	utf8 = parquet.String()
)

// valueOf is a number or text as the leaf's type has it.
func valueOf(leaf parquet.Node, v any) parquet.Value {
	if s, ok := v.(string); ok {
		return parquet.ByteArrayValue([]byte(s))
	}
	var x float64
	switch n := v.(type) {
	case float64:
		x = n
	case float32:
		x = float64(n)
	case int:
		if leaf.Type().Kind() == parquet.Int64 {
			return parquet.Int64Value(int64(n))
		}
		x = float64(n)
	case bool:
		return parquet.BooleanValue(n)
	}
	switch leaf.Type().Kind() {
	case parquet.Float:
		return parquet.FloatValue(float32(x))
	case parquet.Double:
		return parquet.DoubleValue(x)
	case parquet.Int32:
		return parquet.Int32Value(int32(x))
	}
	return parquet.Int64Value(int64(x))
}

// appendValue appends a value with its levels. Def is the level above which the value is.
func appendValue(row parquet.Row, leaf parquet.Node, v any, deep, rep, def, col int) parquet.Row {
	if v == nil {
		return append(row, parquet.NullValue().Level(rep, def, col))
	}
	if deep == 0 {
		return append(row, valueOf(leaf, v).Level(rep, def+1, col))
	}
	list := listOf(v)
	if len(list) == 0 {
		return append(row, parquet.NullValue().Level(rep, def+1, col))
	}
	for i, one := range list {
		r := rep
		if i > 0 {
			r = (def + 2) / 2 // the list's own
		}
		row = appendValue(row, leaf, one, deep-1, r, def+2, col)
	}
	return row
}

func listOf(v any) (list []any) {
	switch v := v.(type) {
	case []any:
		return v
	case []float64:
		for _, x := range v {
			list = append(list, x)
		}
	case []float32:
		for _, x := range v {
			list = append(list, x)
		}
	case []string:
		for _, x := range v {
			list = append(list, x)
		}
	case [][]float64:
		for _, x := range v {
			list = append(list, x)
		}
	}
	return list
}

// writeParquet writes rows in row groups of the sizes given.
func writeParquet(t testing.TB, path string, columns []column, groups []int, options ...parquet.WriterOption) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	columns = slices.Clone(columns)
	slices.SortFunc(columns, func(a, b column) int { return strings.Compare(a.name, b.name) }) // as the library does
	node := parquet.Group{}
	for _, c := range columns {
		if c.leaf == nil {
			node[c.name] = parquet.Optional(parquet.Group{
				"bytes": parquet.Optional(parquet.Leaf(parquet.ByteArrayType)), "path": parquet.Optional(parquet.String()),
			})
			continue
		}
		leaf := c.leaf
		if leaf.Type().Kind() != parquet.Boolean {
			leaf = parquet.Encoded(leaf, &parquet.RLEDictionary)
		}
		n := parquet.Optional(leaf)
		for range c.deep {
			n = parquet.Optional(parquet.List(n))
		}
		node[c.name] = n
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	options = append([]parquet.WriterOption{parquet.NewSchema("schema", node), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)},
		options...)
	w := parquet.NewWriter(f, options...)
	row := 0
	for _, n := range groups {
		for range n {
			var out parquet.Row
			col := 0
			for _, c := range columns {
				v := c.at(row)
				if c.leaf != nil {
					out = appendValue(out, c.leaf, v, c.deep, 0, 0, col)
					col++
					continue
				}
				b, p := parquet.NullValue().Level(0, 0, col), parquet.NullValue().Level(0, 0, col+1)
				if img, ok := v.(image); ok {
					b, p = parquet.NullValue().Level(0, 1, col), parquet.NullValue().Level(0, 1, col+1)
					if img.bytes != nil {
						b = parquet.ByteArrayValue(img.bytes).Level(0, 2, col)
					}
					if img.path != "" {
						p = parquet.ByteArrayValue([]byte(img.path)).Level(0, 2, col+1)
					}
				}
				out = append(out, b, p)
				col += 2
			}
			_, err := w.WriteRows([]parquet.Row{out})
			require.NoError(t, err)
			row++
		}
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
}

// made is a small dataset of version 3, to be changed before it is written.
type made struct {
	t        testing.TB
	dir      string
	lengths  []int // of the episodes
	columns  []column
	features map[string]any
	info     map[string]any
	order    []string
	groups   []int    // of rows; nil for one an episode
	tasks    []string // of the dataset
	options  []parquet.WriterOption
}

// where returns the episode and the frame of a row.
func (m *made) where(row int) (episode, frame int) {
	for row >= m.lengths[episode] {
		row -= m.lengths[episode]
		episode++
	}
	return episode, row
}

// make3 is a dataset of two episodes, of 3 and 2 rows.
func make3(t testing.TB) *made {
	m := &made{t: t, dir: filepath.Join(t.TempDir(), "made"), lengths: []int{3, 2}, features: map[string]any{}, tasks: []string{"lift the cup"}}
	m.info = map[string]any{
		"codebase_version": "v3.0", "robot_type": "so100", "fps": 10, "chunks_size": 1000, "splits": map[string]string{"train": "0:2"},
		"data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "video_path": nil,
	}
	m.column("timestamp", "float32", f32, nil, func(row int) any { _, f := m.where(row); return float32(f) / 10 })
	m.column("frame_index", "int64", i64, nil, func(row int) any { _, f := m.where(row); return f })
	m.column("episode_index", "int64", i64, nil, func(row int) any { e, _ := m.where(row); return e })
	m.column("index", "int64", i64, nil, func(row int) any { return row })
	m.column("task_index", "int64", i64, nil, func(int) any { return 0 })
	m.list("action", 2, func(row int) any { return []float64{float64(row), -float64(row) / 2} })
	return m
}

// column adds a feature of shape [1], or replaces it.
func (m *made) column(name, dtype string, leaf parquet.Node, names any, at func(row int) any) {
	m.add(column{name, leaf, 0, at}, map[string]any{"dtype": dtype, "shape": []int{1}, "names": names})
}

// list adds a feature of so many float32.
func (m *made) list(name string, width int, at func(row int) any) {
	m.add(column{name, f32, 1, at}, map[string]any{"dtype": "float32", "shape": []int{width}, "names": nil})
}

func (m *made) add(c column, feature map[string]any) {
	m.drop(c.name)
	m.columns = append(m.columns, c)
	m.features[c.name] = feature
	m.order = append(m.order, c.name)
}

func (m *made) drop(name string) {
	m.columns = slices.DeleteFunc(m.columns, func(c column) bool { return c.name == name })
	m.order = slices.DeleteFunc(m.order, func(n string) bool { return n == name })
	delete(m.features, name)
}

func (m *made) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m *made) rows() (n int) {
	for _, l := range m.lengths {
		n += l
	}
	return n
}

const dataFile = "data/chunk-000/file-000.parquet"

// write writes all files, and returns the folder.
func (m *made) write() string {
	m.writeInfo()
	groups := m.groups
	if groups == nil {
		groups = m.lengths
	}
	writeParquet(m.t, m.path(dataFile), m.columns, groups, m.options...)
	pandas := `{"index_columns": ["task"]}`
	writeParquet(m.t, m.path("meta/tasks.parquet"), []column{
		{"task_index", i64, 0, func(row int) any { return row }}, {"task", utf8, 0, func(row int) any { return m.tasks[row] }},
	}, []int{len(m.tasks)}, parquet.KeyValueMetadata("pandas", pandas))
	m.writeEpisodes(nil)
	require.NoError(m.t, os.WriteFile(m.path("meta/stats.json"), []byte("{}"), 0o644))
	return m.dir
}

// writeInfo writes meta/info.json with the features in their order.
func (m *made) writeInfo() {
	for key, n := range map[string]int{"total_episodes": len(m.lengths), "total_frames": m.rows(), "total_tasks": len(m.tasks)} {
		if _, set := m.info[key]; !set {
			m.info[key] = n
		}
	}
	var features []string
	for _, name := range m.order {
		f, err := json.Marshal(m.features[name])
		require.NoError(m.t, err)
		features = append(features, fmt.Sprintf("%q: %s", name, f))
	}
	m.info["features"] = json.RawMessage("{" + strings.Join(features, ", ") + "}")
	b, err := json.Marshal(m.info)
	require.NoError(m.t, err)
	require.NoError(m.t, os.MkdirAll(m.path("meta"), 0o755))
	require.NoError(m.t, os.WriteFile(m.path("meta/info.json"), b, 0o644))
}

// writeEpisodes writes meta/episodes; more are columns to be added, or to take the place of those there are.
func (m *made) writeEpisodes(more []column) {
	first := func(e int) (n int) {
		for _, l := range m.lengths[:e] {
			n += l
		}
		return n
	}
	columns := []column{
		{"episode_index", i64, 0, func(e int) any { return e }}, {"length", i64, 0, func(e int) any { return m.lengths[e] }},
		{"tasks", utf8, 1, func(int) any { return []string{m.tasks[0]} }},
		{"data/chunk_index", i64, 0, func(int) any { return 0 }}, {"data/file_index", i64, 0, func(int) any { return 0 }},
		{"dataset_from_index", i64, 0, func(e int) any { return first(e) }}, {"dataset_to_index", i64, 0, func(e int) any { return first(e + 1) }},
	}
	for _, c := range more {
		columns = append(slices.DeleteFunc(columns, func(o column) bool { return o.name == c.name }), c)
	}
	writeParquet(m.t, m.path("meta/episodes/chunk-000/file-000.parquet"), columns, []int{len(m.lengths)})
}

// write2 writes the dataset as version 2.1, a file an episode.
func (m *made) write2() string {
	m.info["codebase_version"] = "v2.1"
	m.info["data_path"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
	m.writeInfo()
	first := 0
	var episodes, tasks strings.Builder
	for e, n := range m.lengths {
		columns := slices.Clone(m.columns)
		for i := range columns {
			at, begin := columns[i].at, first
			columns[i].at = func(row int) any { return at(begin + row) }
		}
		writeParquet(m.t, m.path(fmt.Sprintf("data/chunk-000/episode_%06d.parquet", e)), columns, []int{n}, m.options...)
		fmt.Fprintf(&episodes, `{"episode_index": %d, "tasks": [%q], "length": %d}`+"\n", e, m.tasks[0], n)
		first += n
	}
	for i, task := range m.tasks {
		fmt.Fprintf(&tasks, `{"task_index": %d, "task": %q}`+"\n", i, task)
	}
	for name, text := range map[string]string{"episodes.jsonl": episodes.String(), "tasks.jsonl": tasks.String(), "episodes_stats.jsonl": ""} {
		require.NoError(m.t, os.WriteFile(m.path("meta/"+name), []byte(text), 0o644))
	}
	return m.dir
}
