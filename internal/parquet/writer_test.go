package parquet

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// all is a column of each kind and depth; the names are such that the alphabet has another order.
var all = []Field{
	{Name: "z/scalar,f32", Type: "float32"}, {Name: "f64", Type: "float64"}, {Name: "i64", Type: "int64"}, {Name: "yes", Type: "bool"}, {Name: "text", Type: "string"},
	{Name: "vector", Type: "float32", Shape: []int{3}}, {Name: "one", Type: "string", Shape: []int{1}}, {Name: "image", Type: "image"},
	{Name: "deep", Type: "float64", Shape: []int{2, 2, 3}}, {Name: "counts", Type: "int64", Shape: []int{2}}, {Name: "flags", Type: "bool", Shape: []int{2}},
}

// zeros is rows that are nothing but what a careless writer takes for absent: zeros, false, empty text and empty bytes.
func zeros(n int) []Values {
	data := make([]Values, len(all))
	for i, c := range all {
		w := n * c.width()
		data[i] = Values{
			Float32: make([]float32, w), Float64: make([]float64, w), Int64: make([]int64, w), Texts: make([]string, w),
			Images: make([]Image, w),
		}
	}
	return data
}

// numbered is rows of which each value is another.
func numbered(n int) []Values {
	data := zeros(n)
	for c := range data {
		for i := range data[c].Float32 {
			data[c].Float32[i] = float32(i) / 7
			data[c].Float64[i] = float64(i) / 7
			data[c].Int64[i] = int64(i) - 3
			if all[c].Type == "bool" {
				data[c].Int64[i] = int64(i % 3 & 1)
			}
			data[c].Texts[i] = string(rune('a' + i%26))
			data[c].Images[i] = Image{Bytes: bytes.Repeat([]byte{byte(i)}, i), Path: string(rune('A' + i%26))}
		}
	}
	return data
}

func write(t testing.TB, groups ...int) []byte {
	var out bytes.Buffer
	w := NewWriter(&out, all, map[string]string{"b": "2", "a": "1"})
	for i, n := range groups {
		data := zeros(n)
		if i%2 == 1 {
			data = numbered(n)
		}
		require.NoError(t, w.WriteGroup(n, data))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// byLibrary returns the values of every leaf of every row group, as the library reads them.
func byLibrary(t *testing.T, file []byte) (leaves map[string][][]parquet.Value) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	leaves = map[string][][]parquet.Value{}
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 1)
		group := map[string][]parquet.Value{}
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				for _, v := range row {
					name := f.Schema().Columns()[v.Column()][0]
					if v.Column() > 0 && f.Schema().Columns()[v.Column()][len(f.Schema().Columns()[v.Column()])-1] == "path" {
						name += ".path"
					}
					group[name] = append(group[name], v.Clone())
				}
			}
			if err != nil {
				break
			}
		}
		require.NoError(t, rows.Close())
		for k, v := range group {
			leaves[k] = append(leaves[k], v)
		}
	}
	return leaves
}

func TestZerosAreNotNull(t *testing.T) {
	file := write(t, 5, 4, 1)
	leaves := byLibrary(t, file)
	for i, c := range all {
		groups := leaves[c.Name]
		require.Len(t, groups, 3, c.Name)
		for g, n := range []int{5, 4, 1} {
			require.Len(t, groups[g], n*c.width(), c.Name)
			want := zeros(n)
			if g == 1 {
				want = numbered(n)
			}
			for k, v := range groups[g] {
				assert.False(t, v.IsNull(), "%s %d: null", c.Name, k)
				assert.Equal(t, c.definition(), v.DefinitionLevel(), c.Name)
				assert.True(t, parquet.Equal(v, valueOf(leavesOf(c.Type, &want[i])[0], k)), "%s %d: %v", c.Name, k, v)
			}
		}
	}
	assert.Len(t, leaves["image.path"][1], 4)
	assert.Equal(t, "D", leaves["image.path"][1][3].String())
}

func TestListsInListsBeginWhereTheyShould(t *testing.T) {
	deep := Field{Shape: []int{2, 2, 3}}
	got := []int{}
	for i := range deep.width() {
		got = append(got, deep.repetition(i))
	}
	assert.Equal(t, []int{0, 3, 3, 2, 3, 3, 1, 3, 3, 2, 3, 3}, got)
	assert.Equal(t, 7, deep.definition())
	pixel := Field{Shape: []int{3, 1, 1}}
	assert.Equal(t, []int{0, 1, 1}, []int{pixel.repetition(0), pixel.repetition(1), pixel.repetition(2)})
}

