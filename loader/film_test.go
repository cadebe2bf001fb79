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
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// tape is pictures of a video with a key frame every 5 frames. It counts the frames that are decoded.
type tape struct {
	pictures
	count  int
	frames *atomic.Int64
}

// planes returns a picture of two shades, as 4:2:0.
func (v tape) planes(i int) *video.Planes {
	p := &video.Planes{Width: 8, Height: 6, Bits: 8, Layout: video.YUV420, Stride: [3]int{8, 4, 4}, Matrix: 2, FullRange: true}
	for k, n := range []int{48, 12, 12} {
		p.Data[k] = make([]byte, n)
		for j := range p.Data[k] {
			p.Data[k][j] = byte([]int{10 * i, 100 + v.episode, 100 + v.blue}[k] + j%3)
		}
	}
	return p
}

func (v tape) error(i int) error {
	if i != v.broken {
		return nil
	}
	return fmt.Errorf("frame %d of this video: %w", i, dataset.ErrCorrupt)
}

func (v tape) Group(_ context.Context, frame int) (from, to int, err error) {
	from = frame / 5 * 5
	return from, min(from+5, v.count), nil
}

func (v tape) Planes(ctx context.Context, frames []int, device string, show video.Show) error {
	for _, i := range frames {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.frames.Add(1)
		var p *video.Planes
		err := v.error(i)
		if err == nil {
			p = v.planes(i)
		}
		if err := show(int64(i), p, err); err != nil {
			return err
		}
	}
	return nil
}

func (v tape) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := from; i < to; i++ {
			err := v.error(i)
			var frame *tensor.Tensor
			if err == nil {
				frame, err = v.planes(i).RGB()
			}
			if !yield(frame, err) {
				return
			}
		}
	}
}

