package message

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

const (
	image      = "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n" + header2
	packed     = "std_msgs/Header header\nstring format\nuint8[] data\n" + header2
	pointCloud = "std_msgs/Header header\nuint32 height\nuint32 width\nPointField[] fields\nbool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\n" +
		"bool is_dense\n" + header2 + line80 + "MSG: sensor_msgs/PointField\nuint8 INT8=1\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n"
)

func imageOf(height, width uint32, encoding string, big uint8, step uint32, data []byte) []byte {
	return cdr().put(int32(5), uint32(6), "camera", height, width, encoding, big, step, data).b
}

func TestRawImagesComeWithoutPaddingAndLittleEndian(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/Image", image)
	assert.Equal(t, RawImage, d.Shape().Media)
	assert.Empty(t, d.Shape().Columns)
	f, err := d.Frame(imageOf(2, 1, "rgb8", 0, 4, []byte{1, 2, 3, 99, 4, 5, 6, 99}))
	require.NoError(t, err)
	assert.Equal(t, Frame{Encoding: "rgb8", Width: 1, Height: 2, Data: []byte{1, 2, 3, 4, 5, 6}, Stamp: 5_000_000_006}, f)
	message := imageOf(1, 2, "16UC1", 1, 4, []byte{1, 2, 3, 4})
	f, err = d.Frame(message)
	require.NoError(t, err)
	assert.Equal(t, []byte{2, 1, 4, 3}, f.Data)
	assert.Contains(t, string(message), "\x01\x02\x03\x04", "the message is not written to")
	for _, bad := range [][]byte{
		imageOf(3, 1, "rgb8", 0, 4, make([]byte, 8)), imageOf(1, 2, "rgb8", 0, 5, make([]byte, 8)), imageOf(math.MaxUint32, math.MaxUint32, "mono8", 0, math.MaxUint32, nil),
		imageOf(math.MaxUint32, 1, "64FC512", 0, math.MaxUint32, nil), message[:len(message)-1],
	} {
		_, err := d.Frame(bad)
		var format *dataset.FormatError
		assert.ErrorAs(t, err, &format)
	}
	_, err = d.Cloud(message)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)

	var rows Rows
	require.NoError(t, d.Append(&rows, message))
	assert.Error(t, d.Append(&rows, message[:len(message)-1]))
	assert.Equal(t, Rows{Count: 1, Stamps: []int64{5_000_000_006}}, rows, "a message of media adds its stamp only")
}

func TestPixelsOfEncodings(t *testing.T) {
	for encoding, want := range map[string][2]int{
		"rgb8": {3, 1}, "bgra16": {8, 2}, "mono8": {1, 1}, "mono16": {2, 2}, "bayer_rggb8": {1, 1}, "bayer_gbrg16": {2, 2}, "8UC3": {3, 1}, "16UC1": {2, 2}, "32FC1": {4, 4},
		"32FC": {4, 4}, "64FC4": {32, 8}, "16SC2": {4, 2}, "8UC(12)": {12, 1}, "yuv422": {2, 1}, "nv12": {}, "": {}, "C": {}, "9UC1": {}, "16UC0": {}, "16UC9999999": {},
		"-8UC1": {}, "bayer_x8": {},
	} {
		bytes, word := Pixel(encoding)
		assert.Equal(t, want, [2]int{bytes, word}, encoding)
	}
}

func TestPackedImagesAreNamedByWhatTheyAre(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/CompressedImage", packed)
	png := "\x89PNG\r\n\x1a\n..."
	for _, c := range [][3]string{
		{"bgr8; jpeg compressed bgr8", "\xff\xd8\xff..", "jpeg"}, {"png", "\xff\xd8\xff..", "jpeg"}, {"", png, "png"}, {"16UC1; compressedDepth", "123456789012" + png, "png"},
		{"mono16; compressedDepth png", "123456789012" + png, "png"}, {"compressedDepth", "123456789012" + png, "png"},
		{"32FC1; compressedDepth png", "123456789012" + png, "compresseddepth"}, {"jpg", "??", "jpeg"}, {"h264", "\x00\x00\x01", "h264"}, {" Other ", "", "other"},
	} {
		f, err := d.Frame(cdr().put(int32(0), uint32(0), "", c[0], []byte(c[1])).b)
		require.NoError(t, err)
		assert.Equal(t, c[2], f.Encoding, c[0])
		if c[2] == "png" {
			assert.Equal(t, png, string(f.Data))
		}
	}
}

// point is a sensor_msgs/PointField.
type point struct {
	name             string
	offset, datatype int
	count            int
}

