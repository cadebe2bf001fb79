package message

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// robotProto is a schema with a field of every kind.
const robotProto = `
name: "robot.proto" package: "test" syntax: "proto3" dependency: "google/protobuf/timestamp.proto"
enum_type { name: "Mode" value { name: "IDLE" number: 0 } value { name: "RUN" number: 3 } }
message_type { name: "Vec"
  field { name: "x" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "y" number: 40 type: TYPE_FLOAT label: LABEL_OPTIONAL } }
message_type { name: "Pose"
  field { name: "at" number: 1 type: TYPE_MESSAGE type_name: ".test.Vec" label: LABEL_OPTIONAL }
  field { name: "ok" number: 2 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "inner" number: 3 type: TYPE_MESSAGE type_name: ".test.Pose" label: LABEL_OPTIONAL } }
message_type { name: "Robot"
  field { name: "timestamp" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "frame_id" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "i32" number: 3 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "u64" number: 4 type: TYPE_UINT64 label: LABEL_OPTIONAL }
  field { name: "s32" number: 5 type: TYPE_SINT32 label: LABEL_OPTIONAL }
  field { name: "s64" number: 6 type: TYPE_SINT64 label: LABEL_OPTIONAL }
  field { name: "f32" number: 7 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "f64" number: 8 type: TYPE_SFIXED64 label: LABEL_OPTIONAL }
  field { name: "mode" number: 9 type: TYPE_ENUM type_name: ".test.Mode" label: LABEL_OPTIONAL }
  field { name: "pose" number: 100 type: TYPE_MESSAGE type_name: ".test.Pose" label: LABEL_OPTIONAL }
  field { name: "name" number: 11 type: TYPE_STRING label: LABEL_REPEATED }
  field { name: "position" number: 12 type: TYPE_DOUBLE label: LABEL_REPEATED }
  field { name: "counts" number: 13 type: TYPE_SINT32 label: LABEL_REPEATED options { packed: false } }
  field { name: "poses" number: 14 type: TYPE_MESSAGE type_name: ".test.Pose" label: LABEL_REPEATED }
  field { name: "volts" number: 15 type: TYPE_FLOAT label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "amps" number: 16 type: TYPE_DOUBLE label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "maybe" number: 17 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 1 proto3_optional: true }
  field { name: "raw" number: 18 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "map" number: 19 type: TYPE_MESSAGE type_name: ".test.Robot.MapEntry" label: LABEL_REPEATED }
  oneof_decl { name: "level" } oneof_decl { name: "_maybe" }
  nested_type { name: "MapEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL } } }
message_type { name: "Small"
  field { name: "a" number: 1 type: TYPE_FLOAT label: LABEL_OPTIONAL }
  field { name: "b" number: 2 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "list" number: 3 type: TYPE_FLOAT label: LABEL_REPEATED } }
`

// protoSchema returns a schema and the type of a message that is described in text.
func protoSchema(t testing.TB, file, name string) (Schema, protoreflect.MessageDescriptor) {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto), {}}}
	require.NoError(t, prototext.Unmarshal([]byte(file), set.File[1]))
	data, err := proto.Marshal(set)
	require.NoError(t, err)
	files, err := protodesc.NewFiles(set)
	require.NoError(t, err)
	of, err := files.FindDescriptorByName(protoreflect.FullName(name))
	require.NoError(t, err)
	return Schema{Name: name, Encoding: "protobuf", Data: data}, of.(protoreflect.MessageDescriptor)
}

// protoOf encodes a message that is said in JSON.
func protoOf(t testing.TB, of protoreflect.MessageDescriptor, text string) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(of)
	require.NoError(t, protojson.Unmarshal([]byte(text), m))
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	require.NoError(t, err)
	return b
}

func columns(list []dataset.Column) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

