package message

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
)

const (
	maxArray   = 4096    // longest fixed array that becomes columns
	maxColumns = 1 << 16 // columns per type, including its lists
	maxSteps   = 1 << 15 // fields per type; a struct's fields count for each use
	maxBytes   = 64      // longest byte array that counts as numbers
)

// node is a step in reading a message, independent of the encoding.
type node struct {
	what step
	kind Kind   // for numbers
	n    int    // count of numbers, or loop passes
	keep bool   // whether the numbers are columns
	list int    // for a sequence: its list's index, or -1
	text int    // for a sequence of text: its index among the labels, or -1
	role role   // for a string
	body []node // for a loop or sequence
	// boxed is set for an array with elements that are not primitive: XCDR2 writes its size first.
	boxed bool
	// inner are the lists in the elements of a sequence, which have values only if the sequence has one element.
	inner []int
}

type step uint8

const (
	numbers  step = iota
	text          // a string
	wideText      // a wstring
	stamp         // a time in two 32-bit words: the header's
	loop          // a fixed array
	sequence      // a count, and the elements
	nothing       // a struct without fields
	box           // the size before a fixed array, if its elements follow as steps
)

// role is the meaning of a string.
type role uint8

const (
	noRole     role = iota
	childFrame      // key of a message or an element
	parentFrame
	elementName // name of a list element
)

// flattener creates a type's columns and the steps that read them.
type flattener struct {
	shape   *Shape
	columns *[]dataset.Column // receives columns: the table's or a list's; nil while fields are left out
	table   bool              // whether columns belong to the table, outside any array
	top     bool              // whether the fields are directly in the message
	element *ListShape        // if the fields are directly in a keyed list's element: the list
	named   bool              // whether the fields are in an element with a name
	labels  int               // arrays of text that name the elements of lists
	label   string            // the labels for arrays in the current struct
	labelAt int               // their index
	single  string            // labels around an array of structs while its elements are read; lists inside these become lists of the message
	lone    bool              // whether the fields are in such an element
	left    int               // columns that may still be added
	steps   int
	widths  map[*Type]int
}

// flatten returns a type's shape and the steps that read it. Media types have no columns.
func flatten(t *Type, media Media) (*Shape, *flattener, []node, error) {
	f := &flattener{shape: &Shape{Type: t.Name, Media: media}, left: maxColumns, widths: map[*Type]int{}, table: true, top: true}
	if media == NoMedia {
		f.columns = &f.shape.Columns
	}
	nodes := f.inner(t, "", "")
	if f.steps > maxSteps {
		return nil, nil, nil, bad("message", 0, dataset.ErrTooLarge, "type "+t.Name, fmt.Sprintf("more than %d fields", maxSteps), "fewer")
	}
	f.shape.Wide = wide(f.shape.Columns)
	for i := range f.shape.Lists {
		f.shape.Lists[i].Wide = wide(f.shape.Lists[i].Columns)
	}
	return f.shape, f, nodes, nil
}

// narrow lists the types that float32 holds exactly.
var narrow = map[string]bool{
	"float32": true, "bool": true, "int8": true, "uint8": true, "int16": true, "uint16": true, "char": true, "byte": true, "octet": true,
}

func wide(columns []dataset.Column) bool {
	for _, c := range columns {
		if !narrow[c.Type] {
			return true
		}
	}
	return false
}

// fields reads a struct. name is the prefix for its columns. path is the same without indices, for notes.
func (f *flattener) fields(t *Type, name, path string) (nodes []node) {
	if len(t.Fields) == 0 {
		return []node{{what: nothing}}
	}
	top, element, named, label, labelAt := f.top, f.element, f.named, f.label, f.labelAt
	f.top, f.element, f.named = false, nil, false
	if !f.table || !namesJoints(label) {
		f.label = ""
	}
	keyed := element != nil || top && f.columns != nil && has(t, isKey)
	f.shape.Keyed = f.shape.Keyed || top && keyed
	if f.table && f.columns != nil && has(t, func(d *Field) bool { return isList(d) || d.Kind == Struct && has(d.Type, isList) }) {
		for i := range t.Fields {
			if l := &t.Fields[i]; isLabels(l) {
				f.label, f.labelAt = path+l.Name, f.labels
				f.labels++
				break
			}
		}
	}
	for i := range t.Fields {
		field := &t.Fields[i]
		if f.steps += cost(path); f.steps > maxSteps {
			break
		}
		if top || element != nil {
			if own := f.own(t, field, keyed, element); own != nil {
				nodes = append(nodes, own...)
				continue
			}
		}
		if named && isName(field) {
			nodes = append(nodes, node{what: text, role: elementName})
			continue
		}
		nodes = append(nodes, f.field(field, name+field.Name, path+field.Name)...)
	}
	f.label, f.labelAt = label, labelAt
	return nodes
}

