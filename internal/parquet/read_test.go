package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

func opened(t testing.TB, file []byte) *File {
	path := filepath.Join(t.TempDir(), "x.parquet")
	filetest.Write(t, path, file)
	f, err := Open("lerobot", path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// listPage is a page of version 1 of a column that is an optional list of optional float32.
func listPage(t testing.TB, reps, defs []byte, values []float32) []byte {
	packed := func(levels []byte, width int) []byte {
		groups := (len(levels) + 7) / 8
		b := []byte{byte(groups<<1 | 1)}
		bits := make([]byte, groups*width)
		for i, l := range levels {
			for k := range width {
				if l>>k&1 != 0 {
					at := i*width + k
					bits[at/8] |= 1 << (at % 8)
				}
			}
		}
		b = append(b, bits...)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	body := append(packed(reps, 1), packed(defs, 2)...)
	for _, v := range values {
		body = binary.LittleEndian.AppendUint32(body, math.Float32bits(v))
	}
	head, err := thrift.Marshal(&thrift.CompactProtocol{}, &format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(len(reps)), DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE}),
	})
	require.NoError(t, err)
	return append(head, body...)
}

// Data pages of version 1 may end within a row.
func TestARowMayGoOnInTheNextPage(t *testing.T) {
	_, meta := split(t, numbers(t))
	data := []byte("PAR1")
	data = append(data, listPage(t, []byte{0, 1, 0}, []byte{3, 3, 3}, []float32{1, 2, 3})...)
	data = append(data, listPage(t, []byte{1, 0, 0, 0}, []byte{3, 1, 0, 2}, []float32{4})...) // an empty list, none, and a null value
	data = append(data, listPage(t, []byte{1, 1}, []byte{3, 2}, []float32{5})...)
	data = append(data, listPage(t, []byte{0, 1}, []byte{3, 3}, []float32{6, 7})...)
	c := &meta.RowGroups[0].Columns[0].MetaData
	c.Codec, c.DataPageOffset, c.DictionaryPageOffset, c.TotalCompressedSize, c.NumValues = format.Uncompressed, 4, 0, int64(len(data)-4), 11
	meta.RowGroups[0].Columns[1].MetaData = *c
	meta.RowGroups[0].NumRows = 6
	nan := float32(math.NaN())
	rows := [][]float32{{1, 2}, {3, 4}, {}, {}, {nan, 5, nan}, {6, 7}}
	for _, ranges := range [][][2]int64{{{0, 6}}, {{1, 2}, {4, 5}, {0, 1}, {5, 6}}, {{2, 4}, {3, 6}}, {{5, 6}, {4, 5}}} {
		f := opened(t, join(t, append(data, make([]byte, 64)...), meta))
		for _, r := range ranges {
			v := &Values{}
			require.NoError(t, f.Column("list").Read(context.Background(), 0, r[0], r[1], v))
			require.Equal(t, int(r[1]-r[0]), v.Rows)
			var want []float32
			for i, row := range rows[r[0]:r[1]] {
				want = append(want, row...)
				if v.Lens != nil {
					assert.Equal(t, len(row), v.Lens[i])
				} else {
					assert.Equal(t, len(row), v.Width)
				}
			}
			require.Len(t, v.Float32, len(want))
			nulls := 0
			for i := range want {
				if want[i] != want[i] {
					assert.Equal(t, i, v.Nulls[nulls])
					nulls++
				} else {
					assert.Equal(t, want[i], v.Float32[i])
				}
			}
			assert.Len(t, v.Nulls, nulls)
		}
	}
}

