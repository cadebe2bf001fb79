package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

const (
	prefix      = 8           // bytes of the header's length
	maxHeader   = 100_000_000 // bytes of the header, as the format has it
	maxRank     = 64
	metadataKey = "__metadata__"
)

// Header describes a tensor in a file.
type Header struct {
	DType      string // the format's dtype name: "F32"
	Shape      []int
	Begin, End int64 // byte range in the file; End is exclusive
}

// String returns the dtype and the shape: "F32 [8,7]".
func (h Header) String() string { return h.DType + " " + tensor.FormatShape(h.Shape) }

// dtype is a type of the format.
type dtype struct {
	name  string
	bits  uint64 // of an element
	descr string // as in npy.HeaderOf; empty for an unsupported dtype
}

// dtypes are the types that the format has names for.
var dtypes = func() map[string]dtype {
	m := map[string]dtype{}
	for _, d := range []dtype{
		{"F64", 64, "<f8"}, {"F32", 32, "<f4"}, {"F16", 16, "<f2"}, {"BF16", 16, npy.BF16},
		{"I64", 64, "<i8"}, {"I32", 32, "<i4"}, {"I16", 16, "<i2"}, {"I8", 8, "|i1"},
		{"U64", 64, "<u8"}, {"U32", 32, "<u4"}, {"U16", 16, "<u2"}, {"U8", 8, "|u1"}, {"BOOL", 8, "|b1"},
		{name: "C64", bits: 64}, {name: "F8_E4M3", bits: 8}, {name: "F8_E5M2", bits: 8}, {name: "F8_E8M0", bits: 8},
		{name: "F8_E4M3FNUZ", bits: 8}, {name: "F8_E5M2FNUZ", bits: 8}, {name: "F6_E2M3", bits: 6}, {name: "F6_E3M2", bits: 6}, {name: "F4", bits: 4},
	} {
		m[d.name] = d
	}
	return m
}()

// readable lists the names of the dtypes that are read.
const readable = "F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8 or BOOL"

// layout is the content of a header.
type layout struct {
	names    []string // in the header's order
	tensors  map[string]Header
	metadata map[string]string
	data     int64  // where the tensors begin
	sum      uint32 // of the bytes before them
	end      int64  // where the last of them ends
}

