package rosbag2

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/storage"
)

// A file that becomes larger than 64 times its size and the room is refused, and its temporary file is removed. In the long set the command line meets
// such a file of a GiB.
func TestADatabaseThatBecomesTooLargeIsRefused(t *testing.T) {
	defer func(room int64) { fileRoom = room }(fileRoom)
	fileRoom = 1 << 20
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	temp, path := t.TempDir(), filepath.Join(t.TempDir(), "log.db3.zstd")
	t.Setenv("TMPDIR", temp)
	for size, want := range map[int]error{1 << 20: nil, 8 << 20: dataset.ErrTooLarge} {
		filetest.Write(t, path, z.EncodeAll(make([]byte, size), nil))
		file, err := storage.Open(t.Context(), path)
		require.NoError(t, err)
		var damage dataset.Notes
		whole, err := decompress(t.Context(), path, file, &damage)
		require.ErrorIs(t, err, want, size)
		if err == nil {
			assert.EqualValues(t, size, whole.Size())
			require.NoError(t, whole.Close())
		}
		assert.Empty(t, damage)
		require.NoError(t, file.Close())
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}
