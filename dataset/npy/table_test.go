package npy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

func golden[T any](t *testing.T, name string) map[string]T {
	text := filetest.Read(t, "testdata/"+name+".json")
	var all map[string]T
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	return all
}

func times(t *testing.T, b []byte) []int64 {
	got, err := ReadTimes(bytes.NewReader(b))
	require.NoError(t, err)
	list, err := tensor.Data[int64](got)
	require.NoError(t, err)
	return list
}

func TestDatesAndTimesOfNumpyAreExactNanoseconds(t *testing.T) {
	for name, want := range golden[[]int64](t, "times") {
		assert.Equal(t, want, times(t, file(t, name)), name)
		_, err := Read(bytes.NewReader(file(t, name)))
		assert.ErrorIs(t, err, dataset.ErrUnsupported, "Read gives no times")
	}
}

func TestClocksAreTakenAsTheyAreOrRefusedByName(t *testing.T) {
	assert.Equal(t, []int64{0, 1 << 62}, times(t, npyFile(head("<u8", "(2,)"), append(make([]byte, 15), 0x40)...)))
	for _, name := range []string{"f4_big", "f4_little", "f8_big", "f8_little", "i8_big", "i8_little", "fortran2"} {
		want, err := Read(bytes.NewReader(file(t, name)))
		require.NoError(t, err)
		got, err := ReadTimes(bytes.NewReader(file(t, name)))
		require.NoError(t, err)
		assert.Equal(t, hexBits(t, want), hexBits(t, got), name)
	}
	for name, says := range map[string]string{
		"bad_nat": "NaT at index 1", "bad_far": "1000000000000 s at index 1", "bad_stamp": "4611686018427387905 at index 1",
		"bad_unitless": "<m8", "bad_months": "<M8[M]", "i4_little": "<i4", "u4_little": "<u4", "f2_little": "<f2", "b1_little": "|b1", "strings": "<U4", "bad_struct": "records (x, y)",
	} {
		_, err := ReadTimes(bytes.NewReader(file(t, name)))
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
		assert.Contains(t, bad.Got, says, name)
		if strings.Contains(says, "index") {
			assert.Equal(t, int64(128+8), bad.Offset, name)
		}
	}
	for _, unit := range []string{"0s", "99999999999999999999s", "-1s", "1000000W", "sec", "s/4", "us]x["} {
		_, err := ReadTimes(bytes.NewReader(npyFile(head("<M8["+unit+"]", "(1,)"), make([]byte, 8)...)))
		assert.ErrorIs(t, err, dataset.ErrUnsupported, unit)
	}
}

func head(descr, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}"
}

func recordFile(descr, shape string, data ...byte) []byte {
	return npyFile("{'descr': "+descr+", 'fortran_order': False, 'shape': "+shape+"}", data...)
}

func TestWholeNumbersBecomeFloatsThatHoldThem(t *testing.T) {
	for _, code := range []string{"i1", "u1", "b1", "i2", "u2", "i4", "u4", "i8", "u8"} {
		for _, order := range []string{"little", "big"} {
			if code[1] == '1' && order == "big" {
				continue
			}
			name := code + "_" + order
			want, err := Read(bytes.NewReader(file(t, name)))
			require.NoError(t, err)
			whole, err := tensor.Floats(want)
			require.NoError(t, err)
			got, err := ReadTable(bytes.NewReader(file(t, name)), TableOptions{})
			require.NoError(t, err, name)
			dtype := tensor.F64
			if code[1] <= '2' {
				dtype = tensor.F32
			}
			assert.Equal(t, dtype, got.Values.DType(), name)
			assert.Equal(t, []int{len(whole), 1}, got.Values.Shape(), "an array of rank 1 is one column")
			floats, err := tensor.Floats(got.Values)
			require.NoError(t, err)
			assert.Equal(t, whole, floats, name)
			h, err := ReadHeader(bytes.NewReader(file(t, name)))
			require.NoError(t, err)
			assert.Equal(t, []dataset.Column{{Name: "0", Type: h.Type(), Integer: true}}, got.Columns, name)
			assert.Equal(t, map[bool]int{true: 1}[code == "i8" || code == "u8"], got.Inexact, "%s: 2^63-1", name)
		}
	}
	got, err := ReadTable(bytes.NewReader(file(t, "f2_little")), TableOptions{BF16: true})
	require.NoError(t, err)
	assert.Equal(t, tensor.F16, got.Values.DType(), "floats stay as they are")
	assert.False(t, got.Columns[0].Integer)
	got, err = ReadTable(bytes.NewReader(file(t, "u2_little")), TableOptions{BF16: true})
	require.NoError(t, err)
	assert.Equal(t, tensor.BF16, got.Values.DType())
	assert.Equal(t, dataset.Column{Name: "0", Type: "bf16"}, got.Columns[0])
	got, err = ReadTable(bytes.NewReader(file(t, "rank3")), TableOptions{})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3, 4}, got.Values.Shape())
	assert.Len(t, got.Columns, 4)
}