// isLabels reports whether a field is an array of text that labels the elements of arrays in the same struct.
func isLabels(f *Field) bool {
	return f.Kind == String && f.Array == Sequence && namesElements(f.Name)
}

// namesJoints reports whether labels name the elements of arrays in inner structs too.
func namesJoints(label string) bool { return strings.HasSuffix(label, "joint_names") }

func isList(f *Field) bool { return f.Array == Sequence && f.Kind != String && f.Kind != WString }

func isName(f *Field) bool { return f.Name == "name" && f.Kind == String && f.Array == One }

func isKey(f *Field) bool { return f.Name == "child_frame_id" && f.Kind == String && f.Array == One }

// has reports whether a struct has a field for which such is true.
func has(t *Type, such func(f *Field) bool) bool {
	for i := range t.Fields {
		if such(&t.Fields[i]) {
			return true
		}
	}
	return false
}

// own reads a field that holds the clock or a frame for a message or keyed element. It returns nil for other fields.
func (f *flattener) own(t *Type, d *Field, keyed bool, element *ListShape) (nodes []node) {
	stamped := &f.shape.Stamp
	if element != nil {
		stamped = &element.Stamp
	}
	switch {
	case d.Array != One:
	case keyed && isKey(d):
		return []node{{what: text, role: childFrame}}
	case keyed && d.Kind == String && d.Name == "parent_frame_id":
		return []node{{what: text, role: parentFrame}}
	case d.Name == "timestamp" && isTime(d.Type) && strings.HasPrefix(t.Name, "foxglove_msgs/"):
		*stamped = true
		return []node{{what: stamp}}
	case d.Name == "header" && d.Kind == Struct && d.Type.Name == "std_msgs/Header":
		if nodes = header(d.Type); nodes != nil {
			*stamped = true
		}
		return nodes
	case element != nil && d.Name == "transform" && d.Kind == Struct:
		return f.fields(d.Type, "", "transform.")
	}
	return nil
}

// header reads a message's header: the stamp and the parent frame. It returns nil if the fields do not form a header.
func header(t *Type) (nodes []node) {
	found := false
	for i := range t.Fields {
		h := &t.Fields[i]
		switch {
		case h.Array != One:
			return nil
		case h.Kind == String:
			nodes = append(nodes, node{what: text, role: parentFrame})
		case h.Name == "stamp" && (h.Kind == Time || isTime(h.Type)):
			nodes, found = append(nodes, node{what: stamp}), true
		case h.Kind == Uint32:
			nodes = append(nodes, node{what: numbers, kind: Uint32, n: 1})
		default:
			return nil
		}
	}
	if !found {
		return nil
	}
	return nodes
}

// isTime reports whether t is like builtin_interfaces/Time.
func isTime(t *Type) bool {
	return t != nil && len(t.Fields) == 2 && t.Fields[0].Kind == Int32 && t.Fields[1].Kind == Uint32 && t.Fields[0].Array == One && t.Fields[1].Array == One
}

// cost returns 1, plus more for a long name, so that a definition cannot create names that are much longer than itself.
func cost(name string) int { return 1 + len(name)/256 }

// leave adds a note that a field is left out.
func (f *flattener) leave(path string, code dataset.Code) {
	if f.columns != nil {
		f.shape.Notes = append(f.shape.Notes, dataset.Note{Code: code, Subject: path})
	}
}

// out reads fields without creating columns.
func (f *flattener) out(read func() []node) []node {
	columns := f.columns
	f.columns = nil
	nodes := read()
	f.columns = columns
	return nodes
}

