package ply

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/cloudtest"
)

func TestARealFileReadsAsTheIndependentReaderReadsIt(t *testing.T) {
	cloudtest.Golden(t, "testdata", ReadFile)
}

// mesh is a file with an element before the vertices and one after them, lists in all places, and every scalar type.
func mesh(format string) string {
	return "ply\r\nformat " + format + ` 1.0
comment of no interest: element vertex 9
obj_info nor this
element patch 2
property list uchar short corners
property double area
property list int float weights
element vertex 2
property uchar red
property list ushort int64 neighbours
property float32 z
property int8 a
property int16 b
property uint16 c
property int d
property uint e
property uint64 f
property double y
property char g
property float x
element face 1
property list uint8 uint32 vertex_indices
element nothing 5
end_header
`
}

const asciiMesh = `3 1 2 3 0.5 1 7
0 -1 0

200 2 5 6 1.5 -128 -32768 65535 -2147483648 16777217 18446744073709551615 2.5 7 3.5
0 0	NaN 1 2 3 4 5 6 inf 8 9  
3 0 1 1
`

func binaryMesh(o binary.AppendByteOrder) string {
	var b []byte
	f32 := func(v float32) { b = o.AppendUint32(b, math.Float32bits(v)) }
	f64 := func(v float64) { b = o.AppendUint64(b, math.Float64bits(v)) }
	u16 := func(v ...uint16) {
		for _, x := range v {
			b = o.AppendUint16(b, x)
		}
	}
	u32 := func(v ...uint32) {
		for _, x := range v {
			b = o.AppendUint32(b, x)
		}
	}
	u64 := func(v ...uint64) {
		for _, x := range v {
			b = o.AppendUint64(b, x)
		}
	}
	b = append(b, 3)
	u16(1, 2, 3)
	f64(.5)
	u32(1)
	f32(7)
	b = append(b, 0)
	f64(-1)
	u32(0)

	b = append(b, 200)
	u16(2)
	u64(5, 6)
	f32(1.5)
	b = append(b, 0x80)
	u16(0x8000, 65535)
	u32(0x80000000, 16777217)
	u64(math.MaxUint64)
	f64(2.5)
	b = append(b, 7)
	f32(3.5)

	b = append(b, 0)
	u16(0)
	f32(float32(math.NaN()))
	b = append(b, 1)
	u16(2, 3)
	u32(4, 5)
	u64(6)
	f64(math.Inf(1))
	b = append(b, 8)
	f32(9)

	b = append(b, 3)
	u32(0, 1, 1)
	return string(b)
}

func TestEveryTypeInEveryFormat(t *testing.T) {
	for format, body := range map[string]string{
		"ascii": asciiMesh, "binary_little_endian": binaryMesh(binary.LittleEndian), "binary_big_endian": binaryMesh(binary.BigEndian),
	} {
		c, err := Parse([]byte(mesh(format)+body), dataset.Options{})
		require.NoError(t, err, format)
		require.NoError(t, c.Check())
		p := cloudtest.Doubles(t, c.Points) // y is one
		assert.Equal(t, []float64{3.5, 2.5, 1.5, 9}, p[:4], format)
		assert.True(t, math.IsInf(p[4], 1) && p[5] != p[5], "%s: %v", format, p)
		assert.Equal(t, []float32{200, -128, -32768, 65535, -2147483648, 16777216, 18446744073709551616, 7, 0, 1, 2, 3, 4, 5, 6, 8}, cloudtest.Data(t, c.Features), format)
		assert.Equal(t, []string{"red", "a", "b", "c", "d", "e", "f", "g"}, c.Names())
		assert.Equal(t, dataset.Column{Name: "c", Type: "uint16", Integer: true}, c.Columns[3])
		assert.Equal(t, 1, c.NotFinite)
		assert.Equal(t, 2, c.Inexact, "2^24+1 and 2^64-1")
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "patch", Count: 2}, {Code: dataset.CodeNotPoints, Subject: "vertex.neighbours", Count: 2}, {Code: dataset.CodeNotPoints, Subject: "face", Count: 1}, {Code: dataset.CodeNotPoints, Subject: "nothing", Count: 5}}, c.Notes)
		assert.Zero(t, c.Trailing)
	}
}

