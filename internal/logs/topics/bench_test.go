package topics

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

const odometry = "Vector3 position\nVector3 velocity\nfloat64[36] covariance\n" +
	"================================================================================\nMSG: p/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"

// plainLog gives its messages as they are.
type plainLog struct{ fakeLog }

func (l *plainLog) Each(_ context.Context, part int, _ *dataset.Notes, use func(m Message) error) error {
	for _, m := range l.parts[part] {
		if err := use(m); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkRead decodes a log that is in memory, of messages of 42 doubles: bytes of messages.
func BenchmarkRead(b *testing.B) {
	data := []byte{0, 1, 0, 0}
	for i := range 42 {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(i)))
	}
	log := &plainLog{fakeLog{channels: []Channel{{Topic: "/odom", Encoding: "cdr", Schema: message.Schema{Name: "p/Odometry", Encoding: "ros2msg", Data: []byte(odometry)}}}}}
	for range 64 {
		part := make([]Message, 2000)
		for i := range part {
			part[i] = at(0, int64(i), data...)
		}
		log.parts = append(log.parts, part)
	}
	b.SetBytes(int64(64 * 2000 * len(data)))
	b.ReportAllocs()
	for b.Loop() {
		e, err := Read(context.Background(), log, dataset.Options{})
		require.NoError(b, err)
		require.Len(b, e.Streams, 1)
	}
}
