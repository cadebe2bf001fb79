package columns

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
var all = []Column{
	{Name: "z/scalar,f32", Kind: Float32}, {Name: "f64", Kind: Float64}, {Name: "i64", Kind: Int64}, {Name: "yes", Kind: Bool}, {Name: "text", Kind: String},
	{Name: "vector", Kind: Float32, Shape: []int{3}}, {Name: "one", Kind: String, Shape: []int{1}}, {Name: "image", Kind: Image},
	{Name: "deep", Kind: Float64, Shape: []int{2, 2, 3}}, {Name: "counts", Kind: Int64, Shape: []int{2}}, {Name: "flags", Kind: Bool, Shape: []int{2}},
}

// zeros is rows that are nothing but what a careless writer takes for absent: zeros, false, empty text and empty bytes.
func zeros(n int) []Data {
	data := make([]Data, len(all))
	for i, c := range all {
		w := n * c.width()
		data[i] = Data{
			Float32: make([]float32, w), Float64: make([]float64, w), Int64: make([]int64, w), Bool: make([]bool, w), String: make([]string, w),
			Image: make([]Picture, w),
		}
	}
	return data
}

// numbered is rows of which each value is another.
func numbered(n int) []Data {
	data := zeros(n)
	for c := range data {
		for i := range data[c].Float32 {
			data[c].Float32[i] = float32(i) / 7
			data[c].Float64[i] = float64(i) / 7
			data[c].Int64[i] = int64(i) - 3
			data[c].Bool[i] = i%3 == 1
			data[c].String[i] = string(rune('a' + i%26))
			data[c].Image[i] = Picture{Bytes: bytes.Repeat([]byte{byte(i)}, i), Path: string(rune('A' + i%26))}
		}
	}
	return data
}

func write(t *testing.T, groups ...int) ([]byte, Proof) {
	var out bytes.Buffer
	w := NewWriter(&out, all, map[string]string{"b": "2", "a": "1"})
	for i, n := range groups {
		data := zeros(n)
		if i%2 == 1 {
			data = numbered(n)
		}
		require.NoError(t, w.WriteGroup(n, data))
	}
	proof, err := w.Close()
	require.NoError(t, err)
	return out.Bytes(), proof
}

// read returns the values of every leaf of every row group, as the library reads them.
func read(t *testing.T, file []byte) (leaves map[string][][]parquet.Value) {
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
	file, proof := write(t, 5, 4, 1)
	require.NoError(t, proof.Check(context.Background(), bytes.NewReader(file), int64(len(file)), nil))
	leaves := read(t, file)
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
				assert.True(t, parquet.Equal(v, valueOf(want[i].leaves(c.Kind)[0], k)), "%s %d: %v", c.Name, k, v)
			}
		}
	}
	assert.Len(t, leaves["image.path"][1], 4)
	assert.Equal(t, "D", leaves["image.path"][1][3].String())
}

func TestListsInListsBeginWhereTheyShould(t *testing.T) {
	deep := Column{Shape: []int{2, 2, 3}}
	got := []int{}
	for i := range deep.width() {
		got = append(got, deep.repetition(i))
	}
	assert.Equal(t, []int{0, 3, 3, 2, 3, 3, 1, 3, 3, 2, 3, 3}, got)
	assert.Equal(t, 7, deep.definition())
	pixel := Column{Shape: []int{3, 1, 1}}
	assert.Equal(t, []int{0, 1, 1}, []int{pixel.repetition(0), pixel.repetition(1), pixel.repetition(2)})
}

// TestTheSchemaIsAsPyarrowWritesIt compares with what pyarrow 22 has in files of lerobot 0.5.
func TestTheSchemaIsAsPyarrowWritesIt(t *testing.T) {
	file, _ := write(t, 1)
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
	a, _ := write(t, 70, 70, 3)
	b, _ := write(t, 70, 70, 3)
	assert.Equal(t, a, b)
}

// valueOf is value i as the library has it.
func valueOf(d leafData, i int) parquet.Value {
	switch {
	case d.float32 != nil:
		return parquet.FloatValue(d.float32[i])
	case d.float64 != nil:
		return parquet.DoubleValue(d.float64[i])
	case d.int64 != nil:
		return parquet.Int64Value(d.int64[i])
	case d.bool != nil:
		return parquet.BooleanValue(d.bool[i])
	}
	return parquet.ByteArrayValue(d.bytes[i])
}

