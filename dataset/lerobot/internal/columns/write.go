package columns

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Writer writes a file. It is not for use from several goroutines at once.
type Writer struct {
	columns []Column
	out     *bufio.Writer
	counted *counter
	meta    *format.FileMetaData
	paths   [][]string // of the file's own columns
	sums    []groupSum
	err     error
	pages   pages
	sum     *sum
}

// groupSum is what a row group must give when it is read.
type groupSum struct {
	rows   int
	leaves []total
}

// buffered is how many bytes are written at once, at least: a page of a few rows and its head take a few hundred.
const buffered = 256 << 10

// magic begins and ends a file.
const magic = "PAR1"

// NewWriter begins a file of columns of different names, and writes it to out. metadata are the file's keys and values.
func NewWriter(out io.Writer, columns []Column, metadata map[string]string) *Writer {
	buffer := bufio.NewWriterSize(out, buffered)
	w := &Writer{columns: columns, out: buffer, counted: &counter{w: buffer, sum: newHash()}, sum: newSum()}
	schema := schemaOf(columns)
	w.meta, w.paths = describe(schema, metadata), schema.Columns()
	w.write([]byte(magic))
	return w
}

// describe returns what a file without rows says of itself, as the library writes it.
func describe(schema *parquet.Schema, metadata map[string]string) *format.FileMetaData {
	opt := []parquet.WriterOption{schema, parquet.CreatedBy("robocache", "1", "")}
	for k, v := range metadata {
		opt = append(opt, parquet.KeyValueMetadata(k, v))
	}
	var empty bytes.Buffer
	if err := parquet.NewGenericWriter[any](&empty, opt...).Close(); err != nil {
		panic(err) // into memory
	}
	f, err := parquet.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		panic(err) // what it has written
	}
	meta := *f.Metadata()
	return &meta
}

// Size returns the bytes that were written so far: the row groups.
func (w *Writer) Size() int64 { return w.counted.n - int64(len(magic)) }

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.counted.Write(b)
	}
}

// MostGroups is how many row groups a file may have, whose numbers in it are of 16 bits.
const MostGroups = math.MaxInt16 + 1

// Groups returns how many row groups there are.
func (w *Writer) Groups() int { return len(w.sums) }

// WriteGroup writes a row group of n rows, data in the order of the columns. Data of another length than its column has is a mistake in the caller
// and panics. After an error every call returns it.
func (w *Writer) WriteGroup(n int, data []Data) error {
	if w.err != nil {
		return w.err
	}
	if len(data) != len(w.columns) {
		panic(fmt.Sprintf("columns: data of %d columns, want %d", len(data), len(w.columns)))
	}
	for i, c := range w.columns {
		want := n * c.width()
		if c.Ragged {
			want = 0
			for _, length := range data[i].Lengths {
				want += max(length, 1)
			}
		}
		if got := data[i].len(c.Kind); got != want || c.Ragged && len(data[i].Lengths) != n {
			panic(fmt.Sprintf("columns: column %s: %d values, want %d", c.Name, got, want))
		}
	}
	sums := groupSum{rows: n}
	group := format.RowGroup{NumRows: int64(n), FileOffset: w.counted.n, Ordinal: int16(len(w.sums))}
	for i, c := range w.columns {
		for k, d := range data[i].leaves(c.Kind) {
			leaf := len(sums.leaves)
			chunk := w.writeLeaf(n, c, d, data[i].Lengths, c.Kind == Image && k == 0)
			if w.err != nil {
				return w.err
			}
			chunk.MetaData.PathInSchema = w.paths[leaf]
			group.Columns = append(group.Columns, chunk)
			group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
			group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
			sums.leaves = append(sums.leaves, w.sum.end())
		}
	}
	w.sums = append(w.sums, sums)
	w.meta.RowGroups = append(w.meta.RowGroups, group)
	w.meta.NumRows += int64(n)
	return nil
}

// writeLeaf writes n rows of a column of the file, one of those of column c. Lengths are of its rows, if it is Ragged; images says that it is of images'
// bytes.
func (w *Writer) writeLeaf(n int, c Column, d leafData, lengths []int, images bool) format.ColumnChunk {
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
	at := w.counted.n
	if p.dictionary != nil {
		meta.Encoding[1] = format.RLEDictionary
		meta.Encoding = append(meta.Encoding, format.Plain) // of the dictionary
		meta.DictionaryPageOffset = at
		p.plain = append(p.plain[:0], p.dictionary...)
		page(format.DictionaryPage, 0, p.distinct)
	}
	meta.DataPageOffset = w.counted.n
	for row, from := 0, 0; row < n; {
		rows, values := p.room(c, d, lengths, row, from, n)
		some := d.slice(from, from+values)
		p.levels(c, lengths, row, rows)
		p.values(some, from)
		w.sum.add(some)
		if c.depth() == 0 {
			w.sum.levels(nil, p.defs(c, values))
		} else {
			w.sum.levels(p.reps, p.defs(c, values))
		}
		page(format.DataPage, rows, values)
		row, from = row+rows, from+values
	}
	return format.ColumnChunk{MetaData: meta}
}

// Close completes the file, and returns what proves it. The output is not closed.
func (w *Writer) Close() (Proof, error) {
	if w.err == nil {
		footer, err := thrift.Marshal(&thrift.CompactProtocol{}, w.meta)
		if w.err = err; err == nil {
			w.write(slices.Concat(footer, binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), []byte(magic)))
		}
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return Proof{columns: w.columns, groups: w.sums, size: w.counted.n, bytes: w.counted.sum.Sum64()}, w.err
}

// counter counts what is written, and sums it.
type counter struct {
	w   io.Writer
	n   int64
	sum *maphash.Hash // of the bytes
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	_, _ = c.sum.Write(p[:n])
	return n, err
}