func (f *flattener) field(d *Field, name, path string) []node {
	switch d.Array {
	case Fixed:
		return f.fixed(d, name, path)
	case Sequence:
		return f.sequence(d, path)
	}
	switch d.Kind {
	case String, WString:
		f.leave(path, dataset.CodeTextFields)
		return []node{textNode(d.Kind)}
	case Struct:
		if d.Type.Name == "std_msgs/MultiArrayLayout" {
			f.leave(path, dataset.CodeLayoutFields)
			return f.out(func() []node { return f.inner(d.Type, "", "") })
		}
		return f.inner(d.Type, name+".", path+".")
	}
	if f.columns != nil && f.left < 2*cost(name) {
		f.leave(path, dataset.CodeFieldLimit)
		return f.out(func() []node { return f.number(d, name, 1) })
	}
	return f.number(d, name, 1)
}

func textNode(k Kind) node {
	if k == WString {
		return node{what: wideText}
	}
	return node{what: text}
}

// number reads n numbers. Their columns are called name, or name[i] for a fixed array. The name is empty for a list's element.
func (f *flattener) number(d *Field, name string, n int) []node {
	kind, each := d.Kind, []string{""}
	switch kind {
	case Time:
		kind, each = Uint32, []string{"sec", "nsec"}
	case Duration:
		kind, each = Int32, []string{"sec", "nsec"}
	}
	if f.columns != nil {
		for i := range n {
			at := name
			if d.Array == Fixed {
				at = fmt.Sprintf("%s[%d]", name, i)
			}
			for _, part := range each {
				c := dataset.Column{Name: join(at, part), Type: d.Raw, Integer: kind < Float32}
				if part != "" {
					c.Type = kindNames[kind]
				}
				*f.columns = append(*f.columns, c)
			}
		}
		f.left -= n * len(each) * cost(name)
	}
	return []node{{what: numbers, kind: kind, n: n * len(each), keep: f.columns != nil}}
}

var kindNames = map[Kind]string{Uint32: "uint32", Int32: "int32"}

func join(name, part string) string {
	if name == "" || part == "" {
		return name + part
	}
	return name + "." + part
}

// inner reads a struct as fields does, and marks a quaternion's columns.
func (f *flattener) inner(t *Type, name, path string) []node {
	from := 0
	if f.columns != nil {
		from = len(*f.columns)
	}
	nodes := f.fields(t, name, path)
	if f.columns != nil && t.Name == "geometry_msgs/Quaternion" && isQuaternion(t) && len(*f.columns) == from+4 {
		for i := from; i < from+4; i++ {
			(*f.columns)[i].Rotation = dataset.RotationXYZW
		}
	}
	return nodes
}

func isQuaternion(t *Type) bool {
	if len(t.Fields) != 4 {
		return false
	}
	for i, name := range []string{"x", "y", "z", "w"} {
		if f := &t.Fields[i]; f.Name != name || f.Array != One || f.Kind != Float64 && f.Kind != Float32 {
			return false
		}
	}
	return true
}

// isByte reports whether the values may be bytes instead of numbers.
func isByte(d *Field) bool {
	return d.Kind == Uint8 || d.Kind == Int8 && d.Raw == "byte"
}

func (f *flattener) fixed(d *Field, name, path string) []node {
	if d.Kind == String || d.Kind == WString {
		f.leave(path, dataset.CodeTextFields)
		return []node{{what: loop, n: d.Len, body: []node{textNode(d.Kind)}, boxed: true}}
	}
	var why dataset.Code
	switch width := f.width(d); {
	case f.columns == nil:
		why = dataset.CodeNestedArrays // the enclosing field is left out too
	case isByte(d) && d.Len > maxBytes:
		why = dataset.CodeByteFields
	case width > maxArray || width == 0 && d.Kind != Struct && d.Len > 0:
		why = dataset.CodeWideArrays
	case width*cost(name) > f.left:
		why = dataset.CodeFieldLimit
	case width == 0 && d.Len > 0:
		why = dataset.CodeArraysWithoutNumbers
	}
	if why != "" {
		f.leave(path, why)
		return f.out(func() []node {
			if d.Kind == Struct {
				return []node{{what: loop, n: d.Len, body: f.fields(d.Type, "", ""), boxed: true}}
			}
			return f.number(d, "", d.Len)
		})
	}
	if d.Kind != Struct {
		return f.number(d, name, d.Len)
	}
	nodes := []node{{what: box}}
	table, lone, said := f.table, f.lone, len(f.shape.Notes)
	f.table, f.lone = false, false // an array inside it is nested
	for i := range d.Len {
		nodes = append(nodes, f.inner(d.Type, fmt.Sprintf("%s[%d].", name, i), path+"[].")...)
		if i == 0 {
			said = len(f.shape.Notes)
		}
		f.shape.Notes = f.shape.Notes[:said] // every element would add the same notes
	}
	f.table, f.lone = table, lone
	return nodes
}

