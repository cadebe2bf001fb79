package ply

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/cloudtest"
)

// head is a header of an ascii file of n points x, y, z and n.
func head(n string) string {
	return "ply\nformat ascii 1.0\nelement vertex " + n + "\nproperty float x\nproperty float y\nproperty float z\nproperty int n\n"
}

func strict(t *testing.T, text string) *dataset.Cloud {
	t.Helper()
	c, err := Parse([]byte(text), dataset.Options{Strict: true})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	return c
}

// Some cameras' programs write a point's colour on a line of its own.
func TestAVertexMayTakeSeveralLines(t *testing.T) {
	want := strict(t, head("2")+"end_header\n1 2 3 4\n5 6 7 8\n")
	for _, body := range []string{"1 2 3\n4\n5 6 7\n8\n", "1\n2\n3\n4\n5\n6\n7\n8", "1\n\n2 3 4\n\n5\n6 7 8\n"} {
		cloudtest.Equal(t, want, strict(t, head("2")+"end_header\n"+body))
	}
	faces := "element face 2\nproperty list uchar int i\nproperty uchar red\nend_header\n"
	cloudtest.Equal(t, want, strict(t, head("2")+faces+"1 2 3 4\n5 6 7 8\n3 0\n1 1\n255\n4\n0 1 1 0\n0\n"))

	// All points are written alike: lines that do not match the first point's are damage, not the beginning of the next.
	for name, c := range map[string]struct {
		body string
		kept int
		want string
	}{
		"a number less":           {"1 2 3\n4\n5 6\n8\n", 1, `vertex 1: corrupt: got the line's end, want another number`},
		"a number more":           {"1 2 3\n4\n5 6 7 7\n8\n", 1, `vertex 1: corrupt: got "7", want the line's end`},
		"in one line":             {"1 2 3\n4\n5 6 7 8\n", 1, `got "8", want the line's end`},
		"in two":                  {"1 2 3 4\n5 6 7\n8\n", 1, "got the line's end"},
		"two in one line":         {"1 2 3 4 5 6 7 8\n", 0, `got "5 6 7 8", want the line's end`},
		"a number less at first":  {"1 2 3\n5 6 7 8\n", 0, `got "6 7 8", want the line's end`},
		"the line that is missed": {"1 2 3\n4\n5 6 7\n", 1, "got the line's end"},
	} {
		_, refused := Parse([]byte(head("2")+"end_header\n"+c.body), dataset.Options{Strict: true})
		require.ErrorContains(t, refused, c.want, name)
		got, err := Parse([]byte(head("2")+"end_header\n"+c.body), dataset.Options{})
		if c.kept == 0 {
			assert.Equal(t, refused, err, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, c.kept, got.Len(), name)
		assert.Equal(t, "point-lost: 1", strings.Split(fmt.Sprint(got.Notes.Damage()), ",")[0], name)
	}
}

func TestLettersOfEitherCaseAreRead(t *testing.T) {
	want := strict(t, head("2")+"end_header\n1 2 3 4\n5 6 7 -1\n")
	for _, word := range []string{"Vertex", "VERTEX"} {
		text := head("2") + "end_header\n1 2 3 4\n5 6 -1.#IND 8\n"
		for old, now := range map[string]string{"vertex": word, " x": " X", " y": " Y", " z": " Z", "float": "FLOAT", "int": "Int32", "format ascii": "Format ASCII", "element": "ELEMENT", "end_header": "End_Header"} {
			text = strings.ReplaceAll(text, old, now)
		}
		got := strict(t, text)
		assert.Equal(t, want.Names(), got.Names())
		assert.Equal(t, "int32", got.Columns[0].Type)
		assert.Equal(t, cloudtest.Data(t, want.Points)[:5], cloudtest.Data(t, got.Points)[:5])
		assert.Equal(t, 1, got.NotFinite)
	}
	_, err := Parse([]byte(head("0")+"element VERTEX 0\nend_header\n"), dataset.Options{})
	assert.ErrorContains(t, err, "twice")
}

func TestLinesMayEndWithCarriageReturns(t *testing.T) {
	text := head("2") + "end_header\n1 2 3 4\n\n5 6 7 8\n"
	want := strict(t, text)
	cloudtest.Equal(t, want, strict(t, strings.ReplaceAll(text, "\n", "\r")))
	cloudtest.Equal(t, want, strict(t, strings.ReplaceAll(text, "\n", "\r\n")))
	// The data may begin with any byte.
	mac := "ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty uchar x\nproperty uchar y\nproperty uchar z\nend_header\n"
	assert.Equal(t, []float32{10, 13, 10}, cloudtest.Data(t, strict(t, strings.ReplaceAll(mac, "\n", "\r")+"\n\r\n").Points))
}

// Where each point is a line a broken one costs itself alone.
func TestABrokenLineCostsItsPointAlone(t *testing.T) {
	rest := "element face 1\nproperty list uchar int i\nend_header\n"
	for name, c := range map[string]struct {
		body   string
		x      []float32
		damage []string
	}{
		"a number":      {"1 0 0 0\n2 0 x 0\n3 0 0 0\n4 0 0 0\n1 0\n", []float32{1, 3, 4}, []string{"point-lost: 1, 8 bytes"}},
		"one less":      {"1 0 0 0\n2 0 0\n3 0 0 0\n4 0 0 0\n1 0\n", []float32{1, 3, 4}, []string{"point-lost: 1, 6 bytes"}},
		"one more":      {"1 0 0 0\n2 0 0 0\n3 0 0 0 3\n4 0 0 0\n1 0\n", []float32{1, 2, 4}, []string{"point-lost: 1, 10 bytes"}},
		"of the first":  {"1 x 0 0\n2 0 0 0\n3 0 0 0\n4 0 0 0\n1 0\n", []float32{2, 3, 4}, []string{"point-lost: 1, 8 bytes"}},
		"the last":      {"1 0 0 0\n2 0 0 0\n3 0 0 0\n4 0 0\n1 0\n", []float32{1, 2, 3}, []string{"point-lost: 1, 6 bytes"}},
		"a face too":    {"1 0 0 0\n2 0 0\n3 0 0 0\n4 0 0 0\n1 x y\n", []float32{1, 3, 4}, []string{"point-lost: 1, 6 bytes", "row-lost: 1, 6 bytes, got face"}},
		"and a cut":     {"1 0 0 0\n2 0 0\n3 0 0 0\n", []float32{1, 3}, []string{"point-lost: 2, 6 bytes", "row-lost: 1, got face"}},
		"of the middle": {"1 0 0 0\n2 0 0\n3 0 0 0\n4 0 0 1", []float32{1, 3}, []string{"point-lost: 2, 13 bytes", "row-lost: 1, got face"}},
		"of two":        {"1 0 0 0\n2 0 0\n3 0 0 0\n4 0\n1 0\n", []float32{1, 3}, []string{"point-lost: 2, 10 bytes"}},
	} {
		text := head("4") + rest + c.body
		_, refused := Parse([]byte(text), dataset.Options{Strict: true})
		require.Error(t, refused, name)
		got, err := Parse([]byte(text), dataset.Options{})
		require.NoError(t, err, name)
		var x []float32
		for i, v := range cloudtest.Data(t, got.Points) {
			if i%3 == 0 {
				x = append(x, v)
			}
		}
		assert.Equal(t, c.x, x, name)
		require.Len(t, got.Notes.Damage(), len(c.damage), "%s: %v", name, got.Notes.Damage())
		for i, want := range c.damage {
			assert.True(t, strings.HasPrefix(got.Notes.Damage()[i].String(), want), "%s: %v", name, got.Notes.Damage())
		}
		assert.Equal(t, refused, got.Notes.Damage()[0].Cause, name)
		assert.Zero(t, got.Trailing, name)
	}
	_, err := Parse([]byte(head("4")+rest+"1 0 0 0\n2 0 0\n3 0 0\n4 0 0\n1 0\n"), dataset.Options{})
	assert.ErrorContains(t, err, "vertex 1: corrupt", "more are broken than whole")
}

func TestNumbersOfGoSourceAreNone(t *testing.T) {
	for _, word := range []string{"1_0", "0x1p-2", "0x10"} {
		_, err := Parse([]byte(head("1")+"end_header\n1 2 "+word+" 4\n"), dataset.Options{})
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
	}
}

// row is a note of lost rows, as far as the test compares it.
func row(element string, count int) dataset.Note {
	return dataset.Note{Code: dataset.CodeRowLost, Count: count, Detail: dataset.Detail{Got: element}}
}

// The points are given though the faces are not all there, and those are named.
func TestGoodPointsBeforeBadFaces(t *testing.T) {
	text := head("2") + "element face 3\nproperty list uchar int i\nelement edge 2\nproperty int a\nend_header\n1 2 3 4\n5 6 7 8\n"
	for name, c := range map[string]struct {
		body    string
		damage  []dataset.Note
		leftOut dataset.Notes
	}{
		"none":   {"", []dataset.Note{row("face", 3), row("edge", 2)}, nil},
		"cut":    {"3 0 1 1\n3 0 1", []dataset.Note{row("face", 2), row("edge", 2)}, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "face", Count: 1}}},
		"broken": {"3 0 1 1\n3 0 1 1\n-3 0 1\n1\n2\n", []dataset.Note{row("face", 1), row("edge", 2)}, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "face", Count: 2}}},
		"edges":  {"3 0 1 1\n3 0 1 1\n3 0 1 1\n1\n", []dataset.Note{row("edge", 1)}, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "face", Count: 3}, {Code: dataset.CodeNotPoints, Subject: "edge", Count: 1}}},
	} {
		_, refused := Parse([]byte(text+c.body), dataset.Options{Strict: true})
		require.Error(t, refused, name)
		got, err := Parse([]byte(text+c.body), dataset.Options{})
		require.NoError(t, err, name)
		assert.Equal(t, []float32{1, 2, 3, 5, 6, 7}, cloudtest.Data(t, got.Points), name)
		require.Len(t, got.Notes.Damage(), len(c.damage), name)
		for i, want := range c.damage {
			n := got.Notes.Damage()[i]
			assert.Equal(t, want, row(n.Got, n.Count), name)
			assert.Equal(t, dataset.CodeRowLost, n.Code, name)
		}
		assert.Equal(t, refused, got.Notes.Damage()[0].Cause, name)
		assert.Equal(t, c.leftOut, got.Notes.Of(dataset.ClassLeftOut), name)
		assert.Zero(t, got.Trailing)
	}
	// Cut within the last point, of which digits may be missing.
	got, err := Parse([]byte(text[:len(text)-1]), dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, got.Points))
	assert.Contains(t, fmt.Sprint(got.Notes.Damage()), "point-lost: 1, ")
	whole := head("2") + "end_header\n1 2 3 4\n5 6 7 8"
	got, err = Parse([]byte(whole), dataset.Options{Strict: true})
	require.NoError(t, err, "a file's last line may lack its end")
	assert.Equal(t, 2, got.Len())
	_, err = Parse([]byte("ply\nformat ascii 1.0\nelement face 1\nproperty list int int i\nelement vertex 1\nproperty int x\nproperty int y\nproperty int z\nend_header\nx\n1 2 3\n"), dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrCorrupt, "what is before the points is the way to them")
}

