package rosbag2_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/internal/test/thorough"
)

// ROBOCACHE_BIG=2e9 makes a database of so many bytes of images and reads its frames, and one of small messages. TMPDIR is where they lie.
func TestABigDatabaseTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	size := int(memuse.Bytes(t))
	for name, of := range map[string][2]int{"images": {size, 0}, "small": {0, size}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "big_0.db3")
			writeBig(t, path, of[0], of[1])
			memuse.Read(t, func() (dataset.Dataset, error) { return dataset.Open(context.Background(), path, dataset.Options{}) }, of[0] > 0, 0)
		})
	}
}
