package orderjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Object is a JSON object whose members keep their order. The zero value has none.
type Object struct{ members []member }

type member struct {
	name  string
	value any
}

// Of returns an object of a name and a value, and another name and its value, and so on.
func Of(pairs ...any) Object {
	var o Object
	o.Add(pairs...)
	return o
}

// Add adds members behind the others: a name and a value, and so on.
func (o *Object) Add(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		o.members = append(o.members, member{pairs[i].(string), pairs[i+1]})
	}
}

// Len is how many members there are.
func (o Object) Len() int { return len(o.members) }

// Has reports whether there is a member of a name.
func (o Object) Has(name string) bool {
	return slices.ContainsFunc(o.members, func(m member) bool { return m.name == name })
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // which the encoder of the whole does, if it is asked to
	out.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := e.Encode(m.name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Member is a member of an object that was read. Its value is as it was written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// bareNumbers are the words that Python's json writes for numbers that JSON lacks, after strings, which stay as they are.
var bareNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// Members reads an object's members in their order. An error of the text is a *json.SyntaxError, which says where. The words NaN, Infinity and
// -Infinity, which Python writes for numbers, become strings.
func Members(text []byte) (list []Member, err error) {
	if !json.Valid(text) {
		quoted := bareNumbers.ReplaceAllFunc(text, func(word []byte) []byte {
			if word[0] == '"' {
				return word
			}
			return append(append([]byte{'"'}, word...), '"')
		})
		if json.Valid(quoted) {
			text = quoted
		}
	}
	if !json.Valid(text) {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("no object: got %.20s", bytes.TrimSpace(text))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: key.(string)} // which an object's keys are
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// Float is a number that Python reads as a float: whole ones have a point.
type Float float64

// MarshalJSON writes the number.
func (f Float) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(float64(f))
	if err == nil && !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text, err
}
