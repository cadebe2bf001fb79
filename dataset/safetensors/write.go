package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// alignment is the alignment in bytes of the first tensor in a file, because processors and devices read memory in lines of 64 bytes.
const alignment = 64

// Writer writes a file. It is for one goroutine at a time.
type Writer struct {
	w        io.Writer
	list     []named
	names    map[string]bool // of the tensors and of the metadata
	metadata map[string]string
	sums     *sumWriter // nil without sums
	err      error      // of Close
	closed   bool
}

type named struct {
	name  string
	dtype string // the format's name
	size  int    // bytes of an element
	shape []int
	write func(io.Writer) error
}

// bytes is how many there are of it.
func (n *named) bytes() (int, error) {
	count, err := tensor.NumElements(n.shape...)
	if err == nil && count > tensor.MaxBytes/n.size {
		err = &Error{Name: n.name, Kind: dataset.ErrTooLarge, Got: tensor.FormatShape(n.shape), Want: "at most 2^62 bytes"}
	}
	return count * n.size, err
}

// Error is the reason why a tensor or a text cannot be added.
type Error struct {
	Name      string
	Kind      error // one of package dataset's Err values
	Got, Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("safetensors: tensor %q: got %s, want %s", e.Name, e.Got, e.Want)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// NewWriter returns a Writer that writes the file to w in Close, because the header comes first and contains all positions. It does
// not close w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, names: map[string]bool{}, metadata: map[string]string{}}
}

// WriteFile writes a file with the tensors that fill adds. The file is written under a temporary name, read back, compared and
// renamed, so it appears complete or not at all.
func WriteFile(path string, fill func(*Writer) error) error {
	return atomicfile.WriteFile(path, func(out io.Writer) error {
		w := NewWriter(out)
		if err := fill(w); err != nil {
			return err
		}
		return w.Close()
	})
}

// Add keeps a host tensor with any strides until Close writes it; its elements must not change before. If the name was used before,
// is not UTF-8 or is reserved, or if the tensor is not on the host, the error is an *Error.
func (w *Writer) Add(name string, t *tensor.Tensor) error {
	switch {
	case t == nil:
		return &Error{Name: name, Kind: dataset.ErrMissing, Got: "no tensor", Want: "a host tensor"}
	case t.Closed():
		return &Error{Name: name, Kind: dataset.ErrClosed, Got: "a closed tensor", Want: "a host tensor"}
	case !t.OnHost():
		return &Error{Name: name, Kind: dataset.ErrWrongDevice, Got: t.String(), Want: "a host tensor"}
	}
	return w.AddData(name, t.DType(), t.Shape(), func(w io.Writer) error { return npy.WriteData(w, t) })
}

// AddData keeps a function that writes a tensor's elements, little-endian and row-major, when Close calls it. If it writes more or
// fewer bytes than the shape needs, Close returns an *Error.
func (w *Writer) AddData(name string, dtype tensor.DType, shape []int, write func(io.Writer) error) error {
	if ofTensor[dtype] == "" {
		return &Error{Name: name, Kind: dataset.ErrDType, Got: dtype.String(), Want: "a dtype of tensors"}
	}
	return w.add(named{name, ofTensor[dtype], dtype.Size(), slices.Clone(shape), write})
}

// AddWhole keeps whole numbers for a tensor with a numpy type such as "bool" or "int16", which must hold them; see npy.HoldsWhole.
func (w *Writer) AddWhole(name, typ string, t *tensor.Tensor) error {
	descr, size, ok := npy.WholeDescr(typ)
	if !ok {
		return &Error{Name: name, Kind: dataset.ErrDType, Got: typ, Want: "a type of whole numbers"}
	}
	dtype := ""
	for _, d := range dtypes {
		if d.descr == descr {
			dtype = d.name
		}
	}
	return w.add(named{name, dtype, size, t.Shape(), func(w io.Writer) error { return npy.WriteWholeData(w, typ, t) }})
}

func (w *Writer) add(n named) error {
	name, shape := n.name, n.shape
	if len(shape) > maxRank {
		return &Error{Name: name, Kind: dataset.ErrShape, Got: fmt.Sprintf("rank %d", len(shape)), Want: fmt.Sprintf("at most %d", maxRank)}
	}
	if _, err := n.bytes(); err != nil {
		return err
	}
	if err := w.take(name); err != nil {
		return err
	}
	w.list = append(w.list, n)
	return nil
}

// AddText adds a text to the metadata. Names and texts must be UTF-8, and a name must differ from all tensor names.
func (w *Writer) AddText(name, text string) error {
	if !utf8.ValidString(text) {
		return &Error{Name: name, Kind: dataset.ErrOption, Got: fmt.Sprintf("the text %.60q", text), Want: "UTF-8"}
	}
	if err := w.take(name); err != nil {
		return err
	}
	w.metadata[name] = text
	return nil
}

