//go:build linux || darwin

package atomicfile_test

import (
	"os"
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
