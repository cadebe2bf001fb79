package safetensors

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func vec[T tensor.Element](data ...T) *tensor.Tensor { return tensor.Must(tensor.Of(data, len(data))) }

func TestTheBytesOfAFileAreThoseOfTheFormat(t *testing.T) {
	got := written(t, func(w *Writer) {
		require.NoError(t, w.Add("b", vec[uint8](1, 2)))
		require.NoError(t, w.Add("a<>", tensor.Must(tensor.Of([]float32{1, 2}, 2, 1))))
		require.NoError(t, w.AddText("z", "\"ü\"\n"))
		require.NoError(t, w.Add("c", vec[int64](-1)))
		require.NoError(t, w.AddStrings("d", []string{"x", "<y>"}))
		require.NoError(t, w.AddStrings("e", nil))
	})
	// By hand: metadata by name, then the tensors with the larger elements first.
	head := `{"__metadata__":{"d":"[\"x\",\"<y>\"]","e":"[]","z":"\"ü\"\n"},` +
		`"c":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"a<>":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},"b":{"dtype":"U8","shape":[2],"data_offsets":[16,18]}}`
	head += strings.Repeat(" ", 64-8-len(head)%64) // so that the tensors begin at a multiple of 64
	assert.Equal(t, string([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0})+head+"\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x80\x3f\x00\x00\x00\x40\x01\x02", string(got))
	f, err := NewReader(bytes.NewReader(got), int64(len(got)))
	require.NoError(t, err)
	assert.Equal(t, []string{"c", "a<>", "b"}, f.Names())
	list, err := f.Strings("d")
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "<y>"}, list)
	list, err = f.Strings("e")
	require.NoError(t, err)
	assert.Empty(t, list)
	_, err = f.Strings("z")
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.Equal(t, "\x38\x00\x00\x00\x00\x00\x00\x00{}"+strings.Repeat(" ", 54), string(written(t, func(*Writer) {})))
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	strided := tensor.Must(tensor.Must(tensor.Of([]float64{1, 2, 3, 4}, 2, 2)).AsStrided([]int{2}, []int{2}, 1))
	all := map[string]*tensor.Tensor{
		"f64": vec(1.5, -2), "f32": vec[float32](1, 2, 3), "f16": vec[tensor.Float16](0x3c00), "bf16": vec[tensor.BFloat16](0x3f80, 0x4000), "i64": vec[int64](-1),
		"i32": vec[int32](-1, 7), "u8": vec[uint8](0, 255), "empty": tensor.Must(tensor.New(tensor.F32, 0, 3)), "scalar": tensor.Must(tensor.Of([]float32{4})),
		"strided": strided, "large": tensor.Must(tensor.New(tensor.F32, 100_001)), "\ufffd": vec[uint8](1), "\u2028": vec[uint8](2),
	}
	got := written(t, func(w *Writer) {
		for name, v := range all {
			require.NoError(t, w.Add(name, v))
		}
	})
	f, err := NewReader(bytes.NewReader(got), int64(len(got)))
	require.NoError(t, err)
	assert.Len(t, f.Names(), len(all))
	for name, v := range all {
		back, err := f.Tensor(name)
		require.NoError(t, err, name)
		whole, err := v.Contiguous()
		require.NoError(t, err)
		assert.Equal(t, tensor.FormatShape(v.Shape()), tensor.FormatShape(back.Shape()), name)
		assert.Equal(t, v.DType(), back.DType(), name)
		assert.Equal(t, bitsOf(t, whole), bitsOf(t, back), name)
		h, err := f.Header(name)
		require.NoError(t, err)
		assert.Zero(t, h.Begin%int64(v.DType().Size()), "%s lies at a multiple of its element's size", name)
	}
}

