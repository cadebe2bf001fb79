package message

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/robocache/robocache/dataset"
)

const (
	maxProtoColumns = 4096    // per type, including its lists
	maxProtoFields  = 1 << 16 // per type; an inner message's fields count for each use, and long names count more
)

// newProto returns the decoder for protobuf messages. The schema is a FileDescriptorSet, and its name is the type. Identical files in
// the set count once, as in protobuf's own DescriptorPool.
func newProto(schema Schema) (Decoder, error) {
	if schema.Encoding != "protobuf" {
		return nil, protoError(-1, dataset.ErrUnsupported, "schema of "+schema.Name, fmt.Sprintf("encoding %q", schema.Encoding), "protobuf, a FileDescriptorSet")
	}
	bad := func(err error) error {
		return &dataset.FormatError{Format: "protobuf", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "schema of " + schema.Name, Want: "a FileDescriptorSet that has it", Err: err}
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(schema.Data, set); err != nil {
		return nil, bad(err)
	}
	byName := map[string]*descriptorpb.FileDescriptorProto{}
	set.File = slices.DeleteFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool {
		if proto.Equal(byName[f.GetName()], f) {
			return true
		}
		byName[f.GetName()] = f
		return false
	})
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(set)
	if err != nil {
		return nil, bad(err)
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(schema.Name))
	if err != nil {
		return nil, bad(err)
	}
	of, ok := found.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, bad(fmt.Errorf("%s is no message", schema.Name))
	}
	d := &protoDecoder{buffered: buffered{shape: Shape{Type: schema.Name, Media: foxgloveMedia[schema.Name]}}, of: of}
	if d.shape.Media != NoMedia {
		d.media = newProtoMedia(of)
		d.shape.Stamp = d.media.stamp != 0
		d.top = &protoMessage{}
		if f := of.Fields().ByNumber(d.media.stamp); f != nil {
			d.top.add(&protoField{what: protoStamp, name: "timestamp", wire: protowire.BytesType}, f.Number())
		}
		return d, nil
	}
	b := protoBuilder{builder{buffered: &d.buffered, columns: &d.shape.Columns, table: true}, &d.shape.Wide, map[protoreflect.FullName]bool{}}
	d.top = b.message(of, "", true)
	d.shape.padScans()
	return d, nil
}

// protoBuilder creates the shape for protobuf messages, and the fields that read them.
type protoBuilder struct {
	builder
	wide *bool                          // whether a column needs float64
	open map[protoreflect.FullName]bool // messages that enclose this one
}

func (m *protoMessage) add(f *protoField, n protowire.Number) {
	if n < 32 {
		m.low[n] = f
		return
	}
	if m.fields == nil {
		m.fields = map[protowire.Number]*protoField{}
	}
	m.fields[n] = f
}

// message creates the columns for a message's fields.
func (b *protoBuilder) message(of protoreflect.MessageDescriptor, path string, top bool) *protoMessage {
	m := &protoMessage{at: len(*b.columns), slot: b.structs}
	b.structs++
	b.open[of.FullName()] = true
	defer delete(b.open, of.FullName())
	label, at, list := "", -1, of.Fields()
	for i := range list.Len() {
		if f := list.Get(i); b.table && f.IsList() && f.Kind() == protoreflect.StringKind && namesElements(string(f.Name())) && hasNumberLists(of) {
			label, at = path+string(f.Name()), b.arrays
			m.add(&protoField{what: protoLabels, name: label, kind: f.Kind(), wire: protowire.BytesType, at: at}, f.Number())
			b.arrays++
			break
		}
	}
	element, named := b.element, b.named
	b.element, b.named = nil, false
	keyed := (top || element != nil) && isKeyedProto(of)
	b.shape.Keyed = b.shape.Keyed || top && keyed
	oneofs := map[protoreflect.FullName][]*protoField{}
	for i := range list.Len() {
		f := list.Get(i)
		if b.fields += cost(path); b.fields > maxProtoFields {
			b.leave(path+string(f.Name()), dataset.CodeFieldLimit)
			break
		}
		if path+string(f.Name()) == label {
			continue
		}
		if own := b.own(f, keyed, top, element); own != nil {
			m.add(own, f.Number())
			continue
		}
		if named && isNameProto(f) {
			m.add(&protoField{what: protoName, name: "name", kind: f.Kind(), wire: protowire.BytesType}, f.Number())
			continue
		}
		from := len(*b.columns)
		made := b.field(f, path+string(f.Name()), label, at)
		m.add(made, f.Number())
		if in := f.ContainingOneof(); in != nil && !in.IsSynthetic() {
			made.others = append(made.others, [2]int{from, len(*b.columns)}) // its own range, until all members are known
			oneofs[in.FullName()] = append(oneofs[in.FullName()], made)
		}
	}
	for _, members := range oneofs {
		spans := make([][2]int, len(members))
		for i, f := range members {
			spans[i] = f.others[0]
		}
		for i, f := range members {
			f.others = append(append([][2]int{}, spans[:i]...), spans[i+1:]...)
		}
	}
	m.row = b.absent(of, m)
	b.rotation(of, m.at)
	return m
}

