package pcd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/lzf"
	"github.com/robocache/robocache/internal/records"
)

// Encoding is how the data of a file is written.
type Encoding uint8

// The encodings, by what the header calls them: binary, binary_compressed and ascii.
const (
	Binary Encoding = iota
	Compressed
	ASCII
)

// Options say how a file is written. The zero value is binary.
type Options struct {
	Encoding Encoding
}

// field is a column, or the colours that are packed into one.
type field struct {
	name, letter string
	size         int
	columns      []records.OutColumn
}

// Write writes a cloud, so that reading gives an equal one: points, features, names, rows and viewpoint. Whole-number features
// are written as uint8 or int32 where these hold them, red, green and blue (and alpha) packed as rgb (rgba), all else as
// float32, or float64 from tensors of f64. A cloud that is none, or has a name that the header cannot hold, is a *dataset.CloudError, and nothing is written.
func Write(w io.Writer, c *dataset.Cloud, opt Options) error {
	out, err := records.OutOf(c)
	if err != nil {
		return err
	}
	if opt.Encoding > ASCII {
		return &dataset.CloudError{Arg: "Encoding", Kind: dataset.ErrOption, Got: strconv.Itoa(int(opt.Encoding)), Want: "Binary, Compressed or ASCII"}
	}
	var fields []field
	for i := 0; i < len(out.Columns); i++ {
		cols := out.Columns[i:]
		f := field{name: cols[0].Name, columns: cols[:1]}
		if n := packed(cols); n > 0 {
			f = field{name: "rgba"[:n], columns: cols[:n]}
			i += n - 1
		} else if !records.IsWord(f.name) || slices.Contains([]string{"_", "rgb", "rgba"}, f.name) {
			return &dataset.CloudError{Arg: "Columns", Kind: dataset.ErrOption, Got: strconv.Quote(f.name), Want: "a name without white space, and not _, rgb or rgba"}
		}
		f.letter, f.size = kind(f)
		fields = append(fields, f)
	}
	body, err := encode(fields, out.N, opt.Encoding)
	if err != nil {
		return err
	}
	if _, err := w.Write(head(c, fields, opt.Encoding)); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// packed returns 3 or 4 if the columns begin with colours of a byte each, else 0.
func packed(cols []records.OutColumn) int {
	n := 0
	for _, name := range []string{"red", "green", "blue", "alpha"} {
		if n == len(cols) || cols[n].Name != name || cols[n].Scalar != records.U8 {
			break
		}
		n++
	}
	if n < 3 {
		return 0
	}
	return n
}

func kind(f field) (letter string, size int) {
	switch {
	case len(f.columns) == 3:
		return "F", 4 // as the library itself writes rgb
	case len(f.columns) == 4:
		return "U", 4
	}
	switch f.columns[0].Scalar {
	case records.U8:
		return "U", 1
	case records.I32:
		return "I", 4
	}
	return "F", f.columns[0].Scalar.Size()
}

// head writes the header, in the order that other readers insist on.
func head(c *dataset.Cloud, fields []field, e Encoding) []byte {
	var b bytes.Buffer
	b.WriteString("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n")
	line := func(key string, word func(f field) any) {
		b.WriteString(key)
		for _, f := range fields {
			fmt.Fprintf(&b, " %v", word(f))
		}
		b.WriteByte('\n')
	}
	line("FIELDS", func(f field) any { return f.name })
	line("SIZE", func(f field) any { return f.size })
	line("TYPE", func(f field) any { return f.letter })
	line("COUNT", func(field) any { return 1 })
	v := c.Viewpoint
	if v.Orientation == [4]float64{} {
		v.Orientation = dataset.Identity.Orientation
	}
	fmt.Fprintf(&b, "WIDTH %d\nHEIGHT %d\nVIEWPOINT", c.Width, c.Height)
	for _, x := range append(v.Position[:], v.Orientation[:]...) {
		b.WriteString(" " + strconv.FormatFloat(x, 'g', -1, 64))
	}
	fmt.Fprintf(&b, "\nPOINTS %d\nDATA %s\n", c.Len(), [...]string{"binary", "binary_compressed", "ascii"}[e])
	return b.Bytes()
}

func (f field) bits(i int) uint32 {
	var bits uint32
	for k, col := range f.columns {
		bits |= uint32(col.At(i)) << []int{16, 8, 0, 24}[k]
	}
	return bits
}

func (f field) append(b []byte, i int) []byte {
	if len(f.columns) > 1 {
		return binary.LittleEndian.AppendUint32(b, f.bits(i))
	}
	return f.columns[0].Append(b, i)
}

func (f field) appendText(b []byte, i int) []byte {
	switch len(f.columns) {
	case 3:
		return strconv.AppendFloat(b, float64(math.Float32frombits(f.bits(i))), 'g', -1, 32)
	case 4:
		return strconv.AppendUint(b, uint64(f.bits(i)), 10)
	}
	return f.columns[0].AppendText(b, i)
}

func encode(fields []field, n int, e Encoding) ([]byte, error) {
	var b []byte
	switch e {
	case ASCII:
		for i := range n {
			for k, f := range fields {
				if k > 0 {
					b = append(b, ' ')
				}
				b = f.appendText(b, i)
			}
			b = append(b, '\n')
		}
	case Binary:
		for i := range n {
			for _, f := range fields {
				b = f.append(b, i)
			}
		}
	case Compressed:
		for _, f := range fields {
			for i := range n {
				b = f.append(b, i)
			}
		}
		if len(b) > math.MaxUint32/2 {
			return nil, &dataset.CloudError{Arg: "Points", Kind: dataset.ErrTooLarge, Got: fmt.Sprintf("%d bytes", len(b)), Want: "at most 2 GiB, which the compressed form has room for"}
		}
		packed := lzf.Compress(make([]byte, 8), b)
		binary.LittleEndian.PutUint32(packed, uint32(len(packed)-8))
		binary.LittleEndian.PutUint32(packed[4:], uint32(len(b)))
		return packed, nil
	}
	return b, nil
}
