package parquet

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// numbers writes a file of 100 rows of one number, and of lists of two.
func numbers(t testing.TB, options ...parquet.WriterOption) []byte {
	f32 := parquet.Leaf(parquet.FloatType)
	schema := parquet.NewSchema("schema", parquet.Group{"list": parquet.Optional(parquet.List(parquet.Optional(f32))),
		"one": parquet.Optional(parquet.Int(64))})
	var b bytes.Buffer
	w := parquet.NewWriter(&b, append(options, schema)...)
	for i := range 100 {
		_, err := w.WriteRows([]parquet.Row{{
			parquet.FloatValue(float32(i)).Level(0, 3, 0), parquet.FloatValue(0).Level(1, 3, 0), parquet.Int64Value(int64(i)).Level(0, 1, 1),
		}})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// split cuts a file into what comes before the footer, and the footer.
func split(t testing.TB, file []byte) ([]byte, *format.FileMetaData) {
	n := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	meta := &format.FileMetaData{}
	require.NoError(t, thrift.Unmarshal(&thrift.CompactProtocol{}, file[n:len(file)-8], meta))
	return bytes.Clone(file[:n]), meta
}

func join(t testing.TB, data []byte, meta *format.FileMetaData) []byte {
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, meta)
	require.NoError(t, err)
	b := append(bytes.Clone(data), footer...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), "PAR1"...)
}

// read reads all columns of a file, and returns the megabytes that it took and the first error.
func read(t testing.TB, file []byte) (mb uint64, first error) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	filetest.Write(t, path, file)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := Open("lerobot", path)
	if err == nil {
		for _, c := range f.Columns() {
			for g, group := range f.Groups() {
				if err := c.Read(context.Background(), g, 0, group.Rows, &Values{}); err != nil && first == nil {
					first = err
				}
			}
		}
		f.Close()
	} else {
		first = err
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20, first
}

func TestAFooterThatDeclaresMoreThanThereIsTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	file := numbers(t)
	_, err := read(t, file)
	require.NoError(t, err)
	chunk := func(m *format.FileMetaData) *format.ColumnMetaData { return &m.RowGroups[0].Columns[0].MetaData }
	for name, change := range map[string]func(m *format.FileMetaData){
		"rows":             func(m *format.FileMetaData) { m.RowGroups[0].NumRows = 1<<31 - 1 },
		"more rows":        func(m *format.FileMetaData) { m.RowGroups[0].NumRows = 1 << 62 },
		"rows below 0":     func(m *format.FileMetaData) { m.RowGroups[0].NumRows = -1 },
		"values":           func(m *format.FileMetaData) { chunk(m).NumValues = 1 << 40 },
		"size":             func(m *format.FileMetaData) { chunk(m).TotalCompressedSize = 1 << 62 },
		"size below 0":     func(m *format.FileMetaData) { chunk(m).TotalCompressedSize = -5 },
		"offset":           func(m *format.FileMetaData) { chunk(m).DataPageOffset = 1 << 62 },
		"offset below 0":   func(m *format.FileMetaData) { chunk(m).DataPageOffset = -1 << 62 },
		"children":         func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(1 << 30)) },
		"children below 0": func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(-1 << 30)) },
		"no columns":       func(m *format.FileMetaData) { m.RowGroups[0].Columns = nil },
		"codec":            func(m *format.FileMetaData) { chunk(m).Codec = format.Lz4 },
		"deep": func(m *format.FileMetaData) {
			for range 1000 {
				m.Schema = append(m.Schema, format.SchemaElement{Name: "x", NumChildren: thrift.New(int32(1))})
			}
		},
		"columns and row groups": func(m *format.FileMetaData) {
			for range 2000 {
				m.Schema = append(m.Schema, format.SchemaElement{Name: "x"})
				m.RowGroups = append(m.RowGroups, format.RowGroup{})
			}
		},
	} {
		data, meta := split(t, file)
		change(meta)
		mb, err := read(t, join(t, data, meta))
		var bad *dataset.FormatError
		assert.ErrorAs(t, err, &bad, name)
		assert.Less(t, mb, uint64(16), name)
	}
	long := bytes.Clone(file)
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<32-1)
	mb, err := read(t, long)
	assert.ErrorIs(t, err, dataset.ErrTooLarge)
	assert.Less(t, mb, uint64(2))
}