func TestProtobufMessagesBecomeColumnsAndLists(t *testing.T) {
	schema, of := protoSchema(t, robotProto, "test.Robot")
	d, err := newProto(schema)
	require.NoError(t, err)
	s := d.Shape()
	assert.Equal(t, []string{"i32", "u64", "s32", "s64", "f32", "f64", "mode", "pose.at.x", "pose.at.y", "pose.ok", "volts", "amps", "maybe"}, columns(s.Columns))
	assert.Equal(t, dataset.Column{Name: "mode", Type: "test.Mode", Integer: true}, s.Columns[6])
	assert.Equal(t, dataset.Column{Name: "pose.at.y", Type: "float"}, s.Columns[8])
	assert.True(t, s.Wide && s.Stamp)
	assert.Equal(t, dataset.Notes{field(dataset.CodeTextFields, "frame_id"), field(dataset.CodeRecursiveFields, "pose.inner"), field(dataset.CodeRecursiveFields, "poses[].inner"), field(dataset.CodeByteFields, "raw"), field(dataset.CodeMapFields, "map")}, s.Notes)
	require.Len(t, s.Lists, 3)
	assert.Equal(t, []string{"position", "counts", "poses"}, []string{s.Lists[0].Name, s.Lists[1].Name, s.Lists[2].Name})
	assert.Equal(t, "name", s.Lists[0].Labels)
	assert.Equal(t, []string{"at.x", "at.y", "ok"}, columns(s.Lists[2].Columns))

	var rows Rows
	require.NoError(t, d.Append(&rows, protoOf(t, of, `{"timestamp":"2024-01-02T03:04:05.6Z","frameId":"f","i32":-7,"u64":"18446744073709551615","s32":-8,"s64":"-9007199254740993",
		"f32":4000000000,"f64":"-11","mode":"RUN","pose":{"at":{"x":1.5,"y":2.5},"ok":true,"inner":{"ok":true}},"name":["a","b"],"position":[3,4],"counts":[-5,6],
		"poses":[{"at":{"x":7}},{"ok":true}],"amps":8,"maybe":0,"raw":"AAAA","map":{"k":1}}`)))
	require.NoError(t, d.Append(&rows, nil))
	require.NoError(t, d.Append(&rows, protoOf(t, of, `{"pose":{},"volts":2,"name":["a","c"],"position":[5,6],"poses":[{}]}`)))
	nan := math.NaN()
	want := []float64{-7, 1 << 64, -8, -9007199254740992, 4e9, -11, 3, 1.5, 2.5, 1, nan, 8, 0,
		0, 0, 0, 0, 0, 0, 0, nan, nan, nan, nan, nan, nan,
		0, 0, 0, 0, 0, 0, 0, nan, nan, 0, 2, nan, nan}
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(rows.F64))
	assert.Equal(t, 2, rows.Inexact)
	assert.Equal(t, []int64{1704164645600000000, 0, 0}, rows.Stamps)
	assert.Equal(t, []int32{2, 0, 2}, rows.Lists[0].Lengths)
	assert.Equal(t, []string{"a", "b"}, rows.Lists[0].Names[0].List)
	assert.Equal(t, []string{"a", "c"}, rows.Lists[0].Names[1].List)
	assert.Equal(t, []int32{0, -1, 1}, rows.Lists[0].Named)
	assert.Equal(t, []float64{3, 4, 5, 6}, rows.Lists[0].F64)
	assert.True(t, rows.Lists[2].Dropped)
	assert.Nil(t, rows.Lists[2].F64)

	rows = Rows{}
	require.NoError(t, d.Append(&rows, protoOf(t, of, `{"counts":[-5,6],"poses":[{"at":{"x":7}},{"ok":true,"at":{"y":1}}]}`)))
	assert.Equal(t, []float64{-5, 6}, rows.Lists[1].F64)
	assert.Equal(t, fmt.Sprint([]float64{7, 0, 0, 0, 1, 1}), fmt.Sprint(rows.Lists[2].F64))
}

func TestNarrowProtobufNumbersAreFloat32(t *testing.T) {
	schema, of := protoSchema(t, robotProto, "test.Small")
	d, err := New("protobuf", schema, nil)
	require.NoError(t, err)
	assert.False(t, d.Shape().Wide || d.Shape().Lists[0].Wide)
	var rows Rows
	require.NoError(t, d.Append(&rows, protoOf(t, of, `{"a":0.1,"b":true,"list":[1,2,3]}`)))
	assert.Equal(t, []float32{0.1, 1}, rows.F32)
	assert.Equal(t, []float32{1, 2, 3}, rows.Lists[0].F32)
	unpacked := []byte{3<<3 | 5, 0, 0, 0x80, 0x3f, 3<<3 | 5, 0, 0, 0, 0x40}
	rows = Rows{}
	require.NoError(t, d.Append(&rows, unpacked), "either way of writing them")
	assert.Equal(t, []float32{1, 2}, rows.Lists[0].F32)
}