// Of every prefix of a file the points that are whole are kept and all else is counted.
func TestWhatIsWholeOfACutFileIsKept(t *testing.T) {
	var ascii, little bytes.Buffer
	points := []float32{1.5, 2, 3, 4, 5.25, 6, 7, 8, 9}
	cloud := func(n int) *dataset.Cloud {
		c, err := dataset.NewCloud(points[:3*n], []float32{10, 1000, 10}[:n], []dataset.Column{{Name: "n", Integer: true}})
		require.NoError(t, err)
		return c
	}
	require.NoError(t, Write(&ascii, cloud(3), Options{ASCII: true}))
	require.NoError(t, Write(&little, cloud(3), Options{}))
	for _, data := range [][]byte{ascii.Bytes(), little.Bytes()} {
		kept := 0
		for n := range len(data) - 1 { // without the last line's end a text is whole
			_, refused := Parse(data[:n], dataset.Options{Strict: true})
			if refused == nil {
				continue // digits of the last number may be missing, and nothing can tell
			}
			c, err := Parse(data[:n], dataset.Options{})
			if err != nil {
				require.Equal(t, refused, err)
				require.Zero(t, kept)
				continue
			}
			kept = c.Len()
			cloudtest.Equal(t, cloud(kept), c)
			assert.Equal(t, 3-kept, c.Notes.Damage()[0].Count)
			assert.Equal(t, [2]int{kept, 1}, [2]int{c.Width, c.Height})
		}
		assert.Equal(t, 2, kept)
	}
	// With elements before and after, lists among the points, and both byte orders.
	for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		format := map[bool]string{true: "binary_little_endian", false: "binary_big_endian"}[o == binary.AppendByteOrder(binary.LittleEndian)]
		text := mesh(format) + binaryMesh(o)
		whole := strict(t, text)
		for n := range len(text) {
			c, err := Parse([]byte(text[:n]), dataset.Options{})
			if err != nil {
				continue
			}
			require.NotEmpty(t, c.Notes.Damage())
			assert.Equal(t, cloudtest.Doubles(t, whole.Points)[:3*1], cloudtest.Doubles(t, c.Points)[:3])
			assert.Equal(t, 1, c.Notes.Damage()[len(c.Notes.Damage())-2].Count, "the face; the rows of nothing follow")
			if c.Len() == 1 {
				assert.Equal(t, 2, c.Inexact, "of the point that is there")
				assert.Zero(t, c.NotFinite)
			}
		}
	}
}