// Doubles stay doubles, points and features each by themselves.
func TestDoublesAreKept(t *testing.T) {
	head := func(format string) string {
		return "ply\nformat " + format + " 1.0\nelement vertex 1\nproperty double x\nproperty double y\nproperty double z\nproperty float i\nend_header\n"
	}
	numbers := []float64{412345.123, 5648321.001, .1}
	binaryBody := func(o binary.AppendByteOrder) string {
		var b []byte
		for _, v := range numbers {
			b = o.AppendUint64(b, math.Float64bits(v))
		}
		return string(o.AppendUint32(b, math.Float32bits(.1)))
	}
	for format, body := range map[string]string{
		"ascii": "412345.123 5648321.001 0.1 0.1\n", "binary_little_endian": binaryBody(binary.LittleEndian), "binary_big_endian": binaryBody(binary.BigEndian),
	} {
		c, err := Parse([]byte(head(format)+body), dataset.Options{})
		require.NoError(t, err, format)
		assert.Equal(t, numbers, cloudtest.Doubles(t, c.Points), format)
		assert.Equal(t, []float32{.1}, cloudtest.Data(t, c.Features), format)
		assert.Zero(t, c.Inexact)
		for _, ascii := range []bool{false, true} {
			var b bytes.Buffer
			require.NoError(t, Write(&b, c, Options{ASCII: ascii}))
			got, err := Read(&b, dataset.Options{Strict: true})
			require.NoError(t, err)
			cloudtest.Equal(t, c, got)
		}
	}
}

func TestLengthsOfListsHaveAnyType(t *testing.T) {
	for typ, size := range map[string]int{"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "int64": 8, "uint64": 8} {
		head := "ply\nformat binary_little_endian 1.0\nelement face 2\nproperty list " + typ + " uchar i\nelement vertex 1\n" +
			"property uchar x\nproperty uchar y\nproperty uchar z\nend_header\n"
		two, none := make([]byte, size), make([]byte, size)
		two[0] = 2
		c, err := Parse([]byte(head+string(two)+"ab"+string(none)+"\x01\x02\x03"), dataset.Options{})
		require.NoError(t, err, typ)
		assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, c.Points), typ)
	}
}

func TestWhatFollowsTheDataIsCounted(t *testing.T) {
	c, err := Parse([]byte(mesh("ascii")+asciiMesh+"\n one more \n"), dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, int64(8), c.Trailing)
}

func TestWriteThenReadGivesAnEqualCloud(t *testing.T) {
	lidar, err := ReadFile("testdata/lidar.ply", dataset.Options{})
	require.NoError(t, err)
	odd, err := dataset.NewCloud([]float32{1, float32(math.NaN()), float32(math.Inf(-1)), 4, 5, 6}, []float32{255, -1, .5, 0, 1 << 30, 7},
		[]dataset.Column{{Name: "red", Integer: true}, {Name: "n", Integer: true}, {Name: "half", Integer: true}})
	require.NoError(t, err)
	none, err := dataset.NewCloud(nil, nil, []dataset.Column{{Name: "a"}})
	require.NoError(t, err)
	for _, want := range []*dataset.Cloud{lidar, odd, none} {
		for _, ascii := range []bool{false, true} {
			var b bytes.Buffer
			require.NoError(t, Write(&b, want, Options{ASCII: ascii}))
			got, err := Read(&b, dataset.Options{Strict: true})
			require.NoError(t, err)
			cloudtest.Equal(t, want, got)
		}
	}
	var b bytes.Buffer
	require.NoError(t, Write(&b, odd, Options{}))
	assert.Contains(t, b.String(), "property uchar red\nproperty int n\nproperty float half\n")
	for _, name := range []string{"", "a b", "y"} {
		var b bytes.Buffer
		var bad *dataset.CloudError
		c, err := dataset.NewCloud([]float32{1, 2, 3}, []float32{1}, []dataset.Column{{Name: name}})
		require.NoError(t, err)
		assert.ErrorAs(t, Write(&b, c, Options{}), &bad, "%q", name)
		assert.Zero(t, b.Len())
	}
}

