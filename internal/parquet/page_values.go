package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// The supported encodings, by Parquet's numbers.
const (
	plainValues     = 0
	plainDictionary = 2 // an older name for indexValues
	runs            = 3
	differences     = 5
	textsByLength   = 6
	textsByPrefix   = 7
	indexValues     = 8
	splitBytes      = 9
)

// Limits for a page.
const (
	maxPageValues = 1 << 24
	maxPageBytes  = 1 << 28
)

// decodedPage is a decompressed and split page. Its memory is reused after release.
type decodedPage struct {
	kind       string  // the values' type
	reps, defs []byte  // levels; nil if the column has none
	n          int     // values and nulls
	dense      int     // values
	width      int     // values per row if there are no nulls and all rows have the same count; else 0
	raw        []byte  // plain values, little endian; booleans take a byte each
	starts     []int   // offset of each text in raw; the last is the end
	gap        int     // bytes between texts
	ints       []int64 // integers that were stored as differences; nil if they are in raw
	index      []int32
	dict       *dictionary // for index; nil without one

	body, plain, bools []byte // memory for the next page
	at                 []int
	longs              []int64
	numbers            []int32
	levels             [2][]byte
}

var pages = sync.Pool{New: func() any { return &decodedPage{} }}

func (p *decodedPage) release() {
	p.dict, p.index, p.raw, p.starts, p.ints, p.reps, p.defs = nil, nil, nil, nil, nil, nil, nil
	if cap(p.body)+cap(p.plain) <= 8*maxHeld { // rare large buffers are not kept
		pages.Put(p)
	}
}

// dictionary holds the distinct values that pages in a row group refer to by index.
type dictionary struct {
	n       int
	float32 []float32
	float64 []float64
	int64   []int64
	texts   []string
}

// levelV1 decodes levels that begin with their length, and returns the remaining bytes.
func (p *decodedPage) levelV1(which int, data []byte, most int) (levels, rest []byte, err error) {
	if most == 0 {
		return nil, data, nil
	}
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, nil, errors.New("levels that end behind the page")
	}
	end := 4 + int(binary.LittleEndian.Uint32(data))
	levels, err = p.level(which, data[4:end], most)
	return levels, data[end:], err
}

// level decodes levels from 0 to most, one for each value and null.
func (p *decodedPage) level(which int, data []byte, most int) ([]byte, error) {
	if most == 0 {
		return nil, nil
	}
	width := bits.Len(uint(most))
	data, err := cutRuns(data, width, p.n)
	if err != nil {
		return nil, err
	}
	e := rle.Encoding{BitWidth: width}
	out, err := e.DecodeLevels(p.levels[which], data)
	if err != nil {
		return nil, err
	}
	p.levels[which] = out
	return out[:p.n], nil
}

// cutRuns returns the runs for the first n numbers, each with width bits. The last run may be longer, because DuckDB pads it to 256
// numbers. Its length is then reduced in data, because the decoder allocates the declared length. Numbers after the first n are not
// read.
func cutRuns(data []byte, width, n int) ([]byte, error) {
	at, left := 0, uint64(n)
	for left > 0 {
		head, size := binary.Uvarint(data[at:])
		if size <= 0 {
			return nil, fmt.Errorf("runs of %d numbers, want %d", uint64(n)-left, n)
		}
		shift, room := head&1*3, uint64(width+7)/8 // a packed run counts units of 8 numbers
		length := min(head>>1, (left+1<<shift-1)>>shift)
		if shift > 0 {
			room = length * uint64(width)
		}
		if length != head>>1 { // keeps the length's byte count
			for i := range size {
				data[at+i] = byte((length<<1|head&1)>>(7*i))&0x7f | 0x80
			}
			data[at+size-1] &= 0x7f
		}
		if at += size; room > uint64(len(data)-at) {
			return nil, errors.New("a run that ends behind the page")
		}
		at += int(room)
		left -= min(left, length<<shift)
	}
	return data[:at], nil
}

