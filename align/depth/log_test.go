package depth_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/mcap"
	_ "github.com/robocache/robocache/dataset/rosbag"
	"github.com/robocache/robocache/ops"
)

const (
	headerType    = "\n" + "================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
	transformType = "geometry_msgs/TransformStamped[] transforms\n" +
		"================================================================================\nMSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform" + headerType +
		"================================================================================\nMSG: geometry_msgs/Transform\ngeometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n" +
		"================================================================================\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n" +
		"================================================================================\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
	imageType      = "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data" + headerType
	compressedType = "std_msgs/Header header\nstring format\nuint8[] data" + headerType
	infoType       = "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] D\nfloat64[9] K" + headerType
)

// wire appends little-endian values as ROS 1 does: strings and lists of float64 or bytes with a length before them.
func wire(values ...any) (b []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
		case []float64:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), wire([9]float64(append(v, make([]float64, 9-len(v))...)))[:8*len(v)]...)
		default:
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
}

func header(ms int, frame string) []byte {
	return wire(uint32(0), uint32(ms/1000), uint32(ms%1000*1e6), frame)
}

// sent is a message; it is logged 40 ms after its header's time.
type sent struct {
	topic, kind, definition string
	ms                      int
	data                    []byte
}

// move is a transform of one frame.
func move(topic string, ms int, parent, child string, values ...float64) sent {
	m := wire(uint32(1))
	m = append(m, header(ms, parent)...)
	return sent{topic, "tf2_msgs/TFMessage", transformType, ms, append(m, wire(child, [7]float64(values))...)}
}

// picture is a depth image, 3 wide and 2 high, in the frame "optical".
func picture(topic string, ms int, encoding string, big bool, data []byte) sent {
	m := append(header(ms, "/optical"), wire(uint32(2), uint32(3), encoding, big, uint32(len(data)/2), data)...)
	return sent{topic, "sensor_msgs/Image", imageType, ms, m}
}

func info(topic string, ms int, d []float64, k ...float64) sent {
	m := append(header(ms, "/optical"), wire(uint32(2), uint32(3), "plumb_bob", d, [9]float64{k[0], 0, k[2], 0, k[1], k[3], 0, 0, 1})...)
	return sent{topic, "sensor_msgs/CameraInfo", infoType, ms, m}
}

// inJSON is a message of foxglove in JSON, with a timestamp. It has no definition.
func inJSON(topic, kind string, ms int, rest string) sent {
	return sent{topic: topic, kind: kind, ms: ms, data: fmt.Appendf(nil, `{"timestamp":{"sec":%d,"nsec":%d},%s}`, ms/1000, ms%1000*1e6, rest)}
}

func jsonMove(topic string, ms int, parent, child string, x float64) sent {
	return inJSON(topic, "foxglove.FrameTransform", ms, fmt.Sprintf(
		`"parent_frame_id":%q,"child_frame_id":%q,"translation":{"x":%v,"y":0,"z":0},"rotation":{"x":0,"y":0,"z":0,"w":1}`, parent, child, x))
}

func jsonPicture(ms int, frame string) sent {
	return inJSON("/depth", "foxglove.RawImage", ms, fmt.Sprintf(`"frame_id":%q,"width":1,"height":1,"encoding":"16UC1","step":2,"data":"AQI="`, frame))
}

