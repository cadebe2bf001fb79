package cloudtest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// golden is the content of one point cloud file according to scripts/gen_cloud_golden.py.
type golden struct {
	Shape     [2]int
	Viewpoint [7]float64
	Columns   []string
	NotFinite int `json:"not_finite"`
	Points    string
	Features  string
}

// Golden opens every file that golden.json in the folder lists, and fails the test if the content differs from the list.
func Golden(t *testing.T, folder string, open func(path string, opt dataset.Options) (*dataset.Cloud, error)) {
	text, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	require.NoError(t, err)
	var all map[string]golden
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	for name, want := range all {
		c, err := open(filepath.Join(folder, name), dataset.Options{Strict: true})
		require.NoError(t, err, name)
		require.NoError(t, c.Check(), name)
		assert.Equal(t, want.Shape, [2]int{c.Width, c.Height}, name)
		assert.Equal(t, want.Viewpoint[:], append(c.Viewpoint.Position[:], c.Viewpoint.Orientation[:]...), name)
		assert.Equal(t, want.Columns, c.Names(), name)
		assert.Equal(t, want.NotFinite, c.NotFinite, name)
		assert.Zero(t, c.Inexact, name)
		assert.Empty(t, c.Notes, name)
		assert.Zero(t, c.Trailing, name)
		assert.Equal(t, want.Points, digest(Data(t, c.Points)), "%s: points", name)
		assert.Equal(t, want.Features, digest(Data(t, c.Features)), "%s: features", name)
	}
}

// Data returns the elements of a float32 tensor.
func Data(t *testing.T, a *tensor.Tensor) []float32 {
	t.Helper()
	data, err := tensor.Data[float32](a)
	require.NoError(t, err)
	return data
}

// Equal fails the test unless two clouds have the same content. Numbers must have the same bits, but any NaN equals any other. Notes
// are not compared.
func Equal(t *testing.T, want, got *dataset.Cloud) {
	t.Helper()
	assert.Equal(t, want.Names(), got.Names())
	assert.Equal(t, want.NotFinite, got.NotFinite)
	same(t, "points", want.Points, got.Points)
	same(t, "features", want.Features, got.Features)
}

// Doubles returns the elements of a float64 tensor.
func Doubles(t *testing.T, a *tensor.Tensor) []float64 {
	t.Helper()
	data, err := tensor.Data[float64](a)
	require.NoError(t, err)
	return data
}

// same fails the test if two tensors differ. It prints only the first difference.
func same(t *testing.T, what string, a, b *tensor.Tensor) {
	t.Helper()
	assert.Equal(t, a.DType(), b.DType(), what)
	want, err := tensor.Floats(a)
	require.NoError(t, err)
	got, err := tensor.Floats(b)
	require.NoError(t, err)
	if !assert.Len(t, got, len(want), what) {
		return
	}
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) && (want[i] == want[i] || got[i] == got[i]) {
			assert.Fail(t, what, "number %d is %v, want %v", i, got[i], want[i])
			return
		}
	}
}

// digest returns the SHA-256 of the numbers as little-endian bytes. All NaNs have one bit pattern.
func digest(data []float32) string {
	sum := sha256.New()
	for _, v := range data {
		b := math.Float32bits(v)
		if v != v {
			b = 0x7fc00000
		}
		sum.Write(binary.LittleEndian.AppendUint32(nil, b))
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
