package npy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// number is an array that numpy wrote, as scripts/gen_npy_golden.py tells it.
type number struct {
	Shape   []int
	Descr   string
	Bits    []string
	Version int
	Fortran bool
}

func numbers(t *testing.T) map[string]number {
	text := filetest.Read(t, "testdata/numbers.json")
	var all map[string]number
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

func file(t *testing.T, name string) []byte {
	return filetest.Read(t, filepath.Join("testdata", name+".npy"))
}

// hexBits returns the elements' bits in hexadecimal, in row-major order.
func hexBits(t *testing.T, v *tensor.Tensor) []string {
	out := []string{}
	add := func(size int, bits uint64) { out = append(out, fmt.Sprintf("%0*x", 2*size, bits)) }
	var err error
	switch v.DType() {
	case tensor.F32:
		err = each(v, func(x float32) { add(4, uint64(math.Float32bits(x))) })
	case tensor.F64:
		err = each(v, func(x float64) { add(8, math.Float64bits(x)) })
	case tensor.F16:
		err = each(v, func(x tensor.Float16) { add(2, uint64(x)) })
	case tensor.BF16:
		err = each(v, func(x tensor.BFloat16) { add(2, uint64(x)) })
	case tensor.I32:
		err = each(v, func(x int32) { add(4, uint64(uint32(x))) })
	case tensor.I64:
		err = each(v, func(x int64) { add(8, uint64(x)) })
	default:
		err = each(v, func(x uint8) { add(1, uint64(x)) })
	}
	require.NoError(t, err)
	return out
}

func each[T tensor.Element](v *tensor.Tensor, fn func(T)) error {
	data, err := tensor.Data[T](v)
	for _, x := range data {
		fn(x)
	}
	return err
}

func TestArraysOfNumpyReadBitForBit(t *testing.T) {
	all := numbers(t)
	require.NotEmpty(t, all)
	for name, want := range all {
		h, err := ReadHeader(bytes.NewReader(file(t, name)))
		require.NoError(t, err, name)
		assert.Equal(t, want.Version, h.Version, name)
		assert.Equal(t, want.Descr, h.Descr, name)
		assert.Equal(t, want.Fortran, h.Fortran, name)
		assert.Equal(t, want.Shape, h.Shape, name)
		assert.Equal(t, len(want.Bits), h.Len(), name)
		got, err := Read(bytes.NewReader(file(t, name)))
		require.NoError(t, err, name)
		dtype, ok := h.DType()
		assert.True(t, ok, name)
		assert.Equal(t, dtype, got.DType(), name)
		assert.Equal(t, want.Shape, got.Shape(), name)
		assert.True(t, got.IsContiguous(), name)
		assert.Equal(t, want.Bits, hexBits(t, got), name)
		require.NoError(t, got.Close())
		assert.True(t, got.Closed(), "the caller owns it")
	}
}

func TestStringsOfNumpyRead(t *testing.T) {
	text := filetest.Read(t, "testdata/strings.json")
	var all map[string][]string
	require.NoError(t, json.Unmarshal(text, &all))
	for name, want := range all {
		got, err := ReadStrings(bytes.NewReader(file(t, name)))
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

func TestTypesWithoutATensorAreRefusedByName(t *testing.T) {
	for name, says := range map[string]string{"bad_complex": "<c16", "bad_struct": "records (x, y)", "bad_time": "<M8[ns]", "bad_u8": "9223372036854775808", "bad_object": "|O", "strings": "<U4"} {
		_, err := Read(bytes.NewReader(file(t, name)))
		assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
		assert.ErrorContains(t, err, says, name)
	}
	_, err := ReadStrings(bytes.NewReader(file(t, "one")))
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	_, err = ReadBF16(bytes.NewReader(file(t, "one")))
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

// samples is a tensor of each dtype and of every shape that matters, some of them strided.
func samples(t *testing.T) map[string]*tensor.Tensor {
	out := map[string]*tensor.Tensor{
		"f32":    tensor.Must(tensor.Of([]float32{0, 1.1, float32(math.Copysign(0, -1)), float32(math.Inf(1)), 5, -6}, 2, 3)),
		"f64":    tensor.Must(tensor.Of([]float64{math.Pi, math.SmallestNonzeroFloat64}, 2)),
		"f16":    tensor.Must(tensor.Of([]tensor.Float16{0x3c00, 0xfbff, 0x0001, 0x7e00}, 4)),
		"i32":    tensor.Must(tensor.Of([]int32{math.MinInt32, -1, math.MaxInt32}, 3, 1)),
		"i64":    tensor.Must(tensor.Of([]int64{math.MinInt64, 1762550000e9, math.MaxInt64}, 3)),
		"u8":     tensor.Must(tensor.Of([]uint8{0, 1, 255}, 3)),
		"scalar": tensor.Must(tensor.Of([]float64{2.5})),
		"empty":  tensor.Must(tensor.New(tensor.F32, 3, 0, 2)),
	}
	for _, n := range []int{1, 2, 31, 32, 33, 127, 128, 129, 1000, 1<<14 - 1, 1 << 14, 1<<14 + 1} { // around the read's step too
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i) / 3
		}
		out[fmt.Sprint("n", n)] = tensor.Must(tensor.Of(v, n))
	}
	out["strided"] = tensor.Must(out["f32"].Slice(1, 1, 3))
	out["broadcast"] = tensor.Must(tensor.Must(out["u8"].Reshape(1, 3)).Expand(4, 3))
	return out
}

func TestWhatIsWrittenReadsBackBitForBit(t *testing.T) {
	for name, want := range samples(t) {
		var b bytes.Buffer
		require.NoError(t, Write(&b, want), name)
		assert.Zero(t, bytes.IndexByte(b.Bytes(), '\n')%64-63, name)
		again := bytes.NewBuffer(nil)
		require.NoError(t, Write(again, want), name)
		assert.Equal(t, b.Bytes(), again.Bytes(), "the same bytes every time")
		got, err := Read(&b)
		require.NoError(t, err, name)
		assert.Equal(t, want.DType(), got.DType(), name)
		assert.Equal(t, tensor.FormatShape(want.Shape()), tensor.FormatShape(got.Shape()), name)
		flat, err := want.Contiguous()
		require.NoError(t, err)
		assert.Equal(t, hexBits(t, flat), hexBits(t, got), name)
		assert.Zero(t, b.Len(), "all read")
	}
}

func TestBF16IsWrittenAsUint16(t *testing.T) {
	want := tensor.Must(tensor.Of([]tensor.BFloat16{0x3f80, 0xc000, 0x7fc1}, 3))
	var b bytes.Buffer
	require.NoError(t, Write(&b, want))
	data := b.Bytes()
	assert.Contains(t, string(data), "'<u2'")
	got, err := ReadBF16(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, []string{"3f80", "c000", "7fc1"}, hexBits(t, got))
	wide, err := Read(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, tensor.I32, wide.DType())
	opaque, err := ReadBF16(bytes.NewReader(bytes.Replace(data, []byte("<u2"), []byte("|V2"), 1)))
	require.NoError(t, err)
	assert.Equal(t, hexBits(t, got), hexBits(t, opaque))
	swapped, err := ReadBF16(bytes.NewReader(bytes.Replace(data, []byte("<u2"), []byte(">u2"), 1)))
	require.NoError(t, err)
	assert.Equal(t, []string{"803f", "00c0", "c17f"}, hexBits(t, swapped))
}

func TestStringsReadBack(t *testing.T) {
	for _, want := range [][]string{{}, {""}, {"a"}, {"q[0]", "", "esc[2].rpm", "naïve 🤖"}, {strings.Repeat("x", 1000), "y"}} {
		var b bytes.Buffer
		require.NoError(t, WriteStrings(&b, want))
		got, err := ReadStrings(&b)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestWhatCannotBeWrittenIsRefusedAndNothingIsWritten(t *testing.T) {
	var b bytes.Buffer
	var bad *Error
	assert.ErrorAs(t, WriteStrings(&b, []string{"ok", "\xff"}), &bad)
	assert.ErrorAs(t, WriteStrings(&b, []string{"ends\x00"}), &bad)
	assert.ErrorAs(t, Write(&b, nil), &bad)
	assert.ErrorAs(t, Write(&b, tensor.Must(tensor.New(tensor.U8, make([]int, 65)...))), &bad)
	assert.Contains(t, bad.Error(), "rank 65")
	shut := tensor.Must(tensor.New(tensor.F32, 2))
	require.NoError(t, shut.Close())
	assert.ErrorIs(t, Write(&b, shut), tensor.ErrClosed)
	assert.Zero(t, b.Len())
	assert.ErrorIs(t, Write(failing{}, tensor.Must(tensor.New(tensor.F32, 2))), errDisk)
	assert.ErrorIs(t, WriteStrings(failing{}, []string{"x"}), errDisk)
}

var errDisk = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errDisk }
func (failing) Read([]byte) (int, error)  { return 0, errDisk }

func TestNumpyReadsWhatIsWritten(t *testing.T) {
	python := numpy(t)
	dir := t.TempDir()
	all := samples(t)
	delete(all, "broadcast") // one strided view is enough here
	for name, v := range all {
		var b bytes.Buffer
		require.NoError(t, Write(&b, v))
		filetest.Write(t, filepath.Join(dir, name+".npy"), b.Bytes())
	}
	var b bytes.Buffer
	require.NoError(t, WriteStrings(&b, []string{"q[0]", "α🤖", ""}))
	filetest.Write(t, filepath.Join(dir, "text.npy"), b.Bytes())
	script := `
import json, pathlib, sys
import numpy as np
out = {}
for p in pathlib.Path(sys.argv[1]).glob("*.npy"):
    a = np.load(p)
    if a.dtype.kind == "U":
        out[p.stem] = {"shape": list(a.shape), "bits": a.tolist()}
        continue
    raw, n = a.tobytes(), a.dtype.itemsize
    out[p.stem] = {"shape": list(a.shape), "descr": a.dtype.str, "bits": [raw[i:i+n][::-1].hex() for i in range(0, len(raw), n)]}
print(json.dumps(out))
`
	text, err := exec.Command(python, "-c", script, dir).CombinedOutput()
	require.NoError(t, err, string(text))
	var got map[string]number
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Len(t, got, len(all)+1)
	assert.Equal(t, []string{"q[0]", "α🤖", ""}, got["text"].Bits)
	for name, v := range all {
		flat, err := v.Contiguous()
		require.NoError(t, err)
		assert.Equal(t, tensor.FormatShape(v.Shape()), tensor.FormatShape(got[name].Shape), name)
		assert.Equal(t, hexBits(t, flat), got[name].Bits, name)
	}
}

// numpy returns a Python that has numpy, or skips the test.
func numpy(t *testing.T) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import numpy").Run() == nil {
			return python
		}
	}
	t.Skip("no python with numpy")
	return ""
}

