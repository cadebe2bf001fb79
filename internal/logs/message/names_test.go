package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesThatOccurTwiceTellNothing(t *testing.T) {
	n := NewNames([]string{"a", "a", "b"})
	assert.False(t, n.Distinct())
	_, same := n.Order([]string{"a", "b", "a"})
	assert.False(t, same)
	n = NewNames([]string{"a", "b", "c"})
	_, same = n.Order([]string{"a", "b", "b"})
	assert.False(t, same)
	order, same := n.Order([]string{"c", "a", "b"})
	require.True(t, same)
	list := []int{30, 31, 10, 11, 20, 21}
	Reorder(list, 2, order)
	assert.Equal(t, []int{10, 11, 20, 21, 30, 31}, list)
}

func TestElementsThatHaveNames(t *testing.T) {
	d := open(t, "cdr", "a/msg/Motors", "Motor[] motors\n"+line80+"MSG: a/Motor\nfloat32 current\nstring name\nfloat32 load\n")
	assert.Equal(t, "motors[].name", d.Shape().Lists[0].Labels)
	assert.Empty(t, d.Shape().Notes)
	var rows Rows
	require.NoError(t, d.Append(&rows, cdr().put(uint32(2), float32(1), "l", float32(2), float32(3), "r", float32(4)).b))
	require.NoError(t, d.Append(&rows, cdr().put(uint32(2), float32(7), "r", float32(8), float32(5), "l", float32(6)).b))
	require.Len(t, rows.Lists[0].Names, 1)
	assert.Equal(t, []string{"l", "r"}, rows.Lists[0].Names[0].List)
	assert.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, rows.Lists[0].F32)
}

// control_msgs/DynamicJointState has names beside an array of structs without numbers of their own, and so no list.
func TestNamesBesideAnArrayWithoutNumbers(t *testing.T) {
	const values = "string[] joint_names\nValue[] values\nfloat64 temperature\n" + line80 + "MSG: a/Value\nstring[] names\nfloat64[] values\n"
	cdrBytes := cdr().put(uint32(1), "l", uint32(1), uint32(1), "position", uint32(1), 0.5, 20.5).b
	ros1Bytes := ros1().put(uint32(1), "l", uint32(1), uint32(1), "position", uint32(1), 0.5, 20.5).b
	for encoding, data := range map[string][]byte{"cdr": cdrBytes, "ros1": ros1Bytes} {
		d := open(t, encoding, "a/Joints", values)
		assert.Empty(t, d.Shape().Lists, encoding)
		var rows Rows
		require.NoError(t, d.Append(&rows, data), encoding)
		require.NoError(t, d.Append(&rows, data), encoding)
		assert.Equal(t, []float64{20.5, 20.5}, rows.F64, encoding)
	}
}

const jointsProto = `
name: "joints.proto" package: "test" syntax: "proto3"
message_type { name: "Joint"
  field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "position" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL proto3_optional: true oneof_index: 0 }
  field { name: "effort" number: 3 type: TYPE_FLOAT label: LABEL_OPTIONAL }
  oneof_decl { name: "_position" } }
message_type { name: "Joints"
  field { name: "joints" number: 1 type: TYPE_MESSAGE type_name: ".test.Joint" label: LABEL_REPEATED } }
`

func TestElementsThatHaveNamesInProtobufAndJSON(t *testing.T) {
	messages := []string{
		`{"joints":[{"name":"l","position":1,"effort":2},{"name":"r","position":3,"effort":4}]}`,
		`{"joints":[{"name":"r","position":7,"effort":8},{"name":"l","position":5,"effort":6}]}`,
		`{"joints":[{"position":9,"name":"head","effort":10}]}`,
	}
	schema, of := protoSchema(t, jointsProto, "test.Joints")
	p, err := newProto(schema)
	require.NoError(t, err)
	var rows Rows
	for _, m := range messages {
		require.NoError(t, p.Append(&rows, protoOf(t, of, m)))
	}
	s, inJSON := jsonRows(t, Schema{}, messages...)
	for what, got := range map[string]struct {
		shape *Shape
		rows  *Rows
	}{"protobuf": {p.Shape(), &rows}, "json": {s, inJSON}} {
		require.Len(t, got.shape.Lists, 1, what)
		assert.Equal(t, "joints[].name", got.shape.Lists[0].Labels, what)
		assert.Empty(t, got.shape.Notes, what)
		assert.Equal(t, []string{"position", "effort"}, columns(got.shape.Lists[0].Columns), what)
		l := &got.rows.Lists[0]
		require.Len(t, l.Names, 2, what)
		assert.Equal(t, []string{"l", "r"}, l.Names[0].List, what)
		assert.Equal(t, []string{"head"}, l.Names[1].List, what)
		assert.Equal(t, []int32{0, 0, 1}, l.Named, what)
		assert.Equal(t, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, l.F64, what)
	}
}

// trajectory is a message of names and points, each with positions.
func trajectory(names []string, points ...[]float64) []byte {
	c := cdr().put(uint32(len(names)))
	for _, s := range names {
		c = c.put(s)
	}
	c = c.put(uint32(len(points)))
	for _, p := range points {
		c = c.put(uint32(len(p)))
		for _, v := range p {
			c = c.put(v)
		}
		c = c.put(int32(7))
	}
	return c.b
}

func TestATrajectoryOfOnePointHasColumnsByName(t *testing.T) {
	d := open(t, "cdr", "p/msg/A", "string[] joint_names\nPoint[] points\n"+line80+"MSG: p/Point\nfloat64[] positions\nint32 after\n")
	var rows Rows
	require.NoError(t, d.Append(&rows, trajectory([]string{"a", "b"}, []float64{1, 2})))
	require.NoError(t, d.Append(&rows, trajectory([]string{"b", "a"}, []float64{4, 3})))
	require.NoError(t, d.Append(&rows, trajectory([]string{"a", "b"}, []float64{5, 6}, []float64{7, 8})))
	whole := trajectory([]string{"a", "b"}, []float64{5, 6}, []float64{7, 8})
	require.Error(t, d.Append(&rows, whole[:len(whole)-5]))
	require.NoError(t, d.Append(&rows, trajectory([]string{"a", "b"})))
	l := &rows.Lists[0]
	assert.Equal(t, "points.positions", d.Shape().Lists[0].Name)
	assert.Equal(t, []float64{1, 2, 3, 4}, l.F64)
	assert.Equal(t, []int32{2, 2, 0, 0}, l.Lengths, "several points or none have no one position")
	assert.Equal(t, []int32{0, 0, -1, -1}, l.Named)
	assert.True(t, l.Several && l.Names[0].Reordered)
}

func TestNamesOfAnOuterStructNameInnerArrays(t *testing.T) {
	d := open(t, "ros1", "p/A", "string[] joint_names\nPoint desired\nstring[] other_names\n"+line80+"MSG: p/Point\nfloat64[] positions\nInner in\n"+line80+"MSG: p/Inner\nfloat64[] x\n")
	assert.Equal(t, []string{"joint_names", "joint_names"}, []string{d.Shape().Lists[0].Labels, d.Shape().Lists[1].Labels})
	d = open(t, "ros1", "p/A", "string[] names\nPoint desired\n"+line80+"MSG: p/Point\nfloat64[] positions\n")
	assert.Empty(t, d.Shape().Lists[0].Labels)
}
