package ulog

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// large is a log of several windows, with flaws in every quarter of one if they are asked for.
func large(flaws bool) []byte {
	w := newBuild(1, 0).format("a:uint64_t timestamp;float[8000] x;").subscribe(0, 0, "a")
	values := make([]byte, 4*8000)
	next := windowSize / 4
	for i := 0; len(w.b) < 3*windowSize+windowSize/2; i++ {
		values[i%len(values)] ^= byte(i) & 0x3f
		w.data(0, uint64(i), values)
		if flaws && len(w.b) > next {
			next += windowSize / 4
			w.b = append(w.b, bytes.Repeat([]byte{0xff}, 1000)...)
		}
	}
	return w.b
}

func TestAFileInPartsIsReadAsAWhole(t *testing.T) {
	data := large(true)
	want, err := Parse(data, Options{})
	require.NoError(t, err)
	require.Greater(t, want.Notes.LostBytes(), int64(12_000))
	path := filepath.Join(t.TempDir(), "large.ulg")
	filetest.Write(t, path, data)
	got, err := ReadFile(path, Options{})
	require.NoError(t, err)
	require.Equal(t, want.Streams, got.Streams)
	got.Notes.SetPath("")
	want.Notes.SetPath("")
	assert.Equal(t, want.Notes.Damage(), got.Notes.Damage())
}

// shrinking is a file that is cut while it is read, or whose disk fails.
type shrinking struct {
	io.ReaderAt
	size int64
	err  error
}

func (s shrinking) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > s.size {
		n, _ := s.ReaderAt.ReadAt(b[:max(0, s.size-at)], at)
		return n, s.err
	}
	return s.ReaderAt.ReadAt(b, at)
}

func TestAFileThatFailsWhileItIsReadIsAnError(t *testing.T) {
	data, broken := large(false), errors.New("disk")
	for _, size := range []int64{5, windowSize - 1, windowSize + 5, int64(len(data)) - 1} {
		for _, strict := range []bool{false, true} {
			_, err := parseFile(&window{file: shrinking{bytes.NewReader(data), size, broken}, size: len(data)}, Options{Strict: strict})
			require.ErrorIs(t, err, broken)
			_, err = parseFile(&window{file: shrinking{bytes.NewReader(data), size, io.EOF}, size: len(data)}, Options{Strict: strict})
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, size, bad.Offset)
			assert.ErrorIs(t, err, dataset.ErrTruncated)
		}
	}
}
