package kitti

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/cloudtest"
	"github.com/robocache/robocache/internal/test/filetest"
)

func raw(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

var xyzi = []string{"x", "y", "z", "intensity"}

func TestNumbersArePointsAndFeatures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bin")
	filetest.Write(t, path, raw(1, 2, 3, .5, float32(math.NaN()), 5, 6, .25))
	c, err := ReadFile(path, Options{Columns: xyzi})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, c.Points)[:3])
	assert.Equal(t, []float32{.5, .25}, cloudtest.Data(t, c.Features))
	assert.Equal(t, []string{"intensity"}, c.Names())
	assert.Equal(t, 1, c.NotFinite)
	assert.Nil(t, c.Notes.Damage())

	c, err = Read(bytes.NewReader(raw(7, 3, 1, .5, 2)), Options{Columns: []string{"ring", "z", "x", "strength", "y"}, Strict: true})
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, c.Points), "x, y and z, wherever they are")
	assert.Equal(t, []string{"ring", "strength"}, c.Names())
	c, err = Parse(raw(1, 2, 3, 4, 5, 6), Options{Columns: []string{"x", "y", "z"}})
	require.NoError(t, err)
	assert.Equal(t, 2, c.Len())
	c, err = Parse(nil, Options{Columns: xyzi})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1}, c.Features.Shape())
}

func TestColumnsThatAreNoneAreRefused(t *testing.T) {
	for _, names := range [][]string{{}, {"x", "y"}, {"x", "y", "z", "x"}, {"x", "y", "z", ""}, {"x", "y", "z", "i", "i"}, {"a", "b", "c"}} {
		_, err := Parse(raw(1, 2, 3, 4, 5, 6), Options{Columns: names})
		var bad *dataset.CloudError
		assert.ErrorAs(t, err, &bad, "%q", names)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
}

// The whole points of a file that is cut are kept, the rest is counted; strictly it is refused, and so is one without a whole point.
func TestACutFileKeepsItsWholePoints(t *testing.T) {
	data := raw(1, 2, 3, 4, 5, 6, 7, 8)
	path := filepath.Join(t.TempDir(), "a.bin")
	for n := 1; n < len(data); n++ {
		filetest.Write(t, path, data[:n])
		c, err := ReadFile(path, Options{Columns: xyzi})
		_, refused := ReadFile(path, Options{Columns: xyzi, Strict: true})
		if n == 16 {
			assert.NoError(t, errors.Join(err, refused))
			continue
		}
		var bad *dataset.FormatError
		require.ErrorAs(t, refused, &bad)
		assert.True(t, errors.Is(refused, dataset.ErrTruncated) && errors.Is(refused, io.ErrUnexpectedEOF))
		assert.Equal(t, int64(n/16*16), bad.Offset)
		if n < 16 {
			assert.Equal(t, refused, err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3}, cloudtest.Data(t, c.Points))
		assert.Equal(t, dataset.Notes{{Code: dataset.CodePointLost, Count: 1, Detail: dataset.Detail{Bytes: int64(n - 16), Cause: bad}}}, c.Notes.Damage())
		assert.Equal(t, path, c.Notes.Damage()[0].Cause.(*dataset.FormatError).Path)
	}
}

func TestNuScenesIsKnownByItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "A.PCD.bin")
	read := func(data []byte) (*dataset.Cloud, error) {
		filetest.Write(t, path, data)
		return ReadFile(path, Options{})
	}
	c, err := read(raw(1, 2, 3, 40, 31, 4, 5, 6, 0, 7))
	require.NoError(t, err)
	assert.Equal(t, []string{"intensity", "ring"}, c.Names())
	assert.Equal(t, 2, c.Len())
	c, err = read(append(raw(1, 2, 3, 40, 31), 1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, int64(3), c.Notes.LostBytes())
	c, err = read(nil)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 2}, c.Features.Shape())
	_, err = read(raw(1, 2, 3, 40, 1.5))
	assert.ErrorIs(t, err, dataset.ErrUnsupported, "that is no ring")
}

func FuzzParse(f *testing.F) {
	f.Add(raw(1, 2, 3, 40, 31, 4, -5, 6, 0, 7), "")
	f.Add(raw(1, 2, 3, .5, -4, 5, 6, .25), "xyzi")
	f.Add(raw(1, 2, 3, float32(math.NaN())), "zxy")
	f.Fuzz(func(t *testing.T, data []byte, letters string) {
		var names []string
		for _, r := range letters {
			names = append(names, string(r))
		}
		_, refused := Parse(data, Options{Columns: names, Strict: true})
		c, err := Parse(data, Options{Columns: names})
		if err != nil {
			var bad *dataset.FormatError
			var cloud *dataset.CloudError
			require.True(t, errors.As(err, &bad) || names != nil && errors.As(err, &cloud), "%v", err)
			require.Equal(t, err, refused)
			return
		}
		require.NoError(t, c.Check())
		require.Equal(t, refused == nil, c.Notes.Damage() == nil)
		require.Equal(t, int64(len(data)), int64(4*c.Len()*(3+len(c.Columns)))+c.Notes.LostBytes(), "every byte is used or lost")
	})
}