func TestFacesAreWrittenAfterThePoints(t *testing.T) {
	c, err := dataset.NewCloud([]float32{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, nil, nil)
	require.NoError(t, err)
	faces := [][3]int32{{0, 1, 2}, {3, 1, 0}}
	for ascii, body := range map[bool]string{
		true:  "3 0 1 2\n3 3 1 0\n",
		false: "\x03\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00",
	} {
		var b bytes.Buffer
		require.NoError(t, Write(&b, c, Options{ASCII: ascii, Faces: faces}))
		assert.Contains(t, b.String(), "property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n")
		assert.True(t, strings.HasSuffix(b.String(), body), "%q", b.String())
		got, err := Read(&b, dataset.Options{Strict: true})
		require.NoError(t, err)
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "face", Count: 2}}, got.Notes)
		assert.Zero(t, got.Trailing)
		assert.Equal(t, cloudtest.Data(t, c.Points), cloudtest.Data(t, got.Points))
	}
	for _, i := range []int32{-1, 4} {
		var b bytes.Buffer
		var bad *dataset.CloudError
		require.ErrorAs(t, Write(&b, c, Options{Faces: [][3]int32{{0, i, 1}}}), &bad)
		assert.Equal(t, "Faces", bad.Arg)
		assert.Zero(t, b.Len())
	}
}

func TestBadFilesSayWhere(t *testing.T) {
	ascii, little := "ply\nformat ascii 1.0\n", "ply\nformat binary_little_endian 1.0\n" // 21 and 36 bytes
	xyz := "property float x\nproperty float y\nproperty float z\n"                      // 51 bytes
	for _, c := range []struct {
		text   string
		kind   error
		offset int
		line   int
		want   string
	}{
		{"", dataset.ErrCorrupt, 0, 0, `got ""`},
		{"PLY\n", dataset.ErrCorrupt, 0, 0, "want a line ply"},
		{ascii, dataset.ErrTruncated, 21, 3, "end_header"},
		{"ply\nend_header\n", dataset.ErrCorrupt, 4, 2, "no format"},
		{"ply\nformat ascii 1.1\n", dataset.ErrUnsupported, 4, 2, "ascii 1.1"},
		{ascii + "format ascii 1.0\n", dataset.ErrCorrupt, 21, 3, "twice"},
		{ascii + "elephant\n", dataset.ErrCorrupt, 21, 3, `"elephant"`},
		{ascii + "element vertex\n", dataset.ErrCorrupt, 21, 3, "a name and a count"},
		{ascii + "element vertex -1\n", dataset.ErrCorrupt, 21, 3, `"-1"`},
		{ascii + "element vertex 2147483648\n", dataset.ErrCorrupt, 21, 3, `"2147483648"`},
		{ascii + "element a 0\nelement a 0\n", dataset.ErrCorrupt, 33, 4, "twice"},
		{ascii + "property float x\n", dataset.ErrCorrupt, 21, 3, "before any element"},
		{ascii + "element vertex 0\nproperty float\n", dataset.ErrCorrupt, 38, 4, "a type and a name"},
		{ascii + "element vertex 0\nproperty half x\n", dataset.ErrUnsupported, 38, 4, `"half"`},
		{ascii + "element vertex 0\nproperty list float int x\n", dataset.ErrCorrupt, 38, 4, "whole numbers"},
		{ascii + "element vertex 0\n" + strings.Repeat("property int a\n", 4097), dataset.ErrTooLarge, 38 + 4096*15, 4100, "4096"},
		{ascii + strings.Repeat("x", 1<<16+1) + "\n", dataset.ErrTooLarge, 21, 3, "65537"},
		{ascii + "element face 0\nend_header\n", dataset.ErrUnsupported, -1, 0, "no element vertex"},
		{ascii + "element vertex 0\nproperty int x\nend_header\n", dataset.ErrUnsupported, 21, 3, `no "y"`},
		{ascii + "element vertex 7\nend_header\n", dataset.ErrUnsupported, 21, 3, "no properties"},
		{ascii + "element vertex 0\n" + xyz + "property int x\nend_header\n", dataset.ErrUnsupported, 21, 3, `"x" twice`},
		{ascii + "element vertex 2000000000\n" + xyz + "end_header\n1 2 3\n", dataset.ErrTruncated, 115, 9, "2000000000"},
		{little + "element vertex 2000000000\n" + xyz + "end_header\n1 2 3\n", dataset.ErrTruncated, 130, 0, "2000000000"},
		{little + "element a 2000000000\nproperty int q\nelement vertex 0\n" + xyz + "end_header\n1234", dataset.ErrTruncated, 155, 0, "a 1: truncated"},
		{little + "element a 2000000000\nproperty list int int q\nelement vertex 0\n" + xyz + "end_header\n\x01\x00\x00\x001234", dataset.ErrTruncated, 168, 0, "a 1: truncated"},
		{little + "element a 1\nproperty list int int q\nelement vertex 0\n" + xyz + "end_header\n\xff\xff\xff\xff1234", dataset.ErrCorrupt, 151, 0, "-1"},
		{little + "element a 1\nproperty list uint int q\nelement vertex 0\n" + xyz + "end_header\n\xff\xff\xff\xff1234", dataset.ErrTruncated, 160, 0, "a 0"},
		{little + "element a 1\nproperty list uint64 double q\nelement vertex 0\n" + xyz + "end_header\n\xff\xff\xff\xff\xff\xff\xff\xff", dataset.ErrCorrupt, 157, 0, "-1"},
		{ascii + "element vertex 1\n" + xyz + "end_header\n1 2     \n", dataset.ErrCorrupt, 108, 8, "another number"},
		{ascii + "element vertex 1\n" + xyz + "end_header\n1 2 three\n", dataset.ErrCorrupt, 104, 8, `vertex 0, "z": corrupt: got "three"`},
		{ascii + "element vertex 1\n" + xyz + "end_header\n1 2 3 4\n", dataset.ErrCorrupt, 106, 8, `got "4"`},
		{ascii + "element vertex 0\n" + xyz + "element face 1\nproperty list int int q\nend_header\n-1\n", dataset.ErrCorrupt, 139, 10, `"-1"`},
		{ascii + "element vertex 0\n" + xyz + "element face 1\nproperty list int int q\nend_header\n2 1\n", dataset.ErrCorrupt, 142, 10, "another number"},
		{ascii + "element vertex 0\n" + xyz + "element face 1\nproperty list int int q\nend_header\n", dataset.ErrTruncated, 139, 10, "face 0"},
	} {
		got, err := Parse([]byte(c.text), dataset.Options{Strict: true})
		var bad *dataset.FormatError
		if !assert.ErrorAs(t, err, &bad, "%.200q", c.text) {
			continue
		}
		assert.Nil(t, got)
		assert.ErrorIs(t, err, c.kind, "%.200q", c.text)
		assert.Equal(t, int64(c.offset), bad.Offset, "%.200q: %v", c.text, err)
		assert.Equal(t, c.line, bad.Line, "%.200q: %v", c.text, err)
		assert.Contains(t, err.Error(), c.want, "%.200q", c.text)
	}
	_, err := ReadFile("testdata/missing.ply", dataset.Options{})
	assert.Error(t, err)
}

