package parquet

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// languageFiles are tables by arrow-rs with lists and structures: the first with dictionaries and null columns, the second in
// small pages, the third with nulls in the lists of a column.
var languageFiles = []string{
	"../../dataset/lerobot/testdata/language/data/chunk-000/file-000.parquet", "../../dataset/lerobot/testdata/language/data/chunk-000/file-001.parquet",
	"../../dataset/lerobot/testdata/language/data/chunk-000/file-002.parquet",
}

var languageColumns = []string{"language_persistent", "language_events"}

// lists reads a column's lists, some rows at a time.
func lists(t testing.TB, path, column string, from, to, step int64) (*Lists, error) {
	f, err := Open("lerobot", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := f.Column(column)
	if c == nil {
		return nil, &dataset.FormatError{Kind: dataset.ErrUnsupported}
	}
	v := &Values{AsLists: true}
	for ; from < to; from += step {
		if err := c.Read(context.Background(), 0, from, min(from+step, to), v); err != nil {
			return nil, err
		}
	}
	return v.Lists, nil
}

// written returns a file with the lists.
func written(t testing.TB, columns ...*Lists) string {
	fields, data := []Field{{Name: "n", Type: "int64"}}, []Values{{Int64: make([]int64, len(columns[0].Rows))}}
	for _, l := range columns {
		fields, data = append(fields, Field{Name: l.Name(), Lists: l}), append(data, Values{Lists: l})
	}
	var b bytes.Buffer
	w := NewWriter(&b, fields, nil)
	require.NoError(t, w.WriteGroup(len(columns[0].Rows), data))
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "x.parquet")
	filetest.Write(t, path, b.Bytes())
	return path
}

// Lists are written as they were read: the library's own reader finds the same rows in both files.
func TestListsAreWrittenAsTheyWereRead(t *testing.T) {
	for i, path := range languageFiles {
		rows := []int64{19, 40, 3}[i]
		var all []*Lists
		for _, column := range languageColumns {
			whole, err := lists(t, path, column, 0, rows, rows)
			require.NoError(t, err)
			for _, step := range []int64{1, 3, 7} {
				if 2*step > rows {
					continue
				}
				l, err := lists(t, path, column, 0, rows, step)
				require.NoError(t, err)
				assert.Equal(t, whole.Rows, l.Rows)
				l, err = lists(t, path, column, step, rows-step, rows)
				require.NoError(t, err)
				assert.Equal(t, whole.Rows[step:rows-step], l.Rows)
			}
			all = append(all, whole)
		}
		out := written(t, all...)
		a, err := parquet.ReadFile[any](path)
		require.NoError(t, err)
		b, err := parquet.ReadFile[any](out)
		require.NoError(t, err)
		for k := range a {
			for _, column := range languageColumns {
				assert.Equal(t, a[k].(map[string]any)[column], b[k].(map[string]any)[column], "%s of row %d", column, k)
			}
		}
		for k, column := range languageColumns {
			again, err := lists(t, out, column, 0, rows, rows)
			require.NoError(t, err)
			assert.Equal(t, all[k].Rows, again.Rows)
			assert.True(t, all[k].SameSchema(again))
		}
	}
}

// Levels that no list has, or that differ between the columns in one list, are an error.
func TestLevelsOfNoListAreRefused(t *testing.T) {
	l, err := lists(t, languageFiles[1], "language_events", 0, 40, 40) // camera has levels to 1 and 4, tool_calls to 2 and 6
	require.NoError(t, err)
	row := func(levels ...int) (part []parquet.Value) {
		for i := 0; i < len(levels); i += 2 {
			part = append(part, parquet.Value{}.Level(levels[i], levels[i+1], 0))
		}
		return part
	}
	for name, c := range map[string]struct {
		before, part []parquet.Value
		fits         bool
	}{
		"two elements":                  {row(0, 4, 1, 3), row(0, 6, 2, 5, 1, 3), true},
		"no list":                       {row(0, 0), row(0, 0), true},
		"an empty list":                 {row(0, 1), row(0, 1), true},
		"an element that is null":       {row(0, 2), row(0, 2), true},
		"an inner list that is empty":   {row(0, 4), row(0, 4), true},
		"a repetition beyond":           {row(0, 4), row(0, 6, 3, 6), false},
		"a definition beyond":           {row(0, 4), row(0, 7), false},
		"a list after no list":          {row(0, 0), row(0, 0, 1, 3), false},
		"an empty list that goes on":    {row(0, 4, 1, 3), row(0, 6, 1, 1), false},
		"an inner list after none":      {row(0, 4), row(0, 3, 2, 5), false},
		"fewer elements than before":    {row(0, 4, 1, 4), row(0, 6), false},
		"an element that is null alone": {row(0, 4), row(0, 2), false},
		"a list that is null alone":     {row(0, 1), row(0, 0), false},
	} {
		assert.Equal(t, c.fits, l.fits(ListRow{c.before, c.before, c.before, c.before, c.part}, 4), name)
	}
}

// If a file is cut at any byte, or if any byte is changed, its lists can be written, or the error is typed.
func TestBrokenListsAreErrors(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	for i, path := range languageFiles {
		rows := []int64{19, 40, 3}[i]
		file := filetest.Read(t, path)
		broken := filepath.Join(t.TempDir(), "broken.parquet")
		typed := func(err error, name string, at int) {
			var bad *dataset.FormatError
			assert.ErrorAs(t, err, &bad, "%s %d", name, at)
		}
		for n := 0; n < len(file); n += thorough.Of(11, 1) {
			filetest.Write(t, broken, file[:n])
			_, err := lists(t, broken, languageColumns[0], 0, rows, rows)
			typed(err, "cut at", n)
		}
		refused := 0
		for n := 0; n < len(file); n += thorough.Of(61, 1) {
			changed := slices.Clone(file)
			changed[n] ^= 1 << (n % 8)
			filetest.Write(t, broken, changed)
			for _, column := range languageColumns {
				l, err := lists(t, broken, column, 0, rows, rows)
				if err != nil {
					typed(err, "changed at", n)
					refused++
					continue
				}
				out := written(t, l)
				again, err := lists(t, out, column, 0, rows, rows)
				if assert.NoError(t, err, "changed at %d", n) && assert.Len(t, again.Rows, len(l.Rows)) {
					for k := range l.Rows {
						assert.True(t, slices.EqualFunc(l.Rows[k], again.Rows[k], func(a, b []parquet.Value) bool { return slices.EqualFunc(a, b, parquet.DeepEqual) }), "changed at %d", n)
					}
				}
			}
		}
		assert.Greater(t, refused, 10)
	}
}
