package message

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
)

func TestConstantsDefaultsAndBoundsAreNoFields(t *testing.T) {
	d := open(t, "cdr", "p/msg/A", "# comment\r\n\nuint8 A=1\nuint8 B = 2 # two\nstring C=\"x=#\"\nstring D=a = b # c\nint32\tx 5\nint32 y  -1 # y\nfloat32[3] z [1.0, 2.0, 3.0]\r\n"+
		"string<=22 s \"a=b\"\nstring<=5[<=3] t\nint8[<=4] u [1, 2]\n  byte b\nchar c\n")
	assert.Equal(t, []string{"x", "y", "z[0]", "z[1]", "z[2]", "b", "c"}, names(d.Shape().Columns))
	assert.Equal(t, dataset.Notes{field(dataset.CodeTextFields, "s"), field(dataset.CodeTextFields, "t")}, d.Shape().Notes)
	assert.Equal(t, "u", d.Shape().Lists[0].Name)
	var rows Rows
	require.NoError(t, d.Append(&rows, cdr().put(int32(1), int32(2), float32(3), float32(4), float32(5), "abc", []string{"d"}, uint32(1), int8(-6), uint8(200), uint8(201)).b))
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 200, 201}, rows.F64)
	assert.Equal(t, []float32{-6}, rows.Lists[0].F32)

	d = open(t, "ros1", "p/A", "string S=it's # not a comment = \"\nint8 N=-5\nint32 x # y\n")
	assert.Equal(t, []string{"x"}, names(d.Shape().Columns))
}

func TestTypesAreFoundByWhateverNameTheyGoBy(t *testing.T) {
	for _, text := range []string{
		"B b\n" + line80 + "MSG: p/B\nint8 x", "p/B b\n" + line80 + "MSG: p/msg/B\nint8 x", "p/msg/B b\r\n" + line80 + "MSG: p/B\r\nint8 x\r\n",
		"B b\n" + line80 + "MSG: other/B\nint8 x\n", line80 + "MSG: p/B\nint8 x\n" + line80 + "MSG: p/msg/A\nB b\n",
	} {
		d, err := New("cdr", Schema{"p/msg/A", "ros2msg", []byte(text)}, nil)
		if assert.NoError(t, err, text) {
			assert.Equal(t, []string{"b.x"}, names(d.Shape().Columns))
		}
	}
	d := open(t, "cdr", "p/msg/A", "Header header\nTime a\nbuiltin_interfaces/Duration b\n"+header2)
	assert.True(t, d.Shape().Stamp)
	assert.Equal(t, []string{"a.sec", "a.nanosec", "b.sec", "b.nanosec"}, names(d.Shape().Columns))
}

func TestDefinitionsThatLackAreLookedUp(t *testing.T) {
	asked := []string{}
	lookup := func(name string) string {
		asked = append(asked, name)
		return map[string]string{"p/A": "B b\nq/C c\n", "p/B": "int8 x\n", "q/C": "module q { module msg { struct C { float y; }; }; };"}[name]
	}
	for _, data := range []string{"", " \n", "B b\nq/C c\n"} {
		d, err := New("cdr", Schema{"p/msg/A", "", []byte(data)}, lookup)
		require.NoError(t, err)
		assert.Equal(t, []string{"b.x", "c.y"}, names(d.Shape().Columns))
	}
	assert.Equal(t, []string{"p/A", "p/B", "q/C", "p/A", "p/B", "q/C", "p/B", "q/C"}, asked)
	_, err := New("cdr", Schema{"p/msg/A", "ros2msg", []byte("r/D d")}, lookup)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	assert.ErrorContains(t, err, "none of r/D")
}

