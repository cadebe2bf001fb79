package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// npyFile makes a version 1.0 file of a header's text and data.
func npyFile(header string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), data...)
}

func TestHeadersThatNumpyWroteOverTheYearsAreTaken(t *testing.T) {
	for text, shape := range map[string][]int{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }          \n": {1, 2},
		"{'shape': (2L, 1L), 'fortran_order': False, 'descr': '<f4'}\n":           {2, 1},
		`{"descr":"<f4","fortran_order":False,"shape":(2,)}`:                      {2},
		"{ 'descr' : '<f4' ,\t'fortran_order' : True , 'shape' : ( 2 , ) }":       {2},
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 1,)}":           {2, 1, 1},
	} {
		v, err := Read(bytes.NewReader(npyFile(text, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40)))
		require.NoError(t, err, text)
		assert.Equal(t, shape, v.Shape(), text)
		assert.Equal(t, []string{"3f800000", "40000000"}, hexBits(t, v), text)
	}
}

func TestWhatBreaksTheFormatIsAnErrorWithItsPlace(t *testing.T) {
	head := func(descr, shape string) string {
		return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}"
	}
	cases := []struct {
		name   string
		file   []byte
		kind   error
		offset int64 // -1: not checked
	}{
		{"nothing", nil, dataset.ErrTruncated, 0},
		{"other magic", []byte("PK\x03\x04 and more"), dataset.ErrCorrupt, 0},
		{"version 4", append([]byte(magic), 4, 0, 0, 0), dataset.ErrUnsupported, 6},
		{"version 1.1", append([]byte(magic), 1, 1, 0, 0), dataset.ErrUnsupported, 6},
		{"cut in the length", append([]byte(magic), 2, 0, 0, 0), dataset.ErrTruncated, 10},
		{"header of 4 GiB", append([]byte(magic), 2, 0, 0xff, 0xff, 0xff, 0xff), dataset.ErrTooLarge, 8},
		{"cut in the header", npyFile(head("<f4", "(1,)"))[:30], dataset.ErrTruncated, 30},
		{"no dictionary", npyFile("[]"), dataset.ErrCorrupt, 10},
		{"no colon", npyFile("{'descr' '<f4'}"), dataset.ErrCorrupt, 19},
		{"open string", npyFile("{'descr"), dataset.ErrCorrupt, 11},
		{"open value", npyFile("{'descr': '<f4"), dataset.ErrCorrupt, 20},
		{"unknown key", npyFile("{'what': 1}"), dataset.ErrCorrupt, 11},
		{"key twice", npyFile("{'descr': '<f4', 'descr': '<f4'}"), dataset.ErrCorrupt, -1},
		{"key missing", npyFile("{'descr': '<f4', 'shape': (1,)}"), dataset.ErrCorrupt, -1},
		{"truth of 1", npyFile("{'fortran_order': 1}"), dataset.ErrCorrupt, 28},
		{"shape of a number", npyFile(head("<f4", "3")), dataset.ErrCorrupt, -1},
		{"shape without comma", npyFile(head("<f4", "(3)")), dataset.ErrCorrupt, -1},
		{"negative dimension", npyFile(head("<f4", "(-3,)")), dataset.ErrCorrupt, -1},
		{"huge dimension", npyFile(head("<f4", "(99999999999999999999,)")), dataset.ErrCorrupt, -1},
		{"open shape", npyFile(head("<f4", "(3, 4")[:50]), dataset.ErrCorrupt, -1},
		{"no comma between keys", npyFile("{'descr': '<f4' 'shape': (1,)}"), dataset.ErrCorrupt, 26},
		{"text after the dictionary", npyFile(head("<f4", "(1,)") + " x"), dataset.ErrCorrupt, -1},
		{"no type", npyFile(head("", "(1,)")), dataset.ErrUnsupported, 10},
		{"type of a letter", npyFile(head("<f", "(1,)")), dataset.ErrUnsupported, 10},
		{"f3", npyFile(head("<f3", "(1,)"), 1, 2, 3), dataset.ErrUnsupported, -1},
		{"f16", npyFile(head("<f16", "(1,)")), dataset.ErrUnsupported, -1},
		{"f-4", npyFile(head("<f-4", "(1,)")), dataset.ErrUnsupported, 10},
		{"elements of no bytes", npyFile(head("<U0", "(1000000000000,)")), dataset.ErrUnsupported, 10},
		{"endless strings", npyFile(head("<U2147483648", "(1,)")), dataset.ErrTooLarge, 10},
		{"product above 2^62", npyFile(head("<f4", "(4294967296, 4294967296)")), dataset.ErrTooLarge, 10},
		{"bytes above 2^62", npyFile(head("<f8", "(4611686018427387904,)")), dataset.ErrTooLarge, 10},
		{"rank 65", npyFile(head("<f4", "("+strings.Repeat("1,", 65)+")")), dataset.ErrUnsupported, 10},
		{"cut in the data", npyFile(head("<f4", "(3,)"), 1, 2, 3, 4, 5), dataset.ErrTruncated, -1},
		{"data far too short", npyFile(head("<f8", "(1000000000000,)"), 1, 2, 3), dataset.ErrTruncated, -1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(c.file))
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			assert.ErrorIs(t, err, c.kind, err)
			if c.kind == dataset.ErrTruncated {
				assert.Equal(t, int64(len(c.file)), bad.Offset)
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			}
			if c.offset >= 0 {
				assert.Equal(t, c.offset, bad.Offset)
			}
			_, err = ReadStrings(bytes.NewReader(c.file))
			assert.Error(t, err)
		})
	}
	for _, c := range []uint32{0xd800, 0x110000, 0xffffffff} {
		_, err := ReadStrings(bytes.NewReader(npyFile(head("<U1", "(1,)"), binary.LittleEndian.AppendUint32(nil, c)...)))
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
	}
	_, err := ReadStrings(bytes.NewReader(npyFile(head("<U1", "(1,1)"), 0, 0, 0, 0)))
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	_, err = Read(failing{})
	assert.ErrorIs(t, err, errDisk, "an error of the reader is not the file's")
}