// width returns how many columns a field has, at most maxColumns.
func (f *flattener) width(d *Field) int {
	n := 1
	switch {
	case d.Kind == String || d.Kind == WString || d.Array == Sequence:
		return 0
	case d.Kind == Time || d.Kind == Duration:
		n = 2
	case d.Kind == Struct:
		known := false
		if n, known = f.widths[d.Type]; !known {
			for i := range d.Type.Fields {
				n = min(n+f.width(&d.Type.Fields[i]), maxColumns)
			}
			f.widths[d.Type] = n
		}
	}
	if d.Array == Fixed {
		if isByte(d) && d.Len > maxBytes || d.Kind != Struct && n*d.Len > maxArray {
			return 0 // the field is left out
		}
		n = min(n*d.Len, maxColumns)
	}
	return n
}

// sequence reads an array of variable length. It becomes a list or labels, or it is left out.
func (f *flattener) sequence(d *Field, path string) []node {
	seq := node{what: sequence, list: -1, text: -1, boxed: d.Kind == Struct || d.Kind == String || d.Kind == WString}
	element := func() []node {
		if d.Kind == Struct {
			return f.inner(d.Type, "", path+"[].")
		}
		return f.number(&Field{Kind: d.Kind, Raw: d.Raw}, "", 1)
	}
	switch {
	case d.Kind == String || d.Kind == WString:
		if path == f.label && f.label != "" {
			seq.text = f.labelAt
		} else {
			f.leave(path, dataset.CodeTextFields)
		}
		seq.body = []node{textNode(d.Kind)}
	case f.columns != nil && f.lone && d.Kind != Struct:
		list := ListShape{Name: strings.ReplaceAll(path, "[]", ""), Bytes: isByte(d), Labels: f.single, label: f.labelAt}
		columns := f.columns
		f.columns = &list.Columns
		seq.body = element()
		f.columns = columns
		seq.list = len(f.shape.Lists)
		f.shape.Lists = append(f.shape.Lists, list)
	case f.columns == nil || !f.table:
		f.leave(path, dataset.CodeNestedArrays)
		seq.body = f.out(element)
	default:
		list := ListShape{Name: path, Bytes: isByte(d), label: -1}
		if f.label != "" && !(d.Kind == Struct && has(d.Type, isList)) { // a trajectory's points are not its joints
			list.Labels, list.label = f.label, f.labelAt
		}
		columns, said, lists := f.columns, len(f.shape.Notes), len(f.shape.Lists)
		f.columns, f.table, f.single, f.lone = &list.Columns, false, f.label, namesJoints(f.label) && d.Kind == Struct && has(d.Type, isList) && !has(d.Type, isLabels)
		if d.Kind == Struct {
			f.element = list.identify(has(d.Type, isKey), has(d.Type, isName))
			f.named = list.named
		}
		seq.body = element()
		f.columns, f.table, f.lone = columns, true, false
		for i := lists; i < len(f.shape.Lists); i++ {
			seq.inner = append(seq.inner, i)
		}
		if len(list.Columns) == 0 || f.left < 0 {
			f.shape.Lists = f.shape.Lists[:lists]
			f.shape.Notes = append(f.shape.Notes[:said], dataset.Note{Code: dataset.CodeArraysWithoutNumbers, Subject: path})
			return []node{{what: sequence, list: -1, text: -1, boxed: seq.boxed, body: f.out(element)}}
		}
		seq.list = len(f.shape.Lists)
		f.shape.Lists = append(f.shape.Lists, list)
	}
	return []node{seq}
}
