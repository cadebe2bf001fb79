package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

// streams is an archive that numpy wrote, with streams of every kind.
func streams(t *testing.T) *File {
	f, err := Open("testdata/streams.npz")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func TestStreamsArePairsOfArraysOrRecordsWithAClock(t *testing.T) {
	f := streams(t)
	assert.Equal(t, []string{"imu", "grip", "pose", "image"}, f.StreamNames(), "of two clocks none is the clock")
	e, used, err := f.Episode(EpisodeOptions{Streams: []string{"imu", "grip", "pose"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"imu", "grip.values", "grip.times", "pose.values", "pose.times"}, used)
	for _, s := range e.Streams {
		assert.Equal(t, []int64{0, 1e9, 2e9}, s.Nanoseconds(), s.Name)
		assert.Equal(t, tensor.I64, s.Times.DType(), s.Name)
	}
	imu, grip, pose := e.Streams[0], e.Streams[1], e.Streams[2]
	assert.Equal(t, []dataset.Column{{Name: "acc[0]", Type: "float32"}, {Name: "acc[1]", Type: "float32"}, {Name: "acc[2]", Type: "float32"}, {Name: "mode", Type: "uint8", Integer: true}}, imu.Columns)
	assert.Equal(t, []float32{0, 1, 2, 1, 3, 4, 5, 1, 6, 7, 8, 2}, data[float32](t, imu.Values, nil))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeValueType, Subject: "imu.label", Count: 3, Detail: dataset.Detail{Got: "str of 3"}}}, e.Notes)
	assert.Equal(t, []dataset.Column{{Name: "0", Type: "int64", Integer: true}}, grip.Columns)
	assert.Equal(t, []float64{0, 1, 1 << 53}, data[float64](t, grip.Values, nil), "values [S] are one column")
	assert.Equal(t, 1, grip.Inexact)
	assert.Equal(t, []string{"x", "n"}, pose.ColumnNames())
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, data[float64](t, pose.Values, nil))
	for _, c := range []struct{ stream, says string }{{"image", "uint8 [3,2,2,3]"}, {"two", "got records (t, time, v) [3], t, time"}, {"boxes", "imu"}, {"words", "imu"}} {
		_, _, err := f.Episode(EpisodeOptions{Streams: []string{c.stream}})
		assert.ErrorContains(t, err, c.says)
	}
	_, _, err = f.Episode(EpisodeOptions{Streams: []string{"image"}})
	var bad *StreamError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "image.values", bad.Array)
	e, _, err = f.Episode(EpisodeOptions{})
	require.NoError(t, err, "an image among them costs nothing but itself")
	assert.Equal(t, []string{"imu", "grip", "pose"}, e.Names())
	left := reasons(e)
	assert.Contains(t, left["image"], "array image.values: got uint8 [3,2,2,3], want [S,D]")
	assert.Equal(t, "clock-field: got records (t, time, v) [3], t, time", left["two"])
	assert.Empty(t, e.Notes.Damage())
}

// npyOf is an array of a descr and a shape, of zeros or of what is given.
func npyOf(descr, shape string, data ...byte) string {
	h := "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(h)))) + h + string(data)
}

func TestWhichRecordsAreAStream(t *testing.T) {
	for fields, clock := range map[string]string{
		"('t', '<f8')": "t", "('v', '<f8')": "", "('time', '<i8'), ('v', '<f4')": "time", "('timestamp', '<M8[ns]')": "timestamp", "('timestamps', '<u8')": "timestamps",
		"('times', '<f4')": "times", "('stamp', '<m8[us]')": "stamp", "('Time', '<f8')": "", "('t', '<f8'), ('stamp', '<f8')": "", "('t', '<i4')": "", "('t', '<U3')": "",
		"('t', '<f8', (3,))": "", "('pose', [('t', '<f8')])": "", "('t', '<M8')": "",
	} {
		f := read(t, archive(t, zip.Store, "a.npy", npyOf("["+fields+"]", "(0,)"), "b.npy", npyOf("["+fields+"]", "(0, 2)"), "c.npy", npyOf("["+fields+"]", "(0,)"), "c.values.npy", oneArray(t)))
		h, err := f.Header("a")
		require.NoError(t, err)
		got, _ := clockOf(&h)
		assert.Equal(t, clock, got, fields)
		want := []string{"a"}
		if clock == "" {
			want = nil
		}
		assert.Equal(t, want, f.StreamNames(), "%s: rank 2 is none, and NAME.values goes before", fields)
	}
}

func TestStreamsWithoutSamplesAreStreams(t *testing.T) {
	f := read(t, archive(t, zip.Deflate, "a.values.npy", npyOf("'<f4'", "(0, 3)"), "a.times.npy", npyOf("'<i8'", "(0,)"),
		"b.values.npy", npyOf("'|u1'", "(0,)"), "b.times.npy", npyOf("'<M8[s]'", "(0,)"), "c.npy", npyOf("[('t', '<f8'), ('x', '<f4')]", "(0,)"),
		"wide.values.npy", npyOf("'<f4'", "(0, 1152921504606846976)"), "wide.times.npy", npyOf("'<i8'", "(0,)"),
		"thin.values.npy", npyOf("'<f4'", "(0, 0)"), "thin.times.npy", npyOf("'<i8'", "(0,)")))
	e, _, err := f.Episode(EpisodeOptions{Streams: []string{"a", "b", "c"}})
	require.NoError(t, err)
	for i, d := range []int{3, 1, 1} {
		assert.Equal(t, []int{0, d}, e.Streams[i].Values.Shape())
		assert.Zero(t, e.Streams[i].Len())
	}
	for name, says := range map[string]string{"wide": "columns", "thin": "at least one feature"} {
		_, _, err := f.Episode(EpisodeOptions{Streams: []string{name}})
		assert.ErrorContains(t, err, says)
	}
}

