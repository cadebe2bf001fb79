package parquet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Writer writes a Parquet file. Only one goroutine may use it at a time.
//
// Levels are written for every value: each column is optional, as in pyarrow's files, but no value is null, not even a zero. The library
// would write zeros in structs and maps as nulls. Therefore this package encodes the pages itself.
type Writer struct {
	fields []Field
	out    *bufio.Writer
	size   int64 // bytes written
	meta   *format.FileMetaData
	paths  [][]string // paths of the leaf columns
	err    error
	pages  pageEncoder
}

// buffered is the minimum size of a write to the output, because a page with few rows takes only a few hundred bytes.
const buffered = 256 << 10

// magic begins and ends a file.
const magic = "PAR1"

// seal precedes the footer, followed by the footer's CRC-32 in four bytes, little-endian. The format has checksums only for pages. A
// file may have arbitrary bytes between the last page and the footer, such as page indexes.
const (
	seal      = "\xffRCseal\xff"
	sealBytes = len(seal) + 4
)

// NewWriter starts a file with columns of distinct names, and writes it to out. metadata holds the file's keys and values.
func NewWriter(out io.Writer, fields []Field, metadata map[string]string) *Writer {
	schema := schemaOf(fields)
	w := &Writer{fields: fields, out: bufio.NewWriterSize(out, buffered), meta: emptyMetadata(schema), paths: schema.Columns()}
	at := 1
	for _, c := range fields { // the library's own list schema lacks annotations
		n := 1 + 2*c.depth()
		switch {
		case c.Lists != nil:
			n = copy(w.meta.Schema[at:], c.Lists.schema)
		case c.Type == "image":
			n += 2
		}
		at += n
	}
	for _, k := range slices.Sorted(maps.Keys(metadata)) { // so that equal files have equal bytes
		w.SetMetadata(k, metadata[k])
	}
	w.write([]byte(magic))
	return w
}

// emptyMetadata returns the metadata for a file without rows, as the library writes it.
func emptyMetadata(schema *parquet.Schema) *format.FileMetaData {
	var empty bytes.Buffer
	if err := parquet.NewGenericWriter[any](&empty, schema, parquet.CreatedBy("robocache", "1", "")).Close(); err != nil {
		panic(err) // writing to memory never fails
	}
	f, err := parquet.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		panic(err) // it was just written
	}
	meta := *f.Metadata()
	return &meta
}

// Size returns the bytes in the written row groups.
func (w *Writer) Size() int64 { return w.size - int64(len(magic)) }

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
		w.size += int64(len(b))
	}
}

// SetMetadata sets a key in the file's metadata, which Close writes. The key must be new.
func (w *Writer) SetMetadata(key, value string) {
	w.meta.KeyValueMetadata = append(w.meta.KeyValueMetadata, format.KeyValue{Key: key, Value: value})
}

// MostGroups limits the row groups in a file, because their numbers have 16 bits.
const MostGroups = math.MaxInt16 + 1

// Groups returns how many row groups were written.
func (w *Writer) Groups() int { return len(w.meta.RowGroups) }

// WriteGroup writes a row group with n rows. data is in field order. Booleans are in Int64 as 0 or 1. If data's length does not match
// its field, WriteGroup panics, because that is a mistake in the caller. After an error every call returns it.
func (w *Writer) WriteGroup(n int, data []Values) error {
	if w.err != nil {
		return w.err
	}
	if len(data) != len(w.fields) {
		panic(fmt.Sprintf("parquet: data of %d columns, want %d", len(data), len(w.fields)))
	}
	group := format.RowGroup{NumRows: int64(n), FileOffset: w.size, Ordinal: int16(w.Groups())}
	for i, c := range w.fields {
		if c.Lists != nil {
			if w.err = w.writeLists(c, data[i].Lists.Rows, &group); w.err != nil {
				return w.err
			}
			continue
		}
		for k, d := range leavesOf(c.Type, &data[i]) {
			want := n * c.width()
			if c.Ragged {
				want = 0
				for _, length := range data[i].Lens {
					want += max(length, 1)
				}
			}
			if got := d.len(); got != want || c.Ragged && len(data[i].Lens) != n {
				panic(fmt.Sprintf("parquet: column %s: %d values, want %d", c.Name, got, want))
			}
			chunk := w.writeLeaf(n, c, d, data[i].Lens, c.Type == "image" && k == 0)
			if w.err != nil {
				return w.err
			}
			w.add(&group, chunk)
		}
	}
	w.meta.RowGroups = append(w.meta.RowGroups, group)
	w.meta.NumRows += int64(n)
	return nil
}