func BenchmarkArray(b *testing.B) {
	for _, dtype := range []tensor.DType{tensor.F32, tensor.I64, tensor.U8} {
		v := tensor.Must(tensor.New(dtype, 1<<20))
		var file bytes.Buffer
		require.NoError(b, Write(&file, v))
		b.Run(fmt.Sprintf("op=read/dtype=%s", dtype), func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(file.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("op=write/dtype=%s", dtype), func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if err := Write(io.Discard, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleWrite() {
	v := tensor.Must(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	var b bytes.Buffer
	if err := Write(&b, v); err != nil {
		fmt.Println(err)
		return
	}
	got, err := Read(&b)
	fmt.Println(got, err)
	// Output: f32 [2,3] on host <nil>
}

func TestReadFileTakesOneArrayAndNamesTheFile(t *testing.T) {
	got, err := ReadFile("testdata/rank3.npy")
	require.NoError(t, err)
	want, err := Read(bytes.NewReader(file(t, "rank3")))
	require.NoError(t, err)
	assert.Equal(t, hexBits(t, want), hexBits(t, got))
	path := filepath.Join(t.TempDir(), "x.npy")
	for _, data := range [][]byte{append(file(t, "rank3"), 0, 0), file(t, "rank3")[:70]} {
		filetest.Write(t, path, data)
		_, err := ReadFile(path)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, path, bad.Path)
	}
	_, err = ReadFile(path + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
