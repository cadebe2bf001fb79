package atomicfile_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
)

// failing makes calls of an operation at a name fail until restore.
func failing(op, name string, code syscall.Errno) (restore func()) {
	return fault.Inject(func(o, path string) error {
		if o == op && strings.HasSuffix(path, name) {
			return code
		}
		return nil
	})
}

// Without a free descriptor nobody knows whether another program holds a lock. A folder that this user may not write is no lock, as before.
func TestALockThatTheSystemCannotMakeIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for code, fails := range map[syscall.Errno]bool{syscall.EMFILE: true, syscall.EIO: true, syscall.ENOSPC: true, syscall.EACCES: false, syscall.EROFS: false} {
		restore := failing("lock", "lock", code)
		unlock, err := atomicfile.Lock(path)
		restore()
		if fails {
			assert.ErrorIs(t, err, code)
			continue
		}
		require.NoError(t, err)
		unlock()
	}
}

// A link or permission that cannot be read is not taken for absent, so that the output does not replace the link or open a private file to others.
func TestWhatCannotBeLookedAtIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))
	require.NoError(t, os.Symlink("target", link))
	for _, name := range []string{"link", "target"} {
		restore := failing("stat", name, syscall.EIO)
		err := atomicfile.WriteFile(link, func(w io.Writer) error {
			_, err := w.Write([]byte("new"))
			return err
		})
		restore()
		assert.ErrorIs(t, err, syscall.EIO)
		text, err := os.ReadFile(target)
		require.NoError(t, err)
		assert.Equal(t, "old", string(text))
		st, err := os.Lstat(link)
		require.NoError(t, err)
		assert.NotZero(t, st.Mode()&fs.ModeSymlink)
	}
}

// A sweep without a free descriptor ends, and removes no file that another program may be writing, and no folder that is a replaced output.
func TestASweepRemovesNothingThatItCannotLookAt(t *testing.T) {
	dir := t.TempDir()
	name := ".out.0123456789abcdef.tmp"
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	all := func(string) bool { return true }
	restore := failing("lock", name, syscall.EMFILE)
	assert.ErrorIs(t, atomicfile.Sweep(dir, all), syscall.EMFILE)
	restore()
	assert.FileExists(t, filepath.Join(dir, name))
	require.NoError(t, atomicfile.Sweep(dir, all))
	assert.NoFileExists(t, filepath.Join(dir, name))

	require.NoError(t, os.Mkdir(filepath.Join(dir, name+".old"), 0o700)) // and no folder out: a program was killed between two renames
	restore = failing("stat", "/out", syscall.EIO)
	assert.ErrorIs(t, atomicfile.Sweep(dir, all), syscall.EIO)
	restore()
	require.NoError(t, atomicfile.Sweep(dir, all))
	assert.DirExists(t, filepath.Join(dir, "out"))
}

// Whether an output is an input is not guessed.
func TestAnOverlapThatIsNotKnownIsAnError(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	require.NoError(t, os.MkdirAll(filepath.Join(in, "below"), 0o700))
	require.NoError(t, os.WriteFile(out, nil, 0o600))
	require.NoError(t, os.Link(out, filepath.Join(in, "below", "one")))
	is, err := atomicfile.Overlap(in, out)
	require.NoError(t, err)
	assert.True(t, is)
	for op, name := range map[string]string{"list": "below", "stat": "/in"} {
		for _, code := range []syscall.Errno{syscall.EMFILE, syscall.EIO} {
			restore := failing(op, name, code)
			_, err = atomicfile.Overlap(in, out)
			restore()
			assert.ErrorIs(t, err, code, op)
		}
	}
}
