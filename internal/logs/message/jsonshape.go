package message

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// maxJSONColumns limits a message's columns, including its lists.
const maxJSONColumns = 4096

// jsonSchema is a part of a JSON schema; the zero value is an empty one.
type jsonSchema struct {
	root, here map[string]any
	name       string // last part of the reference that led here
}

// newJSONSchema parses a schema. An unreadable schema is empty.
func newJSONSchema(data []byte) jsonSchema {
	var s map[string]any
	if json.Unmarshal(data, &s) != nil {
		return jsonSchema{}
	}
	return jsonSchema{root: s, here: s}.follow()
}

// follow resolves references.
func (s jsonSchema) follow() jsonSchema {
	for range 8 {
		ref, ok := s.here["$ref"].(string)
		if !ok {
			return s
		}
		path, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			return jsonSchema{}
		}
		s.here = s.root
		for key := range strings.SplitSeq(path, "/") {
			s.here, _ = s.here[key].(map[string]any)
			s.name = key
		}
	}
	return jsonSchema{}
}

func (s jsonSchema) member(key string) jsonSchema {
	list, _ := s.here["properties"].(map[string]any)
	s.here, _ = list[key].(map[string]any)
	s.name = ""
	return s.follow()
}

func (s jsonSchema) elements() jsonSchema {
	s.here, _ = s.here["items"].(map[string]any)
	s.name = ""
	return s.follow()
}

// whole reports whether the schema declares a number as an integer.
func (s jsonSchema) whole() bool {
	switch t := s.here["type"].(type) {
	case string:
		return t == "integer"
	case []any:
		return slices.Contains(t, any("integer")) && !slices.Contains(t, any("number"))
	}
	return false
}

// quaternion reports whether the schema's title or name contains "quaternion".
func (s jsonSchema) quaternion() bool {
	title, _ := s.here["title"].(string)
	return strings.Contains(strings.ToLower(title+" "+s.name), "quaternion")
}

// jsonBuilder creates the shape from learned messages.
type jsonBuilder struct{ builder }

func (d *jsonDecoder) build(top *jsonCounts) {
	d.shape = Shape{Type: d.schema.Name, Wide: true}
	b := jsonBuilder{builder{buffered: &d.buffered, columns: &d.shape.Columns, table: true}}
	whole := newJSONSchema(d.schema.Data)
	whole.name += " " + d.schema.Name
	d.top = b.object(top, whole, "", true)
	d.row = absentRow(len(d.shape.Columns))
	d.shape.padScans()
}

// byPlace returns the members' names in message order.
func (n *jsonCounts) byPlace() []string {
	names := make([]string, 0, len(n.members))
	for name := range n.members {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.members[a].place, n.members[b].place), dataset.CompareNames(a, b))
	})
	return names
}

// only reports whether count covers all values that are not null.
func (n *jsonCounts) only(count int) bool {
	return count > 0 && count == n.numbers+n.bools+n.texts+n.objects+n.arrays
}

// object creates the columns for an object's members.
func (b *jsonBuilder) object(n *jsonCounts, schema jsonSchema, path string, top bool) *jsonField {
	out := &jsonField{what: jsonObject, members: map[string]*jsonField{}}
	names, label, at := n.byPlace(), "", -1
	if b.table {
		label, at = b.label(n, names)
	}
	if label != "" {
		out.members[label] = &jsonField{what: jsonLabels, at: at}
		label = path + label
	}
	element, named := b.element, b.named
	b.element, b.named = nil, false
	keyed := (top || element != nil) && n.isKeyed()
	b.shape.Keyed = b.shape.Keyed || top && keyed
	from := len(*b.columns)
	for _, name := range names {
		in := n.members[name]
		if b.fields += cost(path); b.fields > maxProtoFields {
			b.leave(name, dataset.CodeFieldLimit)
			break
		}
		if path+name == label {
			continue
		}
		if f := b.own(in, name, keyed, top, element); f != nil {
			out.members[name] = f
			continue
		}
		if named && name == "name" {
			out.members[name] = &jsonField{what: jsonName}
			continue
		}
		if f := b.field(in, schema.member(name), path+name, label, at); f != nil {
			out.members[name] = f
		}
	}
	b.rotation(n, schema, path, from)
	for i := from; n.isTime() && i < len(*b.columns); i++ { // nanoseconds restart every second
		(*b.columns)[i].Integer = true
	}
	return out
}

// isKeyed reports whether the objects name the frame that moves.
func (n *jsonCounts) isKeyed() bool {
	in := n.members["child_frame_id"]
	return in != nil && in.only(in.texts)
}

// own returns the field for a member that holds the clock or a frame for a message or keyed element. It returns nil for others.
func (b *jsonBuilder) own(n *jsonCounts, name string, keyed, top bool, element *ListShape) *jsonField {
	switch {
	case top && n.isStamp(name) && !b.shape.Stamp:
		b.shape.Stamp = true
		b.header(n, name)
		return &jsonField{what: jsonStamp}
	case element != nil && n.isStamp(name) && !element.Stamp:
		element.Stamp = true
		return &jsonField{what: jsonStamp}
	case keyed && name == "child_frame_id":
		return &jsonField{what: jsonChild}
	case keyed && name == "parent_frame_id" && n.only(n.texts):
		return &jsonField{what: jsonParent}
	}
	return nil
}

