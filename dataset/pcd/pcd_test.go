package pcd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/lzf"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/internal/test/cloudtest"
	"github.com/robocache/robocache/tensor"
)

func TestRealFilesReadAsTheIndependentReaderReadsThem(t *testing.T) {
	cloudtest.Golden(t, "testdata", ReadFile)
}

func parse(t *testing.T, text string) *dataset.Cloud {
	t.Helper()
	c, err := Read(strings.NewReader(text), dataset.Options{Strict: true})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	return c
}

func TestFieldsInAnyOrderOfAnyTypeAndCount(t *testing.T) {
	head := "VERSION 0.7\r\n# a remark\r\nFIELDS label z _ y fpfh x big\r\nSIZE 2 8 1 4 4 1 8\r\nTYPE U F U F F I I\r\nCOUNT 1 1 3 1 2 1 1\r\n" +
		"WIDTH 2\r\nHEIGHT 1\r\nVIEWPOINT 1 2 3 0.5 -0.5 0.5 -0.5\r\nPOINTS 2\r\n"
	text := head + "DATA ascii\r\n65535 3.5 9 9 9 2.25 10 11 -1 9007199254740993\r\n\r\n7  -nan 8 8 8\t-inf 1e3 2 -128 -16777216\r\n \r\n"
	c := parse(t, text)
	assert.Equal(t, []float64{-1, 2.25, 3.5}, cloudtest.Doubles(t, c.Points)[:3], "z is a double")
	assert.Equal(t, []float32{65535, 10, 11, 9007199254740992, 7, 1000, 2, -16777216}, cloudtest.Data(t, c.Features))
	assert.Equal(t, []dataset.Column{{Name: "label", Type: "U2", Integer: true}, {Name: "fpfh[0]", Type: "F4"}, {Name: "fpfh[1]", Type: "F4"}, {Name: "big", Type: "I8", Integer: true}}, c.Columns)
	assert.Equal(t, 1, c.NotFinite)
	assert.Equal(t, 1, c.Inexact, "2^53+1")
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "_", Count: 6}}, c.Notes)
	assert.Equal(t, dataset.Viewpoint{Position: [3]float64{1, 2, 3}, Orientation: [4]float64{.5, -.5, .5, -.5}}, c.Viewpoint)

	// The same as binary: one record by hand, in the header's order.
	record := []byte{0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x0c, 0x40, 9, 9, 9, 0, 0, 0x10, 0x40, 0, 0, 0x20, 0x41, 0, 0, 0x30, 0x41, 0xff, 1, 0, 0, 0, 0, 0, 0x20, 0}
	one := strings.Replace(strings.Replace(head, "WIDTH 2", "WIDTH 1", 1), "POINTS 2", "POINTS 1", 1)
	b := parse(t, one+"DATA binary\n"+string(record))
	assert.Equal(t, cloudtest.Doubles(t, c.Points)[:3], cloudtest.Doubles(t, b.Points))
	assert.Equal(t, cloudtest.Data(t, c.Features)[:4], cloudtest.Data(t, b.Features))
	assert.Equal(t, 1, b.Inexact)

	// And compressed, with and without the padding, as libraries differ. Each field's numbers lie together.
	for _, body := range [][]byte{record, append(append([]byte{}, record[:10]...), record[13:]...)} {
		packed := cloudtest.Literals(body)
		sizes := []byte{byte(len(packed)), 0, 0, 0, byte(len(body)), 0, 0, 0}
		z := parse(t, one+"DATA binary_compressed\n"+string(sizes)+string(packed))
		cloudtest.Equal(t, b, z)
	}
}

// Doubles stay doubles, points and features each by themselves; what is beside them in the same tensor is widened exactly.
func TestDoublesAreKept(t *testing.T) {
	c := parse(t, "FIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nWIDTH 1\nDATA ascii\n0.1 0.5 1e300\n")
	assert.Zero(t, c.Inexact)
	assert.Zero(t, c.NotFinite)
	assert.Equal(t, []float64{.1, .5, 1e300}, cloudtest.Doubles(t, c.Points))
	assert.Equal(t, tensor.F32, c.Features.DType())

	head := "FIELDS x intensity y z timestamp rgb n\nSIZE 8 4 4 8 8 4 8\nTYPE F F F F F F I\nPOINTS 2\n"
	rgb := math.Float32frombits(0x00123456)
	mixed := parse(t, head+fmt.Sprintf("DATA ascii\n5648321.001 0.1 0.3 1e-310 1.7e9 %g 9007199254740993\n1 2 nan -inf 3 0 4\n", rgb))
	assert.Equal(t, 1, mixed.Inexact, "2^53+1")
	assert.Equal(t, 1, mixed.NotFinite)
	assert.Equal(t, []float64{5648321.001, float64(float32(.3)), 1e-310}, cloudtest.Doubles(t, mixed.Points)[:3])
	assert.Equal(t, []float64{float64(float32(.1)), 1.7e9, 0x12, 0x34, 0x56, 1 << 53}, cloudtest.Doubles(t, mixed.Features)[:6])

	only := parse(t, "FIELDS x y z timestamp\nSIZE 4 4 4 8\nTYPE F F F F\nPOINTS 1\nDATA ascii\n0.1 0.2 0.3 0.4\n")
	assert.Equal(t, []float32{.1, .2, .3}, cloudtest.Data(t, only.Points))
	assert.Equal(t, []float64{.4}, cloudtest.Doubles(t, only.Features))

	for _, want := range []*dataset.Cloud{c, mixed, only} {
		for _, form := range cloudtest.Forms {
			got := parse(t, string(cloudtest.PCD(t, want, form)))
			cloudtest.Equal(t, want, got)
			assert.Zero(t, got.Inexact)
		}
	}
}

