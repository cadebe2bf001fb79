package mapped

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

func opened(t *testing.T, content string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	filetest.Write(t, path, content)
	file, err := os.Open(path)
	require.NoError(t, err)
	f, err := Open(file, int64(len(content)))
	if errors.Is(err, errors.ErrUnsupported) {
		require.NoError(t, file.Close())
		t.Skip("not a test for root or others whose system maps no files")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func TestTheMemoryIsTheFile(t *testing.T) {
	for _, content := range []string{"", "content"} {
		f := opened(t, content)
		require.NoError(t, f.Whole())
		require.NoError(t, f.Guard(func() error { assert.Equal(t, content, string(f.Bytes())); return nil }))
		require.NoError(t, f.Close())
		assert.ErrorIs(t, f.Whole(), fs.ErrClosed)
	}
}

func TestCloseWaitsForGuards(t *testing.T) {
	f := opened(t, "content")
	inside, closed := make(chan bool), make(chan error, 1)
	read := make(chan error, 1)
	go func() {
		read <- f.Guard(func() error {
			inside <- true
			<-inside
			assert.Equal(t, "content", string(f.Bytes()))
			return nil
		})
	}()
	<-inside
	go func() { closed <- f.Close() }()
	select {
	case <-closed:
		t.Error("closed under a guard")
	case <-time.After(20 * time.Millisecond):
	}
	inside <- true
	require.NoError(t, <-read)
	require.NoError(t, <-closed)
}

// A panic of another kind is not this package's to explain.
func TestOtherPanicsGoOn(t *testing.T) {
	f := opened(t, "content")
	assert.PanicsWithValue(t, "other", func() { _ = f.Guard(func() error { panic("other") }) })
	var none *File
	assert.Panics(t, func() { _ = f.Guard(func() error { _ = none.data; return nil }) })
	require.NoError(t, f.Close(), "which does not wait for them")
}
