package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// golden is what scripts/gen_safetensors_golden.py says is in testdata.
type golden struct {
	Files map[string]map[string]struct {
		DType string
		Shape []int
		Bits  []string
	}
	Sums map[string]float64
}

func want(t *testing.T) (g golden) {
	text := filetest.Read(t, "testdata/want.json")
	require.NoError(t, json.Unmarshal(text, &g))
	return g
}

func opened(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(filepath.Join("testdata", name+".safetensors"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// bitsOf returns the elements as hexadecimal bits.
func bitsOf(t *testing.T, v *tensor.Tensor) []string {
	t.Helper()
	list := []string{}
	put := func(width int, bits uint64) { list = append(list, fmt.Sprintf("%0*x", width, bits)) }
	switch v.DType() {
	case tensor.F64:
		each(t, v, func(x float64) { put(16, math.Float64bits(x)) })
	case tensor.F32:
		each(t, v, func(x float32) { put(8, uint64(math.Float32bits(x))) })
	case tensor.F16:
		each(t, v, func(x tensor.Float16) { put(4, uint64(x)) })
	case tensor.BF16:
		each(t, v, func(x tensor.BFloat16) { put(4, uint64(x)) })
	case tensor.I64:
		each(t, v, func(x int64) { put(16, uint64(x)) })
	case tensor.I32:
		each(t, v, func(x int32) { put(8, uint64(uint32(x))) })
	default:
		each(t, v, func(x uint8) { put(2, uint64(x)) })
	}
	return list
}

func each[T tensor.Element](t *testing.T, v *tensor.Tensor, f func(T)) {
	data, err := tensor.Data[T](v)
	require.NoError(t, err)
	for _, x := range data {
		f(x)
	}
}

func TestEveryDTypeIsReadBitForBit(t *testing.T) {
	for file, tensors := range want(t).Files {
		f := opened(t, file)
		require.Len(t, f.Names(), len(tensors), file)
		for name, w := range tensors {
			h, err := f.Header(name)
			require.NoError(t, err)
			assert.Equal(t, w.DType, h.DType, name)
			assert.Equal(t, w.Shape, h.Shape, name)
			v, err := f.Tensor(name)
			require.NoError(t, err, name)
			assert.Equal(t, w.Shape, v.Shape(), name)
			assert.Equal(t, w.Bits, bitsOf(t, v), name)
		}
	}
	f := opened(t, "kinds")
	assert.Equal(t, []string{"f64", "i64", "u64", "f32", "i32", "u32", "f16", "bf16", "i16", "u16", "i8", "u8", "bool", "scalar", "empty", "Prüfung \"a/b\"\\ 机"}, f.Names(), "in the header's order")
	assert.Equal(t, map[string]string{"format": "np", "note": "two\nlines, \"quoted\""}, f.Metadata())
	h, err := f.Header("u8")
	require.NoError(t, err)
	assert.Equal(t, "U8 [1,2,3]", h.String())
	h.Shape[0] = 9
	v, err := f.Tensor("u8")
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 3}, v.Shape(), "the caller owns the header's shape")
}

func TestADTypeThatIsNotReadIsNamedAndCostsItself(t *testing.T) {
	f := opened(t, "foreign")
	for name, dtype := range map[string]string{"f8": "F8_E4M3", "c": "C64", "f4": "F4", "new": "X5"} {
		h, err := f.Header(name)
		require.NoError(t, err)
		assert.Equal(t, dtype, h.DType)
		_, err = f.Tensor(name)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, `tensor "`+name+`": not supported: got dtype "`+dtype+`", want F64`)
	}
	v, err := f.Tensor("known")
	require.NoError(t, err)
	assert.Equal(t, []string{"00000003"}, bitsOf(t, v))
}

func TestANameThatThereIsNotIsSaid(t *testing.T) {
	f := opened(t, "unaligned")
	_, err := f.Tensor("c")
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	assert.EqualError(t, err, `safetensors: testdata/unaligned.safetensors: tensor: no such name: got "c", want one of a b`)
	_, err = f.Strings("c")
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	assert.True(t, f.Has("a"))
	assert.False(t, f.Has("c"))
	_, err = Open("testdata/none.safetensors")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open("testdata")
	assert.Error(t, err)
}