func TestColoursAreUnpacked(t *testing.T) {
	for _, c := range []struct{ head, value string }{
		{"SIZE 4 4 4 4\nTYPE F F F U", "4278255361"},
		{"SIZE 4 4 4 4\nTYPE F F F I", "-16711935"},
	} {
		got := parse(t, "FIELDS x y z rgba\n"+c.head+"\nPOINTS 1\nDATA ascii\n0 0 0 "+c.value+"\n")
		assert.Equal(t, []string{"red", "green", "blue", "alpha"}, got.Names())
		assert.Equal(t, []float32{0, 255, 1, 255}, cloudtest.Data(t, got.Features), "0xff00ff01")
	}
	rgb := math.Float32frombits(0x00123456)
	got := parse(t, fmt.Sprintf("FIELDS rgb x y z\nPOINTS 1\nDATA ascii\n%g 0 0 0\n", rgb))
	assert.Equal(t, []float32{0x12, 0x34, 0x56}, cloudtest.Data(t, got.Features))
}

func TestZerosOfTheLastPageAreNoContent(t *testing.T) {
	head := "FIELDS x y z\nPOINTS 1\nDATA binary\n"
	assert.Zero(t, parse(t, head+string(make([]byte, 4096))).Trailing)
	assert.Equal(t, int64(3), parse(t, head+string(make([]byte, 12))+"end").Trailing)
	assert.Equal(t, int64(5), parse(t, "FIELDS x y z\nPOINTS 1\nDATA ascii\n1 2 3\n4 5 6\n").Trailing)
}

func TestNoPointsIsACloudToo(t *testing.T) {
	for _, data := range []string{"ascii\n", "binary\n", "binary_compressed\n", "binary_compressed\n\x00\x00\x00\x00\x00\x00\x00\x00"} {
		c := parse(t, "FIELDS x y z i\nWIDTH 0\nHEIGHT 1\nDATA "+data)
		assert.Equal(t, []int{0, 3}, c.Points.Shape())
		assert.Equal(t, []int{0, 1}, c.Features.Shape())
	}
}

func TestEveryFormOfACloudReadsAsTheSame(t *testing.T) {
	for _, name := range []string{"milk", "people", "office", "plane"} {
		want, err := ReadFile("testdata/"+name+".pcd", dataset.Options{})
		require.NoError(t, err)
		for _, form := range cloudtest.Forms {
			got := parse(t, string(cloudtest.PCD(t, want, form)))
			cloudtest.Equal(t, want, got)
			assert.Equal(t, [2]int{want.Width, want.Height}, [2]int{got.Width, got.Height})
			assert.Equal(t, want.Viewpoint, got.Viewpoint)
			assert.Zero(t, got.Trailing)
		}
	}
}

