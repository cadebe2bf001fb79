package loader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// A store may have more streams, each with a clock of its own, than one Draw takes: it is drawn from as one that is read meanwhile, and gone on with.
func TestMoreStreamsThanADrawTakes(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	var m made
	for e := range 3 {
		episode := &dataset.Episode{Name: fmt.Sprint("e", e)}
		for i := range 2*ops.MaxStreams + 3 {
			episode.Streams = append(episode.Streams, stream(t, r, fmt.Sprint("s", i), e, float64(10+i), 1.5, 1+i%2))
		}
		m = append(m, episode)
	}
	store := inMemory(t, m)
	p := align.Plan{Rate: 10, Shuffle: "shards", Windows: map[string]align.Window{"s0": {To: 300 * time.Millisecond}, "s20": {From: -200 * time.Millisecond}}}
	for _, backend := range []string{"cpu", "sim"} {
		opt := loader.Options{Batch: 4, Seed: 5}
		resident, err := loader.New(ctx, open(t, backend), store, p, opt)
		require.NoError(t, err)
		defer resident.Close()
		streaming, err := loader.NewStreaming(ctx, open(t, backend), store, p, opt)
		require.NoError(t, err)
		defer streaming.Close()
		next := func(l *loader.Loader) (hashes []uint64) {
			require.NoError(t, l.Next(ctx))
			host, err := l.Batch().Host(ctx)
			require.NoError(t, err)
			for row := range opt.Batch {
				h, err := host.Digest(row)
				require.NoError(t, err)
				hashes = append(hashes, h)
			}
			return hashes
		}
		var all [][]uint64
		for range 2*resident.Report().Batches + 1 {
			all = append(all, next(resident))
			assert.Equal(t, next(streaming), all[len(all)-1])
		}
		require.NoError(t, resident.Resume(ctx, loader.State{Version: 1, Seed: 5, Taken: 8, Windows: resident.Report().Windows, ShardWindows: resident.Report().ShardWindows, MixShards: resident.Report().MixShards}))
		assert.Equal(t, all[2:5], [][]uint64{next(resident), next(resident), next(resident)})
	}
}