// Of the members of a oneof the last counts, and a message in one that comes in two pieces is one.
func TestTheLastOfWhatIsThereTwiceCounts(t *testing.T) {
	schema, of := protoSchema(t, robotProto, "test.Robot")
	d, err := newProto(schema)
	require.NoError(t, err)
	var rows Rows
	require.NoError(t, d.Append(&rows, append(protoOf(t, of, `{"amps":8,"pose":{"at":{"x":1}},"i32":3}`), protoOf(t, of, `{"volts":9,"pose":{"at":{"y":2},"ok":true},"i32":4}`)...)))
	assert.Equal(t, fmt.Sprint([]float64{4, 0, 0, 0, 0, 0, 0, 1, 2, 1, 9, math.NaN(), math.NaN()}), fmt.Sprint(rows.F64))
}

func TestABrokenProtobufMessageLeavesRowsAsTheyWere(t *testing.T) {
	schema, of := protoSchema(t, robotProto, "test.Robot")
	d, err := newProto(schema)
	require.NoError(t, err)
	whole := protoOf(t, of, `{"timestamp":"2024-01-02T03:04:05Z","i32":-7,"pose":{"at":{"x":1.5}},"position":[3,4],"poses":[{"ok":true}],"name":["a","b"]}`)
	var rows Rows
	require.NoError(t, d.Append(&rows, whole))
	before := fmt.Sprint(rows.Count, rows.F64, rows.Stamps, rows.Lists[0], rows.Lists[2])
	broken := 0
	for n := range whole {
		if err := d.Append(&rows, whole[:n]); err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			assert.LessOrEqual(t, bad.Offset, int64(n))
			assert.Equal(t, before, fmt.Sprint(rows.Count, rows.F64, rows.Stamps, rows.Lists[0], rows.Lists[2]))
			broken++
			continue
		}
		rows = Rows{}
		require.NoError(t, d.Append(&rows, whole))
	}
	assert.Greater(t, broken, len(whole)/2)
	err = d.Append(&rows, []byte{3<<3 | 1, 0, 0, 0, 0, 0, 0, 0, 0})
	assert.ErrorContains(t, err, "byte 1: field i32: corrupt: got wire type 1, want 0, of int32")
}

func TestASchemaThatIsNoneIsAnError(t *testing.T) {
	schema, _ := protoSchema(t, robotProto, "test.Robot")
	for _, s := range []Schema{
		{Name: "test.Robot", Encoding: "protobuf"},
		{Name: "test.Robot", Encoding: "protobuf", Data: schema.Data[:len(schema.Data)-3]},
		{Name: "test.None", Encoding: "protobuf", Data: schema.Data},
		{Name: "test.Mode", Encoding: "protobuf", Data: schema.Data},
		{Name: "test.Robot", Encoding: "ros2msg", Data: schema.Data},
	} {
		_, err := New("protobuf", s, nil)
		assert.ErrorIs(t, err, dataset.ErrUnsupported, "%s", s.Name)
	}
}

// A type that has itself in it, directly or not, or that multiplies, ends.
func TestTypesThatGrowWithoutEndAreCut(t *testing.T) {
	file := `name: "m.proto" package: "m" syntax: "proto3"`
	for i := range 40 {
		file += fmt.Sprintf(` message_type { name: "M%d" field { name: "a" number: 1 type: TYPE_MESSAGE type_name: ".m.M%d" label: LABEL_OPTIONAL }
			field { name: "b" number: 2 type: TYPE_MESSAGE type_name: ".m.M%d" label: LABEL_OPTIONAL } field { name: "t" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL } }`, i, i+1, i+1)
	}
	file += ` message_type { name: "M40" field { name: "v" number: 1 type: TYPE_BOOL label: LABEL_OPTIONAL } }`
	schema, _ := protoSchema(t, file, "m.M0")
	d, err := newProto(schema)
	require.NoError(t, err)
	assert.Len(t, d.Shape().Columns, maxProtoColumns)
	assert.LessOrEqual(t, len(d.Shape().Notes), 2*maxProtoFields)
	assert.NotNil(t, d.Shape().Notes.Find(dataset.CodeFieldLimit))
}

