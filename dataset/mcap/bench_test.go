package mcap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/settest"
)

const imuText = `std_msgs/Header header
geometry_msgs/Quaternion orientation
float64[9] orientation_covariance
geometry_msgs/Vector3 angular_velocity
float64[9] angular_velocity_covariance
geometry_msgs/Vector3 linear_acceleration
float64[9] linear_acceleration_covariance
` + headerText + `
================================================================================
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
================================================================================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
`

const jointsText = `std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
` + headerText

const headerText = `================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec`

// cdr appends what messages of ROS 2 have.
type cdr []byte

func (b *cdr) align(n int) {
	for (len(*b)-4)%n != 0 {
		*b = append(*b, 0)
	}
}

func (b *cdr) u32(v int) { b.align(4); *b = le.AppendUint32(*b, uint32(v)) }

func (b *cdr) text(s string) {
	b.u32(len(s) + 1)
	*b = append(append(*b, s...), 0)
}

func (b *cdr) f64(list ...float64) {
	b.align(8)
	for _, v := range list {
		*b = le.AppendUint64(*b, math.Float64bits(v))
	}
}

func newCDR(ns int, frame string) *cdr {
	b := &cdr{0, 1, 0, 0}
	b.u32(ns / 1e9)
	b.u32(ns % 1e9)
	b.text(frame)
	return b
}

// robot writes so many bytes of messages, uncompressed: of an IMU at 400 Hz and of seven joints at 200 Hz, numbers as sensors of 16 bits give them.
func robot(t testing.TB, size int) ([]byte, int) {
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Profile: "ros2", ChunkSize: 1 << 20})
	require.NoError(t, err)
	channel := func(topic, kind, text string) uint16 {
		s, err := w.AddSchema(kind, "ros2msg", []byte(text))
		require.NoError(t, err)
		c, err := w.AddChannel(topic, "cdr", s, nil)
		require.NoError(t, err)
		return c
	}
	imu, joints := channel("/imu", "sensor_msgs/msg/Imu", imuText), channel("/joint_states", "sensor_msgs/msg/JointState", jointsText)
	rng := rand.New(rand.NewPCG(1, 2))
	sensor := func(n int, scale float64) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = math.Round(rng.NormFloat64()*1000) * scale
		}
		return list
	}
	covariance := []float64{0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01}
	total := 0
	for n := 0; total < size; n++ {
		ns := n * 2_500_000
		b := newCDR(ns, "imu_link")
		b.f64(sensor(4, 1.0/4096)...)
		b.f64(covariance...)
		b.f64(sensor(3, 0.001)...)
		b.f64(covariance...)
		b.f64(sensor(3, 0.01)...)
		b.f64(covariance...)
		total += len(*b)
		require.NoError(t, w.Message(&Message{imu, uint32(n), uint64(ns), uint64(ns), *b}))
		if n%2 == 0 {
			b := newCDR(ns, "")
			b.u32(7)
			for i := range 7 {
				b.text(fmt.Sprint("panda_joint", i+1))
			}
			for range 3 {
				b.u32(7)
				b.f64(sensor(7, math.Pi/32768)...)
			}
			total += len(*b)
			require.NoError(t, w.Message(&Message{joints, uint32(n / 2), uint64(ns), uint64(ns), *b}))
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes(), total
}

// BenchmarkRead reads a file of chunks compressed by zstd: its messages alone, and to columns. The bytes are those of the messages. Run it with -cpu 1.
func BenchmarkRead(b *testing.B) {
	file, total := robot(b, 100<<20)
	ctx := context.Background()
	b.Logf("%d bytes of messages in a file of %d", total, len(file))
	b.Run("to=messages", func(b *testing.B) {
		b.SetBytes(int64(total))
		for b.Loop() {
			var damage dataset.Notes
			l, err := newLog(ctx, fileOf(file), "", &damage)
			require.NoError(b, err)
			for part := range l.Parts() {
				require.NoError(b, l.Each(ctx, part, &damage, func(topics.Message) error { return nil }))
			}
		}
	})
	b.Run("to=columns", func(b *testing.B) {
		b.SetBytes(int64(total))
		for b.Loop() {
			r := &recording{file: fileOf(file), path: "a.mcap"}
			e := settest.Episode(b, r, 0)
			require.Len(b, e.Streams, 4)
			require.Nil(b, e.Notes.Damage())
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	data := make([]byte, 300)
	for name, opt := range map[string]WriterOptions{"zstd": {}, "lz4": {Compression: LZ4}, "none": {Compression: NoCompression}} {
		b.Run("compression="+name, func(b *testing.B) {
			w, err := NewWriter(io.Discard, opt)
			require.NoError(b, err)
			id, err := w.AddChannel("/a", "", 0, nil)
			require.NoError(b, err)
			rng := rand.New(rand.NewPCG(1, 2))
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				le.PutUint64(data, rng.Uint64())
				require.NoError(b, w.Message(&Message{ChannelID: id, Data: data}))
			}
		})
	}
}