// A schema of no bytes is that of a type without fields, or one that was not found.
func TestAnEmptyDefinitionTakesEmptyMessagesOnly(t *testing.T) {
	d, err := New("cdr", Schema{"test_msgs/msg/Empty", "ros2msg", nil}, nil)
	require.NoError(t, err)
	var rows Rows
	require.NoError(t, d.Append(&rows, []byte{0, 1, 0, 0, 0}))
	err = d.Append(&rows, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "a definition of test_msgs/Empty")
	assert.Equal(t, 1, rows.Count)
}

func TestBrokenDefinitionsAreErrors(t *testing.T) {
	deep := "T1 a\n"
	for i := 1; i < 100; i++ {
		deep += fmt.Sprintf(line80+"MSG: p/T%d\nT%d a\n", i, i+1)
	}
	for text, want := range map[string]string{
		"int8": "line 1: field of p/A", "\n\nint8 x y=": "", "int8[ x": "[], [N] or [<=N]", "int8[-1] x": "up to", "int8[<=0] x": "up to", "int8[99999999999] x": "up to",
		"\nint8 x\nint8 x": `line 3: field of p/A: corrupt: got "x" twice`, "string<=x s": "string<=N", "int8<=4 x": "string<=N", "a//b x": "the name of a type", "B x": "none of p/B",
		"A a": "p/A within itself", "B[] b\n" + line80 + "MSG: p/B\nA[3] a": "p/A within itself", deep: "at most 64", "é x": "the name of a type", "int8 é": "a type and a name",
		"int8 x\n---\nint8 y":              "line 2: definition of p/A: not supported: got a service's request and response",
		"int8 " + strings.Repeat("x", 256): "a type and a name",
	} {
		_, err := New("cdr", Schema{"p/msg/A", "ros2msg", []byte(text)}, nil)
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		var bad *dataset.FormatError
		if assert.ErrorAs(t, err, &bad, text) {
			assert.ErrorContains(t, err, want)
			assert.NotNil(t, bad.Kind)
		}
	}
	for _, c := range [][3]string{
		{"xml", "ros2msg", "message encoding"}, {"cdr", "ros1msg", "schema encoding of cdr"}, {"ros1", "ros2msg", "schema encoding of ros1"}, {"cdr", "protobuf", `got "protobuf"`},
	} {
		_, err := New(c[0], Schema{"p/A", c[1], []byte("int8 x")}, nil)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, c[2])
	}
	_, err := New("ros1", Schema{"p/A", "ros1msg", []byte("int8 x 5")}, nil)
	assert.ErrorContains(t, err, "line 1", "ROS 1 has no defaults")
}

// Definitions of a few kilobytes that stand for more than any memory cost little, and what is left out says so.
func TestDefinitionsThatGrowAreHeldBack(t *testing.T) {
	double := "B1 a\nB1 b\n"
	for i := 1; i < 40; i++ {
		double += fmt.Sprintf(line80+"MSG: p/B%d\nB%d a\nB%d b\n", i, i+1, i+1)
	}
	double += line80 + "MSG: p/B40\nint8 x\n"
	square := "C1[64] a\n"
	for i := 1; i < 12; i++ {
		square += fmt.Sprintf(line80+"MSG: p/C%d\nC%d[64] a\n", i, i+1)
	}
	square += line80 + "MSG: p/C12\nint8 x\n"
	many := ""
	for i := range 200 {
		many += fmt.Sprintf("float64[4096] a%d\n", i)
	}
	long := "L1 a\n"
	for i := 1; i < 60; i++ {
		long += fmt.Sprintf(line80+"MSG: p/L%d\nL%d %s\n", i, i+1, strings.Repeat("n", 255))
	}
	long += line80 + "MSG: p/L60\n" + many
	for name, text := range map[string]string{"double": double, "square": square, "many": many, "long": long} {
		start := time.Now()
		d, err := New("cdr", Schema{"p/msg/A", "ros2msg", []byte(text)}, nil)
		assert.Less(t, time.Since(start), time.Minute)
		if name == "double" {
			assert.ErrorIs(t, err, dataset.ErrTooLarge)
			continue
		}
		require.NoError(t, err, name)
		letters := 0
		for _, c := range d.Shape().Columns {
			letters += len(c.Name)
		}
		assert.LessOrEqual(t, len(d.Shape().Columns), maxColumns)
		assert.Less(t, letters, 64<<20)
		assert.NotEmpty(t, d.Shape().Notes, name)
		var rows Rows
		assert.ErrorIs(t, d.Append(&rows, make([]byte, 3)), dataset.ErrTruncated)
		assert.ErrorIs(t, d.Append(&rows, []byte{0, 1, 0, 0, 9}), dataset.ErrTruncated)
	}
}