const foxgloveProto = `
name: "foxglove.proto" package: "foxglove" syntax: "proto3" dependency: "google/protobuf/timestamp.proto"
message_type { name: "CompressedImage"
  field { name: "timestamp" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "frame_id" number: 4 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "data" number: 2 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "format" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "CompressedVideo"
  field { name: "timestamp" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "frame_id" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "data" number: 3 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "format" number: 4 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "RawImage"
  field { name: "timestamp" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "width" number: 2 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "height" number: 3 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "encoding" number: 4 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "step" number: 5 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "data" number: 6 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "frame_id" number: 7 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "PackedElementField"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "offset" number: 2 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "type" number: 3 type: TYPE_ENUM type_name: ".foxglove.NumericType" label: LABEL_OPTIONAL } }
enum_type { name: "NumericType" value { name: "UNKNOWN" number: 0 } value { name: "UINT8" number: 1 } value { name: "FLOAT32" number: 7 } value { name: "FLOAT64" number: 8 } }
message_type { name: "Vector3"
  field { name: "x" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "y" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "z" number: 3 type: TYPE_DOUBLE label: LABEL_OPTIONAL } }
message_type { name: "Quaternion"
  field { name: "x" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "y" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "z" number: 3 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "w" number: 4 type: TYPE_DOUBLE label: LABEL_OPTIONAL } }
message_type { name: "Pose"
  field { name: "position" number: 1 type: TYPE_MESSAGE type_name: ".foxglove.Vector3" label: LABEL_OPTIONAL }
  field { name: "orientation" number: 2 type: TYPE_MESSAGE type_name: ".foxglove.Quaternion" label: LABEL_OPTIONAL } }
message_type { name: "FrameTransform"
  field { name: "timestamp" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "parent_frame_id" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "child_frame_id" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "translation" number: 4 type: TYPE_MESSAGE type_name: ".foxglove.Vector3" label: LABEL_OPTIONAL }
  field { name: "rotation" number: 5 type: TYPE_MESSAGE type_name: ".foxglove.Quaternion" label: LABEL_OPTIONAL } }
message_type { name: "FrameTransforms"
  field { name: "transforms" number: 1 type: TYPE_MESSAGE type_name: ".foxglove.FrameTransform" label: LABEL_REPEATED } }
message_type { name: "PointCloud"
  field { name: "timestamp" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "frame_id" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "pose" number: 3 type: TYPE_MESSAGE type_name: ".foxglove.Pose" label: LABEL_OPTIONAL }
  field { name: "point_stride" number: 4 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "fields" number: 5 type: TYPE_MESSAGE type_name: ".foxglove.PackedElementField" label: LABEL_REPEATED }
  field { name: "data" number: 6 type: TYPE_BYTES label: LABEL_OPTIONAL } }
`

const foxgloveCloud = `{"timestamp":"1970-01-01T00:00:01Z","pose":{"position":{"x":1,"z":2},"orientation":{"w":1}},"point_stride":13,"fields":[
	{"name":"x","offset":0,"type":7},{"name":"y","offset":4,"type":7},{"name":"z","offset":8,"type":7},{"name":"ring","offset":12,"type":1}],
	"data":"AACAPwAAAEAAAEBABwAAgEAAAKBAAADAQAg="}`

