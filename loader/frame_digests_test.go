package loader_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// A window has one digest, with changed frames as well: from recordings, from a store with their images, and from one with frames of the
// stored size, resident or streaming, at every level, for any number of ranks and workers, on every device.
func TestAWindowHasOneDigest(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	m := filmedRecordings(t, 4)
	cameras := []loader.Camera{
		{
			Name: "front", Height: 4, Width: 5, StoredHeight: 5, StoredWidth: 7, Crop: "random", Flip: 0.5, Brightness: 0.2, Contrast: 0.3, Saturation: 0.4,
			PerFrame: true, DType: tensor.BF16, Layout: "CHW", Normalise: "lerobot",
		},
		{Name: "wrist", Height: 3, Width: 4, Flip: 0.5, DType: tensor.F16},
	}
	packed := func(opt store.BuildOptions) *store.Store {
		path := filepath.Join(t.TempDir(), "s.safetensors")
		require.NoError(t, store.Pack(ctx, m, path, opt))
		s, err := store.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	sources := map[string]dataset.Dataset{
		"recordings": m, "built": inMemory(t, m), "images": packed(store.BuildOptions{Media: []string{store.AllMedia}}),
		"frames": packed(store.BuildOptions{Frames: map[string]store.Size{"front": {Width: 7, Height: 5}, "wrist": {Width: 4, Height: 3}}}),
	}
	var want map[int64]uint64
	turn := 0
	for name, source := range sources {
		for _, level := range loader.FrameLevels {
			for _, ranks := range []int{1, 2, 7} {
				for _, workers := range []int{1, 16} {
					turn++
					if !thorough.Long && turn%11 != 1 { // no factor of 2 or 3, so that all values occur
						continue
					}
					what := fmt.Sprintf("%s, level %s, %d ranks, %d workers", name, level, ranks, workers)
					got := map[int64]uint64{}
					for rank := range ranks {
						opt := loader.Options{
							Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: cameras, ShardWindows: 40, MixShards: 3, FrameLevel: level, Rank: rank, Ranks: ranks, Workers: workers,
						}
						var l *loader.Loader
						if s, is := source.(*store.Store); is && turn%2 == 0 {
							var err error
							l, err = loader.New(ctx, open(t, "cpu"), s, cameraPlan(), opt)
							require.NoError(t, err)
							t.Cleanup(func() { require.NoError(t, l.Close()) })
						} else {
							l = streamed(t, "cpu", source, cameraPlan(), opt)
						}
						digests(t, l, got, rank, ranks, opt.Batch)
					}
					if want == nil {
						require.Len(t, got, 402)
						want = got
					}
					same(t, want, got, "%s", what)
				}
			}
		}
	}
	for _, backend := range backends(t)[1:] {
		for _, level := range loader.FrameLevels {
			l := streamed(t, backend, sources["recordings"], cameraPlan(), loader.Options{
				Batch: 4, Seed: 5, Last: ops.LastShort, Cameras: cameras, ShardWindows: 40, MixShards: 3, FrameLevel: level, Rank: 1, Ranks: 2,
			})
			sums, _ := kept(t, l, 4, 2)
			for step, list := range sums {
				for row, sum := range list {
					require.Equal(t, want[int64(8*step+1+2*row)], sum, "%s, level %s, batch %d", backend, level, step)
				}
			}
		}
	}
}
