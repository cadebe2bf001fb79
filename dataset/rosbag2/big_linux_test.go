package rosbag2_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memuse"
)

// ROBOCACHE_BIG=2e9 makes a database of so many bytes, half of images and half of small messages, and reads it. TMPDIR is where it lies.
func TestABigDatabaseTakesLittleMemory(t *testing.T) {
	size := memuse.Bytes(t)
	path := filepath.Join(t.TempDir(), "big_0.db3")
	writeBig(t, path, int(size/2), int(size/2))
	memuse.Read(t, func() (dataset.Dataset, error) { return dataset.Open(context.Background(), path, dataset.Options{}) }, true, 0)
}