func TestFoxgloveMessagesAreFramesAndClouds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Frame
	}{
		{"CompressedImage", `{"timestamp":"1970-01-01T00:00:01Z","format":"JPEG","data":"AQID","frameId":"c"}`, Frame{Encoding: "jpeg", Data: []byte{1, 2, 3}, Stamp: 1e9}},
		{"CompressedVideo", `{"format":"h265","data":"AQID"}`, Frame{Encoding: "h265", Data: []byte{1, 2, 3}}},
		{"RawImage", `{"timestamp":"1970-01-01T00:00:01Z","encoding":"mono8","width":2,"height":2,"step":2,"data":"AQIDBA=="}`,
			Frame{Encoding: "mono8", Width: 2, Height: 2, Data: []byte{1, 2, 3, 4}, Stamp: 1e9}},
	} {
		schema, of := protoSchema(t, foxgloveProto, "foxglove."+c.name)
		d, err := newProto(schema)
		require.NoError(t, err)
		assert.NotEqual(t, NoMedia, d.Shape().Media)
		data := protoOf(t, of, c.text)
		got, err := d.Frame(data)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
		for n := range data {
			if _, err := d.Frame(data[:n]); err != nil {
				var bad *dataset.FormatError
				require.ErrorAs(t, err, &bad)
			}
		}
	}
	schema, of := protoSchema(t, foxgloveProto, "foxglove.PointCloud")
	d, err := newProto(schema)
	require.NoError(t, err)
	data := protoOf(t, of, foxgloveCloud)
	var rows Rows
	require.NoError(t, d.Append(&rows, data))
	assert.Equal(t, Rows{Count: 1, Stamps: []int64{1e9}}, rows)
	cloud, err := d.Cloud(data)
	require.NoError(t, err)
	checkFoxgloveCloud(t, cloud)
}

// The frame of a message with pixels or points is in frame_id, in each encoding.
func TestFoxgloveMessagesHaveAFrame(t *testing.T) {
	const text = `{"timestamp":"1970-01-01T00:00:01Z","frame_id":"left \u0022optical\"","data":"AQID"}`
	schema, of := protoSchema(t, foxgloveProto, "foxglove.PointCloud")
	packed := protoOf(t, of, text)
	proto, err := newProto(schema)
	require.NoError(t, err)
	json, err := New("json", Schema{Name: "foxglove.RawImage"}, nil)
	require.NoError(t, err)
	wire := open(t, "cdr", "foxglove_msgs/msg/CompressedImage", "builtin_interfaces/Time timestamp\nstring frame_id\nuint8[] data\nstring format")
	for name, c := range map[string]struct {
		decoder Decoder
		data    []byte
	}{
		"protobuf": {proto, packed},
		"JSON":     {json, []byte(text)},
		"CDR":      {wire, cdr().put(int32(1), uint32(0), `left "optical"`, []byte{1, 2, 3}, "jpeg").b},
	} {
		sequence, frame := c.decoder.(Headed).Header(c.data)
		assert.Equal(t, []any{uint32(0), `left "optical"`}, []any{sequence, string(frame)}, name)
		for n := range c.data {
			_, _ = c.decoder.(Headed).Header(c.data[:n])
		}
	}
}

func checkFoxgloveCloud(t *testing.T, c *dataset.Cloud) {
	t.Helper()
	points, err := tensor.Data[float32](c.Points)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3, 4, 5, 6}, points)
	rings, err := tensor.Data[float32](c.Features)
	require.NoError(t, err)
	assert.Equal(t, []float32{7, 8}, rings)
	assert.Equal(t, []string{"ring"}, c.Names())
	assert.Equal(t, dataset.Viewpoint{Position: [3]float64{1, 0, 2}, Orientation: [4]float64{1, 0, 0, 0}}, c.Viewpoint)
}

func TestAFoxgloveQuaternionIsARotation(t *testing.T) {
	schema, _ := protoSchema(t, foxgloveProto, "foxglove.Pose")
	d, err := newProto(schema)
	require.NoError(t, err)
	assert.Equal(t, []string{"position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z", "orientation.w"}, columns(d.Shape().Columns))
	for i, c := range d.Shape().Columns {
		assert.Equal(t, i >= 3, c.Rotation == dataset.RotationXYZW)
	}
}

// Fields of numbers without fields come in any order and mean what dynamicpb says they do.
func TestProtobufNumbersAreWhatAnotherDecoderSays(t *testing.T) {
	schema, of := protoSchema(t, robotProto, "test.Robot")
	d, err := newProto(schema)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var data []byte
		for range random.IntN(8) {
			n := protowire.Number(3 + random.IntN(7))
			switch n {
			case 7:
				data = protowire.AppendFixed32(protowire.AppendTag(data, n, protowire.Fixed32Type), random.Uint32())
			case 8:
				data = protowire.AppendFixed64(protowire.AppendTag(data, n, protowire.Fixed64Type), random.Uint64())
			default:
				data = protowire.AppendVarint(protowire.AppendTag(data, n, protowire.VarintType), random.Uint64()>>random.IntN(64))
			}
		}
		m := dynamicpb.NewMessage(of)
		require.NoError(t, proto.Unmarshal(data, m))
		var rows Rows
		require.NoError(t, d.Append(&rows, data))
		for i, name := range []protoreflect.Name{"i32", "u64", "s32", "s64", "f32", "f64", "mode"} {
			var want float64
			switch v := m.Get(of.Fields().ByName(name)).Interface().(type) {
			case int32:
				want = float64(v)
			case int64:
				want = float64(v)
			case uint32:
				want = float64(v)
			case uint64:
				want = float64(v)
			case protoreflect.EnumNumber:
				want = float64(v)
			}
			require.Equal(t, want, rows.F64[i], "%s of %x", name, data)
		}
	}
}

