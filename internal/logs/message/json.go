package message

import (
	"math"
	"strconv"
	"sync"

	"github.com/robocache/robocache/dataset"
)

// newJSON returns the decoder for JSON messages. It learns their shape from the messages, with or without a schema. Only a schema marks
// numbers as integers, because another recording's messages might have fractions. Booleans always count as integers. A missing member
// is NaN.
func newJSON(schema Schema) (Decoder, error) {
	if schema.Encoding != "" && schema.Encoding != "jsonschema" {
		return nil, &dataset.FormatError{Format: "json", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "schema of " + schema.Name, Got: strconv.Quote(schema.Encoding), Want: "jsonschema, or none"}
	}
	if media := foxgloveMedia[schema.Name]; media != NoMedia {
		return &jsonMedia{Shape{Type: schema.Name, Media: media, Stamp: true}}, nil
	}
	return &jsonDecoder{schema: schema}, nil
}

// jsonDecoder decodes JSON messages.
type jsonDecoder struct {
	schema Schema

	mu   sync.Mutex
	seen []*jsonTree // unused trees

	once sync.Once
	buffered
	top  *jsonField
	row  []float64
	keys int
}

// jsonTree holds the values that one goroutine has counted.
type jsonTree struct {
	top  jsonCounts
	keys int
}

// Learn adds a message to the shape. An invalid message adds nothing.
func (d *jsonDecoder) Learn(data []byte) error {
	s := jsonScanner{data: data}
	if err := s.whole(func() error { return s.skip(0) }); err != nil {
		return err
	}
	d.mu.Lock()
	t := &jsonTree{}
	if n := len(d.seen); n > 0 {
		t, d.seen = d.seen[n-1], d.seen[:n-1]
	}
	d.mu.Unlock()
	s.pos = 0
	err := t.top.learn(&s, 0, &t.keys)
	d.mu.Lock()
	d.seen = append(d.seen, t)
	d.mu.Unlock()
	return err
}

// Shape returns the shape of all learned messages.
func (d *jsonDecoder) Shape() *Shape {
	d.once.Do(func() {
		all := &jsonTree{}
		for _, t := range d.seen {
			all.top.merge(&t.top, &all.keys)
			d.keys = max(d.keys, t.keys)
		}
		d.keys, d.seen = max(d.keys, all.keys), nil
		d.build(&all.top)
	})
	return &d.shape
}

// jsonField describes where a value goes.
type jsonField struct {
	what    jsonWhat
	at      int // index of a number's column, a list, or an array of text
	members map[string]*jsonField
	row     []float64 // the initial element of a list
	keyed   bool      // whether elements move frames
	named   bool      // whether elements have names
}

type jsonWhat uint8

const (
	jsonNumber jsonWhat = iota
	jsonObject
	jsonList
	jsonStructs // a list of objects
	jsonLabels
	jsonStamp  // an object with sec and nsec, or a text
	jsonChild  // the moving frame
	jsonParent // the frame in which it moves
	jsonName   // of an element
)

func (d *jsonDecoder) Append(rows *Rows, data []byte) error {
	d.Shape()
	if d.keys > maxJSONKeys {
		return jsonError(-1, dataset.ErrUnsupported, "messages", "more than "+strconv.Itoa(maxJSONKeys)+" different members", "fewer")
	}
	s := jsonScanner{data: data}
	if s.next() != '{' && s.pos < len(data) {
		if err := s.whole(func() error { return s.skip(0) }); err != nil {
			return err
		}
		return jsonError(-1, dataset.ErrUnsupported, "message", "a value that is no object", "an object")
	}
	b := d.take(d.row)
	defer d.buffers.Put(b)
	if err := s.whole(func() error { return d.top.read(&s, b, b.row, 0) }); err != nil {
		return err
	}
	b.commit(&d.shape, rows)
	return nil
}