// TestADictionaryIsThereWhereItIsSmaller writes columns of several pages whose values are all different, some different, and all the same.
func TestADictionaryIsThereWhereItIsSmaller(t *testing.T) {
	shape := []int{50}
	columns := []Column{
		{Name: "different", Kind: Float64, Shape: shape}, {Name: "some", Kind: Float64, Shape: shape}, {Name: "same", Kind: Float32, Shape: shape},
		{Name: "whole", Kind: Int64, Shape: shape}, {Name: "zeros", Kind: Float64, Shape: shape}, {Name: "first half", Kind: Float64, Shape: shape},
	}
	const n = 50 * 6000
	data := make([]Data, len(columns))
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
	proof, err := w.Close()
	require.NoError(t, err)
	got := make([]Data, len(columns))
	require.NoError(t, proof.Check(context.Background(), bytes.NewReader(out.Bytes()), int64(out.Len()), func(b Block) {
		assert.Zero(t, (len(b.Float32)+len(b.Float64)+len(b.Int64))%50, "blocks have whole rows")
		d := &got[b.Column]
		d.Float32, d.Float64, d.Int64 = append(d.Float32, b.Float32...), append(d.Float64, b.Float64...), append(d.Int64, b.Int64...)
	}))
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

func TestAnotherFileIsNoProof(t *testing.T) {
	file, proof := write(t, 5, 4, 1)
	other, _ := write(t, 5, 3, 1)
	ctx := context.Background()
	assert.ErrorIs(t, proof.Check(ctx, bytes.NewReader(other), int64(len(other)), nil), errDiffers)
	seen := 0
	for i := 0; i < len(file); i += 9 {
		bad := bytes.Clone(file)
		bad[i] ^= 0x10
		assert.ErrorIs(t, check(proof, bad), errDiffers)
		// Were the bytes as they left, a value that differs is seen all the same, and never is there a panic.
		blind := proof
		h := newHash()
		_, _ = h.Write(bad)
		blind.bytes = h.Sum64()
		if check(blind, bad) != nil {
			seen++
		}
	}
	assert.Greater(t, seen, len(file)/100)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, proof.Check(cancelled, bytes.NewReader(file), int64(len(file)), nil), context.Canceled)
}

func check(p Proof, file []byte) error {
	return p.Check(context.Background(), bytes.NewReader(file), int64(len(file)), nil)
}

func TestAZeroThatBecameNullIsSeen(t *testing.T) {
	zero := leafData{float64: []float64{0}}
	a, b := newSum(), newSum()
	a.add(zero)
	a.levels(nil, []byte{1})
	b.levels(nil, []byte{0})
	assert.NotEqual(t, a.end(), b.end())
	c, d := newSum(), newSum()
	c.add(zero)
	c.levels([]byte{0}, []byte{3})
	d.add(zero)
	d.levels([]byte{1}, []byte{3})
	assert.NotEqual(t, c.end(), d.end(), "a value of the next row")
}

func TestListsOfAnyLength(t *testing.T) {
	var out bytes.Buffer
	ragged := []Column{{Name: "i", Kind: Int64}, {Name: "texts", Kind: String, Ragged: true}}
	w := NewWriter(&out, ragged, nil)
	require.NoError(t, w.WriteGroup(3, []Data{{Int64: []int64{0, 1, 2}}, {String: []string{"", "b", "c", "", "e"}, Lengths: []int{1, 3, 1}}}))
	proof, err := w.Close()
	require.NoError(t, err)
	require.NoError(t, check(proof, out.Bytes()))
	var got []string
	var at []int
	for _, v := range read(t, out.Bytes())["texts"][0] {
		got, at = append(got, v.String()), append(at, v.RepetitionLevel())
		assert.Equal(t, 3, v.DefinitionLevel())
	}
	assert.Equal(t, []string{"", "b", "c", "", "e"}, got)
	assert.Equal(t, []int{0, 0, 1, 1, 0}, at)
	for _, lengths := range [][]int{{1, 4}, {1, 3, 2}, {5, 0, 0}, nil} {
		w := NewWriter(&bytes.Buffer{}, ragged[1:], nil)
		assert.Panics(t, func() { _ = w.WriteGroup(3, []Data{{String: make([]string, 5), Lengths: lengths}}) }, lengths)
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
	file, _ := write(t, 5, 4)
	for left := 0; left < len(file); left += 97 {
		w := NewWriter(&full{left}, all, map[string]string{"b": "2", "a": "1"})
		err := w.WriteGroup(5, zeros(5))
		if err == nil {
			err = w.WriteGroup(4, numbered(4))
		}
		_, closing := w.Close()
		assert.True(t, err != nil || closing != nil, "%d bytes", left)
	}
}

func TestDataOfAnotherLengthIsAMistakeInTheCaller(t *testing.T) {
	w := NewWriter(&bytes.Buffer{}, all[:1], nil)
	assert.Panics(t, func() { _ = w.WriteGroup(2, []Data{{Float32: []float32{1}}}) })
	assert.Panics(t, func() { _ = w.WriteGroup(2, nil) })
}
