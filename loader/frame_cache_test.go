package loader_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// countedVideo is pictures that a decoder makes in one go, and that end with the first broken one, as a video does.
type countedVideo struct {
	pictures
	frames *atomic.Int64 // that were decoded
}

func (v countedVideo) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := from; i < to; i++ {
			if err := ctx.Err(); err != nil || i == v.broken {
				if err == nil {
					err = fmt.Errorf("frame %d of this video: %w", i, dataset.ErrCorrupt)
				}
				yield(nil, err)
				return
			}
			v.frames.Add(1)
			t, err := tensor.New(tensor.U8, 6, 8, 3)
			if err == nil {
				var pixels []uint8
				pixels, err = tensor.Data[uint8](t)
				for k := range pixels {
					pixels[k] = uint8([]int{v.episode, i, v.blue}[k%3] + k/3%5)
				}
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// videoRecordings are filmedRecordings with videos. It counts decoded frames.
func videoRecordings(t *testing.T, broken int) (m made, frames *atomic.Int64, all int) {
	t.Helper()
	m = filmedRecordings(t, broken)
	frames = &atomic.Int64{}
	for _, e := range m {
		for k := range e.Media {
			e.Media[k].Encoding = "h264"
			e.Media[k].Source = countedVideo{e.Media[k].Source.(pictures), frames}
			all += e.Media[k].Len()
		}
	}
	return m, frames, all
}

// epochs draws two epochs, and returns their digests by position, and the report after them.
func epochs(t *testing.T, l *loader.Loader, opt loader.Options) (first, second map[int64]uint64, r loader.Report) {
	t.Helper()
	first, second = map[int64]uint64{}, map[int64]uint64{}
	digests(t, l, first, opt.Rank, max(opt.Ranks, 1), opt.Batch)
	digests(t, l, second, opt.Rank, max(opt.Ranks, 1), opt.Batch)
	return first, second, l.Report()
}

// The cache changes how often frames are decoded, but no bit of a batch: with room for all frames, for some or for few, with and
// without damage.
func TestKeptFramesAreTheSameBits(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, broken := range []int{-1, 4, 9} {
		opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: twoCameras, ShardWindows: 40, MixShards: 3, Workers: 3, FrameCache: -1}
		m, _, all := videoRecordings(t, broken)
		first, second, without := epochs(t, streamed(t, "cpu", m, cameraPlan(), opt), opt)
		require.Len(t, first, 402)
		assert.Zero(t, without.FrameCache)
		limits := []int64{0, 60000, 20000, 12000, 7000, 1000}
		if broken >= 0 && !thorough.Long {
			limits = []int64{0, 12000, 1000} // all, some and none
		}
		for _, limit := range limits {
			opt.FrameCache = limit
			m, decoded, _ := videoRecordings(t, broken)
			got, again, r := epochs(t, streamed(t, "cpu", m, cameraPlan(), opt), opt)
			same(t, first, got, "%d bytes", limit)
			same(t, second, again, "%d bytes, second epoch", limit)
			assert.Equal(t, without.Cameras, r.Cameras, "what was bad")
			if limit == 1000 {
				assert.Zero(t, r.FrameCache)
				continue
			}
			require.Positive(t, r.FrameCache.Limit)
			assert.Positive(t, r.FrameCache.Used)
			assert.LessOrEqual(t, r.FrameCache.Bytes, r.FrameCache.Limit)
			if limit == 0 && broken < 0 {
				assert.Equal(t, int64(all+2), decoded.Load(), "each once, and the first of each camera to see whether it can be")
				assert.Equal(t, int64(all), r.FrameCache.Decoded)
			}
		}
	}
}

// So are images, which are kept one by one, and only if all fit: then each is read and decoded once.
func TestKeptImagesAreTheSameBits(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, broken := range []int{-1, 4} {
		opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: twoCameras, ShardWindows: 40, MixShards: 3, FrameCache: -1}
		m := filmedRecordings(t, broken)
		first, second, without := epochs(t, streamed(t, "cpu", m, cameraPlan(), opt), opt)
		opt.FrameCache = 50000
		got, again, r := epochs(t, streamed(t, "cpu", m, cameraPlan(), opt), opt)
		assert.Equal(t, without, r, "not all fit")
		same(t, first, got, "too little room")
		same(t, second, again, "too little room, second epoch")
		opt.FrameCache = 0
		got, again, r = epochs(t, streamed(t, "cpu", m, cameraPlan(), opt), opt)
		same(t, first, got, "kept")
		same(t, second, again, "kept, second epoch")
		assert.Equal(t, without.Cameras, r.Cameras)
		all := 0
		for _, e := range m {
			for k := range e.Media {
				if all += e.Media[k].Len(); broken >= 0 {
					all--
				}
			}
		}
		require.Positive(t, r.FrameCache.Limit)
		assert.InDelta(t, all, r.FrameCache.Decoded, 1, "each once in two epochs, but for one that no target wants")
	}
}