func TestWhatIsLeftOutIsNamed(t *testing.T) {
	d := open(t, "cdr", "p/msg/A", "float64[5000] wide\nuint8[65] bytes\nuint8[64] few\nwstring w\nstring[] names\nB[2] b\nB[] list\nC[] empty\nfloat64[] v\n"+
		line80+"MSG: p/B\nint8 x\nstring s\nint8[] inner\n"+line80+"MSG: p/C\nstring s\n")
	assert.Equal(t, dataset.Notes{field(dataset.CodeWideArrays, "wide"), field(dataset.CodeByteFields, "bytes"), field(dataset.CodeTextFields, "w"), field(dataset.CodeTextFields, "b[].s"), field(dataset.CodeNestedArrays, "b[].inner"),
		field(dataset.CodeTextFields, "list[].s"), field(dataset.CodeNestedArrays, "list[].inner"), field(dataset.CodeArraysWithoutNumbers, "empty")}, d.Shape().Notes)
	assert.Equal(t, "b[1].x", d.Shape().Columns[65].Name)
	assert.Len(t, d.Shape().Columns, 66)
	assert.False(t, d.Shape().Wide)
	assert.Equal(t, []string{"list", "v"}, []string{d.Shape().Lists[0].Name, d.Shape().Lists[1].Name})
}

func TestLabelsAreForWhatTheyName(t *testing.T) {
	d := open(t, "ros1", "p/A", "string[] joint_names\nPoint[] points\nQuaternion[] q\nfloat64[] x\ntime[4000] at\n"+line80+"MSG: p/Point\nfloat64[] positions\nduration after\n"+quaternion)
	labels := map[string]string{}
	for _, l := range d.Shape().Lists {
		labels[l.Name] = l.Labels
	}
	assert.Equal(t, map[string]string{"points": "", "points.positions": "joint_names", "q": "joint_names", "x": "joint_names"}, labels, "a trajectory's points are not its joints, and the numbers in a point are")
	assert.Equal(t, dataset.RotationXYZW, d.Shape().Lists[2].Columns[3].Rotation)
	assert.Equal(t, dataset.Notes{field(dataset.CodeWideArrays, "at")}, d.Shape().Notes)
	d = open(t, "ros1", "geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n")
	assert.Equal(t, dataset.RotationXYZW, d.Shape().Columns[0].Rotation)
}

func TestIntegersThatNoFloatHoldsAreCounted(t *testing.T) {
	d := open(t, "cdr", "p/msg/A", "int64 a\nuint64 b\nuint64[] c\n")
	var rows Rows
	message := cdr().put(int64(1<<53+1), uint64(math.MaxUint64), uint32(3), uint64(1), uint64(1<<53+1), uint64(math.MaxUint64-1)).b
	require.NoError(t, d.Append(&rows, message))
	assert.Equal(t, [2]int{2, 2}, [2]int{rows.Inexact, rows.Lists[0].Inexact})
	assert.Error(t, d.Append(&rows, message[:len(message)-1]))
	assert.Equal(t, [2]int{2, 2}, [2]int{rows.Inexact, rows.Lists[0].Inexact}, "a message that is broken counts nothing")
}