// mcapFile writes messages in ROS 1's encoding, or in JSON, as an MCAP file.
func mcapFile(t *testing.T, messages ...sent) string {
	b := []byte("\x89MCAP0\r\n")
	record := func(op byte, body []byte) {
		b = append(binary.LittleEndian.AppendUint64(append(b, op), uint64(len(body))), body...)
	}
	record(1, wire("ros1", "test"))
	channels := map[string]int{}
	for _, m := range messages {
		id, there := channels[m.topic]
		if !there {
			id = len(channels) + 1
			channels[m.topic] = id
			if m.definition == "" {
				record(3, wire(uint16(id), m.kind, "", ""))
				record(4, wire(uint16(id), uint16(id), m.topic, "json", ""))
			} else {
				record(3, wire(uint16(id), m.kind, "ros1msg", m.definition))
				record(4, wire(uint16(id), uint16(id), m.topic, "ros1", ""))
			}
		}
		at := uint64(m.ms+40) * 1e6
		record(5, append(wire(uint16(id), uint32(0), at, at), m.data...))
	}
	record(15, make([]byte, 4))
	record(2, make([]byte, 20))
	return save(t, "run.mcap", append(b, "\x89MCAP0\r\n"...))
}

// bagFile writes messages as a bag that was not closed.
func bagFile(t *testing.T, messages ...sent) string {
	field := func(name string, value []byte) []byte { return wire(append([]byte(name+"="), value...)) }
	record := func(data []byte, op byte, fields ...[]byte) []byte {
		head := field("op", []byte{op})
		for _, f := range fields {
			head = append(head, f...)
		}
		return append(wire(head), wire(data)...)
	}
	u32 := func(v int) []byte { return wire(uint32(v)) }
	b := append([]byte("#ROSBAG V2.0\n"), record(nil, 3, field("index_pos", make([]byte, 8)), field("conn_count", u32(0)), field("chunk_count", u32(0)))...)
	var chunk []byte
	conns := map[string]int{}
	for _, m := range messages {
		conn, there := conns[m.topic]
		if !there {
			conn = len(conns)
			conns[m.topic] = conn
			about := append(field("topic", []byte(m.topic)), field("type", []byte(m.kind))...)
			about = append(append(about, field("md5sum", []byte("*"))...), field("message_definition", []byte(m.definition))...)
			chunk = append(chunk, record(about, 7, field("conn", u32(conn)), field("topic", []byte(m.topic)))...)
		}
		at := append(u32((m.ms+40)/1000), u32((m.ms+40)%1000*1e6)...)
		chunk = append(chunk, record(m.data, 2, field("conn", u32(conn)), field("time", at))...)
	}
	b = append(b, record(chunk, 5, field("compression", []byte("none")), field("size", u32(len(chunk))))...)
	return save(t, "run.bag", b)
}

func save(t *testing.T, name string, b []byte) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// drive is a robot that goes along x at 1 m/s, with a mast that turns a quarter about z from 0 to 1 s and holds a camera that looks along the mast's x.
// There are images at 250, 500 and 1100 ms, the last one after the transforms.
func drive() (log []sent) {
	log = append(log, move("/tf_static", 0, "mast", "optical", 0.5, 0, 1, -0.5, 0.5, -0.5, 0.5), move("/tf_static", 0, "base", "lidar", 0, 0, 2, 0, 0, 0, 1))
	for ms := 0; ms <= 1000; ms += 100 {
		log = append(log, move("/tf", ms, "map", "base", float64(ms)/1000, 0, 0, 0, 0, 0, 1))
		if ms%1000 == 0 || ms == 100 { // so slerp and linear differ
			a := float64(ms) / 1000 * math.Pi / 4
			log = append(log, move("/tf", ms, "/base", "/mast", 0, 2, 0, 0, 0, math.Sin(a), math.Cos(a)))
		}
	}
	log = append(log, info("/cam/depth/camera_info", 0, nil, 600, 601, 1, 0.5))
	for i, ms := range []int{250, 500, 1100} {
		log = append(log, picture("/cam/depth/image_raw", ms, "16UC1", false, []byte{byte(i), 1, 2, 0, 0, 0, 0, 0, 0, 0, 255, 255}))
	}
	return log
}

