package message

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const benchedRobot = `{"timestamp":"2024-01-02T03:04:05.6Z","frameId":"base","i32":-7,"u64":"1234567","pose":{"at":{"x":1.5,"y":2.5},"ok":true},
	"name":["a","b","c","d","e","f","g"],"position":[0.1,0.2,0.3,0.4,0.5,0.6,0.7],"counts":[-5,6],"amps":8}`

// BenchmarkProtobuf and BenchmarkJSON decode one robot's state, 26 numbers and seven names: bytes of messages.
func BenchmarkProtobuf(b *testing.B) {
	schema, of := protoSchema(b, robotProto, "test.Robot")
	d, err := newProto(schema)
	require.NoError(b, err)
	decode(b, d, protoOf(b, of, benchedRobot))
}

func BenchmarkJSON(b *testing.B) {
	d, err := newJSON(Schema{})
	require.NoError(b, err)
	require.NoError(b, d.(Learner).Learn([]byte(benchedRobot)))
	decode(b, d, []byte(benchedRobot))
}

func decode(b *testing.B, d Decoder, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var rows Rows
	for b.Loop() {
		if rows.Count == 1000 {
			lists := rows.Lists
			for i := range lists {
				l := &lists[i]
				*l = ListRows{Lengths: l.Lengths[:0], F32: l.F32[:0], F64: l.F64[:0]}
			}
			rows = Rows{F32: rows.F32[:0], F64: rows.F64[:0], Stamps: rows.Stamps[:0], Lists: lists}
		}
		if err := d.Append(&rows, data); err != nil {
			b.Fatal(err)
		}
	}
}