// A whole file with every flaw that there is a word for. Each names where it is.
func TestBadFilesSayWhere(t *testing.T) {
	head := "FIELDS x y z\nWIDTH 2\nHEIGHT 1\nPOINTS 2\n"
	for _, c := range []struct {
		text   string
		kind   error
		offset int64
		line   int
		want   string
	}{
		{"", dataset.ErrTruncated, 0, 1, "a line DATA"},
		{"FIELDS x y z\n", dataset.ErrTruncated, 13, 2, "a line DATA"},
		{"ply\nformat\n", dataset.ErrCorrupt, 0, 1, `"ply"`},
		{"WIDTH 1\nDATA ascii\n", dataset.ErrCorrupt, -1, 0, "no FIELDS"},
		{"FIELDS x y z\nDATA ascii\n", dataset.ErrCorrupt, -1, 0, "no WIDTH"},
		{"FIELDS x y z\nHEIGHT 2\nPOINTS 2\nDATA ascii\n", dataset.ErrCorrupt, -1, 0, "no WIDTH"},
		{"VERSION 0.8\n" + head + "DATA ascii\n", dataset.ErrUnsupported, 0, 1, `"0.8"`},
		{"FIELDS x y z\nFIELDS x y z\n", dataset.ErrCorrupt, 13, 2, "FIELDS twice"},
		{"COLUMNS x y z\nFIELDS x y z\n", dataset.ErrCorrupt, 14, 2, "FIELDS twice"},
		{head + "DATA zip\n", dataset.ErrUnsupported, 39, 5, `"zip"`},
		{head + "SIZE 4 4\nDATA ascii\n", dataset.ErrCorrupt, 39, 5, "2 words, want 3"},
		{head + "SIZE 4 4 3\nDATA ascii\n", dataset.ErrUnsupported, 39, 5, `of SIZE "3"`},
		{head + "TYPE F F Q\nDATA ascii\n", dataset.ErrUnsupported, 39, 5, `TYPE "Q"`},
		{head + "SIZE 2 2 2\nDATA ascii\n", dataset.ErrUnsupported, 39, 5, `of SIZE "2"`},
		{head + "COUNT 1 -1 1\nDATA ascii\n", dataset.ErrCorrupt, 39, 5, `"-1"`},
		{head + "COUNT 1 0 1\nDATA ascii\n", dataset.ErrUnsupported, -1, 0, `no "y"`},
		{head + "COUNT 0 0 0\nDATA binary\n", dataset.ErrUnsupported, 39, 5, "0 of every field"},
		{head + "VIEWPOINT 0 0 0 1 0 0 1_0\nDATA ascii\n", dataset.ErrCorrupt, 39, 5, `"1_0"`},
		{head + "DATA ascii\n1 2 3\n4 5 0x1p-2\n", dataset.ErrCorrupt, 60, 7, `"0x1p-2"`},
		{head + "DATA ascii\n1 2 3\n4 5 1.#J\n", dataset.ErrCorrupt, 60, 7, `"1.#J"`},
		{head + "COUNT 1 1 99999999\nDATA ascii\n", dataset.ErrTooLarge, 39, 5, "4096"},
		{head + "VIEWPOINT 1 2\nDATA ascii\n", dataset.ErrCorrupt, 39, 5, "2 numbers, want 7"},
		{head + "VIEWPOINT 0 0 0 a 0 0 0\nDATA ascii\n", dataset.ErrCorrupt, 39, 5, `"a"`},
		{"FIELDS x y z\nWIDTH -1\nDATA ascii\n", dataset.ErrCorrupt, 13, 2, `"-1"`},
		{"FIELDS x y z\nWIDTH 4294967295\nHEIGHT 4294967295\nDATA binary\n", dataset.ErrTooLarge, 13, 2, "fewer"},
		{"FIELDS x y z\nWIDTH 4000000000\nDATA binary\n1234", dataset.ErrTruncated, 46, 0, "4000000000 points of 12 bytes"},
		{"FIELDS x y z\nWIDTH 4000000000\nDATA ascii\n1 2 3\n", dataset.ErrTruncated, 47, 5, "4000000000 in all"},
		{"FIELDS x y z\nWIDTH 2\nPOINTS 3\nDATA ascii\n", dataset.ErrCorrupt, 21, 3, "got 3, want 2"},
		{"FIELDS x y w\nWIDTH 0\nDATA ascii\n", dataset.ErrUnsupported, -1, 0, `no "z"`},
		{"FIELDS x y z y\nWIDTH 0\nDATA ascii\n", dataset.ErrUnsupported, -1, 0, `"y" twice`},
		{"FIELDS x y z rgb red\nWIDTH 0\nDATA ascii\n", dataset.ErrUnsupported, -1, 0, `"red" twice`},
		{head + "DATA ascii\n1 2 3\n4 5\n", dataset.ErrCorrupt, 59, 7, "the line's end"},
		{head + "DATA ascii\n1 2 3      \n4 5\n", dataset.ErrCorrupt, 65, 7, "point 1: corrupt: got the line's end"},
		{head + "DATA ascii\n1 2 3\n4 five 6\n", dataset.ErrCorrupt, 58, 7, `point 1, "y": corrupt: got "five", want float32`},
		{head + "DATA ascii\n1 2 3\n4 5 1e99\n", dataset.ErrCorrupt, 60, 7, "1e99"},
		{head + "DATA ascii\n1 2 3 4\n5 6 7\n", dataset.ErrCorrupt, 56, 6, `got "4", want the line's end`},
		{head + "DATA ascii\n1 2 3\n          \n\n", dataset.ErrTruncated, 68, 9, "point 1"},
		{head + "DATA binary\n" + strings.Repeat("x", 23), dataset.ErrTruncated, 74, 0, "got 23 bytes, want 2 points of 12 bytes"},
		{head + "DATA binary_compressed\n1234567", dataset.ErrTruncated, 69, 0, "7 bytes"},
		{head + "DATA binary_compressed\n\x09\x00\x00\x00\x18\x00\x00\x0012345678", dataset.ErrTruncated, 78, 0, ""},
		{head + "DATA binary_compressed\n\x01\x00\x00\x00\x18\x00\x00\x7f1", dataset.ErrTooLarge, 66, 0, "at most 88"},
		{head + "DATA binary_compressed\n\x01\x00\x00\x00\x17\x00\x00\x001", dataset.ErrCorrupt, 66, 0, "got 23, want 2 points of 12 bytes"},
		{head + "DATA binary_compressed\n\x03\x00\x00\x00\x18\x00\x00\x00\x05ab", dataset.ErrCorrupt, 70, 0, lzf.ErrCut.Error()},
		{head + "DATA binary_compressed\n\x03\x00\x00\x00\x18\x00\x00\x00\x00a\xe0", dataset.ErrCorrupt, 72, 0, lzf.ErrCut.Error()},
		{head + "DATA binary_compressed\n\x04\x00\x00\x00\x18\x00\x00\x00\x00a\x20\x01", dataset.ErrCorrupt, 72, 0, lzf.ErrFar.Error()},
		{head + "DATA binary_compressed\n\x05\x00\x00\x00\x18\x00\x00\x00\x00a\xe0\x10\x00", dataset.ErrCorrupt, 72, 0, lzf.ErrTooMuch.Error()},
		{head + "DATA binary_compressed\n\x05\x00\x00\x00\x18\x00\x00\x00\x00a\xe0\x0d\x00", dataset.ErrCorrupt, 75, 0, lzf.ErrTooLittle.Error()},
	} {
		got, err := Parse([]byte(c.text), dataset.Options{Strict: true})
		var bad *dataset.FormatError
		if !assert.ErrorAs(t, err, &bad, "%q", c.text) {
			continue
		}
		assert.Nil(t, got)
		assert.ErrorIs(t, err, c.kind, "%q", c.text)
		assert.Equal(t, c.offset, bad.Offset, "%q: %v", c.text, err)
		assert.Equal(t, c.line, bad.Line, "%q: %v", c.text, err)
		assert.Contains(t, err.Error(), c.want, "%q", c.text)
	}
	_, err := ReadFile("testdata/missing.pcd", dataset.Options{})
	assert.Error(t, err)
}