func TestAListThatTheFooterCannotHoldIsAnError(t *testing.T) {
	for name, b := range map[string][]byte{
		"list of structures": {0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f, 0},
		"text":               {0x68, 0xff, 0xff, 0xff, 0xff, 0x0f, 0},
		"nested lists":       bytes.Repeat([]byte{0x19, 0x19}, 100),
		"field of no kind":   {0x1d},
		"nothing":            {},
		"no end":             {0x15, 0x02},
	} {
		_, err := checkFooter(b)
		assert.Error(t, err, name)
	}
}

// withPage puts a page's header and its data in place of the first column of a file.
func withPage(t testing.TB, file []byte, codec format.CompressionCodec, h *format.PageHeader, body []byte) []byte {
	_, meta := split(t, file)
	head, err := thrift.Marshal(&thrift.CompactProtocol{}, h)
	require.NoError(t, err)
	data := append(append([]byte("PAR1"), head...), body...)
	c := &meta.RowGroups[0].Columns[0].MetaData
	c.Codec, c.DataPageOffset, c.DictionaryPageOffset, c.TotalCompressedSize = codec, 4, 0, int64(len(data)-4)
	c.NumValues = int64(h.DataPageHeader.V.NumValues)
	meta.RowGroups[0].Columns[1].MetaData = *c
	return join(t, append(data, make([]byte, 64)...), meta)
}

func TestAPageThatDeclaresMoreThanThereIsTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	file := numbers(t)
	var zeros bytes.Buffer
	z := gzip.NewWriter(&zeros)
	for range 64 {
		_, err := z.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	frame, err := parquet.Zstd.Encode(nil, make([]byte, 64<<20))
	require.NoError(t, err)
	snappy := append(binary.AppendUvarint(nil, 1<<31), 0, 0)
	for _, c := range []struct {
		name                 string
		codec                format.CompressionCodec
		uncompressed, values int32
		compressed           int32
		body                 []byte
	}{
		{"compressed size", format.Uncompressed, 100, 10, 1<<31 - 1, make([]byte, 100)},
		{"uncompressed size", format.Snappy, 1<<31 - 1, 10, 100, make([]byte, 100)},
		{"uncompressed size of 200 MB", format.Snappy, 200 << 20, 10, 8, append(binary.AppendUvarint(nil, 200<<20), 0, 0, 0, 0)},
		{"values", format.Uncompressed, 100, 1<<31 - 1, 100, make([]byte, 100)},
		{"what snappy declares", format.Snappy, 100, 10, int32(len(snappy)), snappy},
		{"what gzip holds", format.Gzip, 100, 10, int32(zeros.Len()), zeros.Bytes()},
		{"what zstd holds", format.Zstd, 100, 10, int32(len(frame)), frame},
	} {
		h := &format.PageHeader{Type: format.DataPage, UncompressedPageSize: c.uncompressed, CompressedPageSize: c.compressed,
			DataPageHeader: thrift.New(format.DataPageHeader{NumValues: c.values, DefinitionLevelEncoding: format.RLE,
				RepetitionLevelEncoding: format.RLE})}
		mb, err := read(t, withPage(t, file, c.codec, h, c.body))
		var bad *dataset.FormatError
		assert.ErrorAs(t, err, &bad, c.name)
		assert.Less(t, mb, uint64(16), c.name)
	}
}

func TestZstdIsReadWhateverItsLength(t *testing.T) {
	for _, n := range []int{1, 255, 256, 65536, 1 << 20} {
		data := bytes.Repeat([]byte("robot "), n/6+1)[:n]
		frame, err := parquet.Zstd.Encode(nil, data)
		require.NoError(t, err)
		skip := append([]byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}, frame...)
		for _, whole := range [][]byte{frame, skip} {
			got, err := decompress([]byte("levels"), format.Zstd, whole, n)
			require.NoError(t, err, n)
			assert.Equal(t, "levels"+string(data), string(got))
		}
		for cut := 1; cut < min(len(frame), 200); cut++ {
			_, err := decompress(nil, format.Zstd, frame[:cut], n)
			assert.Error(t, err)
		}
	}
}