func TestColumnsThatMayNotBeNull(t *testing.T) {
	schema := parquet.NewSchema("schema", parquet.Group{
		"a": parquet.List(parquet.Leaf(parquet.FloatType)), "b": parquet.Uint(32), "c": parquet.Leaf(parquet.BooleanType), "d": parquet.Int(16),
		"e": parquet.Repeated(parquet.Leaf(parquet.DoubleType)),
		"f": parquet.Timestamp(parquet.Nanosecond),
	})
	var b bytes.Buffer
	w := parquet.NewWriter(&b, schema)
	for i := range 20 {
		_, err := w.WriteRows([]parquet.Row{{
			parquet.FloatValue(float32(i)).Level(0, 1, 0), parquet.FloatValue(1).Level(1, 1, 0), parquet.Int32Value(-1).Level(0, 0, 1),
			parquet.BooleanValue(i%3 == 0).Level(0, 0, 2), parquet.Int32Value(int32(-i)).Level(0, 0, 3), parquet.DoubleValue(0).Level(0, 1, 4),
			parquet.Int64Value(int64(i)).Level(0, 0, 5),
		}})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	f := opened(t, b.Bytes())
	types, values := map[string]string{}, map[string]*Values{}
	for _, c := range f.Columns() {
		v := &Values{}
		require.NoError(t, c.Read(context.Background(), 0, 17, 19, v))
		types[c.Name], values[c.Name] = c.Type, v
	}
	assert.Equal(t, map[string]string{"a": "float32", "b": "uint32", "c": "bool", "d": "int16", "e": "float64", "f": "int64"}, types)
	assert.Equal(t, []float32{17, 1, 18, 1}, values["a"].Float32)
	assert.Equal(t, []int64{math.MaxUint32, math.MaxUint32}, values["b"].Int64)
	assert.Equal(t, []int64{0, 1}, values["c"].Int64)
	assert.Equal(t, []int64{-17, -18}, values["d"].Int64)
	assert.Equal(t, []float64{0, 0}, values["e"].Float64)
	assert.Equal(t, []int64{17, 18}, values["f"].Int64)
	assert.Equal(t, 1, values["e"].Width)
	low, high, ok := f.Column("f").Bounds(0)
	assert.Equal(t, []any{0.0, 19.0, true}, []any{low, high, ok})
}

func TestCodecs(t *testing.T) {
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Lz4Raw, &parquet.Brotli} {
		var b bytes.Buffer
		w := parquet.NewWriter(&b, parquet.NewSchema("schema", parquet.Group{"x": parquet.Leaf(parquet.Int64Type)}), parquet.Compression(codec))
		for i := range 5000 {
			_, err := w.WriteRows([]parquet.Row{{parquet.Int64Value(int64(i/7)).Level(0, 0, 0)}})
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		v := &Values{}
		require.NoError(t, opened(t, b.Bytes()).Column("x").Read(context.Background(), 0, 0, 5000, v), codec)
		for i, x := range v.Int64 {
			require.Equal(t, int64(i/7), x, codec)
		}
	}
}

func TestEncodings(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rows = 1000
	whole := make([]int64, rows)
	texts := make([]string, rows)
	for i := range whole {
		whole[i] = []int64{0, int64(i), -int64(r.Uint64() >> 1), int64(r.Uint64() >> 1), math.MinInt64, math.MaxInt64}[r.IntN(6)]
		texts[i] = strings.Repeat("robot", r.IntN(4))
	}
	number, f32, f64 := parquet.Leaf(parquet.Int64Type), parquet.Leaf(parquet.FloatType), parquet.Leaf(parquet.DoubleType)
	for name, c := range map[string]struct {
		leaf parquet.Node
		enc  encoding.Encoding
		at   func(i int) parquet.Value
	}{
		"plain int64":   {number, &parquet.Plain, func(i int) parquet.Value { return parquet.Int64Value(whole[i]) }},
		"dictionary":    {number, &parquet.RLEDictionary, func(i int) parquet.Value { return parquet.Int64Value(whole[i]) }},
		"delta int64":   {number, &parquet.DeltaBinaryPacked, func(i int) parquet.Value { return parquet.Int64Value(whole[i]) }},
		"delta int32":   {parquet.Int(32), &parquet.DeltaBinaryPacked, func(i int) parquet.Value { return parquet.Int32Value(int32(whole[i])) }},
		"split float":   {f32, &parquet.ByteStreamSplit, func(i int) parquet.Value { return parquet.FloatValue(float32(whole[i])) }},
		"split float64": {f64, &parquet.ByteStreamSplit, func(i int) parquet.Value { return parquet.DoubleValue(float64(whole[i])) }},
		"plain text":    {parquet.String(), &parquet.Plain, func(i int) parquet.Value { return parquet.ByteArrayValue([]byte(texts[i])) }},
		"text by length": {parquet.String(), &parquet.DeltaLengthByteArray, func(i int) parquet.Value {
			return parquet.ByteArrayValue([]byte(texts[i]))
		}},
		"text by prefix": {parquet.String(), &parquet.DeltaByteArray, func(i int) parquet.Value {
			return parquet.ByteArrayValue([]byte(texts[i]))
		}},
		"text by dictionary": {parquet.String(), &parquet.RLEDictionary, func(i int) parquet.Value {
			return parquet.ByteArrayValue([]byte(texts[i]))
		}},
	} {
		for version := 1; version <= 2; version++ {
			var b bytes.Buffer
			w := parquet.NewWriter(&b, parquet.NewSchema("schema", parquet.Group{"x": parquet.Optional(parquet.Encoded(c.leaf, c.enc))}),
				parquet.DataPageVersion(version), parquet.PageBufferSize(700))
			for i := range rows {
				v := c.at(i).Level(0, 1, 0)
				if i%7 == 3 {
					v = parquet.NullValue().Level(0, 0, 0)
				}
				_, err := w.WriteRows([]parquet.Row{{v}})
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
			v := &Values{}
			x := opened(t, b.Bytes()).Column("x")
			require.NoError(t, x.Read(context.Background(), 0, 10, 990, v), name)
			require.Equal(t, 980, v.Rows)
			nulls := 0
			for k := range v.Rows {
				i := k + 10
				if i%7 == 3 {
					require.Equal(t, k, v.Nulls[nulls])
					nulls++
					continue
				}
				var ok bool
				switch {
				case v.Texts != nil:
					ok = v.Texts[k] == texts[i]
				case v.Float32 != nil:
					ok = v.Float32[k] == float32(whole[i])
				case v.Float64 != nil:
					ok = v.Float64[k] == float64(whole[i])
				case x.Type == "int32":
					ok = v.Int64[k] == int64(int32(whole[i]))
				default:
					ok = v.Int64[k] == whole[i]
				}
				require.True(t, ok, "%s, row %d", name, i)
			}
			require.Len(t, v.Nulls, nulls)
		}
	}
}