// A group's loaders have one cache: a stretch that several want at once is decoded once.
func TestAGroupDecodesAVideoOnce(t *testing.T) {
	ctx := context.Background()
	m, decoded, all := videoRecordings(t, -1)
	opt := loader.Options{Batch: 4, Cameras: twoCameras, ShardWindows: 40, MixShards: 3}
	devices := []*ops.Device{open(t, "cpu"), open(t, "cpu"), open(t, "cpu")}
	g, err := loader.NewGroup(devices, opt, func(d *ops.Device, opt loader.Options) (*loader.Loader, error) {
		return loader.NewStreaming(ctx, d, m, cameraPlan(), opt)
	})
	require.NoError(t, err)
	for range 2 * g.Report().Batches {
		require.NoError(t, g.Next(ctx))
	}
	r := g.Report()
	require.NoError(t, g.Close())
	assert.Equal(t, int64(all+2*len(devices)), decoded.Load())
	assert.Equal(t, int64(all), r.FrameCache.Decoded)
}

// The cache never exceeds its limit, even if all of it is in use. Frames that do not fit are decoded when they are needed.
func TestKeptFramesStayWithinTheirLimit(t *testing.T) {
	ctx := context.Background()
	m, _, _ := videoRecordings(t, -1)
	l := streamed(t, "cpu", m, cameraPlan(), loader.Options{Batch: 8, Cameras: twoCameras, ShardWindows: 40, MixShards: 3, FrameCache: 9000, Workers: 4})
	require.Positive(t, l.Report().FrameCache.Limit)
	for range 3 * l.Report().Batches {
		require.NoError(t, l.Next(ctx))
		require.LessOrEqual(t, l.Report().FrameCache.Bytes, int64(9000))
	}
	assert.Greater(t, l.Report().FrameCache.Decoded, int64(100))
	_, err := loader.NewStreaming(ctx, open(t, "cpu"), m, cameraPlan(), loader.Options{Batch: 8, Cameras: twoCameras, FrameCache: -2})
	var option *loader.OptionError
	assert.ErrorAs(t, err, &option)
}

// Whoever gives up a batch leaves nothing half decoded behind: the batch that comes again has the same frames.
func TestABatchThatIsGivenUpLeavesNoHalfStretch(t *testing.T) {
	ctx := context.Background()
	opt := loader.Options{Batch: 8, Seed: 2, Cameras: twoCameras, ShardWindows: 40, MixShards: 3}
	m, _, _ := videoRecordings(t, -1)
	want, states := kept(t, streamed(t, "cpu", m, cameraPlan(), opt), 8, 12)
	l := streamed(t, "cpu", m, cameraPlan(), opt)
	for k := range 10 {
		require.NoError(t, l.Next(ctx))
		require.NoError(t, l.Resume(ctx, states[k])) // while frames are decoded ahead
		got, _ := kept(t, l, 8, 1)
		require.Equal(t, want[k+1], got[0])
		require.NoError(t, l.Resume(ctx, states[k]))
	}
}
