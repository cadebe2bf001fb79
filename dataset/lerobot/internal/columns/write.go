package columns

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Writer writes a file. It is not for use from several goroutines at once.
type Writer struct {
	w       *parquet.GenericWriter[any]
	columns []Column
	counted *counter
	sums    []groupSum
	err     error

	values []parquet.Value // of the rows that are being written
	sum    *sum
}

// groupSum is what a row group must give when it is read.
type groupSum struct {
	rows   int
	leaves []total
}

// dictionaryBytes is how large a dictionary grows before its column does without, as in pyarrow.
const dictionaryBytes = 1 << 20

// NewWriter begins a file of columns of different names, and writes it to out. metadata are the file's keys and values.
func NewWriter(out io.Writer, columns []Column, metadata map[string]string) *Writer {
	w := &Writer{columns: columns, counted: &counter{w: out, sum: newHash()}, sum: newSum()}
	opt := []parquet.WriterOption{
		schemaOf(columns), parquet.CreatedBy("robocache", "1", ""), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1),
		parquet.DictionaryMaxBytes(dictionaryBytes), parquet.WriteBufferSize(1 << 20),
	}
	for k, v := range metadata {
		opt = append(opt, parquet.KeyValueMetadata(k, v))
	}
	for _, c := range columns {
		if c.Kind == Image { // or the statistics would hold whole images
			opt = append(opt, parquet.SkipPageBounds(c.Name, "bytes"))
		}
	}
	w.w = parquet.NewGenericWriter[any](w.counted, opt...)
	return w
}

// Size returns the bytes that were written so far: the row groups.
func (w *Writer) Size() int64 { return w.w.Size() }

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
	group := groupSum{rows: n}
	leaves := w.w.ColumnWriters()
	for i, c := range w.columns {
		for _, d := range data[i].leaves(c.Kind) {
			leaf := len(group.leaves)
			sum, err := w.writeLeaf(leaves[leaf], leaf, n, c, d, data[i].Lengths)
			if w.err = err; err != nil {
				return err
			}
			group.leaves = append(group.leaves, sum)
		}
	}
	w.sums = append(w.sums, group)
	w.err = w.w.Flush()
	return w.err
}

// batch is after how many rows the library looks whether a page is full.
const batch = 64

// writeLeaf writes n rows of a column of the file, one of those of column c. Lengths are of its rows, if it is Ragged.
func (w *Writer) writeLeaf(out *parquet.ColumnWriter, leaf, n int, c Column, d leafData, lengths []int) (total, error) {
	width, def, from := c.width(), c.definition(), 0
	reps, defs := bytes.Repeat(c.repetitions(), min(batch, n)), bytes.Repeat([]byte{byte(def)}, width*min(batch, n))
	for at := 0; at < n; at += batch {
		if c.Ragged {
			reps = reps[:0]
			for _, length := range lengths[at:min(at+batch, n)] {
				reps = append(append(reps, 0), bytes.Repeat([]byte{1}, length-1)...)
			}
		} else {
			reps = reps[:width*min(batch, n-at)]
		}
		some := d.slice(from, from+len(reps))
		from += len(reps)
		w.values = some.appendTo(w.values[:0], reps, def, leaf)
		_, err := out.WriteRowValues(w.values)
		clear(w.values) // they hold texts and images
		if err != nil {
			return total{}, err
		}
		w.sum.add(some)
		for len(defs) < len(reps) {
			defs = append(defs, byte(def))
		}
		if c.depth() == 0 {
			w.sum.levels(nil, defs[:len(reps)])
		} else {
			w.sum.levels(reps, defs[:len(reps)])
		}
	}
	return w.sum.end(), nil
}

// Close completes the file, and returns what proves it. The output is not closed.
func (w *Writer) Close() (Proof, error) {
	if w.err == nil {
		w.err = w.w.Close()
	}
	if w.err == nil {
		w.err = w.counted.err
	}
	return Proof{columns: w.columns, groups: w.sums, size: w.counted.n, bytes: w.counted.sum.Sum64()}, w.err
}

// counter counts what is written, sums it and keeps the first error.
type counter struct {
	w   io.Writer
	n   int64
	sum *maphash.Hash // of the bytes
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	_, _ = c.sum.Write(p[:n])
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}
