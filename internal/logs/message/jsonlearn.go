package message

import (
	"bytes"
	"time"
)

// maxJSONKeys limits the distinct members in a channel's messages.
const maxJSONKeys = 1 << 14

// jsonCounts counts the kinds of a value over a channel's messages.
type jsonCounts struct {
	numbers, bools, texts, objects, arrays int
	fractions                              int // numbers that are not written as integers
	times                                  int // texts that are times
	members                                map[string]*jsonCounts
	place                                  int         // last position among its object's members
	elements                               *jsonCounts // for arrays
}

// member returns the counts for a member at a position in its object.
func (n *jsonCounts) member(key []byte, place int, keys *int) *jsonCounts {
	in := n.members[string(key)]
	if in == nil {
		if *keys++; *keys > maxJSONKeys {
			return &jsonCounts{}
		}
		if n.members == nil {
			n.members = map[string]*jsonCounts{}
		}
		in = &jsonCounts{place: place}
		n.members[string(key)] = in
	}
	in.place = max(in.place, place)
	return in
}

// merge adds another goroutine's counts.
func (n *jsonCounts) merge(o *jsonCounts, keys *int) {
	n.numbers += o.numbers
	n.bools += o.bools
	n.texts += o.texts
	n.objects += o.objects
	n.arrays += o.arrays
	n.fractions += o.fractions
	n.times += o.times
	for key, in := range o.members {
		n.member([]byte(key), in.place, keys).merge(in, keys)
	}
	if o.elements != nil {
		if n.elements == nil {
			n.elements = &jsonCounts{}
		}
		n.elements.merge(o.elements, keys)
	}
}

// learn counts a value and all values inside it.
func (n *jsonCounts) learn(s *jsonScanner, depth int, keys *int) error {
	switch s.next() {
	case '{':
		n.objects++
		place := 0
		return s.object(depth, func(key []byte) error {
			place++
			return n.member(key, place, keys).learn(s, depth+1, keys)
		})
	case '[':
		n.arrays++
		if n.elements == nil {
			n.elements = &jsonCounts{}
		}
		return s.array(depth, func(int) error { return n.elements.learn(s, depth+1, keys) })
	case '"':
		b, escaped, err := s.text()
		switch {
		case err != nil:
			return err
		case !escaped && isNotFinite(b):
			n.numbers++
			n.fractions++
		default:
			n.texts++
			if _, ok := jsonTime(b); ok {
				n.times++
			}
		}
		return nil
	case 't', 'f':
		n.bools++
		return s.skip(depth)
	case 'n':
		return s.word("null")
	}
	_, whole, err := s.number()
	if n.numbers++; !whole {
		n.fractions++
	}
	return err
}

var notFinite = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// isNotFinite reports whether a text is a number that JSON cannot express. Protobuf writes such numbers as text.
func isNotFinite(b []byte) bool {
	for _, s := range notFinite {
		if bytes.Equal(b, s) {
			return true
		}
	}
	return false
}

// jsonTime parses a time in protobuf's form, RFC 3339.
func jsonTime(b []byte) (ns int64, ok bool) {
	if len(b) < 20 || len(b) > 40 || b[4] != '-' || b[10] != 'T' {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil || t.Year() < 1678 || t.Year() > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}