func TestRobotLogs(t *testing.T) {
	ctx := context.Background()
	for _, path := range []string{mcapFile(t, drive()...), bagFile(t, drive()...)} {
		e := episode(t, path, "header")
		assert.Equal(t, []string{"/cam/depth/image_raw"}, e.DepthNames(), path)
		s, err := depth.Open(ctx, cpu(t), e, depth.Options{MaxGap: ops.Within(1e9)})
		require.NoError(t, err)
		assert.Equal(t, depth.Counts{Images: 3, NoPose: 1}, s.Counts)
		assert.Equal(t, []any{true, 0.001, [4]float32{600, 601, 1, 0.5}}, []any{s.Posed, s.Scale, s.Intrinsics})
		f, err := s.Frame(ctx, 1)
		require.NoError(t, err)
		assert.Equal(t, []float32{257, 2, 0, 0, 0, 65535}, numbers(t, f.Depth))
		// At 500 ms the mast has turned 45 degrees. The camera's z is the mast's x, its x the mast's -y, its y the mast's -z.
		c := float32(math.Sqrt(0.5))
		want := []float32{c, 0, c, 0.5 + c/2, -c, 0, c, 2 + c/2, 0, -1, 0, 1, 0, 0, 0, 1}
		assert.InDeltaSlice(t, want, f.Pose[:], 1e-6)

		s, err = depth.Open(ctx, cpu(t), e, depth.Options{Fixed: "lidar", MaxGap: ops.Within(1e9)})
		require.NoError(t, err)
		f, err = s.Frame(ctx, 1)
		require.NoError(t, err)
		want[3], want[11] = c/2, -1 // beside the robot's movement; the lidar is 2 m above base
		assert.InDeltaSlice(t, want, f.Pose[:], 1e-6)
	}
}

