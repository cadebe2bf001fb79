package rlds

import (
	"encoding/binary"
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// The protobuf wire types in use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// wire reads a protobuf message field by field. At is the message's offset in its file.
type wire struct {
	b   []byte
	at  int64
	pos int
}

// field is a field in a message: a number, or bytes.
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

// part returns the next field with wire type bytes and a number from 1 to most, and false after the last. Other field numbers are
// from a later version and are skipped.
func (w *wire) part(most int) (f field, ok bool, err error) {
	for {
		from := w.pos
		if f, ok, err = w.next(); err != nil || !ok {
			return f, false, err
		}
		if f.num > most {
			continue
		}
		if f.kind != wireBytes {
			return f, false, w.bad(from, "field", fmt.Sprintf("wire type %d", f.kind), "bytes")
		}
		return f, true, nil
	}
}

// listKind is the kind of list in a feature: the field numbers in tf.train.Feature.
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

// feature is an undecoded feature in a tf.train.Example.
type feature struct {
	there  bool
	listed listKind
	body   wire // the list's content
	size   int  // bytes in the file
}

// scan finds the features in a tf.train.Example that begins at byte at of its file: the ones with slots in found, the others by
// name.
func scan(data []byte, at int64, slots map[string]int, found []feature) (others map[string]feature, err error) {
	example := wire{b: data, at: at}
	for {
		features, ok, err := example.part(1)
		if err != nil || !ok {
			return others, err
		}
		for {
			entry, ok, err := features.body.part(1)
			if err != nil {
				return others, err
			}
			if !ok {
				break
			}
			key, value, err := featureOf(entry.body)
			if err != nil {
				return others, err
			}
			slot, known := slots[string(key)]
			twice := known && found[slot].there
			if !known {
				_, twice = others[string(key)]
			}
			switch {
			case twice:
				return others, entry.body.bad(0, "feature "+quote(string(key)), "a second one", "each once")
			case known:
				found[slot] = value
			default:
				if others == nil {
					others = map[string]feature{}
				}
				others[string(key)] = value
			}
		}
	}
}

// featureOf reads an entry in the feature map: its name and the feature. If the feature is repeated, the last one counts.
func featureOf(entry wire) (key []byte, value feature, err error) {
	size := len(entry.b)
	for {
		f, ok, err := entry.part(2)
		switch {
		case err != nil || !ok:
			value.there, value.size = true, size
			return key, value, err
		case f.num == 1:
			key = f.body.b
			continue
		}
		value = feature{}
		for w := f.body; ; {
			list, ok, err := w.part(int(int64List))
			if err != nil {
				return nil, value, err
			}
			if !ok {
				break
			}
			if value.listed != noList {
				return nil, value, f.body.bad(0, "feature", "two lists", "one")
			}
			value.listed, value.body = listKind(list.num), list.body
		}
	}
}

// stretch returns the next part of a list, and false after the last: an item in a bytes_list, several float_list numbers with 4 bytes
// each, several int64_list varints, or one number. A single number is in value instead of body.
func (w *wire) stretch(listed listKind) (f field, ok bool, err error) {
	for {
		from := w.pos
		if f, ok, err = w.next(); err != nil || !ok {
			return f, false, err
		}
		switch {
		case f.num != 1:
			continue
		case listed == int64List && (f.kind == wireVarint || f.kind == wireBytes), listed == bytesList && f.kind == wireBytes:
		case listed == floatList && (f.kind == wireFixed32 || f.kind == wireBytes && len(f.body.b)%4 == 0):
		default:
			return f, false, w.bad(from, listed.String(), fmt.Sprintf("wire type %d, %d bytes", f.kind, len(f.body.b)), "its own values")
		}
		return f, true, nil
	}
}

// item returns the next item in a bytes_list, and false after the last or at an error.
func (w *wire) item() (b []byte, ok bool) {
	if size := w.short(); size >= 0 {
		b = w.b[w.pos+2 : w.pos+2+size]
		w.pos += 2 + size
		return b, true
	}
	s, ok, _ := w.stretch(bytesList)
	return s.body.b, ok
}

// short returns the next item's length in a bytes_list if it is encoded as usual and below 128 bytes, else -1.
func (w *wire) short() int {
	if b := w.b[w.pos:]; len(b) > 1 && b[0] == 1<<3|wireBytes && b[1] < 0x80 && int(b[1]) <= len(b)-2 {
		return int(b[1])
	}
	return -1
}

// numbers calls visit for each number in an int64_list.
func (f feature) numbers(visit func(v uint64)) error {
	for w := f.body; ; {
		s, ok, err := w.stretch(int64List)
		switch {
		case err != nil || !ok:
			return err
		case s.kind == wireVarint:
			visit(s.value)
		}
		for s.body.pos < len(s.body.b) {
			v, err := s.body.varint()
			if err != nil {
				return err
			}
			visit(v)
		}
	}
}

// count returns how many values the list has, and an error if one is invalid.
func (f feature) count() (n int, err error) {
	for w := f.body; ; {
		for f.listed == bytesList {
			size := w.short()
			if size < 0 {
				break
			}
			w.pos += 2 + size
			n++
		}
		s, ok, err := w.stretch(f.listed)
		switch {
		case err != nil || !ok:
			return n, err
		case f.listed == floatList:
			n += len(s.body.b) / 4
		case f.listed == bytesList || s.kind == wireVarint:
			n++
		case bytewise(s.body.b):
			n += len(s.body.b)
		default:
			for ; s.body.pos < len(s.body.b); n++ {
				if _, err := s.body.varint(); err != nil {
					return n, err
				}
			}
		}
	}
}

// bytewise reports whether each varint takes one byte, as for booleans and small numbers.
func bytewise(b []byte) bool {
	const high = 0x8080808080808080
	all := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		all |= binary.LittleEndian.Uint64(b)
	}
	for _, c := range b {
		all |= uint64(c)
	}
	return all&high == 0
}

// items returns the n values of a bytes_list.
func (f feature) items(n int) []wire {
	list := make([]wire, 0, n)
	for w := f.body; ; {
		item, ok, _ := w.stretch(f.listed) // count has checked that it is valid
		if !ok {
			return list
		}
		list = append(list, item.body)
	}
}