// AddStrings adds a list of strings to the metadata, as a JSON list.
func (w *Writer) AddStrings(name string, list []string) error {
	for i, s := range list {
		if !utf8.ValidString(s) {
			return &Error{Name: name, Kind: dataset.ErrOption, Got: fmt.Sprintf("%q at index %d", s, i), Want: "UTF-8"}
		}
	}
	return w.AddText(name, string(text(append([]string{}, list...))))
}

// AddSums adds the tensor [SumsName] after all others, so that a [File] detects damage. Its content is CRC-32C checksums, four
// little-endian bytes each: one for the header with its length, one for each 64 KiB of the tensors (the last block may be shorter),
// and one for these sums.
func (w *Writer) AddSums() error {
	w.sums = &sumWriter{}
	return w.take(SumsName)
}

// take keeps a name.
func (w *Writer) take(name string) error {
	bad := func(kind error, got, want string) error { return &Error{Name: name, Kind: kind, Got: got, Want: want} }
	switch {
	case w.closed:
		return bad(dataset.ErrClosed, "a closed Writer", "Add before Close")
	case name == "":
		return bad(dataset.ErrOption, "an empty name", "a name")
	case name == metadataKey:
		return bad(dataset.ErrOption, "the name of the metadata", "another")
	case !utf8.ValidString(name):
		return bad(dataset.ErrOption, "bytes that are not UTF-8", "UTF-8")
	case w.names[name]:
		return bad(dataset.ErrOption, "the name twice", "each name once")
	}
	w.names[name] = true
	return nil
}

// Close writes the file. After a failure it returns that error, and the output is invalid.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	w.err = w.write()
	return w.err
}

// names of the dtypes that tensors have.
var ofTensor = map[tensor.DType]string{
	tensor.F64: "F64", tensor.F32: "F32", tensor.F16: "F16", tensor.BF16: "BF16", tensor.I64: "I64", tensor.I32: "I32", tensor.U8: "U8",
}

func (w *Writer) write() error {
	slices.SortStableFunc(w.list, func(a, b named) int { return -cmp.Compare(a.size, b.size) })
	var head bytes.Buffer
	head.Write(make([]byte, prefix))
	separator := "{"
	if len(w.metadata) > 0 {
		head.WriteString(separator + `"` + metadataKey + `":{`)
		separator = ""
		for _, name := range slices.Sorted(maps.Keys(w.metadata)) {
			head.WriteString(separator)
			head.Write(text(name))
			head.WriteByte(':')
			head.Write(text(w.metadata[name]))
			separator = ","
		}
		head.WriteByte('}')
	}
	at, out := 0, w.w
	if w.sums != nil {
		bytes := 0
		for _, a := range w.list {
			size, err := a.bytes()
			if err != nil {
				return err
			}
			bytes += size
		}
		w.list = append(w.list, named{SumsName, "U8", 1, sumsShape(bytes), w.sums.write})
		w.sums.w, out = w.w, w.sums
	}
	for _, a := range w.list {
		head.WriteString(separator)
		head.Write(text(a.name))
		size, err := a.bytes()
		if err != nil {
			return err
		}
		end := at + size
		fmt.Fprintf(&head, `:{"dtype":"%s","shape":[`, a.dtype)
		for i, n := range a.shape {
			if i > 0 {
				head.WriteByte(',')
			}
			head.WriteString(strconv.Itoa(n))
		}
		fmt.Fprintf(&head, `],"data_offsets":[%d,%d]}`, at, end)
		at, separator = end, ","
	}
	if separator == "{" {
		head.WriteString(separator)
	}
	head.WriteByte('}')
	for head.Len()%alignment != 0 {
		head.WriteByte(' ')
	}
	if n := head.Len() - prefix; n > maxHeader {
		return &Error{Kind: dataset.ErrTooLarge, Got: fmt.Sprintf("a header of %d bytes", n), Want: fmt.Sprintf("at most %d", maxHeader)}
	}
	binary.LittleEndian.PutUint64(head.Bytes(), uint64(head.Len()-prefix))
	if _, err := w.w.Write(head.Bytes()); err != nil {
		return err
	}
	if w.sums != nil {
		w.sums.list = binary.LittleEndian.AppendUint32(nil, crc32.Checksum(head.Bytes(), castagnoli))
	}
	for _, a := range w.list {
		out := &counter{w: out}
		if err := a.write(out); err != nil {
			return err
		}
		if size, _ := a.bytes(); out.n != size {
			return &Error{Name: a.name, Kind: dataset.ErrShape, Got: fmt.Sprintf("%d bytes", out.n), Want: fmt.Sprintf("%d of %s", size, tensor.FormatShape(a.shape))}
		}
	}
	return nil
}

// counter counts the written bytes.
type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += n
	return n, err
}

// text is a value of strings as JSON, with its characters as they are.
func text(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings always can be
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