// What writes itself is a tensor as any other, if it writes what it said.
func TestDataThatIsWrittenLateFillsItsShape(t *testing.T) {
	data := func(n int) func(io.Writer) error {
		return func(w io.Writer) error {
			for range n {
				if _, err := w.Write([]byte{1}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	got := written(t, func(w *Writer) { require.NoError(t, w.AddData("a", tensor.U8, []int{3}, data(3))) })
	assert.Equal(t, written(t, func(w *Writer) { require.NoError(t, w.Add("a", vec[uint8](1, 1, 1))) }), got)
	for _, n := range []int{2, 4} {
		w := NewWriter(io.Discard)
		require.NoError(t, w.AddData("a", tensor.U8, []int{3}, data(n)))
		var bad *Error
		require.ErrorAs(t, w.Close(), &bad)
		assert.ErrorIs(t, bad, dataset.ErrShape)
	}
	w := NewWriter(io.Discard)
	assert.ErrorIs(t, w.AddData("a", 0, []int{3}, data(3)), dataset.ErrDType)
	assert.Error(t, w.AddData("a", tensor.U8, []int{-1}, data(3)))
	assert.ErrorIs(t, w.AddData("a", tensor.F64, []int{1 << 61}, data(3)), dataset.ErrTooLarge)
	require.NoError(t, w.AddData("a", tensor.U8, []int{3}, func(io.Writer) error { return errors.ErrUnsupported }))
	assert.ErrorIs(t, w.Close(), errors.ErrUnsupported)
}

func TestTheSameTensorsGiveTheSameBytes(t *testing.T) {
	one := func() []byte {
		return written(t, func(w *Writer) {
			for _, name := range []string{"x", "a", "m"} {
				require.NoError(t, w.Add(name, vec[float32](1)))
				require.NoError(t, w.AddText(name+".text", name))
			}
		})
	}
	assert.Equal(t, one(), one())
	f, err := NewReader(bytes.NewReader(one()), int64(len(one())))
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "a", "m"}, f.Names(), "of one size, in the order in which they were added")
}

func TestWhatCannotBeWrittenIsRefusedAndLeavesNoTrace(t *testing.T) {
	good := vec[uint8](1)
	closed := vec[uint8](1)
	require.NoError(t, closed.Close())
	got := written(t, func(w *Writer) {
		require.NoError(t, w.Add("a", good))
		for name, err := range map[string]error{
			"twice":           w.Add("a", good),
			"a text":          w.AddText("a", ""),
			"empty":           w.Add("", good),
			"of the format":   w.Add("__metadata__", good),
			"not UTF-8":       w.Add("\xff", good),
			"text not UTF-8":  w.AddText("t", "\xff"),
			"texts not UTF-8": w.AddStrings("t", []string{"\xff"}),
		} {
			var bad *Error
			require.ErrorAs(t, err, &bad, name)
			assert.ErrorIs(t, err, dataset.ErrOption, name)
		}
		assert.ErrorIs(t, w.Add("none", nil), dataset.ErrMissing)
		assert.ErrorIs(t, w.Add("closed", closed), dataset.ErrClosed)
	})
	assert.Equal(t, written(t, func(w *Writer) { require.NoError(t, w.Add("a", good)) }), got)
	w := NewWriter(&bytes.Buffer{})
	require.NoError(t, w.Close())
	assert.ErrorIs(t, w.Add("a", good), dataset.ErrClosed)
	require.NoError(t, w.Close())
}

func TestAFileIsThereWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	require.NoError(t, WriteFile(path, func(w *Writer) error { return w.Add("a", vec[uint8](1)) }))
	broken := errors.New("broken")
	assert.ErrorIs(t, WriteFile(path, func(w *Writer) error { return errors.Join(w.Add("b", vec[uint8](1)), broken) }), broken)
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, []string{"a"}, f.Names())
}

type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestAFailedWriteIsTheErrorOfClose(t *testing.T) {
	for _, room := range []int{0, 100} {
		w := NewWriter(&full{room})
		require.NoError(t, w.Add("a", tensor.Must(tensor.New(tensor.F32, 1000))))
		assert.ErrorContains(t, w.Close(), "no space left")
		assert.ErrorContains(t, w.Close(), "no space left")
	}
}