// videoRecordings are the first filmedRecordings, with videos. It counts decoded frames.
func videoRecordings(t *testing.T, broken, episodes int) (m made, frames *atomic.Int64, all int) {
	t.Helper()
	m = filmedRecordings(t, broken)[:episodes]
	frames = &atomic.Int64{}
	for _, e := range m {
		for k := range e.Media {
			e.Media[k].Encoding = "h264"
			e.Media[k].Source = tape{e.Media[k].Source.(pictures), e.Media[k].Len(), frames}
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

// changed are cameras with all changes to frames.
var changed = []loader.Camera{
	{
		Name: "front", Height: 4, Width: 5, StoredHeight: 5, StoredWidth: 7, Crop: "random", Flip: 0.5, Brightness: 0.2, Contrast: 0.3, Saturation: 0.4,
		DType: tensor.F32, Layout: "CHW", Normalise: "imagenet",
	},
	{Name: "wrist", Height: 3, Width: 4, Flip: 0.5, PerFrame: true},
}

// changed420 are cameras with frames that are kept as 4:2:0.
var changed420 = []loader.Camera{changed[0], {Name: "wrist", Height: 4, Width: 6, Flip: 0.5, PerFrame: true, Frames: "yuv420"}}

func init() {
	changed420[0].StoredHeight, changed420[0].StoredWidth, changed420[0].Frames = 6, 8, "yuv420"
}

// The level changes how often frames are decoded, but no bit of a batch: with and without damage, of videos and of images.
func TestEachLevelGivesTheSameBatches(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, broken := range []int{-1, 4} {
		for form, cameras := range map[string][]loader.Camera{"images": changed, "videos": changed, "yuv420": changed420} {
			if form == "yuv420" && broken < 0 {
				continue // because it takes long
			}
			images, size := form == "images", cameras[0].StoredHeight*cameras[0].StoredWidth*3
			if form == "yuv420" {
				size /= 2
			}
			opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: cameras, ShardWindows: 40, MixShards: 3, Workers: 3}
			episodes, windows := 7, 402
			if broken >= 0 && !thorough.Long { // because these are simulated as well
				episodes, windows, opt.ShardWindows = 2, 102, 10
			}
			recordings := func() (made, *atomic.Int64, int) {
				if images {
					return filmedRecordings(t, broken)[:episodes], nil, 0
				}
				return videoRecordings(t, broken, episodes)
			}
			opt.FrameLevel = loader.FramesStreaming
			m, _, all := recordings()
			first, second, r := epochs(t, streamed(t, "cpu", m, cameraPlan(), opt), opt)
			require.Len(t, first, windows)
			assert.NotEqual(t, first, second)
			assert.Equal(t, loader.FramesStreaming, r.Cameras[0].Level)
			assert.Zero(t, r.Cameras[0].Bytes)
			bad := r.Cameras[0].Bad
			for _, backend := range backends(t) {
				for _, level := range []loader.FrameLevel{"", loader.FramesPinned, loader.FramesStreaming} {
					if backend != "cpu" && images || backend == "sim" && broken < 0 && !thorough.Long {
						continue // because it takes long
					}
					opt.FrameLevel = level
					m, decoded, _ := recordings()
					got, again, r := epochs(t, streamed(t, backend, m, cameraPlan(), opt), opt)
					same(t, first, got, "%s, %s, level %q", form, backend, level)
					same(t, second, again, "%s, %s, level %q, second epoch", form, backend, level)
					assert.Equal(t, bad, r.Cameras[0].Bad)
					assert.Equal(t, broken >= 0, bad > 0)
					if level == "" && !images {
						assert.Equal(t, loader.FramesOnDevice, r.Cameras[0].Level)
						assert.Equal(t, r.Cameras[0].Wanted, r.Cameras[0].Decoded, "each once in two epochs")
						assert.Zero(t, r.Cameras[0].Left+r.Cameras[1].Left)
						assert.Equal(t, int64(r.Cameras[0].Wanted*size), r.Cameras[0].Bytes)
						assert.LessOrEqual(t, int(decoded.Load()), all+2*loader.KeptTogether)
					}
				}
			}
		}
	}
}

// If there is too little room for a camera, the next level is taken, and the report has the memory that would be needed.
func TestALevelIsChosenByRoom(t *testing.T) {
	m, _, _ := videoRecordings(t, -1, 7)
	opt := loader.Options{Batch: 8, Cameras: twoCameras, ShardWindows: 40, MixShards: 3, FrameMemory: 9000}
	r := streamed(t, "cpu", m, cameraPlan(), opt).Report().Cameras
	assert.Equal(t, []loader.FrameLevel{loader.FramesStreaming, loader.FramesOnDevice}, []loader.FrameLevel{r[0].Level, r[1].Level})
	assert.Equal(t, []int64{int64(r[0].Wanted) * 6 * 8 * 3, 9000, 0}, []int64{r[0].Need, r[0].Room, r[0].Bytes})
	for _, opt := range []loader.Options{{FrameMemory: -1}, {FrameLevel: "ram"}} {
		opt.Batch, opt.Cameras = 8, twoCameras
		_, err := loader.NewStreaming(context.Background(), open(t, "cpu"), m, cameraPlan(), opt)
		var option *loader.OptionError
		assert.ErrorAs(t, err, &option)
	}
}

// After Fill a batch needs no work on the host, so it can be captured. Else it cannot.
func TestBatchesWithFramesAreCapturedAfterFill(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	for _, backend := range backends(t) {
		m, decoded, _ := videoRecordings(t, 4, 7)
		opt := loader.Options{Batch: 8, Seed: 3, Cameras: changed}
		built, err := store.Build(ctx, m, store.BuildOptions{})
		require.NoError(t, err)
		d := open(t, backend)
		l, err := loader.New(ctx, d, built, cameraPlan(), opt)
		require.NoError(t, err)
		q, err := d.NewQueue()
		require.NoError(t, err)
		_, err = l.Capture(q)
		var streaming *loader.StreamingError
		require.ErrorAs(t, err, &streaming)
		want, _ := kept(t, l, 8, 3)
		state, err := l.State(ctx)
		require.NoError(t, err)
		require.NoError(t, l.Resume(ctx, l.StateAt(0, 0)))
		require.NoError(t, l.Fill(ctx))
		all := decoded.Load()
		g, err := l.Capture(q)
		require.NoError(t, err)
		for k := range 3 {
			require.NoError(t, g.Launch(q))
			require.NoError(t, q.Synchronize(ctx))
			host, err := l.Batch().Host(ctx)
			require.NoError(t, err)
			for row := range 8 {
				sum, err := host.Digest(row)
				require.NoError(t, err)
				assert.Equal(t, want[k][row], sum)
			}
		}
		now, err := l.State(ctx)
		require.NoError(t, err)
		assert.Equal(t, state, now)
		assert.Equal(t, all, decoded.Load())
		require.NoError(t, g.Close())
		require.NoError(t, q.Close())
		require.NoError(t, l.Close())
		assert.ErrorIs(t, l.Fill(ctx), dataset.ErrClosed)
	}
	l, err := loader.New(ctx, open(t, "cpu"), inMemory(t, recordings(t)), plan(), loader.Options{Batch: 8})
	require.NoError(t, err)
	left, err := l.FillNext(ctx)
	assert.NoError(t, err)
	assert.Zero(t, left+l.FrameWorkers(), "it has no cameras")
	require.NoError(t, l.Close())
	_, err = l.FillNext(ctx)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

// Whoever gives up a batch leaves nothing half decoded behind: the batch that comes again has the same frames.
func TestABatchThatIsGivenUpLeavesNothingHalfDecoded(t *testing.T) {
	ctx := context.Background()
	for _, level := range loader.FrameLevels {
		opt := loader.Options{Batch: 8, Seed: 2, Cameras: changed, ShardWindows: 40, MixShards: 3, FrameLevel: level}
		m, _, _ := videoRecordings(t, -1, 7)
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
}

func TestCameraOptionsAreChecked(t *testing.T) {
	for arg, change := range map[string]func(c *loader.Camera){
		"Cameras[0]":           func(c *loader.Camera) { c.Width = 0 },
		"Cameras[0].crop":      func(c *loader.Camera) { c.Crop = "corner" },
		"Cameras[0].layout":    func(c *loader.Camera) { c.Layout = "WHC" },
		"Cameras[0].stored":    func(c *loader.Camera) { c.StoredHeight, c.StoredWidth = 9, 9 },
		"Cameras[0].normalise": func(c *loader.Camera) { c.Normalise = "imagenet" },
		"Cameras[0].frames":    func(c *loader.Camera) { c.Frames = "yuv422" },
	} {
		cameras := []loader.Camera{twoCameras[0]}
		change(&cameras[0])
		_, err := loader.NewStreaming(context.Background(), open(t, "cpu"), filmedRecordings(t, -1), cameraPlan(), loader.Options{Batch: 2, Cameras: cameras})
		var option *loader.OptionError
		require.ErrorAs(t, err, &option, arg)
		assert.Equal(t, arg, option.Arg)
	}
}

// In a mixture a camera may have another name in each dataset.
func TestACameraHasANameInEachDataset(t *testing.T) {
	ctx := context.Background()
	draw := func(rename bool) [][]uint64 {
		camera := twoCameras[0]
		var list []loader.Weighted
		for k := range 2 {
			m, _, _ := videoRecordings(t, -1, 7)
			if rename && k == 1 {
				camera.Names = []string{"", "head"}
				for _, e := range m {
					e.MediaStream("front").Name = "head"
				}
			}
			s, err := store.Build(ctx, m, store.BuildOptions{})
			require.NoError(t, err)
			list = append(list, loader.Weighted{Store: s})
		}
		p := plan()
		l, err := loader.NewMixture(ctx, open(t, "cpu"), list, p, loader.Options{Batch: 8, Seed: 2, Cameras: []loader.Camera{camera}})
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		assert.Equal(t, 0, l.Report().Cameras[0].Empty)
		sums, _ := kept(t, l, 8, 5)
		return sums
	}
	assert.Equal(t, draw(false), draw(true))
}