// TestTheSchemaIsAsPyarrowWritesIt compares with what pyarrow 22 has in files of lerobot 0.5.
func TestTheSchemaIsAsPyarrowWritesIt(t *testing.T) {
	file := write(t, 1)
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	assert.Equal(t, `message schema {
	optional float z/scalar,f32;
	optional double f64;
	optional int64 i64 (INT(64,true));
	optional boolean yes;
	optional binary text (STRING);
	optional group vector (LIST) {
		repeated group list {
			optional float element;
		}
	}
	optional group one (LIST) {
		repeated group list {
			optional binary element (STRING);
		}
	}
	optional group image {
		optional binary bytes;
		optional binary path (STRING);
	}
	optional group deep (LIST) {
		repeated group list {
			optional group element (LIST) {
				repeated group list {
					optional group element (LIST) {
						repeated group list {
							optional double element;
						}
					}
				}
			}
		}
	}
	optional group counts (LIST) {
		repeated group list {
			optional int64 element (INT(64,true));
		}
	}
	optional group flags (LIST) {
		repeated group list {
			optional boolean element;
		}
	}
}`, f.Schema().String())
	for _, chunk := range f.Metadata().RowGroups[0].Columns {
		assert.Equal(t, "SNAPPY", chunk.MetaData.Codec.String())
		path := chunk.MetaData.PathInSchema
		assert.Equal(t, path[len(path)-1] == "bytes", chunk.MetaData.Statistics.MaxValue == nil, "bounds of all but images: %v", path)
		for _, e := range chunk.MetaData.Encoding {
			assert.Contains(t, []string{"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY"}, e.String())
		}
	}
	assert.Equal(t, "robocache version 1(build )", f.Metadata().CreatedBy)
	v, ok := f.Lookup("b")
	assert.True(t, ok)
	assert.Equal(t, "2", v)
}

func TestTheSameTwiceIsTheSameBytes(t *testing.T) {
	a := write(t, 70, 70, 3)
	b := write(t, 70, 70, 3)
	assert.Equal(t, a, b)
}

// valueOf is value i as the library has it.
func valueOf(d leafValues, i int) parquet.Value {
	switch d.typ {
	case "float32":
		return parquet.FloatValue(d.float32[i])
	case "float64":
		return parquet.DoubleValue(d.float64[i])
	case "int64":
		return parquet.Int64Value(d.int64[i])
	case "bool":
		return parquet.BooleanValue(d.int64[i] != 0)
	}
	return parquet.ByteArrayValue(d.bytes[i])
}