func cloudOf(w *writer, big bool, height, width, step, row uint32, fields []point, data []byte) []byte {
	w.put(int32(1), uint32(0), "lidar", height, width, uint32(len(fields)))
	for _, f := range fields {
		w.put(f.name, uint32(f.offset), uint8(f.datatype), uint32(f.count))
	}
	return w.put(big, step, row, data, true).b
}

var xyzi = []point{{"x", 0, 7, 1}, {"y", 4, 7, 1}, {"z", 8, 7, 1}, {"intensity", 14, 4, 1}, {"n", 16, 2, 2}}

func TestCloudsOfAnyLayout(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/PointCloud2", pointCloud)
	assert.Equal(t, PointCloud, d.Shape().Media)
	for _, big := range []bool{false, true} {
		for _, start := range []func() *writer{cdr, cdrBig} {
			p := &writer{order: cdr().order, align: 1}
			if big {
				p.order = cdrBig().order
			}
			for y := range 2 {
				for x := range 3 {
					p.put(float32(x), float32(y), float32(math.NaN()), uint16(7), uint16(1000*y+x), uint8(x), uint8(y)) // 18 bytes, two of them of no field
				}
				p.put(uint32(0)) // a row's padding
			}
			c, err := d.Cloud(cloudOf(start(), big, 2, 3, 18, 58, xyzi, p.b))
			require.NoError(t, err)
			require.NoError(t, c.Check())
			assert.Equal(t, [2]int{3, 2}, [2]int{c.Width, c.Height})
			assert.Equal(t, 6, c.NotFinite, "NaN is kept")
			assert.Equal(t, []string{"intensity", "n[0]", "n[1]"}, c.Names())
			assert.Equal(t, dataset.Column{Name: "intensity", Type: "uint16", Integer: true}, c.Columns[0])
			points, err := tensor.Data[float32](c.Points)
			require.NoError(t, err)
			assert.Equal(t, []float32{2, 1}, points[15:17])
			features, err := tensor.Data[float32](c.Features)
			require.NoError(t, err)
			assert.Equal(t, []float32{1002, 2, 1}, features[15:])
		}
	}
}

func TestBrokenCloudsAreErrors(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/PointCloud2", pointCloud)
	const most = math.MaxUint32
	data := make([]byte, 36)
	for name, message := range map[string][]byte{
		"too few bytes":     cloudOf(cdr(), false, 1, 3, 18, 54, xyzi, data),
		"too many points":   cloudOf(cdr(), false, most, most, 18, most, xyzi, data),
		"a row too short":   cloudOf(cdr(), false, 2, 1, 18, 17, xyzi, data),
		"no step":           cloudOf(cdr(), false, 1, 1, 0, 18, xyzi[:0], data),
		"a field outside":   cloudOf(cdr(), false, 1, 2, 17, 34, xyzi, data),
		"a field far away":  cloudOf(cdr(), false, 1, 2, 18, 36, []point{{"x", most, 7, 1}}, data),
		"a count too large": cloudOf(cdr(), false, 1, 2, 18, 36, []point{{"x", 0, 7, most}}, data),
		"fields of nothing": cloudOf(cdr(), false, 0, 0, most, 0, []point{{"x", 0, 7, 1 << 20}}, nil),
		"no z":              cloudOf(cdr(), false, 1, 2, 18, 36, xyzi[:2], data),
		"x twice":           cloudOf(cdr(), false, 1, 2, 18, 36, append(xyzi[:4:4], xyzi[0]), data),
		"an unknown type":   cloudOf(cdr(), false, 1, 2, 18, 36, []point{{"x", 0, 9, 1}}, data),
	} {
		_, err := d.Cloud(message)
		var format *dataset.FormatError
		assert.ErrorAs(t, err, &format, name)
	}
	c, err := d.Cloud(cloudOf(cdr(), false, 1, 0, 18, 0, xyzi, nil))
	require.NoError(t, err)
	assert.Zero(t, c.Len())
	c, err = d.Cloud(cloudOf(cdr(), false, 1, 2, 18, 0, xyzi, data))
	require.NoError(t, err, "of one row its size does not matter")
	assert.Equal(t, 2, c.Len())
}

func TestMessagesThatOnlyHaveTheNameOfAnImageAreNumbers(t *testing.T) {
	d := open(t, "cdr", "sensor_msgs/msg/Image", "float32 x\n")
	assert.Equal(t, NoMedia, d.Shape().Media)
	assert.Equal(t, []string{"x"}, names(d.Shape().Columns))
}