// isNameProto reports whether a field is an element's name.
func isNameProto(f protoreflect.FieldDescriptor) bool {
	return f != nil && f.Name() == "name" && f.Kind() == protoreflect.StringKind && !f.IsList()
}

// isKeyedProto reports whether a message names the frame that moves.
func isKeyedProto(of protoreflect.MessageDescriptor) bool {
	f := of.Fields().ByName("child_frame_id")
	return f != nil && f.Kind() == protoreflect.StringKind && !f.IsList()
}

// own returns the field that holds the clock or a frame for a message or keyed element. It returns nil for others.
func (b *protoBuilder) own(f protoreflect.FieldDescriptor, keyed, top bool, element *ListShape) *protoField {
	out := &protoField{name: string(f.Name()), kind: f.Kind(), wire: protowire.BytesType}
	text := keyed && f.Kind() == protoreflect.StringKind && !f.IsList()
	switch {
	case f.Name() == "timestamp" && !f.IsList() && isTimestamp(f) && top:
		b.shape.Stamp = true
		out.what = protoStamp
	case f.Name() == "timestamp" && !f.IsList() && isTimestamp(f) && element != nil:
		element.Stamp = true
		out.what = protoStamp
	case text && f.Name() == "child_frame_id":
		out.what = protoChild
	case text && f.Name() == "parent_frame_id":
		out.what = protoParent
	default:
		return nil
	}
	return out
}

// absent returns the row for a message without fields.
func (b *protoBuilder) absent(of protoreflect.MessageDescriptor, m *protoMessage) []float64 {
	row := absentRow(len(*b.columns) - m.at)
	for i := range of.Fields().Len() {
		d := of.Fields().Get(i)
		f := m.field(d.Number())
		if f == nil || f.what != protoNumber {
			continue
		}
		switch {
		case d.HasDefault():
			row[f.at-m.at] = defaultOf(d)
		case !d.HasPresence():
			row[f.at-m.at] = 0
		}
	}
	return row
}

func defaultOf(d protoreflect.FieldDescriptor) float64 {
	v := d.Default()
	switch d.Kind() {
	case protoreflect.BoolKind:
		if v.Bool() {
			return 1
		}
		return 0
	case protoreflect.EnumKind:
		return float64(v.Enum())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return v.Float()
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return float64(v.Uint())
	}
	return float64(v.Int())
}

// rotation marks a quaternion's columns.
func (b *protoBuilder) rotation(of protoreflect.MessageDescriptor, from int) {
	columns := (*b.columns)[from:]
	if of.FullName() != "foxglove.Quaternion" || len(columns) != 4 {
		return
	}
	for i, name := range []string{"x", "y", "z", "w"} {
		if c := columns[i].Name; c != name && !strings.HasSuffix(c, "."+name) {
			return
		}
	}
	for i := range columns {
		columns[i].Rotation = dataset.RotationXYZW
	}
}

