package mcap

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
)

// Messages are read again from many goroutines, of more chunks than stay in memory.
func TestMessagesAreReadAgainWhateverElseIsRead(t *testing.T) {
	for _, name := range []string{"zstd", "uncompressed"} {
		opt := variants[name]
		opt.ChunkSize = 20_000
		b, want := written(t, opt, 5000)
		ctx := context.Background()
		var damage dataset.Notes
		l, err := newLog(ctx, fileOf(b), "", &damage)
		require.NoError(t, err)
		l.cache.most = 50_000
		var at []topics.At
		for part := range l.Parts() {
			require.NoError(t, l.Each(ctx, part, &damage, func(m topics.Message) error { at = append(at, m.At); return nil }))
		}
		require.Greater(t, l.Parts(), 6)
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range at {
					i = (i*(2*g+1)*37 + g*1000) % len(at)
					data, err := l.Message(ctx, at[i])
					if err != nil || string(data) != want[i].data {
						t.Errorf("message %d: got %q, %v, want %q", i, data, err, want[i].data)
						return
					}
				}
			})
		}
		all.Wait()
		assert.LessOrEqual(t, len(l.cache.list), 8)
	}
}
