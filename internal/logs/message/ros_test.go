package message

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

const line80 = "================================================================================\n"

const header2 = line80 + "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
const header1 = line80 + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
const vector3 = line80 + "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
const quaternion = line80 + "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"

const (
	twist = "# a velocity\nVector3  linear\nVector3  angular # of the body\n" + vector3
	imu   = "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n" +
		"float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n" + header2 + quaternion + vector3
	jointState = "std_msgs/Header header\n\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n" + header2
)

func open(t testing.TB, encoding, name, text string) Decoder {
	t.Helper()
	schema := map[string]string{"cdr": "ros2msg", "ros1": "ros1msg"}[encoding]
	d, err := New(encoding, Schema{name, schema, []byte(text)}, nil)
	require.NoError(t, err)
	return d
}

func names(columns []dataset.Column) (list []string) {
	for _, c := range columns {
		list = append(list, c.Name)
	}
	return list
}

func TestStructsFlattenToColumns(t *testing.T) {
	for encoding, w := range map[string]*writer{"cdr": cdr(), "ros1": ros1()} {
		d := open(t, encoding, "geometry_msgs/msg/Twist", twist)
		assert.Equal(t, []string{"linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"}, names(d.Shape().Columns))
		assert.Equal(t, dataset.Column{Name: "linear.x", Type: "float64"}, d.Shape().Columns[0])
		assert.Empty(t, d.Shape().Notes)
		var rows Rows
		w.put(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
		require.NoError(t, d.Append(&rows, w.b))
		require.NoError(t, d.Append(&rows, w.b))
		assert.Equal(t, []float64{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, rows.F64)
		assert.Equal(t, 2, rows.Count)
	}
}

func TestTheHeaderIsTheClockAndQuaternionsAreRotations(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/Imu", imu)
	shape := d.Shape()
	require.Len(t, shape.Columns, 37)
	assert.True(t, shape.Stamp)
	assert.Empty(t, shape.Notes)
	for i, c := range shape.Columns {
		assert.Equal(t, i < 4, c.Rotation == dataset.RotationXYZW, c.Name)
	}
	assert.Equal(t, "orientation_covariance[8]", shape.Columns[12].Name)
	for _, frame := range []string{"", "base", "a_longer_name"} { // whatever lies before the numbers moves them
		for _, w := range []*writer{cdr(), cdrBig()} {
			w.put(int32(100), uint32(7), frame)
			var want []float64
			for i := range 37 {
				want = append(want, float64(i)+0.5)
				w.put(want[i])
			}
			var rows Rows
			require.NoError(t, d.Append(&rows, w.b))
			assert.Equal(t, want, rows.F64)
			assert.Equal(t, []int64{100_000_000_007}, rows.Stamps)
		}
	}
}

func TestRos1TimesAreTwoColumns(t *testing.T) {
	d := open(t, "ros1", "a/B", "Header header\ntime at\nduration took\nbyte b\nchar c\nstring s\n"+header1)
	assert.Equal(t, []string{"at.sec", "at.nsec", "took.sec", "took.nsec", "b", "c"}, names(d.Shape().Columns))
	assert.Equal(t, dataset.Notes{field(dataset.CodeTextFields, "s")}, d.Shape().Notes)
	var rows Rows
	w := ros1().put(uint32(9), uint32(3_000_000_000), uint32(5), "map", uint32(1), uint32(2), int32(-1), int32(-2), int8(-3), uint8(200), "text")
	require.NoError(t, d.Append(&rows, w.b))
	assert.Equal(t, []float64{1, 2, -1, -2, -3, 200}, rows.F64)
	assert.Equal(t, []int64{3_000_000_000_000_000_005}, rows.Stamps)
}

func TestNamesLabelTheListsBesideThem(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/JointState", jointState)
	shape := d.Shape()
	require.Len(t, shape.Lists, 3)
	assert.Equal(t, ListShape{Name: "position", Columns: []dataset.Column{{Type: "float64"}}, Wide: true, Labels: "name"}, shape.Lists[0])
	assert.Empty(t, shape.Columns)
	assert.Empty(t, shape.Notes)
	message := func(frame string, joints []string, position, velocity []float64) []byte {
		return cdr().put(int32(1), uint32(0), frame, joints, position, velocity, []float64{}).b
	}
	var rows Rows
	add := func(joints []string, position, velocity []float64) {
		require.NoError(t, d.Append(&rows, message("", joints, position, velocity)))
	}
	ab := []string{"a", "bcd"}
	add(ab, []float64{1, 2}, []float64{3, 4})
	require.NoError(t, d.Append(&rows, message("some", ab, []float64{5, 6}, nil)))
	require.Len(t, rows.Lists[0].Names, 1)
	assert.Equal(t, ab, rows.Lists[0].Names[0].List)
	assert.False(t, rows.Lists[0].Names[0].Reordered)
	add([]string{"bcd", "a"}, []float64{8, 7}, []float64{10, 9})
	add([]string{"c"}, []float64{11}, nil)
	add(ab, []float64{12, 13}, nil)
	position, velocity, effort := &rows.Lists[0], &rows.Lists[1], &rows.Lists[2]
	assert.Equal(t, []float64{1, 2, 5, 6, 7, 8, 11, 12, 13}, position.F64, "the third message has the joints in the other order")
	assert.True(t, position.Names[0].Reordered)
	assert.Equal(t, []string{"c"}, position.Names[1].List)
	assert.Equal(t, []int32{0, 0, 0, 1, 0}, position.Named)
	assert.Equal(t, []int32{2, 0, 2, 0, 0}, velocity.Lengths)
	assert.Equal(t, []float64{3, 4, 9, 10}, velocity.F64)
	assert.Equal(t, []int32{0, -1, 0, -1, -1}, velocity.Named)
	assert.False(t, velocity.Unnamed || velocity.Dropped)
	assert.Empty(t, effort.Names)
	add(nil, []float64{1, 2}, nil)
	assert.True(t, position.Unnamed && position.Dropped, "lengths differ, and not all have names")
	assert.Nil(t, position.F64)
	assert.Equal(t, []int32{0, 0, 0, 1, 0, -1}, position.Named)
}

func TestNamesOfTooManyKindsAreDropped(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/JointState", jointState)
	var rows Rows
	for i := range MaxNames + 1 {
		assert.False(t, len(rows.Lists) > 0 && rows.Lists[0].Many)
		require.NoError(t, d.Append(&rows, cdr().put(int32(1), uint32(0), "", []string{fmt.Sprint("j", i)}, []float64{1}, []float64{}, []float64{}).b))
	}
	assert.True(t, rows.Lists[0].Many && rows.Lists[0].Dropped)
}

// What the dimensions of a MultiArray are called, and where its data begin, is no data.
func TestTheLayoutOfAMultiArrayIsNoData(t *testing.T) {
	const multi = "MultiArrayLayout layout\nfloat32[] data\n" + line80 + "MSG: std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\nuint32 data_offset\n" +
		line80 + "MSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride\n"
	d := open(t, "cdr", "std_msgs/msg/Float32MultiArray", multi)
	assert.Empty(t, d.Shape().Columns)
	assert.Equal(t, dataset.Notes{field(dataset.CodeLayoutFields, "layout")}, d.Shape().Notes)
	require.Len(t, d.Shape().Lists, 1)
	var rows Rows
	require.NoError(t, d.Append(&rows, cdr().put(uint32(1), "rows", uint32(2), uint32(2), uint32(7), uint32(2), float32(3), float32(4)).b))
	assert.Equal(t, "data", d.Shape().Lists[0].Name)
	assert.Equal(t, []float32{3, 4}, rows.Lists[0].F32)
}

const tf = "geometry_msgs/TransformStamped[] transforms\n" + header2 + quaternion + vector3 +
	line80 + "MSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\nTransform transform\n" +
	line80 + "MSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation\n"

// Transforms of several children come in one message: each says whose it is, and when.
func TestTransformsAreToldApart(t *testing.T) {
	d := open(t, "cdr", "tf2_msgs/msg/TFMessage", tf)
	require.Len(t, d.Shape().Lists, 1)
	list := d.Shape().Lists[0]
	assert.True(t, list.Keyed && list.Stamp && !d.Shape().Keyed && !d.Shape().Stamp)
	assert.Equal(t, []string{"translation.x", "translation.y", "translation.z", "rotation.x", "rotation.y", "rotation.z", "rotation.w"}, names(list.Columns))
	assert.Equal(t, dataset.RotationXYZW, list.Columns[6].Rotation)
	assert.Empty(t, d.Shape().Notes)
	message := func(frames ...string) []byte {
		w := cdr().put(uint32(len(frames) / 2))
		for i := 0; i < len(frames); i += 2 {
			w.put(int32(i), uint32(7), frames[i], frames[i+1])
			for k := range 7 {
				w.put(float64(10*i + k))
			}
		}
		return w.b
	}
	var rows Rows
	require.NoError(t, d.Append(&rows, message("world", "a", "world", "b")))
	long := message("world", "b", "a", "c")
	require.NoError(t, d.Append(&rows, message("world", "b")))
	for n := range long {
		require.Error(t, d.Append(&rows, long[:n]))
	}
	l := rows.Lists[0]
	assert.False(t, l.Dropped)
	assert.Equal(t, []int32{2, 1}, l.Lengths)
	name := func(list []int32) (names []string) {
		for _, i := range list {
			names = append(names, rows.Frames[i])
		}
		return names
	}
	assert.Equal(t, []string{"a", "b", "b"}, name(l.Keys))
	assert.Equal(t, []string{"world", "world", "world"}, name(l.Parents))
	assert.Equal(t, []int64{7, 2_000_000_007, 7}, l.Stamps)
	assert.Equal(t, []float64{20, 21}, l.F64[7:9])
	assert.Len(t, l.F64, 21)
	assert.Nil(t, rows.Keys)
}

func TestMessagesWithAChildFrameSayWhoseTheyAre(t *testing.T) {
	d := open(t, "ros1", "nav_msgs/Odometry", "Header header\nstring child_frame_id\nfloat32 x\n"+header1)
	assert.True(t, d.Shape().Keyed)
	assert.Empty(t, d.Shape().Notes)
	var rows Rows
	for _, child := range []string{"base", "wheel", "base"} {
		require.NoError(t, d.Append(&rows, ros1().put(uint32(0), uint32(1), uint32(2), "odom", child, float32(3)).b))
	}
	assert.Equal(t, []string{"odom", "base", "wheel"}, rows.Frames)
	assert.Equal(t, []int32{1, 2, 1}, rows.Keys)
	assert.Equal(t, []int32{0, 0, 0}, rows.Parents)
	assert.Equal(t, []float32{3, 3, 3}, rows.F32)
}
