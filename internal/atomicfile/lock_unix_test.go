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
