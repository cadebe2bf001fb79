package safetensors

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/mapped"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

func mappedFile(t *testing.T, content []byte) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.safetensors")
	filetest.Write(t, path, content)
	f, err := Map(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	if f.views == nil {
		t.Skip("not a test for root or others whose system maps no files")
	}
	return f, path
}

func TestAMappedTensorIsTheOneThatIsRead(t *testing.T) {
	all := map[string]*tensor.Tensor{
		"f64": vec(1.5, -2), "f32": vec[float32](1, 2, 3), "f16": vec[tensor.Float16](0x3c00), "bf16": vec[tensor.BFloat16](0x3f80, 0x4000), "i64": vec[int64](-1),
		"i32": vec[int32](-1, 7), "u8": vec[uint8](0, 255), "empty": tensor.Must(tensor.New(tensor.F32, 0, 3)), "scalar": tensor.Must(tensor.Of([]float32{4})),
	}
	f, path := mappedFile(t, written(t, func(w *Writer) {
		for name, v := range all {
			require.NoError(t, w.Add(name, v))
		}
	}))
	read, err := Open(path)
	require.NoError(t, err)
	defer read.Close()
	for name := range all {
		want, err := read.Tensor(name)
		require.NoError(t, err, name)
		got, err := f.Tensor(name)
		require.NoError(t, err, name)
		assert.Equal(t, want.String(), got.String(), name)
		assert.Equal(t, bitsOf(t, want), bitsOf(t, got), name)
		again, err := f.Tensor(name)
		require.NoError(t, err)
		assert.Same(t, got, again, "%s is one view", name)
	}
	_, err = f.Tensor("none")
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	v, err := f.Tensor("f32")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	_, err = tensor.Data[float32](v)
	assert.ErrorIs(t, err, tensor.ErrClosed)
	_, err = f.Tensor("f32")
	assert.ErrorIs(t, err, dataset.ErrClosed)
	assert.ErrorIs(t, f.Whole(), dataset.ErrClosed)
	assert.ErrorIs(t, f.Guard(func() error { t.Error("called"); return nil }), dataset.ErrClosed)
}

// A tensor that is not where its elements can lie, or whose dtype is another here, is read.
func TestWhatCannotBeAViewIsRead(t *testing.T) {
	head := `{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},"t":{"dtype":"BOOL","shape":[1],"data_offsets":[5,6]}}`
	f, _ := mappedFile(t, append([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}, head+"\x07\x00\x00\x80\x3f\x01"...))
	list, err := f.Tensor("f")
	require.NoError(t, err)
	flag, err := f.Tensor("t")
	require.NoError(t, err)
	assert.Equal(t, tensor.U8, flag.DType())
	require.NoError(t, f.Close())
	data, err := tensor.Data[float32](list)
	require.NoError(t, err, "it stays")
	assert.Equal(t, []float32{1}, data)
	_, err = f.Tensor("f")
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestAFileThatIsCutShortUnderItsMappingIsAnError(t *testing.T) {
	const n = 1 << 20
	f, path := mappedFile(t, written(t, func(w *Writer) {
		require.NoError(t, w.Add("f", tensor.Must(tensor.New(tensor.F32, n))))
		require.NoError(t, w.Add("g", tensor.Must(tensor.New(tensor.F32, n))))
	}))
	v, err := f.Tensor("f")
	require.NoError(t, err)
	require.NoError(t, f.Whole())
	require.NoError(t, os.Truncate(path, 4*n/2))
	nested, undone := 0, false
	err = f.Guard(func() error {
		defer func() { undone = true }()
		return f.Guard(func() error {
			nested++
			list, err := tensor.Floats(v)
			assert.Empty(t, list)
			return err
		})
	})
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorIs(t, err, mapped.ErrShrunk)
	assert.ErrorContains(t, err, path)
	assert.Equal(t, 1, nested)
	assert.True(t, undone)
	assert.ErrorIs(t, f.Whole(), dataset.ErrTruncated)
	_, err = f.Tensor("g")
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorIs(t, f.Guard(func() error { return os.ErrPermission }), os.ErrPermission)
}

func TestAFileThatEndsTooSoonIsMappedAsFarAsItGoes(t *testing.T) {
	whole := written(t, func(w *Writer) {
		require.NoError(t, w.Add("f", vec[float32](1, 2)))
		require.NoError(t, w.Add("g", vec[float32](3)))
	})
	f, _ := mappedFile(t, whole[:len(whole)-1])
	_, err := f.Tensor("f")
	require.NoError(t, err)
	_, err = f.Tensor("g")
	assert.ErrorIs(t, err, dataset.ErrTruncated)
}