// namesElements reports whether an array of text with this name labels the elements of arrays in the same struct.
func namesElements(name string) bool {
	return name == "name" || name == "names" || strings.HasSuffix(name, "_names")
}

func hasNumberLists(of protoreflect.MessageDescriptor) bool {
	for i := range of.Fields().Len() {
		if f := of.Fields().Get(i); f.IsList() && (isNumber(f.Kind()) || f.Kind() == protoreflect.MessageKind) {
			return true
		}
	}
	return false
}

func isNumber(k protoreflect.Kind) bool {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return false
	}
	return true
}

func isTimestamp(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.MessageKind && f.Message().FullName() == "google.protobuf.Timestamp"
}

// field creates a field's columns. label names the array of text with labels for its lists, and at is that array's index.
func (b *protoBuilder) field(f protoreflect.FieldDescriptor, path, label string, at int) *protoField {
	out := &protoField{what: protoSkip, name: path, kind: f.Kind(), wire: wireOf(f.Kind())}
	switch {
	case f.IsMap():
		b.leave(path, dataset.CodeMapFields)
		return out
	case f.Kind() == protoreflect.StringKind:
		b.leave(path, dataset.CodeTextFields)
		return out
	case f.Kind() == protoreflect.BytesKind:
		b.leave(path, dataset.CodeByteFields)
		return out
	case f.Kind() == protoreflect.GroupKind:
		b.leave(path, dataset.CodeGroupFields)
		return out
	case b.made >= maxProtoColumns:
		b.leave(path, dataset.CodeFieldLimit)
		return out
	case f.Kind() == protoreflect.MessageKind && f.Message().IsPlaceholder():
		b.leave(path, dataset.CodeUndefinedFields)
		return out
	case f.Kind() == protoreflect.MessageKind && b.open[f.Message().FullName()]:
		b.leave(path, dataset.CodeRecursiveFields)
		return out
	case f.IsList() && !b.table:
		b.leave(path, dataset.CodeNestedArrays)
		return out
	case f.IsList():
		return b.list(f, path, label, at, out)
	case f.Kind() == protoreflect.MessageKind:
		out.what, out.in = protoStruct, b.message(f.Message(), path+".", false)
		return out
	}
	out.what, out.at = protoNumber, len(*b.columns)
	b.column(f, path)
	return out
}

// column adds a number's column.
func (b *protoBuilder) column(f protoreflect.FieldDescriptor, name string) {
	c := dataset.Column{Name: name, Type: f.Kind().String(), Integer: true}
	switch f.Kind() {
	case protoreflect.FloatKind:
		c.Integer = false
	case protoreflect.DoubleKind:
		c.Integer, *b.wide = false, true
	case protoreflect.BoolKind:
	case protoreflect.EnumKind:
		c.Type, *b.wide = string(f.Enum().FullName()), true
	default:
		*b.wide = true
	}
	*b.columns = append(*b.columns, c)
	b.made++
}

// list adds a list of numbers or structs.
func (b *protoBuilder) list(f protoreflect.FieldDescriptor, path, label string, at int, out *protoField) *protoField {
	shape, wide := ListShape{Name: path, Labels: label, label: at}, b.wide
	b.wide = &shape.Wide
	what := protoList
	made := b.builder.list(&shape, func() {
		if f.Kind() != protoreflect.MessageKind {
			b.column(f, "")
			return
		}
		b.element = shape.identify(isKeyedProto(f.Message()), isNameProto(f.Message().Fields().ByName("name")))
		b.named = shape.named
		what, out.keyed, out.named, out.in = protoStructs, shape.Keyed, shape.named, b.message(f.Message(), "", false)
	})
	b.wide = wide
	if !made {
		b.leave(path, dataset.CodeArraysWithoutNumbers)
		return out
	}
	out.what, out.at = what, len(b.shape.Lists)-1
	return out
}

func wireOf(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}
