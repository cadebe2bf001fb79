package loader_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/loader"
)

// mistaken is a dataset with a reader that can be made to panic.
type mistaken struct {
	made
	now atomic.Bool
}

func (m *mistaken) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if m.now.Load() {
		panic("a mistake")
	}
	return m.made.Episode(ctx, i)
}

// A reader that panics while batches are drawn is an error of the batch, and does not end the program.
func TestAPanicOfAReaderIsTheBatchsError(t *testing.T) {
	m := &mistaken{made: recordings(t)}
	p := plan()
	p.Shuffle = "shards"
	l, err := loader.NewStreaming(t.Context(), open(t, "cpu"), m, p, loader.Options{Batch: 4, ShardWindows: 8, MixShards: 1, Workers: 2})
	require.NoError(t, err)
	m.now.Store(true)
	for err = nil; err == nil; {
		err = l.Next(t.Context())
	}
	var of *caught.Panic
	require.ErrorAs(t, err, &of)
	assert.Equal(t, "a mistake", of.Value)
	assert.NoError(t, l.Close())
}
