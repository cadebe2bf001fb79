package exampletest

import (
	"bytes"
	"image/png"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// Data returns the elements of an array in an .npz file.
func Data[T tensor.Element](t *testing.T, f *npz.File, name string) []T {
	t.Helper()
	a, err := f.Tensor(name)
	require.NoError(t, err)
	list, err := tensor.Data[T](a)
	require.NoError(t, err)
	return list
}

// PictureSize returns the width and height of a PNG file.
func PictureSize(t *testing.T, path string) [2]int {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	config, err := png.DecodeConfig(file)
	require.NoError(t, err)
	return [2]int{config.Width, config.Height}
}

// UnknownBackendWritesNothing runs an example with the backend "tpu", which does not exist. The test fails unless the example returns
// an error with that name and leaves no file in the current folder.
func UnknownBackendWritesNothing(t *testing.T, run func(backend string, out io.Writer) error) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.ErrorContains(t, run("tpu", &bytes.Buffer{}), "tpu")
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left)
}
