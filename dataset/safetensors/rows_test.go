package safetensors

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Rows are those of the whole tensor, of a mapped file and of one that is not.
func TestRowsAreReadFromTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.safetensors")
	list := make([]float32, 20)
	for i := range list {
		list[i] = float32(i)
	}
	require.NoError(t, WriteFile(path, func(w *Writer) error {
		if err := w.Add("other", tensor.Must(tensor.Of([]int64{1, 2}, 2))); err != nil {
			return err
		}
		return w.Add("x", tensor.Must(tensor.Of(list, 10, 2)))
	}))
	for _, open := range []func(string) (*File, error){Open, Map} {
		f, err := open(path)
		require.NoError(t, err)
		for _, c := range [][2]int{{0, 10}, {3, 4}, {9, 1}, {5, 0}} {
			dst := tensor.Must(tensor.New(tensor.F32, c[1], 2))
			require.NoError(t, f.ReadRows(dst, "x", c[0]))
			got, err := tensor.Data[float32](dst)
			require.NoError(t, err)
			assert.Equal(t, list[2*c[0]:2*(c[0]+c[1])], got[:2*c[1]])
		}
		for what, c := range map[string]struct {
			dst  *tensor.Tensor
			name string
			lo   int
		}{
			"too many rows": {tensor.Must(tensor.New(tensor.F32, 3, 2)), "x", 8}, "before the first": {tensor.Must(tensor.New(tensor.F32, 3, 2)), "x", -1},
			"another dtype": {tensor.Must(tensor.New(tensor.F64, 3, 2)), "x", 0}, "another width": {tensor.Must(tensor.New(tensor.F32, 3, 3)), "x", 0},
			"another rank": {tensor.Must(tensor.New(tensor.F32, 3)), "x", 0}, "no number": {tensor.Must(tensor.New(tensor.F32)), "x", 0},
		} {
			assert.ErrorIs(t, f.ReadRows(c.dst, c.name, c.lo), dataset.ErrUnsupported, what)
		}
		assert.ErrorIs(t, f.ReadRows(tensor.Must(tensor.New(tensor.F32, 1, 2)), "y", 0), dataset.ErrNotFound)
		require.NoError(t, os.Truncate(path, f.size-4))
		assert.ErrorIs(t, f.ReadRows(tensor.Must(tensor.New(tensor.F32, 1, 2)), "x", 9), dataset.ErrTruncated)
		require.NoError(t, f.Close())
		assert.ErrorIs(t, f.ReadRows(tensor.Must(tensor.New(tensor.F32, 1, 2)), "x", 0), dataset.ErrClosed)
		require.NoError(t, os.Truncate(path, f.size)) // with zeros in place of the last number
		list[19] = 0
	}
}