func TestRecordsOfNumpyAreColumnsByName(t *testing.T) {
	type layout struct {
		Columns, Types []string
		Wide           bool
		Values         [][]float64
		LeftOut        []string `json:"left_out"`
		Inexact        int
	}
	for name, want := range golden[layout](t, "records") {
		got, err := ReadTable(bytes.NewReader(file(t, name)), TableOptions{})
		require.NoError(t, err, name)
		var names, types []string
		for _, c := range got.Columns {
			names, types = append(names, c.Name), append(types, c.Type)
			assert.Equal(t, !strings.HasPrefix(c.Type, "float"), c.Integer, "%s: %s", name, c.Name)
		}
		assert.Equal(t, want.Columns, names, name)
		assert.Equal(t, want.Types, types, name)
		assert.Equal(t, map[bool]tensor.DType{false: tensor.F32, true: tensor.F64}[want.Wide], got.Values.DType(), name)
		floats, err := tensor.Floats(got.Values)
		require.NoError(t, err)
		var rows []float64
		for _, row := range want.Values {
			rows = append(rows, row...)
		}
		assert.Equal(t, rows, floats, name)
		var left []string
		for _, l := range got.Notes {
			left = append(left, l.Subject)
			assert.Equal(t, 5, l.Count)
			assert.Contains(t, []dataset.Code{dataset.CodeValueType, dataset.CodeTooWide}, l.Code)
		}
		assert.ElementsMatch(t, want.LeftOut, left, name)
		assert.Equal(t, want.Inexact, got.Inexact, name)
	}
}

func TestAFieldIsTheClockOfItsRecords(t *testing.T) {
	got, err := ReadTable(bytes.NewReader(file(t, "records_titled")), TableOptions{Clock: "t"})
	require.NoError(t, err)
	list, err := tensor.Data[int64](got.Times)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 1000, 2000, 3000, 4000}, list)
	assert.Empty(t, got.Notes)
	assert.Equal(t, "v", got.Columns[0].Name)
	got, err = ReadTable(bytes.NewReader(file(t, "records_big")), TableOptions{Clock: "t"})
	require.NoError(t, err)
	assert.Equal(t, tensor.F64, got.Times.DType())
	data := binary.LittleEndian.AppendUint32(make([]byte, 4), math.Float32bits(1.5))
	got, err = ReadTable(bytes.NewReader(recordFile("[('t', '<f4')]", "(2,)", data...)), TableOptions{Clock: "t"})
	require.NoError(t, err)
	assert.Equal(t, []string{"00000000", "3fc00000"}, hexBits(t, got.Times))
	assert.Equal(t, []int{2, 0}, got.Values.Shape(), "a clock alone has no columns")
	for clock, says := range map[string]string{"none": "records (t, name", "name": "name str of 4"} {
		_, err = ReadTable(bytes.NewReader(file(t, "records_other")), TableOptions{Clock: clock})
		assert.ErrorContains(t, err, says)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
	}
	nat := recordFile("[('a', '|u1'), ('t', '<M8[s]')]", "(2,)", append(make([]byte, 17), 0x80)...)
	_, err = ReadTable(bytes.NewReader(nat), TableOptions{Clock: "t"})
	var bad *dataset.FormatError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "NaT at index 1", bad.Got)
	assert.Equal(t, int64(len(nat)-8), bad.Offset)
	_, err = ReadTable(bytes.NewReader(file(t, "rank3")), TableOptions{Clock: "t"})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

