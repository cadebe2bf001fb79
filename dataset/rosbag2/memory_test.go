package rosbag2_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	limits "github.com/robocache/robocache/internal/memory"
)

// A message of zeros, compressed by zstd, that does not fit the memory ends the reading, and is no damage.
func TestAMessageThatDoesNotFitTheMemoryIsNotSkipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db3")
	writeDB(t, path, schema{compress: true}, []sent{{"/a", "std_msgs/String", 1, []any{strings.Repeat("\x00", 200<<20)}}})
	read := func() error {
		set, err := dataset.Open(context.Background(), path, dataset.Options{})
		require.NoError(t, err)
		defer set.Close()
		_, err = set.Episode(context.Background(), 0)
		return err
	}
	assert.NoError(t, read())
	limits.Set(100 << 20)
	defer limits.Set(0)
	err := read()
	assert.True(t, dataset.IsFatal(err), "%v", err)
	assert.ErrorContains(t, err, "message: out of memory: got 200 MiB")
}