func TestColumnsNameTheFeaturesOfNumbers(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Options{})
	require.NoError(t, w.Add("a.values", tensor.Must(tensor.Of([]uint8{1, 0, 1, 1}, 2, 2))))
	require.NoError(t, w.Add("a.times", tensor.Must(tensor.Of([]float64{0, 1}, 2))))
	require.NoError(t, w.AddStrings("a.columns", []string{"open", "held"}))
	require.NoError(t, w.Add("b.values", tensor.Must(tensor.Of([]tensor.BFloat16{0x3f80, 0x4000}, 2))))
	require.NoError(t, w.Add("b.times", tensor.Must(tensor.Of([]float64{0, 1}, 2))))
	require.NoError(t, w.Close())
	e, used, err := read(t, b.Bytes()).Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Equal(t, []dataset.Column{{Name: "open", Type: "uint8", Integer: true}, {Name: "held", Type: "uint8", Integer: true}}, e.Streams[0].Columns)
	assert.Contains(t, used, "a.columns")
	assert.Equal(t, "uint16", e.Streams[1].Columns[0].Type, "bf16 is stored so")
	assert.Equal(t, []float32{0x3f80, 0x4000}, data[float32](t, e.Streams[1].Values, nil))
	e, _, err = read(t, b.Bytes()).Episode(EpisodeOptions{BF16: true})
	require.NoError(t, err)
	assert.Equal(t, tensor.F32, e.Streams[0].Values.DType())
	assert.Equal(t, []dataset.Column{{Name: "0", Type: "bf16"}}, e.Streams[1].Columns)
	assert.Equal(t, []tensor.BFloat16{0x3f80, 0x4000}, data[tensor.BFloat16](t, e.Streams[1].Values, nil))
}

func TestArchivesThatWereWrittenToAPipeRead(t *testing.T) {
	for _, name := range []string{"piped", "piped_deflated"} {
		f, err := Open("testdata/" + name + ".npz")
		require.NoError(t, err)
		v, err := f.Tensor("values")
		assert.Equal(t, []float64{0, 1, 2, 3}, data[float64](t, v, err), name)
		require.NoError(t, f.Close())
	}
}

func TestTableTimesAndCloudNameTheirMember(t *testing.T) {
	f := streams(t)
	for _, read := range []func(string) error{
		func(n string) error { _, err := f.Table(n, npy.TableOptions{}); return err },
		func(n string) error { _, err := f.Times(n); return err },
		func(n string) error { _, err := f.Cloud(n); return err },
	} {
		var bad *dataset.FormatError
		require.ErrorAs(t, read("words"), &bad)
		assert.True(t, strings.HasSuffix(bad.Path, "streams.npz:words.npy"), bad.Path)
		assert.ErrorIs(t, bad, dataset.ErrUnsupported)
	}
}

func TestRowsThatAreNotValidAreNoSamples(t *testing.T) {
	values := npyOf("'<f4'", "(3,)", 0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 64)
	times := npyOf("'<i8'", "(3,)", 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0)
	for _, c := range []struct {
		mask    string
		want    []int64
		invalid int
		left    string
	}{
		{npyOf("'|b1'", "(3,)", 1, 0, 1), []int64{1, 3}, 1, ""},
		{npyOf("'|u1'", "(3,)", 0, 0, 0), nil, 3, ""},
		{npyOf("'|u1'", "(3,)", 1, 1, 1), []int64{1, 2, 3}, 0, ""},
		{npyOf("'|u1'", "(3,)", 1, 7, 1), []int64{1, 2, 3}, 0, "7 at 1"},
		{npyOf("'|u1'", "(1, 3)", 1, 0, 1), []int64{1, 2, 3}, 0, "uint8 [1,3]"},
		{npyOf("'<i2'", "(1,)", 1, 0), []int64{1, 2, 3}, 0, "int16 [1]"},
	} {
		e, used, err := read(t, archive(t, zip.Store, "a.values.npy", values, "a.times.npy", times, "a.valid.npy", c.mask)).Episode(EpisodeOptions{Strict: true})
		require.NoError(t, err)
		assert.Equal(t, c.want, e.Streams[0].Nanoseconds())
		require.NoError(t, e.Streams[0].Check())
		var want dataset.Notes
		if c.left != "" {
			want = append(want, dataset.Note{Code: dataset.CodeMask, Subject: "a.valid", Detail: dataset.Detail{Got: c.left}})
		}
		if c.invalid > 0 {
			want = append(want, dataset.Note{Code: dataset.CodeRowsNotValid, Subject: "a", Count: c.invalid})
		}
		assert.Equal(t, want, e.Notes)
		assert.Contains(t, used, "a.valid")
	}
	f := read(t, archive(t, zip.Store, "a.values.npy", values, "a.times.npy", times, "a.valid.npy", npyOf("'|u1'", "(2,)", 1, 1)))
	_, _, err := f.Episode(EpisodeOptions{Strict: true})
	require.ErrorIs(t, err, dataset.ErrShape)
	assert.ErrorContains(t, err, "array a.valid: got [2], want [3], one flag a sample")
	e, _, err := f.Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Empty(t, e.Streams)
	assert.Equal(t, []any{dataset.CodeArrayMismatch, "a"}, []any{e.Notes[0].Code, e.Notes[0].Subject})
}
