package loader_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// A store's file that is cut short, or closed, while it is read is an error, and not the end of the program.
func TestAFileThatIsCutWhileItIsRead(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, large(t, 40).Save(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	p := align.Plan{Rate: 30, Streams: []align.Stream{{Name: "state"}, {Name: "action"}}}
	opt := loader.Options{Batch: 64, ShardWindows: 500, MixShards: 2, Last: ops.LastShort, Strict: true}
	store, err := store.Open(path)
	require.NoError(t, err)
	defer store.Close()
	l := streamed(t, "cpu", store, p, opt)
	opt.Strict = false
	lenient := streamed(t, "cpu", store, p, opt)
	require.NoError(t, l.Next(ctx))
	require.NoError(t, os.Truncate(path, int64(len(whole)/2)))
	var failed error
	for failed == nil {
		failed = l.Next(ctx)
	}
	require.ErrorIs(t, failed, dataset.ErrTruncated)
	for range lenient.Report().Batches {
		require.NoError(t, lenient.Next(ctx))
	}
	assert.Greater(t, lenient.Report().Streaming.Unread, 0)
	require.NoError(t, store.Close())
	for failed = nil; failed == nil; {
		failed = lenient.Next(ctx)
	}
	assert.ErrorIs(t, failed, dataset.ErrClosed)
}