// A page holds as many bytes as its head declares, whatever it is compressed by.
func TestCompressedDataOfAnotherSizeIsAnError(t *testing.T) {
	data := bytes.Repeat([]byte("robot "), 500)
	for _, codec := range []compress.Codec{&parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		packed, err := codec.Encode(nil, data)
		require.NoError(t, err)
		got, err := decompress(nil, codec.CompressionCodec(), packed, len(data))
		require.NoError(t, err)
		assert.Equal(t, data, got)
		for _, size := range []int{0, 1, len(data) - 1, len(data) + 1, 1 << 20} {
			_, err := decompress(nil, codec.CompressionCodec(), packed, size)
			assert.Error(t, err, "%v, %d bytes", codec, size)
		}
		packed[len(packed)/2] ^= 0x55
		if got, err := decompress(nil, codec.CompressionCodec(), packed, len(data)); err == nil {
			assert.Len(t, got, len(data))
		}
	}
}

// A run of a few bytes stands for as many numbers as it says.
func TestRunsThatDeclareMoreThanThePageTakeLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	file := numbers(t)
	run := binary.AppendUvarint(nil, 1<<31)
	run = append(run, 1)
	packed := binary.AppendUvarint(nil, 1<<30|1)
	levels := func(b []byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) }
	for name, body := range map[string][]byte{
		"one run":        append(levels(run), levels(run)...),
		"many runs":      append(levels(bytes.Repeat(run, 1000)), levels(run)...),
		"packed":         append(levels(packed), levels(packed)...),
		"levels' end":    {0xff, 0xff, 0xff, 0xff, 1, 2, 3},
		"no levels":      {},
		"values missing": append(levels([]byte{10 << 1, 0}), levels([]byte{10 << 1, 3})...),
	} {
		h := &format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
			DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 10, DefinitionLevelEncoding: format.RLE,
				RepetitionLevelEncoding: format.RLE})}
		mb, err := read(t, withPage(t, file, format.Uncompressed, h, body))
		var bad *dataset.FormatError
		assert.ErrorAs(t, err, &bad, name)
		assert.Less(t, mb, uint64(8), name)
	}
	for _, c := range []struct {
		width, n   int
		data, want []byte
	}{
		{1, 1 << 10, []byte{0x81}, nil},                                               // a header that ends early
		{1, 3, []byte{2<<1 | 1, 7, 0}, []byte{1<<1 | 1, 7}},                           // 16 numbers, want 3
		{1, 9, []byte{0xc1, 0x00, 5, 6, 7}, []byte{0x85, 0x00, 5, 6}},                 // the length keeps its two bytes
		{8, 5, []byte{0xc8, 0x01, 7}, []byte{0x8a, 0x00, 7}},                          // a run of 100
		{8, 5, []byte{5 << 1, 7, 0xff, 0xff, 0xff}, []byte{5 << 1, 7}},                // bytes after the last number
		{0, 3, []byte{1<<1 | 1}, []byte{1<<1 | 1}},                                    // numbers without bits
		{8, 12, []byte{5 << 1, 7}, nil}, {8, 9, []byte{2<<1 | 1, 1, 2, 3, 4, 5}, nil}, // runs that end early
	} {
		got, err := cutRuns(slices.Clone(c.data), c.width, c.n)
		assert.Equal(t, c.want == nil, err != nil, c.data)
		assert.Equal(t, c.want, got, c.data)
	}
	for _, b := range [][]byte{{}, {128, 1, 4, 10}, {128, 1, 0, 10, 0}, {128, 1, 4, 10, 0, 0, 255, 255, 255, 255}} {
		_, _, err := deltas(nil, b, 10)
		assert.Error(t, err)
	}
}