// Every prefix of a file is an error or, once all its points are there, the cloud.
func TestTruncationIsNeverSilence(t *testing.T) {
	var c *dataset.Cloud
	{
		people, err := ReadFile("testdata/people.pcd", dataset.Options{})
		require.NoError(t, err)
		points, features := cloudtest.Data(t, people.Points), cloudtest.Data(t, people.Features)
		c, err = dataset.NewCloud(points[3*2400:3*2420], features[4*2400:4*2420], people.Columns)
		require.NoError(t, err)
	}
	for _, form := range cloudtest.Forms {
		whole := cloudtest.PCD(t, c, form)
		for n := range whole {
			got, err := Parse(whole[:n], dataset.Options{Strict: true})
			var bad *dataset.FormatError
			if err == nil && form == "ascii" && n >= len(whole)-10 {
				require.Equal(t, c.Len(), got.Len(), "digits may be missing in the last number, and nothing can tell")
				continue
			}
			require.ErrorAs(t, err, &bad, "%d of %d bytes", n, len(whole))
			require.True(t, errors.Is(err, dataset.ErrTruncated) || errors.Is(err, dataset.ErrCorrupt) && form == "ascii", "%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	head := "FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F U\nCOUNT 1 1 1 1\nWIDTH 1\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 1\n"
	f.Add([]byte(head + "DATA ascii\n1 nan 3 4\n"))
	f.Add([]byte(head + "DATA binary\n0123456789abcdef"))
	f.Add([]byte(head + "DATA binary_compressed\n\x05\x00\x00\x00\x10\x00\x00\x00\x00a\xe0\x06\x00"))
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
		require.LessOrEqual(t, c.Points.Len()+c.Features.Len(), 4*lzf.MaxRatio*(len(data)+1), "numbers from so few bytes")
		if writable(c) {
			again, err := Parse(cloudtest.PCD(t, c, "binary_compressed"), dataset.Options{Strict: true})
			require.NoError(t, err)
			cloudtest.Equal(t, c, again)
		}
	})
}

// writable reports whether a header can hold the names of a cloud's columns as they are.
func writable(c *dataset.Cloud) bool {
	return !slices.ContainsFunc(c.Names(), func(name string) bool {
		return !records.IsWord(name) || slices.Contains([]string{"_", "rgb", "rgba"}, name)
	})
}