// header adds notes for a header's members except its stamp.
func (b *jsonBuilder) header(n *jsonCounts, name string) {
	for _, part := range n.byPlace() {
		if name == "header" && part != "stamp" {
			b.leave(name+"."+part, dataset.CodeHeaderRest)
		}
	}
}

// label finds the array of text that names the elements of arrays in the same object.
func (b *jsonBuilder) label(n *jsonCounts, names []string) (string, int) {
	for _, name := range names {
		l := n.members[name]
		if !namesElements(name) || !l.only(l.arrays) || !l.elements.only(l.elements.texts) {
			continue
		}
		for _, o := range n.members {
			if o.only(o.arrays) && (o.elements.only(o.elements.numbers) || o.elements.only(o.elements.objects)) {
				b.arrays++
				return name, b.arrays - 1
			}
		}
	}
	return "", -1
}

// isStamp reports whether a member is a message's timestamp: it is called "timestamp", or it is a header with a stamp.
func (n *jsonCounts) isStamp(name string) bool {
	switch {
	case name == "header" && n.only(n.objects) && n.members["stamp"] != nil:
		return n.members["stamp"].isStamp("timestamp")
	case name != "timestamp":
		return false
	case n.only(n.times):
		return true
	}
	for _, in := range n.members {
		if in.fractions > 0 {
			return false
		}
	}
	return n.isTime()
}

// isTime reports whether all values are objects with seconds and nanoseconds.
func (n *jsonCounts) isTime() bool {
	if !n.only(n.objects) || len(n.members) != 2 || n.members["sec"] == nil && n.members["secs"] == nil {
		return false
	}
	for _, in := range n.members {
		if !in.only(in.numbers) {
			return false
		}
	}
	return n.members["nsec"] != nil || n.members["nanosec"] != nil || n.members["nsecs"] != nil
}

// rotation marks a quaternion's columns: an object with x, y, z and w, if the schema or its name marks it as a rotation.
func (b *jsonBuilder) rotation(n *jsonCounts, schema jsonSchema, path string, from int) {
	columns := (*b.columns)[from:]
	if len(columns) != 4 || len(n.members) != 4 {
		return
	}
	switch name := strings.TrimSuffix(path, "."); strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]) {
	case "rotation", "orientation", "quaternion", "q":
	default:
		if !schema.quaternion() {
			return
		}
	}
	for order, rotation := range map[string]dataset.Rotation{"xyzw": dataset.RotationXYZW, "wxyz": dataset.RotationWXYZ} {
		is := true
		for i := range columns {
			is = is && columns[i].Name == path+order[i:i+1]
		}
		for i := range columns {
			if is {
				columns[i].Rotation = rotation
			}
		}
	}
}

// field creates a member's columns. It returns nil if the member is left out.
func (b *jsonBuilder) field(n *jsonCounts, schema jsonSchema, path, label string, at int) *jsonField {
	numbers := n.numbers + n.bools
	switch {
	case numbers+n.texts+n.objects+n.arrays == 0:
		b.leave(path, dataset.CodeNullFields)
	case n.only(n.texts):
		b.leave(path, dataset.CodeTextFields)
	case b.made >= maxJSONColumns:
		b.leave(path, dataset.CodeFieldLimit)
	case n.only(numbers):
		b.column(n, schema, path)
		return &jsonField{what: jsonNumber, at: len(*b.columns) - 1}
	case n.only(n.objects):
		return b.object(n, schema, path+".", false)
	case !n.only(n.arrays):
		b.leave(path, dataset.CodeMixedFields)
	case !b.table:
		b.leave(path, dataset.CodeNestedArrays)
	default:
		return b.list(n.elements, schema.elements(), path, label, at)
	}
	return nil
}

func (b *jsonBuilder) column(n *jsonCounts, schema jsonSchema, name string) {
	c := dataset.Column{Name: name, Type: "number", Integer: n.numbers == 0 || schema.whole()}
	if n.numbers == 0 {
		c.Type = "boolean"
	}
	*b.columns = append(*b.columns, c)
	b.made++
}

// list creates a list of numbers or objects.
func (b *jsonBuilder) list(n *jsonCounts, schema jsonSchema, path, label string, at int) *jsonField {
	list := ListShape{Name: path, Labels: label, label: at, Wide: true}
	out := &jsonField{what: jsonList, at: len(b.shape.Lists)}
	if !b.builder.list(&list, func() {
		switch {
		case n.only(n.numbers + n.bools):
			b.column(n, schema, "")
		case n.only(n.objects):
			in := n.members["name"]
			b.element = list.identify(n.isKeyed(), in != nil && in.only(in.texts))
			b.named = list.named
			out.what, out.keyed, out.named, out.members = jsonStructs, list.Keyed, list.named, b.object(n, schema, "", false).members
		}
	}) {
		switch {
		case n.only(n.texts):
			b.leave(path, dataset.CodeTextFields)
		case n.only(n.arrays):
			b.leave(path, dataset.CodeNestedArrays)
		default:
			b.leave(path, dataset.CodeArraysWithoutNumbers)
		}
		return nil
	}
	out.row = absentRow(len(list.Columns))
	return out
}
