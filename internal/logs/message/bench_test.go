package message

import (
	"testing"
)

// BenchmarkAppend decodes messages as they come: bytes are those of the messages.
func BenchmarkAppend(b *testing.B) {
	imuOf := func(w *writer) []byte {
		w.put("imu_link")
		for i := range 37 {
			w.put(float64(i))
		}
		return w.b
	}
	joints := []string{"shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3", "gripper"}
	seven := []float64{1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name, encoding, text string
		message              []byte
	}{
		{"Twist", "cdr", twist, cdr().put(1.0, 2.0, 3.0, 4.0, 5.0, 6.0).b},
		{"Imu", "cdr", imu, imuOf(cdr().put(int32(1), uint32(2)))},
		{"Imu/big", "cdr", imu, imuOf(cdrBig().put(int32(1), uint32(2)))},
		{"JointState", "cdr", jointState, cdr().put(int32(1), uint32(2), "", joints, seven, seven, seven).b},
		{"Twist", "ros1", twist, ros1().put(1.0, 2.0, 3.0, 4.0, 5.0, 6.0).b},
		{"Imu", "ros1", imu + header1, imuOf(ros1().put(uint32(0), uint32(1), uint32(2)))},
		{"Mixed", "cdr", "int32 a\nuint8 b\nfloat32 c\nint64 d\nbool e\nfloat64 f\n", cdr().put(int32(1), uint8(2), float32(3), int64(4), true, 5.0).b},
		{"Float32", "cdr", "float32[14] q\nfloat32[14] v\n", func() []byte {
			w := cdr()
			for i := range 28 {
				w.put(float32(i))
			}
			return w.b
		}()},
	} {
		text := c.text
		if c.encoding == "ros1" && c.name == "Imu" {
			text = imu[:len(imu)-len(header2)-len(quaternion)-len(vector3)] + header1 + quaternion + vector3
		}
		d := open(b, c.encoding, "a/B", text)
		b.Run(c.encoding+"/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.message)))
			b.ReportAllocs()
			var rows Rows
			for range b.N {
				if rows.Count == 1000 {
					rows.Count, rows.F32, rows.F64, rows.Stamps = 0, rows.F32[:0], rows.F64[:0], rows.Stamps[:0]
				}
				if err := d.Append(&rows, c.message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCloud decodes a lidar's scan of 100,000 points of x, y, z, intensity, ring and time, 22 bytes each.
func BenchmarkCloud(b *testing.B) {
	const n = 100_000
	d := open(b, "cdr", "sensor_msgs/msg/PointCloud2", pointCloud)
	fields := []point{{"x", 0, 7, 1}, {"y", 4, 7, 1}, {"z", 8, 7, 1}, {"intensity", 12, 7, 1}, {"ring", 16, 4, 1}, {"time", 18, 7, 1}}
	message := cloudOf(cdr(), false, 1, n, 22, 22*n, fields, make([]byte, 22*n))
	b.SetBytes(int64(len(message)))
	for range b.N {
		if _, err := d.Cloud(message); err != nil {
			b.Fatal(err)
		}
	}
}
