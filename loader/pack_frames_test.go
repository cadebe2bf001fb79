package loader_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// frameSizes are those of twoCameras.
var frameSizes = map[string]store.Size{"front": {Width: 8, Height: 6}, store.AllMedia: {Width: 4, Height: 3}}

// packedFrames packs recordings with frames of frameSizes, in one file or in several.
func packedFrames(t *testing.T, m made, shards, workers int) *store.Store {
	t.Helper()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "s.safetensors")
	opt := store.BuildOptions{Frames: frameSizes, Workers: workers}
	if shards == 1 {
		require.NoError(t, store.Pack(ctx, m, path, opt))
	}
	for i := range shards {
		if shards > 1 {
			_, err := store.PackShard(ctx, m, t.TempDir(), path, i, shards, opt)
			require.NoError(t, err)
		}
	}
	s, err := store.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Batches from a store with resized frames are those from the recordings, with the bad frames in their places.
func TestResizedFramesGiveTheBatchesOfTheRecordings(t *testing.T) {
	m := filmedRecordings(t, 4)
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Age: true, Cameras: twoCameras, ShardWindows: 40, MixShards: 2}
	from := streamed(t, "cpu", m, cameraPlan(), opt)
	want := map[int64]uint64{}
	digests(t, from, want, 0, 1, 8)
	require.Positive(t, from.Report().Cameras[0].Bad)
	for _, shards := range []int{1, 3} {
		s := packedFrames(t, m, shards, 1+shards)
		kept, err := loader.New(context.Background(), open(t, "cpu"), s, cameraPlan(), opt)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, kept.Close()) })
		for _, l := range []*loader.Loader{kept, streamed(t, "cpu", s, cameraPlan(), opt)} {
			got := map[int64]uint64{}
			digests(t, l, got, 0, 1, 8)
			same(t, want, got, "%d files", shards)
			for i, c := range l.Report().Cameras {
				w := from.Report().Cameras[i]
				assert.Contains(t, c.FirstBad, "got no pixels")
				c.FirstBad, w.FirstBad = "", ""
				assert.Equal(t, w, c)
			}
		}
	}
}

// photo is one frame of random pixels. Its second frame is damaged.
type photo struct{ pixels []byte }

func (p photo) ReadFrame(_ context.Context, i int) ([]byte, error) {
	return bytes.Clone(p.pixels[i:]), nil
}

// A packed frame has the pixels that ops.Frames makes, and a damaged one has no bytes. A store that is packed again keeps both.
func TestResizedFramesAreThoseOfOpsFrames(t *testing.T) {
	ctx := context.Background()
	const w, h, width, height = 37, 29, 16, 11
	r := rand.New(rand.NewPCG(1, 2))
	film := photo{make([]byte, w*h*3)}
	for i := range film.pixels {
		film.pixels[i] = byte(r.Uint32())
	}
	m := recordings(t)[:1]
	m[0].Media = []dataset.Media{{Name: "eye", Encoding: "rgb8", Width: w, Height: h, Times: []int64{0, 1e9}, Source: film}}
	path := filepath.Join(t.TempDir(), "s")
	opt := store.BuildOptions{Frames: map[string]store.Size{"eye": {Width: width, Height: height}}}
	require.NoError(t, store.Pack(ctx, m, path, opt))
	s, err := store.Open(path)
	require.NoError(t, err)
	defer s.Close()
	d := open(t, "cpu")
	dst := tensor.Must(tensor.New(tensor.U8, 1, height, width, 3))
	plan, err := d.PlanFrames(ops.FramesArgs{Dst: dst, Surfaces: []ops.FrameSurface{{Format: ops.FrameRGB, Planes: [3]*tensor.Tensor{tensor.Must(tensor.Of(film.pixels, h, w, 3))}}}}, ops.FramesOptions{Layout: ops.LayoutHWC})
	require.NoError(t, err)
	defer plan.Close()
	q, err := d.NewQueue()
	require.NoError(t, err)
	defer q.Close()
	require.NoError(t, plan.Run(q))
	require.NoError(t, q.Synchronize(ctx))
	for _, packed := range []func(path string) error{
		nil,
		func(path string) error { return store.Pack(ctx, s, path, opt) },
		func(path string) error { return store.Pack(ctx, s, path, store.BuildOptions{Media: []string{"eye"}}) },
	} {
		s := s
		if packed != nil {
			again := filepath.Join(t.TempDir(), "again")
			require.NoError(t, packed(again))
			s, err = store.Open(again)
			require.NoError(t, err)
			defer s.Close()
		}
		e, err := s.Episode(ctx, 0)
		require.NoError(t, err)
		eye := e.MediaStream("eye")
		assert.Equal(t, []any{"rgb8", width, height, true, []int64{0, 1e9}}, []any{eye.Encoding, eye.Width, eye.Height, eye.Resized, eye.Times})
		got, err := eye.Frame(ctx, 0)
		require.NoError(t, err)
		assert.Equal(t, data[uint8](t, dst), got)
		_, err = eye.Decode(ctx, 1)
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
		n := e.Notes.LeftOut("eye")
		require.NotNil(t, n)
		assert.Equal(t, []int{1, 2}, []int{n.Count, n.Of})
	}
	err = store.Pack(ctx, s, path+"2", store.BuildOptions{Frames: map[string]store.Size{"eye": {Width: 4, Height: 4}}})
	var option *dataset.OptionError
	require.ErrorAs(t, err, &option)
	assert.Equal(t, dataset.OptionError{Arg: "Frames", Got: "eye=4x4", Want: "16x11, to which the store's frames were resized"}, *option)
	_, err = os.Stat(path + "2")
	assert.ErrorIs(t, err, os.ErrNotExist)
	for name, opt := range map[string]store.BuildOptions{
		"no size":  {Frames: map[string]store.Size{"eye": {Width: 4}}},
		"in Media": {Frames: map[string]store.Size{"eye": {Width: 4, Height: 4}}, Media: []string{"eye"}},
		"unknown":  {Frames: map[string]store.Size{"nose": {Width: 4, Height: 4}}},
	} {
		_, err = store.Build(ctx, m, opt)
		require.ErrorAs(t, err, &option, name)
		assert.Equal(t, "Frames", option.Arg, name)
	}
}

