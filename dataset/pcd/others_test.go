package pcd

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/cloudtest"
	"github.com/robocache/robocache/tensor"
)

// Padding of COUNT 0 is what drivers write whose fields are aligned already.
func TestFieldsOfCountZeroTakeNoRoom(t *testing.T) {
	head := "FIELDS x _ y z none i\nSIZE 1 4 1 1 8 1\nTYPE U U U U F U\nCOUNT 1 0 1 1 0 1\nPOINTS 2\n"
	want := parse(t, head+"DATA ascii\n1 2 3 4\n5 6 7 8\n")
	assert.Equal(t, []float32{1, 2, 3, 5, 6, 7}, cloudtest.Data(t, want.Points))
	assert.Equal(t, []string{"i"}, want.Names())
	assert.Empty(t, want.Notes)
	cloudtest.Equal(t, want, parse(t, head+"DATA binary\n\x01\x02\x03\x04\x05\x06\x07\x08"))
	cloudtest.Equal(t, want, parse(t, head+"DATA binary_compressed\n\x09\x00\x00\x00\x08\x00\x00\x00\x07\x01\x05\x02\x06\x03\x07\x04\x08"))
}

func TestLettersOfEitherCaseAreRead(t *testing.T) {
	want := parse(t, "VERSION 0.7\nFIELDS x y z rgb Ring\nSIZE 4 8 4 4 2\nTYPE F F F U U\nCOUNT 1 1 1 1 1\nPOINTS 1\nDATA ascii\n1 2 3 66051 9\n")
	got := parse(t, "version 0.7\nFields X Y Z RGB Ring\nsize 4 8 4 4 2\ntype f f F u u\ncount 1 1 1 1 1\npoints 1\ndata ASCII\n1 2 3 66051 9\n")
	cloudtest.Equal(t, want, got)
	assert.Equal(t, want.Columns, got.Columns)
	both := parse(t, "FIELDS X x y z\nPOINTS 1\nDATA ascii\n9 1 2 3\n")
	assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, both.Points), "the small letters, where both are there")
	assert.Equal(t, []string{"X"}, both.Names())
}

func TestLinesMayEndWithCarriageReturns(t *testing.T) {
	text := "# a remark\nFIELDS x y z\nPOINTS 2\nDATA ascii\n1 2 3\n\n4 5 6\n"
	want := parse(t, text)
	cloudtest.Equal(t, want, parse(t, strings.ReplaceAll(text, "\n", "\r")))
	cloudtest.Equal(t, want, parse(t, strings.ReplaceAll(text, "\n", "\r\n")))
	// The data may begin with any byte.
	got := parse(t, "FIELDS x y z\rSIZE 1 1 1\rTYPE U U U\rPOINTS 1\rDATA binary\r\n\r\n")
	assert.Equal(t, []float32{10, 13, 10}, cloudtest.Data(t, got.Points))
	_, err := Parse([]byte(strings.ReplaceAll("FIELDS x y z\nPOINTS 2\nDATA ascii\n1 2 3\n\n4 5\n", "\n", "\r\n")), dataset.Options{Strict: true})
	assert.ErrorContains(t, err, "line 6", "two bytes are one end")
}

func TestNotANumberHasManySpellings(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]float64{
		"nan": math.NaN(), "-NaN": math.NaN(), "+nan": math.NaN(), "nan(ind)": math.NaN(), "-nan(ind)": math.NaN(), "nan(snan)": math.NaN(), "NAN(0x8000)": math.NaN(),
		"1.#QNAN": math.NaN(), "-1.#IND": math.NaN(), "1.#IND00": math.NaN(), "-1.#IND000000": math.NaN(), "1.#SNAN": math.NaN(), "1.#qnan0e+000": math.NaN(),
		"inf": inf, "-Infinity": -inf, "1.#INF": inf, "-1.#INF": -inf, "+1.#INF00": inf, "-1.#INF00e+000": -inf,
	} {
		for _, size := range []string{"4", "8"} {
			c := parse(t, "FIELDS x y z\nSIZE 4 4 "+size+"\nPOINTS 1\nDATA ascii\n1 2 "+text+"\n")
			got, err := tensor.Floats(c.Points)
			require.NoError(t, err)
			assert.True(t, got[2] == want || got[2] != got[2] && want != want, "%s is %v, want %v", text, got[2], want)
			assert.Equal(t, 1, c.NotFinite)
			assert.Zero(t, c.Inexact)
		}
	}
	for _, text := range []string{"1.#", "1.#J", "1.#INFINITY", "1.#QNAN7", "--nan", "nano", "1_0", "0x10", "1.#IND.", "e+"} {
		_, err := Parse([]byte("FIELDS x y z\nPOINTS 1\nDATA ascii\n1 2 "+text+"\n"), dataset.Options{})
		assert.ErrorIs(t, err, dataset.ErrCorrupt, text)
	}
}

// A colour with the alpha 255 is a NaN as a number, and text keeps nothing of it.
func TestAColourWrittenAsNaNIsUnknown(t *testing.T) {
	c := parse(t, "FIELDS x y z rgb\nPOINTS 1\nDATA ascii\n1 2 3 nan\n")
	for _, v := range cloudtest.Data(t, c.Features) {
		assert.True(t, v != v)
	}
}

