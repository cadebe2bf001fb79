package loader_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader/store"
)

// ROBOCACHE_BIG=5e9 packs a dataset of so many bytes, and opens the store.
func TestABigStoreTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	ctx := context.Background()
	d := many(t, memuse.Bytes(t))
	path := filepath.Join(t.TempDir(), "s.safetensors")
	measured := func(do func()) (took time.Duration, more int64) {
		debug.FreeOSMemory()
		memuse.Peak(t)
		before := memuse.Peak(t)
		begin := time.Now()
		do()
		return time.Since(begin), memuse.Peak(t) - before
	}
	rows := 0
	for i := range d.made[0].Streams {
		rows += d.n * d.made[0].Streams[i].Len()
	}
	took, more := measured(func() { require.NoError(t, store.Pack(ctx, d, path, store.BuildOptions{})) })
	st, err := os.Stat(path)
	require.NoError(t, err)
	t.Logf("packed %d episodes, %d rows, into %d bytes in %v: %.2f million rows a second; %d MB", d.n, rows, st.Size(), took.Round(time.Millisecond), float64(rows)/took.Seconds()/1e6, more>>20)
	assert.Less(t, more, int64(200e6))
	var s *store.Store
	took, more = measured(func() { s, err = store.Open(path); require.NoError(t, err) })
	t.Logf("opened in %v; %d MB", took.Round(time.Microsecond), more>>20)
	assert.Less(t, more, int64(20e6))
	took, more = measured(func() {
		require.NoError(t, s.Guard(func() error {
			for i := range s.Len() {
				e, err := s.Episode(ctx, i)
				require.NoError(t, err)
				_, err = e.Streams[0].Values.Take(0, []int{0})
				require.NoError(t, err)
			}
			return nil
		}))
	})
	t.Logf("read a row of each episode in %v; %d MB", took.Round(time.Microsecond), more>>20)
	require.NoError(t, s.Close())
}