func TestReadingAfterCloseIsAnError(t *testing.T) {
	f, err := Open("testdata/kinds.safetensors")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	_, err = f.Tensor("f64")
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestTensorsAreReadFromAnyGoroutine(t *testing.T) {
	f := opened(t, "kinds")
	bits := want(t).Files["kinds"]
	var all sync.WaitGroup
	for range 4 {
		for _, name := range f.Names() {
			all.Go(func() {
				v, err := f.Tensor(name)
				if assert.NoError(t, err) {
					assert.Equal(t, bits[name].Bits, bitsOf(t, v))
				}
			})
		}
	}
	all.Wait()
}

func TestStreamsAreThoseOfAnArchive(t *testing.T) {
	d := settest.Open(t, "testdata/streams.safetensors")
	assert.Equal(t, "safetensors", d.Format())
	e := settest.Episode(t, d, 0)
	assert.Equal(t, "streams", e.Name)
	require.Equal(t, []string{"pose", "imu", "grip"}, e.Names())
	for name, sum := range want(t).Sums {
		list, err := tensor.Floats(e.Stream(name).Values)
		require.NoError(t, err)
		got := 0.
		for _, v := range list {
			got += v
		}
		assert.InDelta(t, sum, got, 1e-12, name)
	}
	imu, grip, pose := e.Stream("imu"), e.Stream("grip"), e.Stream("pose")
	assert.Equal(t, []dataset.Column{{Name: "x", Type: "float32"}, {Name: "y", Type: "float32"}, {Name: "z", Type: "float32"}}, imu.Columns)
	assert.Equal(t, int64(100e6), imu.Nanoseconds()[5])
	assert.Equal(t, tensor.F64, pose.Times.DType())
	assert.Equal(t, []int64{0, 40e6, 80e6, 100e6}, pose.Nanoseconds())
	assert.True(t, grip.AllInteger())
	assert.Equal(t, tensor.I64, grip.Times.DType(), "U64 nanoseconds")
	assert.Equal(t, map[string]string{"robot": "arm"}, e.Attributes.Other)
	reasons := map[string]string{}
	for _, l := range e.Notes {
		reasons[l.Subject] = l.Reason()
	}
	assert.Equal(t, map[string]string{"net.weight": dataset.CodeNoStream.String() + ": got F32 [2,2], want NAME.values and NAME.times",
		"grip.columns": dataset.CodeColumnNames.String() + `: got "no list"`}, reasons)
	assert.Empty(t, e.Notes.Damage())
}

func TestAClockOfSeveralStreamsIsTaken(t *testing.T) {
	e, err := ReadFile(file(t, func(w *Writer) {
		require.NoError(t, w.Add("timestamp", tensor.Must(tensor.Of([]int64{0, 5}, 2))))
		require.NoError(t, w.Add("a.values", tensor.Must(tensor.Of([]tensor.BFloat16{0x3f80, 0x4000}, 2, 1))))
		require.NoError(t, w.Add("b.values", tensor.Must(tensor.Of([]float64{1, 2}, 2))))
		require.NoError(t, w.Add("c.times", tensor.Must(tensor.Of([]int32{1, 2}, 2))))
		require.NoError(t, w.Add("c.values", tensor.Must(tensor.Of([]int32{1, 2}, 2))))
	}), dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a"}, e.Names())
	assert.Equal(t, []dataset.Column{{Name: "0", Type: "bf16"}}, e.Stream("a").Columns, "the file says that it is")
	assert.Equal(t, tensor.BF16, e.Stream("a").Values.DType())
	assert.Equal(t, []int64{0, 5}, e.Stream("b").Nanoseconds())
	require.Len(t, e.Notes, 1)
	assert.Equal(t, "c", e.Notes[0].Subject)
	assert.Contains(t, e.Notes[0].Reason(), "got timestamps of dtype I32, want I64 or U64 nanoseconds, or F64 or F32 seconds")
}

func TestATextOfTheNameOfAnArrayIsNone(t *testing.T) {
	e, err := ReadFile(file(t, func(w *Writer) {
		require.NoError(t, w.Add("a.values", vec[float32](1)))
		require.NoError(t, w.AddText("a.times", "[0]"))
		require.NoError(t, w.AddText("timestamp", "noon"))
		require.NoError(t, w.AddText("b.values", "[0]"))
	}), dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Empty(t, e.Streams)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeArrayMissing, Subject: "a.values", Detail: dataset.Detail{Got: "float32 [1]", Names: []string{"a.times"}}}}, e.Notes)
	assert.Equal(t, map[string]string{"a.times": "[0]", "timestamp": "noon", "b.values": "[0]"}, e.Attributes.Other)
}

func TestOneTensorThatIsCutCostsItself(t *testing.T) {
	whole := filetest.Read(t, "testdata/streams.safetensors")
	path := filepath.Join(t.TempDir(), "cut.safetensors")
	filetest.Write(t, path, whole[:len(whole)-70]) // net.weight, grip.times and the last of grip.values
	e, err := ReadFile(path, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"pose", "imu"}, e.Names())
	require.Len(t, e.Notes.Damage(), 2)
	assert.Equal(t, dataset.CodeArrayBroken, e.Notes.Damage()[0].Code)
	assert.ErrorIs(t, e.Notes.Damage()[0].Cause, dataset.ErrTruncated)
	assert.Equal(t, dataset.CodeArrayCut.String()+": 1, safetensors: "+path+`: byte 784: tensor "net.weight": truncated: got 0 bytes of it, want 16`, e.Notes.Damage()[1].String())
	_, err = ReadFile(path, dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrTruncated)
}

// file writes a file into the test's folder.
func file(t *testing.T, fill func(*Writer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.safetensors")
	filetest.Write(t, path, written(t, fill))
	return path
}

func written(t *testing.T, fill func(*Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	fill(w)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestAFileIsToldByItsFirstBytes(t *testing.T) {
	for head, is := range map[string]bool{
		"\x08\x00\x00\x00\x00\x00\x00\x00{}      ": true, "\x10\x00\x00\x00\x00\x00\x00\x00{ \"a\":": true, "\x10\x00\x00\x00\x00\x00\x00\x00{ ": false,
		"\x10\x00\x00\x00\x00\x00\x00\x00{{": false, "\x10\x00\x00\x00\x00\x00\x00\x00[\"": false, "\x10\x00\x00\x00\x00\x00\x00\x01{\"": false, "{\"a\":1}": false, "": false,
	} {
		assert.Equal(t, is, Match([]byte(head)), "%q", head)
	}
}