// Of every prefix of a file the points that are whole are kept, in one row, and the others counted; a compressed file is whole or nothing.
func TestWhatIsWholeOfACutFileIsKept(t *testing.T) {
	people, err := ReadFile("testdata/people.pcd", dataset.Options{})
	require.NoError(t, err)
	points, features := cloudtest.Data(t, people.Points)[3*2400:3*2420], cloudtest.Data(t, people.Features)[4*2400:4*2420]
	whole, err := dataset.NewCloud(points, features, people.Columns)
	require.NoError(t, err)
	whole.Width, whole.Height = 5, 4
	for _, form := range cloudtest.Forms {
		data := cloudtest.PCD(t, whole, form)
		kept := 0
		for n := range len(data) - 1 { // without the last line's end a text is whole
			_, refused := Parse(data[:n], dataset.Options{Strict: true})
			if form == "ascii" && refused == nil {
				continue // digits of the last number may be missing, and nothing can tell
			}
			require.Error(t, refused)
			c, err := Parse(data[:n], dataset.Options{})
			if err != nil {
				require.Equal(t, refused, err, "%d of %d bytes", n, len(data))
				require.Zero(t, kept, "what was whole stays so")
				continue
			}
			require.NoError(t, c.Check())
			kept = c.Len()
			want, err := dataset.NewCloud(points[:3*kept], features[:len(people.Columns)*kept], people.Columns)
			require.NoError(t, err)
			cloudtest.Equal(t, want, c)
			assert.Equal(t, [2]int{kept, 1}, [2]int{c.Width, c.Height})
			require.Len(t, c.Notes.Damage(), 1)
			assert.Equal(t, dataset.Note{Code: dataset.CodePointLost, Count: 20 - kept, Detail: dataset.Detail{Bytes: c.Notes.Damage()[0].Bytes, Cause: refused.(*dataset.FormatError)}}, c.Notes.Damage()[0])
			assert.Zero(t, c.Trailing)
			if form == "binary" {
				assert.Equal(t, int64(len(data)-n), int64((20-kept)*16)-c.Notes.LostBytes(), "what is left and what is not there make points")
			}
		}
		if form == "binary_compressed" {
			assert.Zero(t, kept)
		} else {
			assert.Equal(t, 19, kept)
		}
	}
}

// A broken line costs itself alone, and its bytes are counted.
func TestABrokenLineCostsItsPointAlone(t *testing.T) {
	head := "FIELDS x y z n\nSIZE 4 4 4 8\nTYPE F F F I\nWIDTH 2\nHEIGHT 2\nDATA ascii\n1 2 3 9007199254740993\n"
	for name, c := range map[string]struct {
		text          string
		last          float32 // x of the last point
		kept, inexact int
		damage        string
	}{
		"a number":            {"4 5 6 9007199254740993\n7 8 9 9007199254740993x\n9 1 1 1\n", 9, 3, 2, "point-lost: 1, 24 bytes"},
		"the number after":    {"4 5 6 9007199254740993\n7 8 nine 1\n9 1 1 1\n", 9, 3, 2, "point-lost: 1, 11 bytes"},
		"one number less":     {"4 5 6 9007199254740993\n7 8 9\n9 1 1 1\n", 9, 3, 2, "point-lost: 1, 6 bytes"},
		"one number more":     {"4 5 6 9007199254740993\n\n7 8 9 1 2\n9 1 1 1\n", 9, 3, 2, "point-lost: 1, 11 bytes"},
		"the last":            {"4 5 6 9007199254740993\n9 1 1 1\n9007199254740993 0 0 9007199254740993 0", 9, 3, 2, "point-lost: 1, 39 bytes"},
		"two":                 {"7 8\n9 1 1 1\n9007199254740993 0 0 9007199254740993 0\n", 9, 2, 1, "point-lost: 2, 44 bytes"},
		"and no more":         {"4 5 6\n9 1 1 1\n", 9, 2, 1, "point-lost: 2, 6 bytes"},
		"and a cut":           {"4 5 6\n9 1 1 1\n9 2", 9, 2, 1, "point-lost: 2, 9 bytes"},
		"no more":             {"4 5 6 9007199254740993\n", 4, 2, 2, "point-lost: 2, pcd"},
		"no line's end":       {"4 5 6 9007199254740993\n7 8 9 900719925", 4, 2, 2, "point-lost: 2, 15 bytes"},
		"nor of the only one": {"4", 1, 1, 1, "point-lost: 3, 1 bytes"},
	} {
		_, refused := Parse([]byte(head+c.text), dataset.Options{Strict: true})
		require.Error(t, refused, name)
		got, err := Parse([]byte(head+c.text), dataset.Options{})
		require.NoError(t, err, name)
		require.NoError(t, got.Check())
		assert.Equal(t, c.kept, got.Len(), name)
		assert.Equal(t, c.last, cloudtest.Data(t, got.Points)[3*got.Len()-3], name)
		assert.Equal(t, c.inexact, got.Inexact, "%s: numbers of the points that are kept", name)
		assert.Equal(t, 4-c.kept, got.Notes.Damage()[0].Count, name)
		assert.Contains(t, fmt.Sprint(got.Notes.Damage()), c.damage, name)
		assert.Equal(t, refused, got.Notes.Damage()[0].Cause, "%s: the first", name)
		assert.Equal(t, [2]int{c.kept, 1}, [2]int{got.Width, got.Height})
		assert.Zero(t, got.Trailing, name)
	}
	for name, text := range map[string]string{"three": "x\ny\nz\n", "the first of two": "1 2 3 4 5\n9\n", "none": ""} {
		broken := strings.Replace(head, "1 2 3 9", "1 2 three 9", 1) + text
		_, err := Parse([]byte(broken), dataset.Options{})
		assert.ErrorContains(t, err, `point 0, "z"`, "%s: more is broken than whole", name)
	}
	got, err := Parse([]byte(strings.Replace(head, "1 2 3", "1 2 three", 1)+"1 1 1 1\n1 1 1 1\n1 1 1 1\nmore\n"), dataset.Options{})
	require.NoError(t, err, "the first may be broken too")
	assert.Equal(t, 3, got.Len())
	assert.Equal(t, int64(4), got.Trailing)
}
