package kitti

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cloudtest"
)

func raw(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestNumbersArePointsAndFeatures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bin")
	require.NoError(t, os.WriteFile(path, raw(1, 2, 3, .5, float32(math.NaN()), 5, 6, .25), 0o644))
	c, err := ReadFile(path, Options{})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, c.Points)[:3])
	assert.Equal(t, []float32{.5, .25}, cloudtest.Data(t, c.Features))
	assert.Equal(t, []string{"intensity"}, c.Names())
	assert.Equal(t, 1, c.NotFinite)

	c, err = Read(bytes.NewReader(raw(1, 2, 3, 4, 5)), Options{Features: NuScenes})
	require.NoError(t, err)
	assert.Equal(t, []string{"intensity", "ring"}, c.Names())
	c, err = Parse(raw(1, 2, 3, 4, 5, 6), Options{Features: []string{}})
	require.NoError(t, err)
	assert.Equal(t, 2, c.Len())
	c, err = Parse(nil, Options{})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1}, c.Features.Shape())
}

func TestEveryOtherSizeIsAnError(t *testing.T) {
	data := raw(1, 2, 3, 4, 5, 6, 7, 8)
	for n := range len(data) {
		_, err := Parse(data[:n], Options{})
		if n%16 == 0 {
			assert.NoError(t, err)
			continue
		}
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		assert.True(t, errors.Is(err, dataset.ErrTruncated) && errors.Is(err, io.ErrUnexpectedEOF))
		assert.Equal(t, int64(n/16*16), bad.Offset)
	}
	var bad *dataset.CloudError
	_, err := Parse(nil, Options{Features: []string{"x"}})
	assert.ErrorAs(t, err, &bad)
}