// values decodes the page's values.
func (p *decodedPage) values(encoding int64, data []byte) error {
	switch {
	case encoding == plainDictionary || encoding == indexValues:
		return p.indices(data)
	case encoding == runs && p.kind == "bool":
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return errors.New("truth values that end behind the page")
		}
		data, err := cutRuns(data[4:4+binary.LittleEndian.Uint32(data)], 1, p.dense)
		if err != nil {
			return err
		}
		e := rle.Encoding{BitWidth: 1}
		out, err := e.DecodeLevels(p.bools, data)
		if err != nil {
			return err
		}
		p.bools, p.raw = out, out[:p.dense]
		return nil
	case encoding == differences && isWhole(p.kind):
		list, _, err := deltas(p.longs[:0], data, p.dense)
		if err == nil {
			p.longs, p.ints = list, list
		}
		return err
	case encoding == textsByLength && p.kind == "string":
		return p.textsByLength(data)
	case encoding == textsByPrefix && p.kind == "string":
		prefixes, data, err := deltas(nil, data, p.dense)
		if err == nil {
			err = p.textsByLength(data)
		}
		if err != nil {
			return err
		}
		return p.addPrefixes(prefixes)
	case encoding == splitBytes && p.kind != "bool" && p.kind != "string":
		size := sizeOf(p.kind)
		if len(data) < p.dense*size {
			return fmt.Errorf("%d bytes for %d values of %s", len(data), p.dense, p.kind)
		}
		p.bools = slices.Grow(p.bools[:0], p.dense*size)[:p.dense*size]
		for i := range p.bools {
			p.bools[i] = data[i%size*p.dense+i/size]
		}
		p.raw = p.bools
		return nil
	case encoding != plainValues:
		return fmt.Errorf("values encoded in way %d", encoding) // not reached: pagesOf rejects it by name
	case p.kind == "bool":
		if len(data) < (p.dense+7)/8 {
			return fmt.Errorf("%d bytes for %d truth values", len(data), p.dense)
		}
		p.bools = slices.Grow(p.bools[:0], p.dense)[:p.dense]
		for i := range p.bools {
			p.bools[i] = data[i/8] >> (i % 8) & 1
		}
		p.raw = p.bools
		return nil
	case p.kind == "string":
		return p.plainTexts(data)
	}
	if size := p.dense * sizeOf(p.kind); len(data) < size {
		return fmt.Errorf("%d bytes for %d values of %s", len(data), p.dense, p.kind)
	}
	p.raw = data
	return nil
}

func (p *decodedPage) plainTexts(data []byte) error {
	p.starts = slices.Grow(p.at[:0], p.dense+1)[:0]
	at := 0
	for range p.dense {
		if len(data)-at < 4 || uint64(binary.LittleEndian.Uint32(data[at:])) > uint64(len(data)-at-4) {
			return errors.New("a text that ends behind the page")
		}
		p.starts = append(p.starts, at+4)
		at += 4 + int(binary.LittleEndian.Uint32(data[at:]))
	}
	p.starts = append(p.starts, at+4)
	p.at, p.raw, p.gap = p.starts, data, 4
	return nil
}

// textsByLength decodes texts that follow their lengths.
func (p *decodedPage) textsByLength(data []byte) error {
	lengths, data, err := deltas(p.longs[:0], data, p.dense)
	if err != nil {
		return err
	}
	p.longs, p.starts = lengths, slices.Grow(p.at[:0], p.dense+1)[:0]
	at := 0
	for _, n := range lengths {
		if n < 0 || n > int64(len(data)-at) {
			return errors.New("a text that ends behind the page")
		}
		p.starts = append(p.starts, at)
		at += int(n)
	}
	p.starts = append(p.starts, at)
	p.at, p.raw, p.gap = p.starts, data, 0
	return nil
}

// addPrefixes prepends to each text the bytes that it shares with the previous text (DELTA_BYTE_ARRAY).
func (p *decodedPage) addPrefixes(shared []int64) error {
	var all, last []byte
	starts := make([]int, 1, len(shared)+1)
	for i, n := range shared {
		if n < 0 || n > int64(len(last)) || len(all)+int(n) > maxPageBytes {
			return fmt.Errorf("a text that shares %d bytes with one of %d", n, len(last))
		}
		all = append(append(all, last[:n]...), p.text(i)...)
		last = all[starts[i]:]
		starts = append(starts, len(all))
	}
	p.raw, p.starts = all, starts
	return nil
}

// text returns text i.
func (p *decodedPage) text(i int) []byte { return p.raw[p.starts[i] : p.starts[i+1]-p.gap] }

// isWhole reports whether a kind is an integer type.
func isWhole(kind string) bool { return kind[0] == 'i' || kind[0] == 'u' }

// indices decodes dictionary indices and checks their range.
func (p *decodedPage) indices(data []byte) error {
	if p.dict == nil {
		return errors.New("numbers of a dictionary's values, and no dictionary")
	}
	if p.dense == 0 {
		p.index = p.numbers[:0]
		return nil
	}
	if len(data) == 0 || data[0] > 32 {
		return errors.New("numbers of a dictionary's values of more than 32 bits")
	}
	runs, err := cutRuns(data[1:], int(data[0]), p.dense)
	if err != nil {
		return err
	}
	var e rle.DictionaryEncoding
	out, err := e.DecodeInt32(p.numbers[:cap(p.numbers)], data[:1+len(runs)])
	if err != nil {
		return err
	}
	p.numbers, p.index = out, out[:p.dense]
	most := uint32(p.dict.n)
	for _, k := range p.index {
		if uint32(k) >= most {
			return fmt.Errorf("value %d of a dictionary of %d", k, most)
		}
	}
	return nil
}