// readLayout reads the header of a file of size bytes, and holds it against the format's rules.
func readLayout(r io.ReaderAt, size int64) (*layout, error) {
	var length [prefix]byte
	if size < prefix {
		return nil, bad(dataset.ErrTruncated, size, "file", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at least %d, the header's length", prefix))
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n > maxHeader:
		return nil, bad(dataset.ErrTooLarge, 0, "header length", strconv.FormatUint(n, 10), fmt.Sprintf("at most %d", maxHeader))
	case int64(n) > size-prefix:
		return nil, bad(dataset.ErrTruncated, size, "header", fmt.Sprintf("%d bytes", size-prefix), fmt.Sprintf("%d", n))
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, prefix); err != nil && err != io.EOF {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, bad(dataset.ErrCorrupt, prefix, "header", "bytes that are not UTF-8", "UTF-8")
	}
	if n == 0 || text[0] != '{' {
		return nil, bad(dataset.ErrCorrupt, prefix, "header", fmt.Sprintf("%.10q", text), `"{" first`)
	}
	l := &layout{tensors: map[string]Header{}, metadata: map[string]string{}, data: prefix + int64(n), sum: crc32.Update(crc32.Checksum(length[:], castagnoli), castagnoli, text)}
	p := &parser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	if err := p.header(l); err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(text[p.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, p.fail(dataset.ErrCorrupt, "header", fmt.Sprintf("%.20q after it", rest), "spaces alone")
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	if l.end < size {
		return nil, bad(dataset.ErrCorrupt, l.end, "after the last tensor", fmt.Sprintf("%d more bytes", size-l.end), "the end")
	}
	return l, nil
}

func bad(kind error, at int64, msg, got, want string) error {
	return &dataset.FormatError{Format: "safetensors", Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

// check makes sure that the tensors lie one after the other.
func (l *layout) check() error {
	order := slices.Clone(l.names)
	slices.SortFunc(order, func(a, b string) int {
		x, y := l.tensors[a], l.tensors[b]
		return cmp.Or(cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.End, y.End))
	})
	l.end = l.data
	for _, name := range order {
		switch h := l.tensors[name]; {
		case h.Begin > l.end:
			return bad(dataset.ErrCorrupt, l.end, fmt.Sprintf("before tensor %s", quote(name)), fmt.Sprintf("%d bytes of no tensor", h.Begin-l.end), "no hole")
		case h.Begin < l.end:
			return bad(dataset.ErrCorrupt, h.Begin, fmt.Sprintf("tensor %s", quote(name)), fmt.Sprintf("%d bytes of the tensor before it", l.end-h.Begin), "no overlap")
		default:
			l.end = h.End
		}
	}
	return nil
}

// quote is a name for an error, shortened.
func quote(name string) string { return fmt.Sprintf("%.60q", name) }

// parser reads the header's text token by token. It knows the valid tokens at every position, so nothing nests too deep.
type parser struct {
	text []byte
	dec  *json.Decoder
}

func (p *parser) fail(kind error, msg, got, want string) error {
	return bad(kind, prefix+p.dec.InputOffset(), msg, got, want)
}

// next returns the next token.
func (p *parser) next(what string) (json.Token, error) {
	token, err := p.dec.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &dataset.FormatError{Format: "safetensors", Offset: prefix + p.dec.InputOffset(), Kind: dataset.ErrCorrupt, Msg: what, Err: err}
	}
	return token, nil
}

func (p *parser) delim(want json.Delim, what string) error {
	token, err := p.next(what)
	if err == nil && token != want {
		err = p.fail(dataset.ErrCorrupt, what, fmt.Sprintf("%.60v", token), fmt.Sprintf("%q", want))
	}
	return err
}

// str reads a string.
func (p *parser) str(what string) (string, error) {
	from := p.dec.InputOffset()
	token, err := p.next(what)
	if err != nil {
		return "", err
	}
	s, ok := token.(string)
	if !ok {
		return "", p.fail(dataset.ErrCorrupt, what, fmt.Sprintf("%.60v", token), "a string")
	}
	const none = string(utf8.RuneError) // the replacement for half a surrogate pair, which JSON can escape
	if n := strings.Count(s, none); n > 0 {
		raw := bytes.ToLower(p.text[from:p.dec.InputOffset()])
		if bytes.Count(raw, []byte(none))+bytes.Count(raw, []byte(`\ufffd`)) < n {
			return "", p.fail(dataset.ErrCorrupt, what, quote(s), "characters of Unicode")
		}
	}
	return s, nil
}

// numbers reads a list with at most most whole numbers, none negative.
func (p *parser) numbers(what string, most int) ([]int64, error) {
	if err := p.delim('[', what); err != nil {
		return nil, err
	}
	list := []int64{}
	for p.dec.More() {
		token, err := p.next(what)
		if err != nil {
			return nil, err
		}
		number, _ := token.(json.Number)
		n, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, p.fail(dataset.ErrCorrupt, what, fmt.Sprintf("%.60v", token), "a whole number from 0 to 2^63-1")
		}
		if list = append(list, int64(n)); len(list) > most {
			return nil, p.fail(dataset.ErrTooLarge, what, fmt.Sprintf("more than %d numbers", most), "no more")
		}
	}
	return list, p.delim(']', what)
}

func (p *parser) header(l *layout) error {
	if err := p.delim('{', "header"); err != nil {
		return err
	}
	seen := false
	for p.dec.More() {
		name, err := p.str("name of a tensor")
		if err != nil {
			return err
		}
		if _, twice := l.tensors[name]; twice || seen && name == metadataKey {
			return p.fail(dataset.ErrCorrupt, "header", quote(name)+" twice", "each name once")
		}
		if name == metadataKey {
			seen = true
			err = p.texts(l.metadata)
		} else {
			l.tensors[name], err = p.tensor(name, l.data)
			l.names = append(l.names, name)
		}
		if err != nil {
			return err
		}
	}
	return p.delim('}', "header")
}

// texts reads the metadata.
func (p *parser) texts(to map[string]string) error {
	if err := p.delim('{', metadataKey); err != nil {
		return err
	}
	for p.dec.More() {
		key, err := p.str(metadataKey)
		if err != nil {
			return err
		}
		if _, twice := to[key]; twice {
			return p.fail(dataset.ErrCorrupt, metadataKey, quote(key)+" twice", "each name once")
		}
		if to[key], err = p.str(metadataKey); err != nil {
			return err
		}
	}
	return p.delim('}', metadataKey)
}

// tensor reads the description of a tensor. The tensors begin at byte data.
func (p *parser) tensor(name string, data int64) (h Header, err error) {
	what := "tensor " + quote(name)
	if err := p.delim('{', what); err != nil {
		return h, err
	}
	var shape, span []int64
	for p.dec.More() {
		key, err := p.str(what)
		if err != nil {
			return h, err
		}
		switch {
		case key == "dtype" && h.DType == "":
			if h.DType, err = p.str(what + " dtype"); err == nil && h.DType == "" {
				err = p.fail(dataset.ErrCorrupt, what, "an empty dtype", readable)
			}
		case key == "shape" && shape == nil:
			shape, err = p.numbers(what+" shape", maxRank)
		case key == "data_offsets" && span == nil:
			span, err = p.numbers(what+" data_offsets", 2)
		default:
			err = p.fail(dataset.ErrCorrupt, what, quote(key), "dtype, shape and data_offsets, each once")
		}
		if err != nil {
			return h, err
		}
	}
	if err := p.delim('}', what); err != nil {
		return h, err
	}
	if h.DType == "" || shape == nil || len(span) != 2 || span[0] > span[1] || span[1] > math.MaxInt64/8-data {
		return h, p.fail(dataset.ErrCorrupt, what, fmt.Sprintf("dtype %s, shape %.60v, data_offsets %.60v", quote(h.DType), fmt.Sprint(shape), fmt.Sprint(span)),
			"a dtype, a shape, and data_offsets [begin, end]")
	}
	h.Begin, h.End, h.Shape = data+span[0], data+span[1], make([]int, len(shape))
	for i, n := range shape {
		if n > math.MaxInt {
			return h, p.fail(dataset.ErrTooLarge, what, fmt.Sprintf("dimension %d", n), fmt.Sprintf("at most %d", math.MaxInt))
		}
		h.Shape[i] = int(n)
	}
	count, err := tensor.NumElements(h.Shape...)
	if err != nil {
		return h, p.fail(dataset.ErrTooLarge, what, fmt.Sprintf("shape %.60s", tensor.FormatShape(h.Shape)), "at most 2^62 elements")
	}
	if d, known := dtypes[h.DType]; known {
		h.DType = d.name // one string for all
		if over, size := bits.Mul64(uint64(count), d.bits); over > 0 || size != 8*uint64(h.End-h.Begin) {
			return h, p.fail(dataset.ErrCorrupt, what, fmt.Sprintf("%d bytes for %s %.60s", h.End-h.Begin, h.DType, tensor.FormatShape(h.Shape)), "as many as that takes")
		}
	}
	return h, nil
}
