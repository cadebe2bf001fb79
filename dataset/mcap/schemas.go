package mcap

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Short names for protobuf's field kinds.
const (
	protoMessage = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	protoEnum    = descriptorpb.FieldDescriptorProto_TYPE_ENUM
	protoText    = descriptorpb.FieldDescriptorProto_TYPE_STRING
	protoBytes   = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	protoDouble  = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	protoFixed32 = descriptorpb.FieldDescriptorProto_TYPE_FIXED32
)

// field returns the descriptor of a message field. of is the type name if the field is a message or an enum, else empty.
func field(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, of string) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	if of != "" {
		f.TypeName = proto.String("." + of)
	}
	return f
}

func protoFile(path, pkg string, m *descriptorpb.DescriptorProto, imports ...string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{Name: &path, Package: &pkg, Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m}, Dependency: imports}
}

// protoSchema returns the schema of a message: a descriptor set with the given files, each after its imports.
func protoSchema(name string, files ...*descriptorpb.FileDescriptorProto) (schemaText, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	return schemaText{name, "protobuf", b}, err
}

// foxgloveFields are the fields in foxglove's messages, with the field numbers in its schemas; see
// https://docs.foxglove.dev/docs/sdk/schemas.
var foxgloveFields = map[string][]*descriptorpb.FieldDescriptorProto{
	"CompressedImage": {stamp, field("frame_id", 4, protoText, ""), field("data", 2, protoBytes, ""), field("format", 3, protoText, "")},
	"CompressedVideo": {stamp, field("frame_id", 2, protoText, ""), field("data", 3, protoBytes, ""), field("format", 4, protoText, "")},
	"RawImage": {stamp, field("frame_id", 7, protoText, ""), field("width", 2, protoFixed32, ""), field("height", 3, protoFixed32, ""),
		field("encoding", 4, protoText, ""), field("step", 5, protoFixed32, ""), field("data", 6, protoBytes, "")},
	"PointCloud": {stamp, field("frame_id", 2, protoText, ""), field("pose", 3, protoMessage, "foxglove.Pose"), field("point_stride", 4, protoFixed32, ""),
		repeated(field("fields", 5, protoMessage, "foxglove.PackedElementField")), field("data", 6, protoBytes, "")},
	"PackedElementField": {field("name", 1, protoText, ""), field("offset", 2, protoFixed32, ""),
		field("type", 3, protoEnum, "foxglove.PackedElementField.NumericType")},
	"FrameTransform": {stamp, field("parent_frame_id", 2, protoText, ""), field("child_frame_id", 3, protoText, ""),
		field("translation", 4, protoMessage, "foxglove.Vector3"), field("rotation", 5, protoMessage, "foxglove.Quaternion")},
	"Log": {stamp, field("level", 2, protoEnum, "foxglove.Log.Level"), field("message", 3, protoText, ""), field("name", 4, protoText, ""),
		field("file", 5, protoText, ""), field("line", 6, protoFixed32, "")},
	"Pose":       {field("position", 1, protoMessage, "foxglove.Vector3"), field("orientation", 2, protoMessage, "foxglove.Quaternion")},
	"Vector3":    doubles("x", "y", "z"),
	"Quaternion": doubles("x", "y", "z", "w"),
}

// foxgloveImports are the messages inside a message, each after the messages inside itself.
var foxgloveImports = map[string][]string{"PointCloud": {"Vector3", "Quaternion", "Pose", "PackedElementField"}, "Pose": {"Vector3", "Quaternion"},
	"FrameTransform": {"Vector3", "Quaternion"}}

var stamp = field("timestamp", 1, protoMessage, "google.protobuf.Timestamp")

func repeated(f *descriptorpb.FieldDescriptorProto) *descriptorpb.FieldDescriptorProto {
	f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	return f
}

func doubles(names ...string) (list []*descriptorpb.FieldDescriptorProto) {
	for i, name := range names {
		list = append(list, field(name, int32(i+1), protoDouble, ""))
	}
	return list
}