func TestRecordsOfPointsAreACloud(t *testing.T) {
	for _, name := range []string{"cloud", "cloud_fortran"} {
		c, err := ReadCloud(bytes.NewReader(file(t, name)))
		require.NoError(t, err, name)
		require.NoError(t, c.Check())
		assert.Equal(t, []int{3, 2}, []int{c.Width, c.Height}, name)
		points, err := tensor.Data[float32](c.Points)
		require.NoError(t, err)
		assert.Equal(t, []float32{0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24, 5, 15, 25}, points, name)
		assert.Equal(t, []string{"red", "green", "blue", "ring"}, c.Names(), name)
		features, err := tensor.Data[float32](c.Features)
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3, 35}, features[20:], name)
	}
	data := make([]byte, 24)
	c, err := ReadCloud(bytes.NewReader(recordFile("[('z', '<f8'), ('y', '<f4'), ('label', '|S4'), ('x', '<i8')]", "(1,)", data...)))
	require.NoError(t, err)
	assert.Equal(t, tensor.F64, c.Points.DType())
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeValueType, Subject: "label", Count: 1, Detail: dataset.Detail{Got: "bytes of 4"}}}, c.Notes)
	c, err = ReadCloud(bytes.NewReader(recordFile("[('x', '<f4'), ('y', '<f4'), ('z', '<f4')]", "(0, 4611686018427387904)")))
	require.NoError(t, err)
	assert.Zero(t, c.Len())
	for _, b := range [][]byte{recordFile("[('x', '<f4'), ('y', '<f4')]", "(1,)", data[:8]...), recordFile("[('x', '<f4'), ('y', '<f4'), ('z', '<f4')]", "(1, 1, 1)", data[:12]...), file(t, "rank3")} {
		_, err := ReadCloud(bytes.NewReader(b))
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
	}
}