// TestADictionaryIsThereWhereItIsSmaller writes columns of several pages whose values are all different, some different, and all the same.
func TestADictionaryIsThereWhereItIsSmaller(t *testing.T) {
	shape := []int{50}
	columns := []Field{
		{Name: "different", Type: "float64", Shape: shape}, {Name: "some", Type: "float64", Shape: shape}, {Name: "same", Type: "float32", Shape: shape},
		{Name: "whole", Type: "int64", Shape: shape}, {Name: "zeros", Type: "float64", Shape: shape}, {Name: "first half", Type: "float64", Shape: shape},
	}
	const n = 50 * 6000
	data := make([]Values, len(columns))
	for i := range n {
		data[0].Float64 = append(data[0].Float64, math.Sqrt(float64(i)))
		data[1].Float64 = append(data[1].Float64, math.Sqrt(float64(i%1000)))
		data[2].Float32 = append(data[2].Float32, 7)
		data[3].Int64 = append(data[3].Int64, int64(i%3)-1)
		data[4].Float64 = append(data[4].Float64, math.Copysign(0, float64(i%2)-0.5))
		data[5].Float64 = append(data[5].Float64, math.Sqrt(float64(max(i-n/2, 0))))
	}
	var out bytes.Buffer
	w := NewWriter(&out, columns, nil)
	for range 2 {
		require.NoError(t, w.WriteGroup(6000, data))
	}
	require.NoError(t, w.Close())
	got := make([]Values, len(columns))
	ours := opened(t, out.Bytes())
	for i, c := range columns {
		for g, group := range ours.Groups() {
			require.NoError(t, ours.Column(c.Name).Read(context.Background(), g, 0, group.Rows, &got[i]))
		}
		assert.Equal(t, []int{12_000, 50}, []int{got[i].Rows, got[i].Width})
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	for i, d := range data {
		assert.Equal(t, append(d.Float32, d.Float32...), got[i].Float32)
		assert.Equal(t, append(d.Int64, d.Int64...), got[i].Int64)
		for k, v := range append(d.Float64, d.Float64...) {
			if math.Float64bits(v) != math.Float64bits(got[i].Float64[k]) {
				t.Fatalf("%s %d: %v, want %v", columns[i].Name, k, got[i].Float64[k], v)
			}
		}
		meta := f.Metadata().RowGroups[1].Columns[i].MetaData
		assert.Equal(t, i != 0 && i != 5, meta.DictionaryPageOffset > 0, columns[i].Name)
		assert.Less(t, meta.DataPageOffset-max(meta.DictionaryPageOffset, meta.DataPageOffset-1), int64(dictionaryBytes+1<<18), "the dictionary is no larger")
	}
	assert.Less(t, f.Metadata().RowGroups[0].Columns[2].MetaData.TotalCompressedSize, int64(2000), "of one value a page is a few bytes and the levels")
}

// TestWhatIsWrittenIsReadAsItWas writes columns of every type and depth, zeros among them, and reads them, none of which may be null.
func TestWhatIsWrittenIsReadAsItWas(t *testing.T) {
	groups := []int{5, 4, 1, 300}
	f := opened(t, write(t, groups...))
	require.Len(t, f.Groups(), len(groups))
	for g, n := range groups {
		want := zeros(n)
		if g%2 == 1 {
			want = numbered(n)
		}
		for i, c := range all {
			column := f.Column(c.Name)
			require.Equal(t, c.Type, column.Type)
			if c.Type == "image" {
				for row := int64(0); row < int64(n); {
					images, err := column.Images(context.Background(), g, row, 1<<20)
					require.NoError(t, err)
					for k, image := range images {
						assert.True(t, image.Bytes != nil && bytes.Equal(want[i].Images[row+int64(k)].Bytes, image.Bytes), "image %d", row+int64(k))
					}
					row += int64(len(images))
				}
				continue
			}
			var got Values
			require.NoError(t, column.Read(context.Background(), g, 0, int64(n), &got))
			assert.Equal(t, n, got.Rows)
			assert.Equal(t, c.width(), got.Width)
			assert.Equal(t, c.depth(), column.Rank)
			assert.Empty(t, got.Nulls)
			leaf := leavesOf(c.Type, &want[i])[0]
			assert.Equal(t, leaf, leavesOf(c.Type, &got)[0], c.Name)
		}
	}
}

func TestListsOfAnyLength(t *testing.T) {
	var out bytes.Buffer
	ragged := []Field{{Name: "i", Type: "int64"}, {Name: "texts", Type: "string", Ragged: true}}
	w := NewWriter(&out, ragged, nil)
	require.NoError(t, w.WriteGroup(3, []Values{{Int64: []int64{0, 1, 2}}, {Texts: []string{"", "b", "c", "", "e"}, Lens: []int{1, 3, 1}}}))
	require.NoError(t, w.Close())
	lists := Values{}
	require.NoError(t, opened(t, out.Bytes()).Column("texts").Read(context.Background(), 0, 0, 3, &lists))
	assert.Equal(t, Values{Rows: 3, Lens: []int{1, 3, 1}, Texts: []string{"", "b", "c", "", "e"}}, lists)
	var got []string
	var at []int
	for _, v := range byLibrary(t, out.Bytes())["texts"][0] {
		got, at = append(got, v.String()), append(at, v.RepetitionLevel())
		assert.Equal(t, 3, v.DefinitionLevel())
	}
	assert.Equal(t, []string{"", "b", "c", "", "e"}, got)
	assert.Equal(t, []int{0, 0, 1, 1, 0}, at)
	for _, lengths := range [][]int{{1, 4}, {1, 3, 2}, {5, 0, 0}, nil} {
		w := NewWriter(&bytes.Buffer{}, ragged[1:], nil)
		assert.Panics(t, func() { _ = w.WriteGroup(3, []Values{{Texts: make([]string, 5), Lens: lengths}}) }, lengths)
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestAFullDiskIsAnErrorWhereverItComes(t *testing.T) {
	file := write(t, 5, 4)
	for left := 0; left < len(file); left += 97 {
		w := NewWriter(&full{left}, all, map[string]string{"b": "2", "a": "1"})
		err := w.WriteGroup(5, zeros(5))
		if err == nil {
			err = w.WriteGroup(4, numbered(4))
		}
		closing := w.Close()
		assert.True(t, err != nil || closing != nil, "%d bytes", left)
	}
}

func TestDataOfAnotherLengthIsAMistakeInTheCaller(t *testing.T) {
	w := NewWriter(&bytes.Buffer{}, all[:1], nil)
	assert.Panics(t, func() { _ = w.WriteGroup(2, []Values{{Float32: []float32{1}}}) })
	assert.Panics(t, func() { _ = w.WriteGroup(2, nil) })
}
