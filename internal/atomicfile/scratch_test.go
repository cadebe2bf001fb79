package atomicfile

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAScratchGivesBackItsParts(t *testing.T) {
	dir := t.TempDir()
	s, err := NewScratch(filepath.Join(dir, "out"))
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Empty(t, names(t, dir), "it has no name")
	}
	var parts []Part
	large := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, text := range [][]byte{[]byte("one"), nil, large, []byte("two")} {
		p, err := s.Append(func(w io.Writer) error { _, err := w.Write(text); return err })
		require.NoError(t, err)
		parts = append(parts, p)
	}
	for i, want := range map[int]string{3: "two", 0: "one", 1: "", 2: string(large)} {
		var got bytes.Buffer
		require.NoError(t, s.CopyTo(&got, parts[i]))
		assert.Equal(t, want, got.String())
	}
	_, err = s.f.WriteAt([]byte("x"), 1)
	require.NoError(t, err)
	assert.ErrorIs(t, s.CopyTo(io.Discard, parts[0]), ErrReadBack, "changed")
	require.NoError(t, s.f.Truncate(s.size-1))
	assert.ErrorIs(t, s.CopyTo(io.Discard, parts[3]), ErrReadBack, "cut short")
	assert.ErrorIs(t, s.CopyTo(writer(func([]byte) (int, error) { return 0, fs.ErrPermission }), parts[3]), fs.ErrPermission)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.Empty(t, names(t, dir))
	_, err = NewScratch(filepath.Join(dir, "none", "out"))
	var p *fs.PathError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, filepath.Join(dir, "none", "out"), p.Path)
}
