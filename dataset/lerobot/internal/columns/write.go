package columns

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Data is the values of a column for some rows, one after the other, in the slice that belongs to its kind.
type Data struct {
	Float32 []float32
	Float64 []float64
	Int64   []int64
	Bool    []bool
	String  []string
	Image   []Picture
	Lengths []int // of each row of a Ragged column
}

// Picture is an encoded image and the name that its file would have.
type Picture struct {
	Bytes []byte
	Path  string
}

// Writer writes a file. It is not for use from several goroutines at once.
type Writer struct {
	w       *parquet.GenericWriter[any]
	columns []Column
	counted *counter
	sums    []groupSum
	err     error
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
	w := &Writer{columns: columns, counted: &counter{w: out, sum: newSum()}}
	opt := []parquet.WriterOption{
		schemaOf(columns), parquet.CreatedBy("robocache", "1", ""), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1),
		parquet.DictionaryMaxBytes(dictionaryBytes),
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
	var sums []sum
	for _, c := range w.columns {
		for range c.leaves() {
			sums = append(sums, newSum())
		}
	}
	const batch = 64
	rows := make([]parquet.Row, 0, batch)
	next := make([]int, len(w.columns)) // the first value of the row in each column
	for at := range n {
		rows = rows[:len(rows)+1]
		last := &rows[len(rows)-1]
		*last = w.row((*last)[:0], at, data, next, sums)
		if len(rows) == batch || at == n-1 {
			if _, w.err = w.w.WriteRows(rows); w.err != nil {
				return w.err
			}
			rows = rows[:0]
		}
	}
	w.err = w.w.Flush()
	group := groupSum{rows: n}
	for _, s := range sums {
		group.leaves = append(group.leaves, s.total())
	}
	w.sums = append(w.sums, group)
	return w.err
}

// row appends row at as the library takes it, adds its values to the sums, and moves next to the row behind.
func (w *Writer) row(row parquet.Row, at int, data []Data, next []int, sums []sum) parquet.Row {
	leaf := 0
	for i, c := range w.columns {
		width, def := c.width(), c.definition()
		if c.Ragged {
			width = data[i].Lengths[at]
		}
		for k := range width {
			rep := c.repetition(k)
			first := data[i].value(c.Kind, next[i]+k)
			sums[leaf].add(first, rep, def)
			row = append(row, first.Level(rep, def, leaf))
		}
		if c.Kind == Image {
			path := parquet.ValueOf(data[i].Image[at].Path)
			sums[leaf+1].add(path, 0, def)
			row = append(row, path.Level(0, def, leaf+1))
		}
		leaf += c.leaves()
		next[i] += width
	}
	return row
}

// Close completes the file, and returns what proves it. The output is not closed.
func (w *Writer) Close() (Proof, error) {
	if w.err == nil {
		w.err = w.w.Close()
	}
	if w.err == nil {
		w.err = w.counted.err
	}
	return Proof{columns: w.columns, groups: w.sums, size: w.counted.n, bytes: w.counted.sum.total()}, w.err
}

func (d Data) len(k Kind) int {
	return [...]int{
		Float32: len(d.Float32), Float64: len(d.Float64), Int64: len(d.Int64), Bool: len(d.Bool), String: len(d.String), Image: len(d.Image),
	}[k]
}

// value returns value i; of an image, its bytes.
func (d Data) value(k Kind, i int) parquet.Value {
	switch k {
	case Float32:
		return parquet.FloatValue(d.Float32[i])
	case Float64:
		return parquet.DoubleValue(d.Float64[i])
	case Int64:
		return parquet.Int64Value(d.Int64[i])
	case Bool:
		return parquet.BooleanValue(d.Bool[i])
	case String:
		return parquet.ByteArrayValue([]byte(d.String[i]))
	}
	return parquet.ByteArrayValue(d.Image[i].Bytes)
}

// counter counts what is written, sums it and keeps the first error.
type counter struct {
	w   io.Writer
	n   int64
	sum sum // of the bytes
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	_, _ = c.sum.h.Write(p[:n])
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}
