package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// wallLog writes an MCAP file in ROS 1's encoding: a camera that goes toward a wall at z = 2 with 1 m/s, and six depth images of 40 x 30 pixels,
// one more of 1 pixel, and color images at the times of the six. An image is logged 40 ms after the time in its header, because it takes longer on its way than a transform.
func wallLog(t *testing.T) string {
	wire := func(values ...any) (b []byte) {
		for _, v := range values {
			switch v := v.(type) {
			case string:
				b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
			case []byte:
				b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
			default:
				b, _ = binary.Append(b, binary.LittleEndian, v)
			}
		}
		return b
	}
	const (
		rule      = "================================================================================\n"
		header    = rule + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
		image     = "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n" + header
		info      = "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] D\nfloat64[9] K\n" + header
		transform = "geometry_msgs/TransformStamped[] transforms\n" +
			rule + "MSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n" + header +
			rule + "MSG: geometry_msgs/Transform\ngeometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n" +
			rule + "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n" +
			rule + "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
	)
	b := []byte("\x89MCAP0\r\n")
	record := func(op byte, body []byte) {
		b = append(binary.LittleEndian.AppendUint64(append(b, op), uint64(len(body))), body...)
	}
	record(1, wire("ros1", "test"))
	channels := [][3]string{
		{"/tf", "tf2_msgs/TFMessage", transform}, {"/depth/camera_info", "sensor_msgs/CameraInfo", info}, {"/depth/image", "sensor_msgs/Image", image},
		{"/rgb", "sensor_msgs/Image", image},
	}
	for i, c := range channels {
		record(3, wire(uint16(i+1), c[1], "ros1msg", c[2]))
		record(4, wire(uint16(i+1), uint16(i+1), c[0], "ros1", uint32(0)))
	}
	send := func(channel, ms int, parts ...any) {
		at := uint64(ms) * 1e6
		if channel >= 3 {
			at += 40e6
		}
		record(5, append(wire(uint16(channel), uint32(0), at, at), wire(parts...)...))
	}
	stamp := func(ms int) []any { return []any{uint32(0), uint32(ms / 1000), uint32(ms % 1000 * 1e6)} }
	for i := range 8 {
		ms := 1000 + 100*i
		send(1, ms, append(append([]any{uint32(1)}, stamp(ms)...), "world", "camera", [7]float64{0, 0, float64(i) / 10, 0, 0, 0, 1})...)
		send(2, ms, append(stamp(ms), "camera", uint32(30), uint32(40), "plumb_bob", uint32(1), 0.1, [9]float64{30, 0, 19.5, 0, 30, 14.5, 0, 0, 1})...)
		if i > 0 && i < 7 {
			var pixels []byte
			for range 40 * 30 {
				pixels = binary.LittleEndian.AppendUint16(pixels, uint16(1950-100*i))
			}
			send(3, ms+50, append(stamp(ms+50), "camera", uint32(30), uint32(40), "16UC1", false, uint32(80), pixels)...)
			send(4, ms+50, append(stamp(ms+50), "camera", uint32(30), uint32(40), "rgb8", false, uint32(120), bytes.Repeat([]byte{200, 100, 50}, 40*30))...)
			if i == 3 {
				send(3, ms+60, append(stamp(ms+60), "camera", uint32(1), uint32(1), "16UC1", false, uint32(2), pixels[:2])...)
			}
		}
	}
	record(15, make([]byte, 4))
	record(2, make([]byte, 20))
	path := filepath.Join(t.TempDir(), "wall.mcap")
	require.NoError(t, os.WriteFile(path, append(b, "\x89MCAP0\r\n"...), 0o600))
	return path
}

// Poses are from tf at the time in an image's header. By the time of logging, the wall would be 4 cm away.
func TestVoxelizeTSDFTakesTheTimesOfHeaders(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "wall.npz")
	text, said := good(t, "voxelize", wallLog(t), "--tsdf", "--size=.05", "--backend=cpu", "-o", out)
	assert.Contains(t, text, "       6           6              0              0           0\n")
	assert.Contains(t, said, "lens distortion, which is not corrected")
	assert.Contains(t, said, "left out: /depth/image: frames unlike most: number 3 is 1x1 16UC1, want 40x30 16UC1")
	assert.Len(t, strings.Split(strings.TrimSpace(said), "\n"), 2, said)
	points := array[float32](t, open(t, out), "points")
	require.NotEmpty(t, points)
	for i := 2; i < len(points); i += 3 {
		require.InDelta(t, 2, points[i], 1e-4)
	}
}
