//go:build linux || darwin

package atomicfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/atomicfile"
)

func TestOneHoldsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(path, nil, 0o600)) // which a program has left that was killed
	unlock, err := atomicfile.Lock(path)
	require.NoError(t, err)
	_, err = atomicfile.Lock(path)
	assert.ErrorIs(t, err, atomicfile.ErrLocked)
	unlock()
	assert.NoFileExists(t, path)
	unlock, err = atomicfile.Lock(path)
	require.NoError(t, err)
	unlock()

	unlock, err = atomicfile.Lock(filepath.Join(t.TempDir(), "no folder", "lock"))
	require.NoError(t, err)
	unlock()
}

// TestAbandonRemovesALock runs itself as the program that ends while it holds one, and another has one of the same folder.
func TestAbandonRemovesALock(t *testing.T) {
	dir := os.Getenv("ATOMICFILE_ABANDON_LOCK_IN")
	if dir == "" {
		dir = t.TempDir()
		unlock, err := atomicfile.Lock(filepath.Join(dir, "another's"))
		require.NoError(t, err)
		defer unlock()
		cmd := exec.Command(os.Args[0], "-test.run=^TestAbandonRemovesALock$")
		cmd.Env = append(os.Environ(), "ATOMICFILE_ABANDON_LOCK_IN="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.NoFileExists(t, filepath.Join(dir, "own"))
		assert.FileExists(t, filepath.Join(dir, "another's"))
		return
	}
	_, err := atomicfile.Lock(filepath.Join(dir, "own"))
	require.NoError(t, err)
	_, err = atomicfile.Lock(filepath.Join(dir, "another's"))
	require.ErrorIs(t, err, atomicfile.ErrLocked)
	require.FileExists(t, filepath.Join(dir, "own"))
	atomicfile.Abandon()
	os.Exit(0)
}

// A program that begins to write sweeps what killed ones left of the same name, and nothing that a program is writing.
func TestWhatIsBeingWrittenIsNotSwept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	for _, name := range []string{".out.0123456789abcdef.tmp", ".out.fedcba9876543210.tmp", ".out.fedcba9876543211.tmp"} { // of killed programs
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	live, err := atomicfile.Create(path)
	require.NoError(t, err)
	folder, err := atomicfile.NewFolder(path, true)
	require.NoError(t, err)
	scratch, remove, err := atomicfile.TemporaryFolder(path)
	require.NoError(t, err)
	require.NoError(t, atomicfile.Check(path))
	require.NoError(t, atomicfile.Sweep(dir, func(string) bool { return true }))
	there, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, there, 3, "%v", there)
	assert.DirExists(t, scratch)
	remove()
	require.NoError(t, folder.Close())
	_, err = live.Write([]byte("new"))
	require.NoError(t, err)
	require.NoError(t, live.Commit())
	there, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, there, 1, "%v", there)
}

func TestNoLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for _, name := range []string{"lock", ".out.0123456789abcdef.tmp"} {
		require.NoError(t, os.Symlink(victim, filepath.Join(dir, name)))
	}
	unlock, err := atomicfile.Lock(filepath.Join(dir, "lock"))
	require.NoError(t, err)
	require.NoError(t, atomicfile.Check(filepath.Join(dir, "out")))
	unlock()
	assert.FileExists(t, victim)
	s, err := atomicfile.NewScratch(filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