// numericTypes are the type names of a packed field; only the last two are written here.
var numericTypes = []string{"UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64"}

// foxgloveEnums has the name of the enum inside a message, and then its values.
var foxgloveEnums = map[string][]string{
	"PackedElementField": append([]string{"NumericType"}, numericTypes...),
	"Log":                {"Level", "UNKNOWN", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"},
}

// foxgloveFile returns the descriptor file of one of foxglove's messages.
func foxgloveFile(name string) *descriptorpb.FileDescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name, Field: foxgloveFields[name]}
	var imports []string
	for _, in := range foxgloveImports[name] {
		imports = append(imports, "foxglove/"+in+".proto")
	}
	if m.Field[0] == stamp {
		imports = append(imports, "google/protobuf/timestamp.proto")
	}
	if enum := foxgloveEnums[name]; enum != nil {
		e := &descriptorpb.EnumDescriptorProto{Name: &enum[0]}
		for i, name := range enum[1:] {
			e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: &name, Number: proto.Int32(int32(i))})
		}
		m.EnumType = append(m.EnumType, e)
	}
	return protoFile("foxglove/"+name+".proto", "foxglove", m, imports...)
}

// foxgloveSchema returns the schema of one of foxglove's messages with a timestamp, in protobuf or JSON.
func foxgloveSchema(name string, encoding Encoding) schemaText {
	if encoding == JSON {
		return schemaText{"foxglove." + name, "jsonschema", []byte(foxgloveJSON[name])}
	}
	files := []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto)}
	for _, in := range foxgloveImports[name] {
		files = append(files, foxgloveFile(in))
	}
	s, err := protoSchema("foxglove."+name, append(files, foxgloveFile(name))...)
	if err != nil {
		panic(err) // cannot fail, because the descriptors are constant
	}
	return s
}

const jsonTime = `"timestamp":{"type":"object","title":"time","properties":{"sec":{"type":"integer"},"nsec":{"type":"integer"}}},`

const jsonStamp = jsonTime + `"frame_id":{"type":"string"},`

const jsonVector = `{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"},"z":{"type":"number"}}}`

const jsonQuaternion = `{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"},"z":{"type":"number"},"w":{"type":"number"}}}`

const jsonData = `"data":{"type":"string","contentEncoding":"base64"}`

// foxgloveJSON has the JSON schemas of the same messages, by name.
var foxgloveJSON = map[string]string{
	"CompressedImage": `{"title":"foxglove.CompressedImage","type":"object","properties":{` + jsonStamp + jsonData + `,"format":{"type":"string"}}}`,
	"CompressedVideo": `{"title":"foxglove.CompressedVideo","type":"object","properties":{` + jsonStamp + jsonData + `,"format":{"type":"string"}}}`,
	"RawImage": `{"title":"foxglove.RawImage","type":"object","properties":{` + jsonStamp +
		`"width":{"type":"integer"},"height":{"type":"integer"},"encoding":{"type":"string"},"step":{"type":"integer"},` + jsonData + `}}`,
	"PointCloud": `{"title":"foxglove.PointCloud","type":"object","properties":{` + jsonStamp +
		`"pose":{"type":"object","properties":{"position":` + jsonVector + `,"orientation":` + jsonQuaternion + `}},"point_stride":{"type":"integer"},` +
		`"fields":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"offset":{"type":"integer"},"type":{"type":"integer"}}}},` + jsonData + `}}`,
	"FrameTransform": `{"title":"foxglove.FrameTransform","type":"object","properties":{` + jsonTime + `"parent_frame_id":{"type":"string"},"child_frame_id":{"type":"string"},` +
		`"translation":` + jsonVector + `,"rotation":` + jsonQuaternion + `}}`,
	"Log": `{"title":"foxglove.Log","type":"object","properties":{` + jsonTime +
		`"level":{"type":"integer"},"message":{"type":"string"},"name":{"type":"string"},"file":{"type":"string"},"line":{"type":"integer"}}}`,
}