func TestTruncationIsNeverSilence(t *testing.T) {
	for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		format := map[bool]string{true: "binary_little_endian", false: "binary_big_endian"}[o == binary.AppendByteOrder(binary.LittleEndian)]
		whole := mesh(format) + binaryMesh(o)
		for n := range len(whole) {
			_, err := Parse([]byte(whole[:n]), dataset.Options{Strict: true})
			require.Error(t, err, fmt.Sprintf("%d of %d bytes", n, len(whole)))
			if n >= 5 {
				require.ErrorIs(t, err, dataset.ErrTruncated)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(mesh("ascii") + asciiMesh))
	f.Add([]byte(mesh("binary_little_endian") + binaryMesh(binary.LittleEndian)))
	f.Add([]byte(mesh("binary_big_endian") + binaryMesh(binary.BigEndian)))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, refused := Parse(data, dataset.Options{Strict: true})
		c, err := Parse(data, dataset.Options{})
		if err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			require.LessOrEqual(t, bad.Offset, int64(len(data)))
			require.Equal(t, err, refused, "what gives nothing is refused alike")
			return
		}
		require.NoError(t, c.Check())
		require.Equal(t, refused == nil, c.Notes.Damage() == nil, "strict refuses what is damaged, and nothing else: %v", refused)
		if refused != nil {
			require.Equal(t, refused, c.Notes.Damage()[0].Cause)
			require.False(t, c.Notes.Damage()[0].Code == dataset.CodePointLost && c.Len() == 0, "no whole point is an error")
			require.LessOrEqual(t, c.Notes.LostBytes(), int64(len(data)))
		}
		require.LessOrEqual(t, c.Points.Len()+c.Features.Len(), len(data), "numbers from so few bytes")
		var b bytes.Buffer
		if Write(&b, c, Options{}) == nil {
			again, err := Parse(b.Bytes(), dataset.Options{Strict: true})
			require.NoError(t, err)
			cloudtest.Equal(t, c, again)
		}
	})
}
