package message

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

// selfDescribed are seeds of protobuf and JSON.
func selfDescribed(t testing.TB) (list []mutate.Seed) {
	for _, s := range []struct{ file, name, text string }{
		{robotProto, "test.Robot", `{"timestamp":"2024-01-02T03:04:05.6Z","frameId":"f","i32":-7,"u64":"18446744073709551615","pose":{"at":{"x":1.5,"y":2.5},"ok":true},
			"name":["a","b"],"position":[3,4],"counts":[-5,6],"poses":[{"at":{"x":7}},{"ok":true}],"amps":8,"maybe":0,"raw":"AAAA","map":{"k":1}}`},
		{robotProto, "test.Small", `{"a":0.1,"b":true,"list":[1,2,3]}`},
		{foxgloveProto, "foxglove.PointCloud", foxgloveCloud},
		{foxgloveProto, "foxglove.RawImage", `{"timestamp":"1970-01-01T00:00:01Z","encoding":"mono8","width":2,"height":2,"step":2,"data":"AQIDBA=="}`},
		{foxgloveProto, "foxglove.FrameTransforms", transforms},
	} {
		schema, of := protoSchema(t, s.file, s.name)
		list = append(list, seed(4, s.name, string(schema.Data), protoOf(t, of, s.text)), seed(5, s.name, "", []byte(s.text)))
	}
	const quaternion = `{"properties":{"a":{"type":"number"},"o":{"$ref":"#/$defs/q"}},"$defs":{"q":{"title":"foxglove.Quaternion"}}}`
	list = append(list, seed(5, "s", quaternion, []byte(`{"a":1,"o":{"x":0,"y":0,"z":0,"w":1},"l":[1,null,"NaN"],"name":["a","b\n","c"],"s":[{"u":1,"v":{"w":true}},null],"header":{"stamp":{"sec":1,"nsec":2}}}`)))
	for _, s := range list {
		s.From = 4 + int(s.Data[1]) + int(binary.LittleEndian.Uint16(s.Data[2:]))
		list = append(list, s, s) // most faults are in the message
	}
	return list
}

func TestMutantsOfProtobufAndJSONDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	words := []string{"{", "}", "[", "]", ",", ":", `"`, `\`, "null", "true", "1e308", "-0", `"child_frame_id":"a"`, `{"sec":1,"nsec":2}`, `{"a":`, "[[", "NaN"}
	tried, decoded := 0, 0
	mutate.Run(t, mutate.Plan{Seeds: selfDescribed(t), Words: words, Few: 5000, Most: 64 << 20, Try: func(m mutate.Mutant) {
		tried++
		if exercise(t, m.Data) {
			decoded++
		}
	}})
	t.Logf("%d of %d were decoded", decoded, tried)
	require.True(t, decoded > tried/20 || tried < 1000, "%d of %d mutants reach the decoder", decoded, tried)
}

func FuzzProtobufAndJSON(f *testing.F) {
	for _, s := range selfDescribed(f) {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, b []byte) { exercise(t, b) })
}