// add adds a column chunk to a row group.
func (w *Writer) add(group *format.RowGroup, chunk format.ColumnChunk) {
	chunk.MetaData.PathInSchema = w.paths[len(group.Columns)]
	group.Columns = append(group.Columns, chunk)
	group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
	group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
}

// writeLists writes a column of structure lists, which the library encodes in memory.
func (w *Writer) writeLists(c Field, rows []ListRow, group *format.RowGroup) error {
	var b bytes.Buffer
	out := parquet.NewWriter(&b, schemaOf([]Field{c}), parquet.DataPageVersion(1))
	for _, row := range rows {
		if _, err := out.WriteRows([]parquet.Row{slices.Concat(row...)}); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	for _, chunk := range out.File().Metadata().RowGroups[0].Columns {
		m := &chunk.MetaData
		at := m.DataPageOffset
		if m.DictionaryPageOffset > 0 {
			at, m.DictionaryPageOffset = m.DictionaryPageOffset, w.size
		}
		m.DataPageOffset += w.size - at
		w.write(b.Bytes()[at : at+m.TotalCompressedSize])
		w.add(group, format.ColumnChunk{MetaData: *m})
	}
	return w.err
}

// writeLeaf writes n rows of a leaf in column c. lengths holds the row lengths if c is Ragged. images is set for image bytes.
func (w *Writer) writeLeaf(n int, c Field, d leafValues, lengths []int, images bool) format.ColumnChunk {
	p := &w.pages
	p.begin(c, d)
	meta := format.ColumnMetaData{Type: d.kind(), Codec: format.Snappy, NumValues: int64(d.len()), Encoding: []format.Encoding{format.RLE, format.Plain}}
	meta.Statistics = d.bounds(images)
	page := func(kind format.PageType, rows, values int) {
		head, body := p.end(kind, rows, values)
		meta.TotalUncompressedSize += int64(len(head)) + int64(len(p.plain))
		meta.TotalCompressedSize += int64(len(head)) + int64(len(body))
		w.write(head)
		w.write(body)
	}
	at := w.size
	if p.dictionary != nil {
		meta.Encoding[1] = format.RLEDictionary
		meta.Encoding = append(meta.Encoding, format.Plain) // for the dictionary
		meta.DictionaryPageOffset = at
		p.plain = append(p.plain[:0], p.dictionary...)
		page(format.DictionaryPage, 0, p.distinct)
	}
	meta.DataPageOffset = w.size
	for row, from := 0, 0; row < n; {
		rows, values := p.room(c, d, lengths, row, from, n)
		some := d.slice(from, from+values)
		p.levels(c, lengths, row, rows)
		p.values(some, from)
		page(format.DataPage, rows, values)
		row, from = row+rows, from+values
	}
	return format.ColumnChunk{MetaData: meta}
}

// Close completes the file. The output is not closed.
func (w *Writer) Close() error {
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, w.meta)
	if w.err == nil {
		w.err = err
	}
	w.write(binary.LittleEndian.AppendUint32([]byte(seal), crc32.ChecksumIEEE(footer)))
	w.write(slices.Concat(footer, binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), []byte(magic)))
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}