func TestDepthEncodings(t *testing.T) {
	ctx := context.Background()
	floats := func(order binary.AppendByteOrder, values ...float32) (b []byte) {
		for _, v := range values {
			b = order.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	nan := float32(math.NaN())
	words := []byte{1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 255, 254}
	metres := []float32{1.5, 0, nan, 0.25, 9, 3}
	compressed := func(format string, a, b float32, png []byte) sent {
		data := append(append([]byte{1, 0, 0, 0}, floats(binary.LittleEndian, a, b)...), png...)
		return sent{"/depth/compressedDepth", "sensor_msgs/CompressedImage", compressedType, 5, append(header(5, "optical"), wire(format, data)...)}
	}
	for name, c := range map[string]struct {
		message sent
		scale   float64
		want    []float32
	}{
		"16UC1":                     {picture("/image", 5, "16UC1", false, words), 0.001, []float32{513, 0, 0, 0, 0, 65279}},
		"16UC1, big":                {picture("/image", 5, "16UC1", true, words), 0.001, []float32{258, 0, 0, 0, 0, 65534}},
		"mono16":                    {picture("/depth/image", 5, "mono16", false, words), 0.001, []float32{513, 0, 0, 0, 0, 65279}},
		"32FC1":                     {picture("/image", 5, "32FC1", false, floats(binary.LittleEndian, metres...)), 1, metres},
		"32FC1, big":                {picture("/image", 5, "32FC1", true, floats(binary.BigEndian, metres...)), 1, metres},
		"compressedDepth of 16UC1":  {compressed("16UC1; compressedDepth", 0, 0, greyPNG(t, 7, 0, 65535)), 0.001, []float32{7, 0, 65535, 0, 0, 0}},
		"compressedDepth of mono16": {compressed("mono16; compressedDepth png", 1000, 0, greyPNG(t, 7, 0, 65535)), 0.001, []float32{7, 0, 65535, 0, 0, 0}},
		// The publisher's defaults, 100 and 10 m, make A = 100*101 and B = 1 - A/10; 2 m is A/2 + B = 4041, rounded down as the publisher does.
		"compressedDepth of 32FC1": {compressed("32FC1; compressedDepth png", 10100, -1009, greyPNG(t, 4041, 0, 1)), 1, []float32{2, nan, 10, nan, nan, nan}},
	} {
		e := episode(t, mcapFile(t, c.message), "header")
		s, err := depth.Open(ctx, cpu(t), e, depth.Options{Intrinsics: [4]float64{1, 1, 0, 0}})
		require.NoError(t, err, name)
		f, err := s.Frame(ctx, 0)
		require.NoError(t, err, name)
		assert.Equal(t, []any{c.scale, false}, []any{s.Scale, s.Posed}, name)
		assert.InDeltaSlice(t, c.want, numbers(t, f.Depth), 1e-6, name)
	}
	infrared := episode(t, mcapFile(t, picture("/ir/image", 5, "mono16", false, words)), "header")
	assert.Empty(t, infrared.DepthNames())
}

func TestWhatIsMissingIsAnOptionError(t *testing.T) {
	ctx := context.Background()
	image := picture("/cam/depth/image_raw", 5, "16UC1", false, make([]byte, 12))
	other := picture("/cam/other", 5, "16UC1", false, make([]byte, 12))
	loop := []sent{image, move("/tf", 0, "a", "optical", 0, 0, 0, 0, 0, 0, 1), move("/tf", 0, "optical", "a", 0, 0, 0, 0, 0, 0, 1)}
	k := [4]float64{1, 1, 0, 0}
	for _, c := range []struct {
		log     []sent
		options depth.Options
		arg     string
		says    string
	}{
		{[]sent{move("/tf", 0, "a", "b", 0, 0, 0, 0, 0, 0, 1)}, depth.Options{}, "Stream", "a recording with depth images"},
		{[]sent{image, other}, depth.Options{}, "Stream", `one of ["/cam/depth/image_raw" "/cam/other"]`},
		{[]sent{image}, depth.Options{Stream: "/cam"}, "Stream", `one of ["/cam/depth/image_raw"]`},
		{[]sent{image}, depth.Options{}, "Intrinsics", "fx, fy, cx and cy in pixels"},
		{[]sent{image}, depth.Options{Intrinsics: [4]float64{1, 0, 0, 0}}, "Intrinsics", "above 0"},
		{[]sent{image}, depth.Options{Intrinsics: [4]float64{1, 1, math.NaN(), 0}}, "Intrinsics", "finite"},
		{[]sent{image}, depth.Options{Intrinsics: [4]float64{1e-50, 1, 0, 0}}, "Intrinsics", "above 0"},
		{[]sent{image}, depth.Options{Intrinsics: [4]float64{1, 1, 1e50, 0}}, "Intrinsics", "finite"},
		{[]sent{image, info("/cam/camera_info", 0, nil, 1, 1, 2, 3)}, depth.Options{}, "Intrinsics", "none in the recording"},
		{[]sent{image, info("/cam/depth/camera_info", 0, nil, 0, 0, 0, 0)}, depth.Options{}, "Intrinsics", "above 0"},
		{[]sent{image, info("/cam/depth/camera_info", 0, nil, 1, 1, 2, 3), info("/cam/depth/camera_info", 9, nil, 1, 1, 2, 4)}, depth.Options{}, "Intrinsics", "K[5] in /cam/depth/camera_info changes from 3 to 4"},
		{[]sent{image}, depth.Options{Intrinsics: k, Scale: -1}, "Scale", "more than 0"},
		{[]sent{image}, depth.Options{Intrinsics: k, Color: "/rgb"}, "Color", "want none, because there are no other images"},
		{[]sent{image}, depth.Options{Intrinsics: k, Fixed: "map"}, "Fixed", `one of ["optical"]`},
		{drive(), depth.Options{Fixed: "odom"}, "Fixed", `one of ["base" "lidar" "mast" "optical" "map"]`},
		{loop, depth.Options{Intrinsics: k}, "Fixed", "a loop in tf"},
		{loop, depth.Options{Intrinsics: k, Fixed: "b"}, "Fixed", "a loop in tf"},
	} {
		_, err := depth.Open(ctx, cpu(t), episode(t, mcapFile(t, c.log...), "header"), c.options)
		var bad *dataset.OptionError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, c.arg, bad.Arg, err)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestLogsWithOddTransforms(t *testing.T) {
	ctx := context.Background()
	image := picture("/cam/depth/image_raw", 50, "16UC1", false, make([]byte, 12))
	for name, c := range map[string]struct {
		log  []sent
		want depth.Counts
		x    float32
	}{
		"a single transform":     {[]sent{move("/tf", 40, "map", "optical", 7, 0, 0, 0, 0, 0, 1)}, depth.Counts{Images: 1, NoPose: 1}, 0},
		"a quaternion of zeros":  {[]sent{move("/tf_static", 40, "map", "optical", 7, 0, 0, 0, 0, 0, 0)}, depth.Counts{Images: 1, NoPose: 1}, 0},
		"two static, the latest": {[]sent{move("/tf_static", 0, "map", "optical", 7, 0, 0, 0, 0, 0, 1), move("/tf_static", 90, "map", "optical", 8, 0, 0, 0, 0, 0, 1)}, depth.Counts{Images: 1}, 8},
		"a quaternion of 2":      {[]sent{move("/tf", 40, "map", "optical", 3, 0, 0, 0, 0, 0, 2), move("/tf", 60, "map", "optical", 5, 0, 0, 0, 0, 0, 2)}, depth.Counts{Images: 1}, 4},
		"none":                   {nil, depth.Counts{Images: 1}, 0},
	} {
		s, err := depth.Open(ctx, cpu(t), episode(t, mcapFile(t, append(c.log, image)...), "header"), depth.Options{Intrinsics: [4]float64{1, 1, 0, 0}})
		require.NoError(t, err, name)
		assert.Equal(t, c.want, s.Counts, name)
		for f, err := range s.Frames(ctx) {
			require.NoError(t, err, name)
			assert.Equal(t, [16]float32{0: 1, 3: c.x, 5: 1, 10: 1, 15: 1}, f.Pose, name)
		}
	}
}

// Each image is at the pose of its own frame, or is refused.
func TestPosesAreOfTheImagesFrame(t *testing.T) {
	ctx := context.Background()
	still := [7]float64{6: 1}
	moves := func(parent, child string, x float64) []sent {
		return []sent{jsonMove("/tf", 0, parent, child, x), jsonMove("/tf", 100, parent, child, x+1)}
	}
	static := func(parent, child string) sent { return move("/tf_static", 0, parent, child, still[:]...) }
	stamped := func(ms int) sent {
		data := append(header(ms, "map"), wire("cam", [7]float64{float64(ms), 0, 0, 0, 0, 0, 1})...)
		_, definition, _ := strings.Cut(transformType, "MSG: geometry_msgs/TransformStamped\n")
		return sent{"/pose", "geometry_msgs/TransformStamped", definition, ms, data}
	}
	for name, c := range map[string]struct {
		log     []sent
		refused string
		posed   bool
		x       float32
	}{
		"one frame moves":          {moves("map", "cam", 4), "", true, 4.5},
		"two move":                 {append(moves("map", "cam", 4), moves("map", "other", 7)...), "", true, 4.5},
		"a pose with a frame":      {[]sent{stamped(0), stamped(100)}, "", true, 50},
		"above a static one":       {append(moves("map", "base", 4), static("base", "cam")), "", true, 4.5},
		"the frame is unknown":     {append(moves("map", "base", 4), moves("map", "arm", 4)...), `images in the frame "cam", want a frame that tf connects with one of ["arm" "base"]`, false, 0},
		"its tree does not move":   {append(moves("map", "base", 4), static("mount", "cam")), `want a frame that tf connects with one of ["base"]`, false, 0},
		"nothing moves":            {[]sent{move("/tf_static", 0, "mount", "cam", 9, 0, 0, 0, 0, 0, 1)}, "", false, 9},
		"a camera beside an arm":   {append(moves("base", "arm", 4), move("/tf_static", 0, "base", "cam", 9, 0, 0, 0, 0, 0, 1)), "", false, 9},
		"one frame in two parents": {append(moves("map", "cam", 4), moves("odom", "cam", 7)...), "", true, 4.5},
		"images of two frames":     {append(moves("map", "cam", 4), jsonPicture(60, "other")), `/depth with images in ["cam" "other"], want images in one frame`, false, 0},
	} {
		e := episode(t, mcapFile(t, append([]sent{jsonPicture(50, "cam")}, c.log...)...), "header")
		s, err := depth.Open(ctx, cpu(t), e, depth.Options{Intrinsics: [4]float64{1, 1, 0, 0}, MaxGap: ops.Within(1e9)})
		if c.refused != "" {
			var bad *dataset.OptionError
			require.ErrorAs(t, err, &bad, name)
			assert.Equal(t, "Stream", bad.Arg, name)
			assert.ErrorContains(t, err, c.refused, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, c.posed, s.Posed, name)
		assert.Equal(t, "/depth", s.Sources[0], name)
		assert.NotNil(t, e.Stream(s.Sources[len(s.Sources)-1]), name)
		f, err := s.Frame(ctx, 0)
		require.NoError(t, err, name)
		assert.Equal(t, [16]float32{0: 1, 3: c.x, 5: 1, 10: 1, 15: 1}, f.Pose, name)
	}
}

func TestCameraInfo(t *testing.T) {
	ctx := context.Background()
	ros2 := strings.NewReplacer("[] D", "[] d", "[9] K", "[9] k")
	for _, c := range []struct {
		images, info, definition string
		d                        []float64
		distorted                bool
	}{
		{"/cam/depth/image_raw", "/cam/depth/camera_info", infoType, []float64{0, 0.1, 0, 0, 0}, true},
		{"/cam/depth/image_raw", "/cam/depth/camera_info", ros2.Replace(infoType), []float64{0, 0, 0, 0, -0.1}, true},
		{"/cam/depth/image_raw", "/cam/depth/camera_info", ros2.Replace(infoType), make([]float64, 5), false},
		{"/cam/depth/image_raw/compressedDepth", "/cam/depth/camera_info", infoType, nil, false},
	} {
		about := info(c.info, 0, c.d, 5, 6, 7, 8)
		about.definition = c.definition
		s, err := depth.Open(ctx, cpu(t), episode(t, mcapFile(t, picture(c.images, 50, "16UC1", false, make([]byte, 12)), about), "header"), depth.Options{})
		require.NoError(t, err, c)
		assert.Equal(t, []any{c.distorted, [4]float32{5, 6, 7, 8}}, []any{s.Counts.Distorted, s.Intrinsics}, c)
	}
}

func TestImagesHaveTheSizeInCameraInfo(t *testing.T) {
	ctx := context.Background()
	for size, want := range map[[2]uint32]string{{2, 3}: "", {0, 0}: "", {3, 2}: "frame 0 of /cam/depth/image_raw: wrong shape: got f32 [2,3] on host, want [3,2], as camera_info"} {
		about := info("/cam/depth/camera_info", 0, nil, 5, 6, 7, 8)
		copy(about.data[len(header(0, "/optical")):], wire(size))
		log := mcapFile(t, picture("/cam/depth/image_raw", 50, "16UC1", false, make([]byte, 12)), about)
		s, err := depth.Open(ctx, cpu(t), episode(t, log, "header"), depth.Options{})
		require.NoError(t, err, size)
		_, err = s.Frame(ctx, 0)
		if want == "" {
			require.NoError(t, err, size)
			continue
		}
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, size)
		assert.ErrorContains(t, err, want)
	}
}