// read reads a value to row, which is the row for the table or for an element.
func (f *jsonField) read(s *jsonScanner, b *buffer, row []float64, depth int) error {
	c := s.next()
	if c == 'n' {
		return s.word("null")
	}
	switch f.what {
	case jsonObject:
		if c != '{' {
			return s.fail("an object")
		}
		return s.object(depth, func(key []byte) error {
			in := f.members[string(key)]
			if in == nil {
				return s.skip(depth + 1)
			}
			return in.read(s, b, row, depth+1)
		})
	case jsonNumber:
		v, err := s.value(b)
		row[f.at] = v
		return err
	case jsonStamp:
		ns, err := s.stamp(depth)
		b.time = ns
		return err
	case jsonChild, jsonParent, jsonName:
		text, escaped, err := s.text()
		switch f.what {
		case jsonChild:
			b.child = plain(text, escaped)
		case jsonParent:
			b.parent = plain(text, escaped)
		default:
			b.name = plain(text, escaped)
		}
		return err
	}
	if c != '[' {
		return s.fail("an array")
	}
	switch l := &b.lists; f.what {
	case jsonList:
		(*l)[f.at].empty() // if a member occurs twice, only the last one counts
	case jsonStructs:
		(*l)[f.at].empty()
	default:
		b.labels[f.at] = b.labels[f.at][:0]
	}
	since := b.inexact
	if f.what == jsonList || f.what == jsonStructs {
		defer func() { b.own(&b.lists[f.at], since) }()
	}
	return s.array(depth, func(int) error {
		switch f.what {
		case jsonList:
			v, err := math.NaN(), error(nil)
			if s.next() == 'n' {
				err = s.word("null")
			} else {
				v, err = s.value(b)
			}
			b.lists[f.at].add(v)
			return err
		case jsonStructs:
			l := &b.lists[f.at]
			l.element = append(l.element[:0], f.row...)
			in := jsonField{what: jsonObject, members: f.members}
			outer := b.moving
			b.moving = moving{}
			if err := in.read(s, b, l.element, depth+1); err != nil { // null counts as an object without members
				return err
			}
			return l.end(b, outer, f.keyed, f.named)
		}
		if s.next() == 'n' {
			b.labels[f.at] = append(b.labels[f.at], nil)
			return s.word("null")
		}
		text, escaped, err := s.text()
		b.labels[f.at] = append(b.labels[f.at], plain(text, escaped))
		return err
	})
}

// value reads a number or a boolean.
func (s *jsonScanner) value(b *buffer) (float64, error) {
	switch s.next() {
	case 't':
		return 1, s.word("true")
	case 'f':
		return 0, s.word("false")
	case '"':
		text, _, err := s.text()
		if err != nil {
			return 0, err
		}
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !isNotFinite(text) {
			s.pos -= len(text) + 2
			return 0, s.fail("a number")
		}
		return v, nil
	}
	from := s.pos
	v, whole, err := s.number()
	if whole && (v >= 1<<53 || v <= -1<<53) && !isExact(string(s.data[from:s.pos]), v) {
		b.inexact++
	}
	return v, err
}

// isExact reports whether a float64 holds an integer exactly.
func isExact(text string, v float64) bool {
	return strconv.FormatFloat(v, 'f', 0, 64) == text
}

// stamp reads a time: an object with seconds and nanoseconds, or a text.
func (s *jsonScanner) stamp(depth int) (ns int64, err error) {
	at := s.pos
	switch s.next() {
	case '"':
		b, _, err := s.text()
		if err != nil {
			return 0, err
		}
		ns, ok := jsonTime(b)
		if !ok {
			s.pos = at
			return 0, s.fail("a time")
		}
		return ns, nil
	case '{':
	default:
		return 0, s.fail("a time")
	}
	var sec, nsec float64
	stamp, found := int64(0), false
	err = s.object(depth, func(key []byte) error {
		to := &sec
		switch string(key) {
		case "sec", "secs":
		case "nsec", "nanosec", "nsecs":
			to = &nsec
		case "stamp": // in a header
			var err error
			stamp, err = s.stamp(depth + 1)
			found = true
			return err
		default:
			return s.skip(depth + 1)
		}
		if c := s.next(); c != '-' && (c < '0' || c > '9') {
			return s.skip(depth + 1)
		}
		var err error
		*to, _, err = s.number()
		return err
	})
	if err != nil || found {
		return stamp, err
	}
	if !(math.Abs(sec) < 1e10 && math.Abs(nsec) < 1<<32) {
		return 0, jsonError(at, dataset.ErrCorrupt, "timestamp", strconv.FormatFloat(sec, 'g', -1, 64)+" seconds", "a time that int64 nanoseconds hold")
	}
	return nanoseconds(int64(sec), int64(nsec), at)
}

// Frame returns an error, because the message is not an image.
func (d *jsonDecoder) Frame([]byte) (Frame, error) {
	return Frame{}, jsonError(-1, dataset.ErrUnsupported, "frame", d.schema.Name, "a message that is an image")
}

// Cloud returns an error, because the message is not a cloud.
func (d *jsonDecoder) Cloud([]byte) (*dataset.Cloud, error) {
	return nil, jsonError(-1, dataset.ErrUnsupported, "cloud", d.schema.Name, "a message that is a cloud")
}
