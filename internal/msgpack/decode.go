package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// MaxDepth limits how deep arrays and maps are nested in Decode. MaxValues limits the number of values, keys included.
const (
	MaxDepth  = 16
	MaxValues = 1 << 14
)

// Error is input that Decode refuses. Offset is the byte in the input, from 0.
type Error struct {
	Offset    int
	Got, Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("msgpack: byte %d: got %s, want %s", e.Offset, e.Got, e.Want)
}

// Decode decodes exactly one value: nil, bool, int64, uint64 (if int64 is too small), float64, string, []byte, []any or map[string]any. A
// []byte shares memory with the input. A key is text or binary, and the map does not distinguish the two. Other keys, duplicate keys,
// text that is not UTF-8, extensions and bytes after the value are an *Error.
func Decode(data []byte) (any, error) {
	d := decoder{data: data}
	v, err := d.value(0)
	if err == nil && d.at < len(data) {
		err = &Error{d.at, fmt.Sprintf("%d bytes after the value", len(data)-d.at), "the end"}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

type decoder struct {
	data   []byte
	at     int
	values int
}

// take returns the next n bytes.
func (d *decoder) take(n uint64) ([]byte, error) {
	if left := len(d.data) - d.at; n > uint64(left) {
		return nil, &Error{d.at, fmt.Sprintf("%d bytes", left), fmt.Sprint(n)}
	}
	b := d.data[d.at : d.at+int(n)]
	d.at += int(n)
	return b, nil
}

// number returns the next n bytes as a big-endian number. n is 1, 2, 4 or 8.
func (d *decoder) number(n uint64) (uint64, error) {
	var wide [8]byte
	b, err := d.take(n)
	copy(wide[8-n:], b)
	return binary.BigEndian.Uint64(wide[:]), err
}

// Types by their first byte. Fixed types have a number in its low bits.
const (
	fixMap, fixArray, fixString, typeNil = 0x80, 0x90, 0xa0, 0xc0
	typeFalse, typeTrue                  = 0xc2, 0xc3
	bin8, ext8, float32Type, float64Type = 0xc4, 0xc7, 0xca, 0xcb
	uint8Type, int8Type, fixExt, str8    = 0xcc, 0xd0, 0xd4, 0xd9
	array16, map16, negative             = 0xdc, 0xde, 0xe0
	bin32, int64Type, str32              = 0xc6, 0xd3, 0xdb
	array32, map32                       = 0xdd, 0xdf
)

func (d *decoder) value(depth int) (any, error) {
	start := d.at
	if d.values++; d.values > MaxValues {
		return nil, &Error{start, fmt.Sprintf("more than %d values", MaxValues), "fewer"}
	}
	head, err := d.take(1)
	if err != nil {
		return nil, err
	}
	switch c := head[0]; {
	case c < fixMap:
		return int64(c), nil
	case c < fixArray:
		return d.mapOf(uint64(c-fixMap), depth)
	case c < fixString:
		return d.array(uint64(c-fixArray), depth)
	case c < typeNil:
		return d.text(uint64(c-fixString), depth)
	case c == typeNil:
		return nil, nil
	case c == typeFalse, c == typeTrue:
		return c == typeTrue, nil
	case c >= bin8 && c < ext8:
		return d.sized(1<<(c-bin8), depth, d.binary)
	case c == float32Type:
		n, err := d.number(4)
		return float64(math.Float32frombits(uint32(n))), err
	case c == float64Type:
		n, err := d.number(8)
		return math.Float64frombits(n), err
	case c >= uint8Type && c < int8Type:
		n, err := d.number(1 << (c - uint8Type))
		if n > math.MaxInt64 {
			return n, err
		}
		return int64(n), err
	case c >= int8Type && c < fixExt:
		size := uint64(1) << (c - int8Type)
		n, err := d.number(size)
		shift := 64 - 8*size
		return int64(n<<shift) >> shift, err
	case c >= str8 && c < array16:
		return d.sized(1<<(c-str8), depth, d.text)
	case c >= array16 && c < map16:
		return d.sized(2<<(c-array16), depth, d.array)
	case c >= map16 && c < negative:
		return d.sized(2<<(c-map16), depth, d.mapOf)
	case c >= negative:
		return int64(int8(c)), nil
	}
	return nil, &Error{start, fmt.Sprintf("type %#x", head[0]), "nil, a boolean, a number, text, binary, an array or a map"}
}

// sized reads a length, which has size bytes, and then a value with that length.
func (d *decoder) sized(size uint64, depth int, read func(n uint64, depth int) (any, error)) (any, error) {
	n, err := d.number(size)
	if err != nil {
		return nil, err
	}
	return read(n, depth)
}

func (d *decoder) binary(n uint64, _ int) (any, error) { return d.take(n) }

func (d *decoder) text(n uint64, _ int) (any, error) {
	start := d.at
	b, err := d.take(n)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, &Error{start, "text that is not UTF-8", "UTF-8"}
	}
	return string(b), nil
}

// room checks the length of an array or map before memory is allocated. Each element has at least size bytes.
func (d *decoder) room(n, size uint64, depth int) error {
	switch left := len(d.data) - d.at; {
	case depth >= MaxDepth:
		return &Error{d.at, fmt.Sprintf("more than %d nested levels", MaxDepth), "fewer"}
	case n > uint64(left)/size:
		return &Error{d.at, fmt.Sprintf("%d bytes", left), fmt.Sprintf("%d elements, each %d bytes or more", n, size)}
	case n > uint64(MaxValues-d.values):
		return &Error{d.at, fmt.Sprintf("more than %d values", MaxValues), "fewer"}
	}
	return nil
}

func (d *decoder) array(n uint64, depth int) (any, error) {
	if err := d.room(n, 1, depth); err != nil {
		return nil, err
	}
	list := make([]any, n)
	for i := range list {
		var err error
		if list[i], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d *decoder) mapOf(n uint64, depth int) (any, error) {
	if err := d.room(n, 2, depth); err != nil {
		return nil, err
	}
	m := make(map[string]any, n)
	for range n {
		start := d.at
		k, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		var key string
		switch k := k.(type) {
		case string:
			key = k
		case []byte:
			key = string(k)
		default:
			return nil, &Error{start, fmt.Sprintf("a %T key", k), "text or binary"}
		}
		if _, twice := m[key]; twice {
			return nil, &Error{start, fmt.Sprintf("the key %.100q again", key), "each key once"}
		}
		if m[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return m, nil
}
