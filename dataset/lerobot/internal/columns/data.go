package columns

import (
	"encoding/binary"
	"hash/maphash"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
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

func (d *Data) len(k Kind) int {
	return [...]int{
		Float32: len(d.Float32), Float64: len(d.Float64), Int64: len(d.Int64), Bool: len(d.Bool), String: len(d.String), Image: len(d.Image),
	}[k]
}

// leafData is the values of one of the file's own columns: one of the lists has them.
type leafData struct {
	float32 []float32
	float64 []float64
	int64   []int64
	bool    []bool
	bytes   [][]byte
}

// leaves returns the values of the columns of the file that a column of a kind takes; of an image, its bytes and its path.
func (d *Data) leaves(k Kind) []leafData {
	switch k {
	case Float32:
		return []leafData{{float32: d.Float32}}
	case Float64:
		return []leafData{{float64: d.Float64}}
	case Int64:
		return []leafData{{int64: d.Int64}}
	case Bool:
		return []leafData{{bool: d.Bool}}
	case String:
		var texts [][]byte
		for _, text := range d.String {
			texts = append(texts, []byte(text))
		}
		return []leafData{{bytes: texts}}
	}
	var images, paths [][]byte
	for _, picture := range d.Image {
		images, paths = append(images, picture.Bytes), append(paths, []byte(picture.Path))
	}
	return []leafData{{bytes: images}, {bytes: paths}}
}

// slice returns values [from,to).
func (d leafData) slice(from, to int) leafData {
	return leafData{cut(d.float32, from, to), cut(d.float64, from, to), cut(d.int64, from, to), cut(d.bool, from, to), cut(d.bytes, from, to)}
}

func cut[T any](list []T, from, to int) []T {
	if list == nil {
		return nil
	}
	return list[from:to]
}

// read takes the values of a page that are not null, whose kind is that of the column that the leaf belongs to. Bytes are the page's own.
func (d *leafData) read(page parquet.Page, k Kind, buf []parquet.Value) error {
	*d = leafData{d.float32[:0], d.float64[:0], d.int64[:0], d.bool[:0], d.bytes[:0]}
	switch k {
	case Float32:
		d.float32 = appendPage(d.float32, page, (*encoding.Values).Float)
		return nil
	case Float64:
		d.float64 = appendPage(d.float64, page, (*encoding.Values).Double)
		return nil
	case Int64:
		d.int64 = appendPage(d.int64, page, (*encoding.Values).Int64)
		return nil
	}
	values := page.Values()
	for {
		n, err := values.ReadValues(buf)
		for _, v := range buf[:n] {
			switch {
			case v.IsNull():
			case k == Bool:
				d.bool = append(d.bool, v.Boolean())
			default:
				d.bytes = append(d.bytes, v.ByteArray())
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// appendPage appends a page's numbers. A broken page can panic.
func appendPage[T any](to []T, page parquet.Page, numbers func(*encoding.Values) []T) []T {
	data := page.Data()
	dictionary := page.Dictionary()
	if dictionary == nil {
		return append(to, numbers(&data)...)
	}
	table := dictionary.Page().Data()
	list := numbers(&table)
	for _, i := range data.Int32() {
		to = append(to, list[i])
	}
	return to
}

// seed is one for the program: a sum never leaves it.
var seed = maphash.MakeSeed()

func newHash() *maphash.Hash {
	h := &maphash.Hash{}
	h.SetSeed(seed)
	return h
}

// sum is a check sum of values and where they stand: of one of the file's columns in a row group.
type sum struct {
	n                  int
	values, reps, defs *maphash.Hash
	buf                []byte
}

func newSum() *sum { return &sum{values: newHash(), reps: newHash(), defs: newHash()} }

// add takes values that are there.
func (s *sum) add(d leafData) {
	b := d.appendBytes(s.buf[:0])
	for _, v := range d.bool {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	s.buf = b
	_, _ = s.values.Write(b)
	for _, v := range d.bytes {
		_, _ = s.values.Write(binary.LittleEndian.AppendUint64(s.buf[:0], uint64(len(v))))
		_, _ = s.values.Write(v)
	}
}

// levels takes the levels of values, some of which may be null: the level of definition says it. There are none of repetition where a row is a value.
func (s *sum) levels(reps, defs []byte) {
	s.n += len(defs)
	_, _ = s.reps.Write(reps)
	_, _ = s.defs.Write(defs)
}

// total is what is kept of a sum.
type total struct {
	n    int
	hash uint64
}

// end returns what was summed, and begins anew.
func (s *sum) end() total {
	b := s.buf[:0]
	for _, h := range []*maphash.Hash{s.values, s.reps, s.defs} {
		b = binary.LittleEndian.AppendUint64(b, h.Sum64())
		h.Reset()
	}
	t := total{s.n, maphash.Bytes(seed, b)}
	s.n, s.buf = 0, b
	return t
}