// A loader that wants another size than the packed one is refused, also if the store was packed in memory again.
func TestResizedFramesAreNotResizedAgain(t *testing.T) {
	ctx := context.Background()
	s := packedFrames(t, filmedRecordings(t, -1), 1, 1)
	cameras := []loader.Camera{{Name: "wrist", Height: 6, Width: 8}}
	again := inMemory(t, s)
	for _, open := range []func() (*loader.Loader, error){
		func() (*loader.Loader, error) {
			return loader.New(ctx, open(t, "cpu"), s, shards(), loader.Options{Batch: 2, Cameras: cameras})
		},
		func() (*loader.Loader, error) {
			return loader.New(ctx, open(t, "cpu"), again, shards(), loader.Options{Batch: 2, Cameras: cameras})
		},
		func() (*loader.Loader, error) {
			return loader.NewStreaming(ctx, open(t, "cpu"), s, shards(), loader.Options{Batch: 2, Cameras: cameras})
		},
	} {
		_, err := open()
		var option *loader.OptionError
		require.ErrorAs(t, err, &option)
		assert.Equal(t, loader.OptionError{Arg: "Cameras[0]", Got: "wrist stored as 8x6", Want: "4x3, to which the store's frames were resized"}, *option)
	}
}

// A camera that nothing decodes is an error if it is named, and else a note.
func TestResizedFramesNeedADecoder(t *testing.T) {
	ctx, m := context.Background(), filmedRecordings(t, -1)
	for _, e := range m {
		e.MediaStream("front").Source = deep{}
	}
	size := store.Size{Width: 4, Height: 3}
	_, err := store.Build(ctx, m, store.BuildOptions{Frames: map[string]store.Size{"front": size}})
	var media *store.MediaError
	require.ErrorAs(t, err, &media)
	assert.ErrorIs(t, media.Note.Cause, dataset.ErrUnsupported)
	s, err := store.Build(ctx, m, store.BuildOptions{Frames: map[string]store.Size{store.AllMedia: size}})
	require.NoError(t, err)
	require.Len(t, s.Media, 1)
	assert.Equal(t, dataset.CodeFramesUnread, s.Episodes[0].Notes.LeftOut("front").Code)
	_, err = store.Build(ctx, filmedRecordings(t, 2), store.BuildOptions{Frames: map[string]store.Size{store.AllMedia: size}, Strict: true})
	assert.ErrorContains(t, err, "frame 2 of front")
}

// groupedVideo has groups of 50 frames. Frame 120 and all after it have an error.
type groupedVideo struct {
	film
	mu     *sync.Mutex
	ranges map[int]int
}

func (groupedVideo) Group(_ context.Context, frame int) (from, to int, err error) {
	return frame / 50 * 50, frame/50*50 + 50, nil
}

func (groupedVideo) Planes(context.Context, []int, string, video.Show) error { return nil }

func (v groupedVideo) DecodeFrames(_ context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	v.mu.Lock()
	v.ranges[from] = to
	v.mu.Unlock()
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := from; i < to; i++ {
			if i >= 120 {
				yield(nil, fmt.Errorf("torn at %d", i))
				return
			}
			if !yield(tensor.Must(tensor.Of([]byte{byte(i)}, 1, 1, 1)), nil) {
				return
			}
		}
	}
}

// Each group of a video is decoded once, and frames after the last decoded one are lost.
func TestAVideoIsDecodedByItsGroups(t *testing.T) {
	ctx, m := context.Background(), recordings(t)[:1]
	v := groupedVideo{mu: &sync.Mutex{}, ranges: map[int]int{}}
	times := make([]int64, 180)
	for i := range times {
		times[i] = int64(i)
	}
	m[0].Media = []dataset.Media{{Name: "eye", Encoding: "h264", Times: times, Source: v}}
	s, err := store.Build(ctx, m, store.BuildOptions{Frames: map[string]store.Size{"eye": {Width: 1, Height: 1}}, Workers: 3})
	require.NoError(t, err)
	assert.Equal(t, map[int]int{0: 50, 50: 100, 100: 180}, v.ranges)
	eye := s.MediaStream("eye")
	require.Equal(t, 180, eye.Len())
	for i, end := range data[int64](t, eye.FrameOffsets)[1:] {
		assert.Equal(t, int64(3*min(i+1, 120)), end)
	}
	for i, b := range data[uint8](t, eye.Frames) {
		assert.Equal(t, byte(i/3), b)
	}
	n := s.Episodes[0].Notes.LeftOut("eye")
	assert.Equal(t, []int{60, 180}, []int{n.Count, n.Of})
}