func TestWideTextHasUnitsOfTwoOrFourBytes(t *testing.T) {
	d := open(t, "cdr", "p/msg/A", "wstring w\nint32 x\n")
	var rows Rows
	require.NoError(t, d.Append(&rows, cdr().put(uint32(2), uint32('a'), uint32('b'), int32(5)).b), "as Fast CDR 1 writes it")
	require.NoError(t, d.Append(&rows, cdr().put(uint32(2), uint16('a'), uint16('b'), int32(6)).b))
	assert.Equal(t, []float64{5, 6}, rows.F64)
	require.Error(t, d.Append(&rows, cdr().put(uint32(2), uint16('a'), uint16('b')).b))
	assert.Equal(t, []float64{5, 6}, rows.F64)
}

func TestLongArraysOfBytesAreNotKept(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	d := open(t, "cdr", "p/msg/A", "uint8[] data\n")
	assert.True(t, d.Shape().Lists[0].Bytes)
	var rows Rows
	for i, n := range []int{64, 64, 65, 65} {
		require.NoError(t, d.Append(&rows, cdr().put(make([]byte, n)).b))
		assert.Equal(t, i > 1, rows.Lists[0].Dropped)
		assert.Len(t, rows.Lists[0].F32, []int{64, 128, 0, 0}[i])
	}
	assert.Equal(t, []int32{64, 64, 65, 65}, rows.Lists[0].Lengths)
	rows = Rows{Lists: rows.Lists[:0]}
	require.NoError(t, d.Append(&rows, cdr().put(make([]byte, 3)).b))
	assert.False(t, rows.Lists[0].Dropped, "rows that begin anew")
	assert.Len(t, rows.Lists[0].F32, 3)
}

func TestEncapsulationsThatAreNotReadAreNamed(t *testing.T) {
	d := open(t, "cdr", "p/msg/A", "int32 x\n")
	for kind, want := range map[byte]string{2: "PL_CDR, big-endian", 3: "PL_CDR,", 9: "D_CDR2", 11: "PL_CDR2"} {
		err := d.Append(&Rows{}, []byte{0, kind, 0, 0, 1, 0, 0, 0})
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, want)
	}
	for _, head := range [][]byte{{0, 4, 0, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 1, 0, 0, 0}, {0, 200, 0, 0, 1, 0, 0, 0}} {
		assert.ErrorIs(t, d.Append(&Rows{}, head), dataset.ErrCorrupt)
	}
	assert.ErrorIs(t, d.Append(&Rows{}, []byte{0, 1, 0}), dataset.ErrTruncated)
	for n, want := range []bool{true, true, true, true, false} {
		assert.Equal(t, want, d.Append(&Rows{}, append([]byte{0, 1, 0, 0, 1, 0, 0, 0}, make([]byte, n)...)) == nil, "%d bytes after the end", n)
	}
}

// Lengths that the message could not fill are refused before anything is made for them.
func TestLengthsThatCannotBeAreRefused(t *testing.T) {
	d := open(t, "ros1", "p/A", "Nothing[] n\nB[] b\nfloat64[] x\nstring s\n"+line80+"MSG: p/Nothing\n"+line80+"MSG: p/B\nuint8 u\nfloat64[200] v\nstring s\n")
	const most = uint32(math.MaxUint32)
	require.NoError(t, d.Append(&Rows{}, ros1().put(most, uint32(0), uint32(0), uint32(0)).b), "what takes no bytes")
	for _, message := range [][]byte{
		ros1().put(uint32(0), most).b, ros1().put(uint32(0), uint32(1000), make([]byte, 2000)).b, ros1().put(uint32(0), uint32(0), most, 1.0).b,
		ros1().put(uint32(0), uint32(0), uint32(0), most, uint32(0)).b, ros1().put(uint32(0), uint32(0), uint32(0), uint32(5), uint32(0)).b,
	} {
		var rows Rows
		assert.ErrorIs(t, d.Append(&rows, message), dataset.ErrTruncated)
		assert.Zero(t, cap(rows.Lists[0].F64))
	}
}