// sizeOf returns a number's size in bytes.
func sizeOf(kind string) int {
	switch kind {
	case "float64", "int64", "uint64":
		return 8
	case "float16":
		return 2
	}
	return 4
}

// appendTo appends values [a,b) to v.
func (p *decodedPage) appendTo(v *Values, a, b int) {
	n := b - a
	switch d := p.dict; {
	case p.index != nil && d.float32 != nil:
		v.Float32 = pick(v.Float32, d.float32, p.index[a:b])
	case p.index != nil && d.float64 != nil:
		v.Float64 = pick(v.Float64, d.float64, p.index[a:b])
	case p.index != nil && d.texts != nil:
		v.Texts = pick(v.Texts, d.texts, p.index[a:b])
	case p.index != nil:
		v.Int64 = pick(v.Int64, d.int64, p.index[a:b])
	case p.kind == "string":
		for i := a; i < b; i++ {
			v.Texts = append(v.Texts, string(p.text(i)))
		}
	case p.kind == "float32":
		v.Float32 = unpacked(v.Float32, p.raw[4*a:4*b], n)
	case p.kind == "float64":
		v.Float64 = unpacked(v.Float64, p.raw[8*a:8*b], n)
	case p.kind == "float16":
		for raw := p.raw[2*a : 2*b]; len(raw) >= 2; raw = raw[2:] {
			v.Float32 = append(v.Float32, tensor.Float16(binary.LittleEndian.Uint16(raw)).F32())
		}
	default:
		v.Int64 = p.integers(slices.Grow(v.Int64, n), a, b)
	}
}

// unpacked appends n numbers, stored in little-endian order in from.
func unpacked[T float32 | float64 | int64](to []T, from []byte, n int) []T {
	old := len(to)
	to = slices.Grow(to, n)[:old+n]
	if raw.Little {
		copy(raw.Bytes(to[old:]), from)
	} else {
		_, _ = binary.Decode(from, binary.LittleEndian, to[old:]) // the byte count matches
	}
	return to
}

func (p *decodedPage) integers(to []int64, a, b int) []int64 {
	if p.ints != nil {
		for _, x := range p.ints[a:b] {
			switch { // 32-bit differences wrap
			case sizeOf(p.kind) == 8:
			case p.kind[0] == 'u':
				x = int64(uint32(x))
			default:
				x = int64(int32(x))
			}
			to = append(to, x)
		}
		return to
	}
	switch p.kind {
	case "bool":
		for _, x := range p.raw[a:b] {
			to = append(to, int64(x))
		}
	case "int64", "uint64":
		return unpacked(to, p.raw[8*a:8*b], b-a)
	case "uint8", "uint16", "uint32":
		for raw := p.raw[4*a : 4*b]; len(raw) >= 4; raw = raw[4:] {
			to = append(to, int64(binary.LittleEndian.Uint32(raw)))
		}
	default:
		for raw := p.raw[4*a : 4*b]; len(raw) >= 4; raw = raw[4:] {
			to = append(to, int64(int32(binary.LittleEndian.Uint32(raw))))
		}
	}
	return to
}

// pick appends the dictionary values at the indices.
func pick[T any](to, from []T, index []int32) []T {
	n := len(to)
	to = slices.Grow(to, len(index))[:n+len(index)]
	for i, k := range index {
		to[n+i] = from[k]
	}
	return to
}

// maxHeld limits the values in a page that is kept.
const maxHeld = 1 << 19

// regular returns the values per row, if all rows have the same count and the first value begins a row; otherwise 0.
func regular(reps []byte, n int) int {
	if len(reps) == 0 {
		return 1
	}
	count := bytes.Count(reps, []byte{0})
	if count == 0 || n%count != 0 {
		return 0
	}
	width := n / count
	for i := 0; i < n; i += width {
		if reps[i] != 0 {
			return 0
		}
	}
	return width
}

// reserve grows v's list for n values, if it has none yet.
func (p *decodedPage) reserve(v *Values, n int) {
	switch {
	case v.Len() > 0:
	case p.kind == "float32":
		v.Float32 = slices.Grow(v.Float32, n)
	case p.kind == "float64":
		v.Float64 = slices.Grow(v.Float64, n)
	case p.kind != "float16" && p.kind != "string":
		v.Int64 = slices.Grow(v.Int64, n)
	}
}

func (p *decodedPage) appendNull(v *Values) {
	switch p.kind {
	case "float32", "float16":
		v.Float32 = append(v.Float32, float32(math.NaN()))
	case "float64":
		v.Float64 = append(v.Float64, math.NaN())
	case "string":
		v.Texts = append(v.Texts, "")
	default:
		v.Int64 = append(v.Int64, 0)
	}
}
