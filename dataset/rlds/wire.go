package rlds

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// The wire types of protobuf that are in use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// wire reads a protobuf message field by field. At is where the message begins in its file.
type wire struct {
	b   []byte
	at  int64
	pos int
}

// field is a field of a message: of a number the value, of bytes what they hold.
type field struct {
	num, kind int
	value     uint64
	body      wire
}

func (w *wire) bad(pos int, msg, got, want string) *dataset.FormatError {
	return formatError(dataset.ErrCorrupt, "", w.at+int64(pos), msg, got, want)
}

// next returns the next field, and false after the last.
func (w *wire) next() (f field, ok bool, err error) {
	if w.pos >= len(w.b) {
		return f, false, nil
	}
	from := w.pos
	tag, err := w.varint()
	if err != nil {
		return f, false, err
	}
	if f.num, f.kind = int(min(tag>>3, 1<<30)), int(tag&7); f.num == 0 || f.num >= 1<<29 {
		return f, false, w.bad(from, "field", fmt.Sprintf("number %d", tag>>3), "1 to 536870911")
	}
	size := 0
	switch f.kind {
	case wireVarint:
		f.value, err = w.varint()
		return f, err == nil, err
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireBytes:
		n, err := w.varint()
		if err != nil {
			return f, false, err
		}
		if n > uint64(len(w.b)-w.pos) {
			return f, false, w.bad(from, "field", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d, to the end of its message", len(w.b)-w.pos))
		}
		size = int(n)
	default:
		return f, false, w.bad(from, "field", fmt.Sprintf("wire type %d", f.kind), "0, 1, 2 or 5")
	}
	if size > len(w.b)-w.pos {
		return f, false, w.bad(from, "field", fmt.Sprintf("%d bytes before the end of its message", len(w.b)-w.pos), fmt.Sprint(size))
	}
	f.body = wire{b: w.b[w.pos : w.pos+size], at: w.at + int64(w.pos)}
	w.pos += size
	return f, true, nil
}

func (w *wire) varint() (uint64, error) {
	if w.pos < len(w.b) && w.b[w.pos] < 0x80 {
		w.pos++
		return uint64(w.b[w.pos-1]), nil
	}
	v, n := binary.Uvarint(w.b[w.pos:])
	if n <= 0 {
		return 0, w.bad(w.pos, "varint", "one that does not end", "at most 64 bits, within its message")
	}
	w.pos += n
	return v, nil
}

// message visits the fields of a message that have wire type bytes and a number from 1 to most; what has another number is of a later version.
func (w wire) message(most int, visit func(f field) error) error {
	for {
		from := w.pos
		f, ok, err := w.next()
		if err != nil || !ok {
			return err
		}
		if f.num > most {
			continue
		}
		if f.kind != wireBytes {
			return w.bad(from, "field", fmt.Sprintf("wire type %d", f.kind), "bytes")
		}
		if err := visit(f); err != nil {
			return err
		}
	}
}

// listKind is which list a feature holds: the numbers of the fields of tf.train.Feature.
type listKind int

const (
	noList listKind = iota
	bytesList
	floatList
	int64List
)

func (k listKind) String() string {
	return [...]string{"no list", "bytes_list", "float_list", "int64_list"}[k]
}

// feature is a feature of a tf.train.Example, which is not decoded yet.
type feature struct {
	listed listKind
	body   wire // of the list
	size   int  // bytes of the file
}

// scan lists the features of a tf.train.Example, which begins at a byte of its file.
func scan(data []byte, at int64) (map[string]feature, error) {
	all := map[string]feature{}
	example := wire{b: data, at: at}
	err := example.message(1, func(features field) error {
		return features.body.message(1, func(entry field) error {
			var key string
			var value feature
			err := entry.body.message(2, func(f field) (err error) {
				if f.num == 1 {
					key = string(f.body.b)
				} else {
					value, err = featureOf(f.body)
				}
				return err
			})
			if err != nil {
				return err
			}
			if _, twice := all[key]; twice {
				return entry.body.bad(0, "feature "+quote(key), "a second one", "each once")
			}
			value.size = len(entry.body.b)
			all[key] = value
			return nil
		})
	})
	return all, err
}

func featureOf(w wire) (f feature, err error) {
	err = w.message(int(int64List), func(list field) error {
		if f.listed != noList {
			return w.bad(0, "feature", "two lists", "one")
		}
		f.listed, f.body = listKind(list.num), list.body
		return nil
	})
	return f, err
}

// values visits the list's values, packed or not: numbers of int64_list one by one, of float_list as stretches of 4 bytes a number, and the bytes
// of bytes_list item by item.
func (f feature) values(number func(v uint64), stretch func(b wire)) error {
	w := f.body
	for {
		from := w.pos
		v, ok, err := w.next()
		if err != nil || !ok {
			return err
		}
		switch {
		case v.num != 1:
		case f.listed == int64List && v.kind == wireVarint:
			number(v.value)
		case f.listed == int64List && v.kind == wireBytes:
			for v.body.pos < len(v.body.b) {
				if c := v.body.b[v.body.pos]; c < 0x80 { // most are truth values and small numbers
					number(uint64(c))
					v.body.pos++
					continue
				}
				n, err := v.body.varint()
				if err != nil {
					return err
				}
				number(n)
			}
		case f.listed == floatList && (v.kind == wireFixed32 || v.kind == wireBytes && len(v.body.b)%4 == 0), f.listed == bytesList && v.kind == wireBytes:
			stretch(v.body)
		default:
			return w.bad(from, f.listed.String(), fmt.Sprintf("wire type %d, %d bytes", v.kind, len(v.body.b)), "its own values")
		}
	}
}

// count returns how many values the list has.
func (f feature) count() (n int, err error) {
	if w := f.body; f.listed == int64List { // of numbers that take a byte each, as truth values do, the bytes are counted
		if v, ok, err := w.next(); ok && err == nil && v.num == 1 && v.kind == wireBytes && w.pos == len(w.b) && !slices.ContainsFunc(v.body.b, func(c byte) bool { return c >= 0x80 }) {
			return len(v.body.b), nil
		}
	}
	err = f.values(func(uint64) { n++ }, func(b wire) {
		if f.listed == floatList {
			n += len(b.b) / 4
		} else {
			n++
		}
	})
	return n, err
}

// items returns the values of a bytes_list, of which there are n.
func (f feature) items(n int) []wire {
	list := make([]wire, 0, n)
	_ = f.values(nil, func(b wire) { list = append(list, b) }) // count has seen that it is sound
	return list
}