const transforms = `{"transforms":[{"timestamp":"1970-01-01T00:00:01Z","parent_frame_id":"world","child_frame_id":"arm","translation":{"x":1},"rotation":{"w":1}},
	{"timestamp":"1970-01-01T00:00:02Z","parent_frame_id":"world","child_frame_id":"base","translation":{"y":2},"rotation":{"w":1}}]}`

const oneTransform = `{"transforms":[{"timestamp":"1970-01-01T00:00:03Z","child_frame_id":"arm","translation":{"x":3},"rotation":{"w":1}}]}`

// checkTransforms checks what both texts become, however they are encoded, but for the rotation's columns of the second's absent numbers.
func checkTransforms(t *testing.T, shape *Shape, rows *Rows, parent int32) {
	t.Helper()
	require.Len(t, shape.Lists, 1)
	l, list := shape.Lists[0], rows.Lists[0]
	assert.True(t, l.Keyed && l.Stamp && !shape.Keyed && !shape.Stamp && !list.Dropped)
	assert.Equal(t, []int32{2, 1}, list.Lengths)
	assert.Equal(t, []string{"arm", "world", "base"}, rows.Frames)
	assert.Equal(t, [][]int32{{0, 2, 0}, {1, 1, parent}}, [][]int32{list.Keys, list.Parents})
	assert.Equal(t, []int64{1e9, 2e9, 3e9}, list.Stamps)
	assert.Len(t, list.F64, 3*len(l.Columns))
	assert.Empty(t, shape.Notes)
}

func TestTransformsAreOfTheFramesThatMove(t *testing.T) {
	schema, of := protoSchema(t, foxgloveProto, "foxglove.FrameTransforms")
	d, err := newProto(schema)
	require.NoError(t, err)
	var rows Rows
	for _, text := range []string{transforms, oneTransform} {
		require.NoError(t, d.Append(&rows, protoOf(t, of, text)))
	}
	checkTransforms(t, d.Shape(), &rows, -1)
	assert.Equal(t, []string{"translation.x", "translation.y", "translation.z", "rotation.x", "rotation.y", "rotation.z", "rotation.w"}, columns(d.Shape().Lists[0].Columns))
	assert.Equal(t, dataset.RotationXYZW, d.Shape().Lists[0].Columns[3].Rotation)
	assert.Equal(t, []float64{3, 0, 0, 0, 0, 0, 1}, rows.Lists[0].F64[14:])

	shape, got := jsonRows(t, Schema{}, transforms, oneTransform)
	checkTransforms(t, shape, got, -1)

	schema, of = protoSchema(t, foxgloveProto, "foxglove.FrameTransform")
	d, err = newProto(schema)
	require.NoError(t, err)
	rows = Rows{}
	require.NoError(t, d.Append(&rows, protoOf(t, of, `{"parent_frame_id":"w","child_frame_id":"a","translation":{"x":3}}`)))
	assert.True(t, d.Shape().Keyed && d.Shape().Stamp)
	assert.Equal(t, []any{[]string{"a", "w"}, []int32{0}, []int32{1}}, []any{rows.Frames, rows.Keys, rows.Parents})

	// Two bytes an element stand for seven numbers: more of them than a message may have are refused.
	many := make([]byte, 0, 1<<16)
	for range 1 << 15 {
		many = append(many, 1<<3|2, 0)
	}
	schema, _ = protoSchema(t, foxgloveProto, "foxglove.FrameTransforms")
	d, err = newProto(schema)
	require.NoError(t, err)
	assert.ErrorIs(t, d.Append(&rows, many), dataset.ErrTooLarge)
}