func TestMemoryGrowsWithTheDataNotWithTheHeader(t *testing.T) {
	for _, h := range []string{"{'descr': '<f8', 'fortran_order': True, 'shape': (1000000, 1000000)}", "{'descr': '|i1', 'fortran_order': False, 'shape': (4000000000,)}",
		"{'descr': '<U1000000000', 'fortran_order': False, 'shape': (3,)}", "{'descr': '|S1', 'fortran_order': False, 'shape': (4000000000,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904)}"} {
		data := npyFile(h, make([]byte, 100_000)...)
		for _, read := range []func() error{
			func() error { _, err := Read(struct{ io.Reader }{bytes.NewReader(data)}); return err },
			func() error { _, err := Read(bytes.NewReader(data)); return err },
			func() error { _, err := ReadStrings(bytes.NewReader(data)); return err },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = read()
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+20*len(data)), h)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.npy")
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Add(npyFile("{'descr': '<f8', 'fortran_order': True, 'shape': (1000000, 1000000)}"))
	f.Add(npyFile(noColumns))
	f.Add(recordFile("[('t', '<M8[us]'), ('a', [('x', '<f2', (2, 2)), ('', '|V3'), ('b', '|b1')], (3,))]", "(1,)", make([]byte, 44)...))
	f.Add(recordFile(`[(('title', '\x41\u00e9'), '>i2', (4000,)), ('n', [('n', [('n', '|S0')])], (0,))]`, "(0,)"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, err := ReadStrings(bytes.NewReader(data)); err == nil {
			var b bytes.Buffer
			_ = WriteStrings(&b, list)
		}
		_, _ = ReadBF16(bytes.NewReader(data))
		everyReader(t, data)
		v, err := Read(bytes.NewReader(data))
		if err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			return
		}
		var b bytes.Buffer
		require.NoError(t, Write(&b, v))
		again, err := Read(&b)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(v), fmt.Sprint(again))
		require.Equal(t, hexBits(t, v), hexBits(t, again))
	})
}

// everyReader reads a file as times, as features and as points: what comes is whole, or the error says where it is not.
func everyReader(t *testing.T, data []byte) {
	typed := func(err error) bool {
		var bad *dataset.FormatError
		if err != nil {
			require.ErrorAs(t, err, &bad)
		}
		return err == nil
	}
	_, err := ReadTimes(bytes.NewReader(data))
	typed(err)
	if c, err := ReadCloud(bytes.NewReader(data)); typed(err) {
		require.NoError(t, c.Check())
	}
	h, err := ReadHeader(bytes.NewReader(data))
	if !typed(err) {
		return
	}
	_ = h.String()
	clocks := []string{""}
	if len(h.Fields) > 0 {
		clocks = append(clocks, h.Fields[0].Name)
	}
	for _, clock := range clocks {
		table, err := ReadTable(bytes.NewReader(data), TableOptions{Clock: clock, BF16: clock == ""})
		if !typed(err) {
			continue
		}
		if r := table.Values.Rank(); r > 0 {
			require.Len(t, table.Columns, table.Values.Dim(r-1))
		}
		if clock != "" {
			require.Equal(t, table.Values.Dim(0), table.Times.Len())
		}
	}
}

// noColumns has more rows than anybody can count, of nothing.
const noColumns = "{'descr': [('x','<f4'),('y','<f4'),('z','<f4')], 'fortran_order': True, 'shape': (4611686018427387904, 0)}"

func TestRowsOfNothingTakeNoTime(t *testing.T) {
	done := make(chan error, 1)
	go func() {
		_, err := ReadCloud(bytes.NewReader(npyFile(noColumns)))
		done <- err
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still going over them")
	}
}

func TestHeaderOfObjects(t *testing.T) {
	data := filetest.Read(t, "testdata/bad_object.npy")
	r := bytes.NewReader(data)
	_, err := ReadObjectHeader(r)
	require.NoError(t, err)
	assert.Equal(t, byte(0x80), data[len(data)-r.Len()], "where the pickle begins")
	data = filetest.Read(t, "testdata/f4_little.npy")
	_, err = ReadObjectHeader(bytes.NewReader(data))
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}
