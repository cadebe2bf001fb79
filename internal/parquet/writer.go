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

// Writer writes a file. It is not for use from several goroutines at once.
//
// Every value is written with the levels that give its place: a column is optional, as pyarrow's are, and none of its values is null, zeros
// among them. The library under it makes nulls of zeros in structs and maps, so that it is given neither.
type Writer struct {
	fields []Field
	out    *bufio.Writer
	size   int64 // bytes that were written
	meta   *format.FileMetaData
	paths  [][]string // of the file's own columns
	err    error
	pages  pageEncoder
}

// buffered is how many bytes are written at once, at least: a page of a few rows and its head take a few hundred.
const buffered = 256 << 10

// magic begins and ends a file.
const magic = "PAR1"

// seal comes before the footer, with its CRC-32 in four bytes, little-endian: the format has checksums of pages only. Between the last page and
// the footer a file may have any bytes, such as indexes of pages.
const (
	seal      = "\xffRCseal\xff"
	sealBytes = len(seal) + 4
)

// NewWriter begins a file of columns of different names, and writes it to out. metadata are the file's keys and values.
func NewWriter(out io.Writer, fields []Field, metadata map[string]string) *Writer {
	schema := schemaOf(fields)
	w := &Writer{fields: fields, out: bufio.NewWriterSize(out, buffered), meta: emptyMetadata(schema), paths: schema.Columns()}
	at := 1
	for _, c := range fields { // the library's own schema for lists lacks annotations
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

// emptyMetadata returns the metadata of a file without rows, as the library writes it.
func emptyMetadata(schema *parquet.Schema) *format.FileMetaData {
	var empty bytes.Buffer
	if err := parquet.NewGenericWriter[any](&empty, schema, parquet.CreatedBy("robocache", "1", "")).Close(); err != nil {
		panic(err) // into memory
	}
	f, err := parquet.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		panic(err) // it has just been written
	}
	meta := *f.Metadata()
	return &meta
}

// Size returns how many bytes the row groups take that were written.
func (w *Writer) Size() int64 { return w.size - int64(len(magic)) }

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
		w.size += int64(len(b))
	}
}

// SetMetadata sets a key of the file's metadata, which Close writes. The key must be new.
func (w *Writer) SetMetadata(key, value string) {
	w.meta.KeyValueMetadata = append(w.meta.KeyValueMetadata, format.KeyValue{Key: key, Value: value})
}

// MostGroups is how many row groups a file may have: their numbers have 16 bits.
const MostGroups = math.MaxInt16 + 1

// Groups returns how many row groups there are.
func (w *Writer) Groups() int { return len(w.meta.RowGroups) }

// WriteGroup writes a row group of n rows, data in the order of the fields. Truth values are in Int64, 0 or 1. Data of another length than
// its field has is a mistake in the caller and panics. After an error every call returns it.
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

// writeLists writes a column of lists of structures, which the library encodes in memory.
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

// writeLeaf writes n rows of a column of the file, one of those of column c. lengths are those of its rows, if it is Ragged. images is set
// for the bytes of images.
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
		meta.Encoding = append(meta.Encoding, format.Plain) // of the dictionary
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
