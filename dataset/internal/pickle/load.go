package pickle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
)

const (
	maxValues = 1 << 21 // that are pushed or remembered: some hundred megabytes of memory at most
	maxMarks  = 1000    // that are open: how deep a list lies in lists as they are written
)

// Load reads a pickle that begins at byte base of a file. It returns the value and the length of the pickle in bytes; more data may
// follow. The result may share memory with data. If the pickle is broken or refused, the error is a *dataset.FormatError without a
// path.
func Load(data []byte, base int64) (v any, n int, err error) {
	m := &machine{data: data, base: base, memo: map[uint32]any{}}
	if len(data) > 0 && data[0] != opProto {
		return nil, 0, m.fail(dataset.ErrUnsupported, "first opcode", fmt.Sprintf("%#02x", data[0]), "0x80, protocols 2 to 5")
	}
	for {
		m.op = m.at
		done, err := m.step()
		if err != nil {
			return nil, 0, err
		}
		if done {
			break
		}
	}
	v, err = m.pop()
	if err == nil {
		err = m.plain(v)
	}
	return v, m.at, err
}

// machine runs a pickle.
type machine struct {
	data    []byte
	at, op  int // the offsets of the next byte and of the opcode
	base    int64
	stack   []any
	marks   []int // where the stack was
	memo    map[uint32]any
	values  int // pushed and remembered
	encoded int // bytes that encode made
}

func (m *machine) fail(kind error, msg, got, want string) error {
	return formatError(kind, m.base+int64(m.op), msg, got, want)
}

// take returns the next n bytes.
func (m *machine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.data)-m.at) {
		at := m.base + int64(len(m.data))
		return nil, &dataset.FormatError{Format: "pickle", Offset: at, Kind: dataset.ErrTruncated, Msg: "opcode at byte " + strconv.FormatInt(m.base+int64(m.op), 10),
			Got: fmt.Sprintf("%d bytes", len(m.data)-m.at), Want: strconv.FormatUint(n, 10), Err: io.ErrUnexpectedEOF}
	}
	b := m.data[m.at : m.at+int(n) : m.at+int(n)]
	m.at += int(n)
	return b, nil
}

// number reads one of 1, 2, 4 or 8 bytes.
func (m *machine) number(size uint64) (uint64, error) {
	b, err := m.take(size)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), nil
}

// sized reads a length with size bytes, then as many bytes as the length.
func (m *machine) sized(size uint64) ([]byte, error) {
	n, err := m.number(size)
	if err != nil {
		return nil, err
	}
	return m.take(n)
}

// line reads up to the end of a line.
func (m *machine) line() (string, error) {
	for i := m.at; i < len(m.data) && i < m.at+256; i++ {
		if m.data[i] == '\n' {
			b, err := m.take(uint64(i + 1 - m.at))
			return string(b[:len(b)-1]), err
		}
	}
	if len(m.data)-m.at < 256 {
		_, err := m.take(256)
		return "", err
	}
	return "", m.fail(dataset.ErrTooLarge, "name", "more than 256 bytes", "fewer")
}

// count counts a value that takes memory.
func (m *machine) count() error {
	if m.values++; m.values > maxValues {
		return m.fail(dataset.ErrTooLarge, "pickle", "more values", fmt.Sprintf("at most %d", maxValues))
	}
	return nil
}

func (m *machine) push(v any) error {
	m.stack = append(m.stack, v)
	return m.count()
}

func (m *machine) pop() (any, error) {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	if len(m.stack) <= floor {
		return nil, m.fail(dataset.ErrCorrupt, "stack", "nothing", "a value")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// top returns the last value, which stays.
func (m *machine) top() (any, error) {
	v, err := m.pop()
	if err == nil {
		m.stack = append(m.stack, v)
	}
	return v, err
}

// popN returns the last n values, a copy.
func (m *machine) popN(n int) ([]any, error) {
	list := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		var err error
		if list[i], err = m.pop(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// popMark returns the values since the last mark, a copy.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, m.fail(dataset.ErrCorrupt, "stack", "no mark", "one")
	}
	from := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	list := append([]any(nil), m.stack[from:]...)
	m.stack = m.stack[:from]
	return list, nil
}

// plain returns an error of a value that is no data: a function or a type. A tuple may hold them, since it may be a function's arguments.
func (m *machine) plain(list ...any) error {
	for _, v := range list {
		switch v := v.(type) {
		case function:
			return m.fail(dataset.ErrUnsupported, "value", "the function "+v.String(), "data")
		case *dtype:
			return m.fail(dataset.ErrUnsupported, "value", "a type of numpy's", "data")
		}
	}
	return nil
}

func (m *machine) append(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	list, ok := v.(*List)
	if !ok || list.tuple {
		return m.fail(dataset.ErrUnsupported, "append", fmt.Sprintf("to %s", kindOf(v)), "to a list")
	}
	list.Items = append(list.Items, items...)
	return nil
}

func (m *machine) setItems(d *Dict, items []any) error {
	if len(items)%2 != 0 {
		return m.fail(dataset.ErrCorrupt, "dictionary", "a key without a value", "both")
	}
	for i := 0; i < len(items); i += 2 {
		switch items[i].(type) {
		case nil, bool, int64, float64, string, []byte:
		default:
			return m.fail(dataset.ErrUnsupported, "dictionary", "a key that is "+kindOf(items[i]), "a number or text")
		}
		d.Keys, d.Values = append(d.Keys, items[i]), append(d.Values, items[i+1])
	}
	return nil
}

func (m *machine) setOnTop(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	d, ok := v.(*Dict)
	if !ok {
		return m.fail(dataset.ErrUnsupported, "set", "items of "+kindOf(v), "of a dictionary")
	}
	return m.setItems(d, items)
}

func (m *machine) text(b []byte, err error) error {
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return m.fail(dataset.ErrCorrupt, "text", fmt.Sprintf("%.20q", b), "UTF-8")
	}
	return m.push(string(b))
}

// long is a number in two's complement.
func (m *machine) long(b []byte, err error) error {
	if err != nil {
		return err
	}
	if len(b) > 8 {
		return m.fail(dataset.ErrUnsupported, "number", fmt.Sprintf("%d bytes", len(b)), "at most 8")
	}
	var whole [8]byte
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		whole = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(whole[:], b)
	return m.push(int64(binary.LittleEndian.Uint64(whole[:])))
}

func (m *machine) float() error {
	b, err := m.take(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *List:
		if v.tuple {
			return "a tuple"
		}
		return "a list"
	case *Dict:
		return "a dictionary"
	case *Array:
		return "an array"
	case *dtype:
		return "a type of numpy's"
	case function:
		return "the function " + v.String()
	case string:
		return "a text"
	case []byte:
		return "bytes"
	}
	return "a number"
}
