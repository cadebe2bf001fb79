package message

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

// codings are the message and schema encodings of seeds, by their first byte.
var codings = [][2]string{{"cdr", "ros2msg"}, {"ros1", "ros1msg"}, {"cdr", "ros2idl"}, {"cdr", ""}, {"protobuf", "protobuf"}, {"json", "jsonschema"}}

// seed puts a type's name, definition and message together: which coding, the lengths of the first two, and all three.
func seed(coding byte, name, text string, message []byte) mutate.Seed {
	b := binary.LittleEndian.AppendUint16([]byte{coding, byte(len(name))}, uint16(len(text)))
	return mutate.Seed{Name: name, Data: append(append(append(b, name...), text...), message...)}
}

func seeds(t testing.TB) (list []mutate.Seed) {
	for _, g := range goldens(t) {
		coding := byte(0)
		if g.Encoding == "ros1" {
			coding = 1
		}
		if len(g.Definition) < 3000 {
			list = append(list, seed(coding, g.Type, g.Definition, g.Message))
		}
	}
	joints := []string{"a", "b"}
	list = append(list,
		seed(0, "sensor_msgs/msg/JointState", jointState, cdr().put(int32(1), uint32(0), "", joints, []float64{1, 2}, []float64{3, 4}, []float64{}).b),
		seed(0, "sensor_msgs/msg/JointState", jointState, cdrBig().put(int32(1), uint32(0), "", joints, []float64{1, 2}, []float64{3, 4}, []float64{}).b),
		seed(0, "tf2_msgs/msg/TFMessage", tf, cdr().put(uint32(1), int32(1), uint32(2), "world", "a", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0).b),
		seed(0, "sensor_msgs/msg/Image", image, imageOf(2, 1, "bgr16", 1, 8, make([]byte, 16))),
		seed(0, "sensor_msgs/msg/CompressedImage", packed, cdr().put(int32(0), uint32(0), "", "png", []byte("\x89PNG\r\n\x1a\n...")).b),
		seed(0, "sensor_msgs/msg/PointCloud2", pointCloud, cloudOf(cdr(), false, 1, 2, 18, 36, xyzi, make([]byte, 36))),
		seed(2, "sensor_msgs/msg/Imu", imuIDL, idlMessage()),
		seed(0, "p/msg/A", "wstring w\nint32 x\nB[2] b\n"+line80+"MSG: p/B\nstring[] s\nint8 i\n", xcdr2().put(uint32(1), uint16('x'), int32(1), uint32(0), uint32(0), uint32(0), int8(1), uint32(0), uint32(0), int8(1)).b),
		seed(3, "p/msg/A", "", []byte{0, 1, 0, 0, 0}))
	for _, s := range list { // and the same, whose faults are in the message as a rule
		s.From = 4 + int(s.Data[1]) + int(binary.LittleEndian.Uint16(s.Data[2:]))
		list = append(list, s)
	}
	return list
}

// exercise reads a seed or what became of one: an error has a type, and leaves rows as they were.
func exercise(t testing.TB, b []byte) (decoded bool) {
	if len(b) < 4 {
		return false
	}
	coding, name, text := codings[int(b[0])%len(codings)], int(b[1]), int(binary.LittleEndian.Uint16(b[2:]))
	b = b[4:]
	name = min(name, len(b))
	text = min(text, len(b)-name)
	schema := Schema{string(b[:name]), coding[1], b[name : name+text]}
	message := b[name+text:]
	d, err := New(coding[0], schema, nil)
	if err != nil {
		if wrong := mutate.Untyped(err); wrong != nil {
			t.Fatal(wrong)
		}
		return false
	}
	if l, ok := d.(Learner); ok {
		if err := l.Learn(message); err != nil {
			if wrong := mutate.Untyped(err); wrong != nil {
				t.Fatal(wrong)
			}
		}
	}
	shape := d.Shape()
	var rows Rows
	for range 3 {
		before := rows.Count
		if err := d.Append(&rows, message); err != nil {
			if wrong := mutate.Untyped(err); wrong != nil || rows.Count != before {
				t.Fatal(wrong, rows.Count)
			}
		} else if rows.Count != before+1 {
			t.Fatal("no row")
		}
		if len(rows.F32)+len(rows.F64) != rows.Count*len(shape.Columns) || shape.Stamp && len(rows.Stamps) != rows.Count || rows.Count > 0 && len(rows.Lists) != len(shape.Lists) {
			t.Fatalf("rows of another size: %d %d %d", rows.Count, len(rows.F32), len(rows.F64))
		}
		for i, l := range rows.Lists {
			sum := 0
			for _, n := range l.Lengths {
				sum += int(n) * len(shape.Lists[i].Columns)
			}
			if n := len(l.Keys); n != len(l.Parents) || shape.Lists[i].Keyed && n*len(shape.Lists[i].Columns) != sum {
				t.Fatal("keys of another number")
			}
			if len(l.Lengths) != rows.Count || !l.Dropped && len(l.F32)+len(l.F64) != sum || l.Dropped && l.F32 != nil {
				t.Fatal("a list of another size")
			}
		}
		message = message[:max(0, len(message)-1)]
	}
	message = b[name+text:]
	_, wrongFrame := d.Frame(message)
	c, wrongCloud := d.Cloud(message)
	if wrongCloud == nil && c.Check() != nil {
		t.Fatal(c.Check())
	}
	for _, err := range []error{wrongFrame, wrongCloud} {
		if wrong := mutate.Untyped(err); err != nil && wrong != nil {
			t.Fatal(wrong)
		}
	}
	return rows.Count > 0
}

func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	words := []string{"[]", "[4096]", "[<=3]", "float64", "uint8[", "=", "\n", "Header header\n", "MSG: ", line80, "string", "wstring ", "std_msgs/Header", "sequence<", "struct ", "module "}
	tried, decoded := 0, 0
	mutate.Run(t, mutate.Plan{Seeds: seeds(t), Words: words, Few: 20_000, Most: 64 << 20, Try: func(m mutate.Mutant) {
		tried++
		if exercise(t, m.Data) {
			decoded++
		}
	}})
	t.Logf("%d of %d were decoded", decoded, tried)
	require.True(t, decoded > tried/20 || tried < 1000, "%d of %d mutants reach the decoder", decoded, tried)
}

func TestSeedsAreRight(t *testing.T) {
	for _, s := range seeds(t) {
		require.True(t, exercise(t, s.Data), s.Name)
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, b []byte) { exercise(t, b) })
}