func TestRecordsThatBreakTheFormatAreErrors(t *testing.T) {
	for descr, kind := range map[string]error{
		"[('x', '<f4'), ('x', '<f4')]":       dataset.ErrCorrupt, // numpy takes no name twice
		"[('x', '<f4') ('y', '<f4')]":        dataset.ErrCorrupt,
		"['x']":                              dataset.ErrCorrupt,
		"[('x',)]":                           dataset.ErrCorrupt,
		"[('x', '<f4', 3)]":                  dataset.ErrCorrupt,
		"[('x', '<f4', (3,), 1)]":            dataset.ErrCorrupt,
		"[('x', ('<f4', (2,)), (2,))]":       dataset.ErrCorrupt,
		"[(('t', 'x', 'y'), '<f4')]":         dataset.ErrCorrupt,
		"[(('t', ), '<f4')]":                 dataset.ErrCorrupt,
		"[((1, 'x'), '<f4')]":                dataset.ErrCorrupt,
		`[('\q', '<f4')]`:                    dataset.ErrCorrupt,
		`[('\x1', '<f4')]`:                   dataset.ErrCorrupt,
		`[('\U00ffffff', '<f4')]`:            dataset.ErrCorrupt,
		"[('x', '<f4')":                      dataset.ErrCorrupt,
		"('<f4', (2,)":                       dataset.ErrCorrupt,
		"('<f4', (2,))":                      dataset.ErrUnsupported,
		"[('x', '|O')]":                      dataset.ErrUnsupported,
		"[('x', '<f4'), ('y', [('z','O')])]": dataset.ErrUnsupported,
		"[]":                                 dataset.ErrUnsupported, // elements of no bytes
		"[('x', '<f4', (0,))]":               dataset.ErrUnsupported,
		"[('x', '<f8', (2147483647,))]":      dataset.ErrTooLarge,
		"[('x', '<f8', (65536, 65536))]":     dataset.ErrTooLarge,
		"[('x', '|S0', (9223372036854775807,)), ('y', '|u1')]":             dataset.ErrTooLarge,
		"[('x', '<f4', (" + strings.Repeat("1,", 65) + "))]":               dataset.ErrTooLarge,
		strings.Repeat("[('x', ", 40) + "'<f4'" + strings.Repeat(")]", 40): dataset.ErrTooLarge,
		strings.Repeat("(", 40):                                            dataset.ErrTooLarge,
	} {
		for _, read := range []func([]byte) error{
			func(b []byte) error { _, err := ReadTable(bytes.NewReader(b), TableOptions{}); return err },
			func(b []byte) error { _, err := ReadCloud(bytes.NewReader(b)); return err },
		} {
			err := read(recordFile(descr, "(1,)", make([]byte, 64)...))
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad, descr)
			assert.ErrorIs(t, err, kind, descr)
		}
	}
	_, err := ReadTable(bytes.NewReader(recordFile("[('x', '<f4')]", "(3,)", 1, 2, 3, 4, 5)), TableOptions{})
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	_, err = ReadTable(bytes.NewReader(recordFile("[('x', '<f4')]", "(1, 1)", 1, 2, 3, 4)), TableOptions{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	_, err = ReadTable(bytes.NewReader(npyFile(head("<f4", "(0, 1000000000000)"))), TableOptions{})
	assert.ErrorIs(t, err, dataset.ErrTooLarge, "columns without rows")
}

// A header of 64 KiB has room for fields that would be millions of columns, each of a long name.
func TestFieldsGrowWithTheHeaderNotWithWhatItSays(t *testing.T) {
	long := strings.Repeat("n", 1000)
	field := func(name, typ, shape string) string { return fmt.Sprintf("('%s', %s, %s)", name, typ, shape) }
	var many strings.Builder
	for i := range 3000 {
		many.WriteString(field(fmt.Sprint("e", i), "'<f4'", "(0,)") + ",")
	}
	deep := "'|u1'"
	for range 20 {
		deep = "[" + field(long, deep, "(2,)") + "]"
	}
	for _, descr := range []string{
		"[" + field("image", "'|u1'", "(1080, 1920, 3)") + ",('t', '<f8')]",
		"[" + field(long+long, "'|u1'", "(4096,)") + "]",
		"[" + field("a", "["+many.String()+"('x','|u1')]", "(4000,)") + ",('t', '<f8')]",
		"[" + many.String() + field("a", "[('', '|V1'),('', '|V1')]", "(100000000,)") + "]",
		deep,
	} {
		b := recordFile(descr, "(100000000,)", make([]byte, 1000)...)
		h, err := ReadHeader(bytes.NewReader(b))
		if err == nil {
			total := 0
			for _, f := range h.Fields {
				total += len(f.Name)
			}
			assert.Less(t, len(h.Fields), 8000)
			assert.Less(t, total, 8<<20)
		}
		_, err = ReadTable(bytes.NewReader(b), TableOptions{})
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
	}
	got, err := ReadTable(bytes.NewReader(recordFile("[('image', '|u1', (65, 64)), ('v', '|u1')]", "(1,)", make([]byte, 65*64+1)...)), TableOptions{})
	require.NoError(t, err)
	assert.Len(t, got.Columns, 1)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeTooWide, Subject: "image", Count: 1, Detail: dataset.Detail{Want: "4096", Unit: "numbers a record"}}}, got.Notes)
}
