package loader_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// ending is a context that ends when it was asked so often.
type ending struct {
	context.Context
	left atomic.Int32
}

func (e *ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// packed is a store of recordings with their frames, in a file.
func packed(t *testing.T, d dataset.Dataset) *store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.safetensors")
	require.NoError(t, store.Pack(context.Background(), d, path, store.BuildOptions{Media: []string{store.AllMedia}}))
	s, err := store.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Wherever in a batch its context ends, the batch is made or is the next one still: no window is lost, and a state is that of the batches which were given.
func TestAContextThatEndsLosesNoWindow(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, -1)
	store := packed(t, m)
	for _, cameras := range [][]loader.Camera{nil, twoCameras} {
		p := cameraPlan()
		if cameras == nil {
			p = shards()
		}
		opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: cameras, ShardWindows: 40, MixShards: 2}
		want, states := kept(t, streamed(t, "cpu", m, p, opt), 8, 10)
		resident, err := loader.New(ctx, open(t, "cpu"), store, p, opt)
		require.NoError(t, err)
		defer resident.Close()
		for _, l := range []*loader.Loader{resident, streamed(t, "cpu", store, p, opt)} {
			for i, ends := 0, int32(0); i < len(want); ends++ {
				soon := &ending{Context: ctx}
				soon.left.Store(ends % 6)
				if err := l.Next(soon); err != nil {
					require.ErrorIs(t, err, context.Canceled)
					continue
				}
				s, err := l.State(ctx)
				require.NoError(t, err)
				require.Equal(t, states[i], s)
				b, err := l.Batch().Host(ctx)
				require.NoError(t, err)
				for row, digest := range want[i] {
					d, err := b.Digest(row)
					require.NoError(t, err)
					require.Equal(t, digest, d, "batch %d, row %d, %d cameras", i, row, len(cameras))
				}
				i++
			}
		}
	}
}

// If an episode could not be read again, its rows have no frames either, as the rows after the last window.
func TestARowWithoutAWindowHasNoFrames(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, -1)
	later := *m[5]
	later.Streams = slices.Clone(later.Streams)
	later.Streams[1].Times = tensor.Must(tensor.Of(slices.Clone(data[int64](t, later.Streams[1].Times)), later.Streams[1].Len()))
	data[int64](t, later.Streams[1].Times)[7]++
	f := &failing{made: m, others: map[int]*dataset.Episode{5: &later}}
	l := streamed(t, "cpu", f, cameraPlan(), loader.Options{Batch: 8, Last: ops.LastShort, Age: true, Cameras: twoCameras, ShardWindows: 40, MixShards: 2})
	f.again.Store(true)
	lost := 0
	for b, err := range l.Epoch(ctx) {
		require.NoError(t, err)
		for row, e := range data[int64](t, b.Episodes) {
			if e >= 0 {
				continue
			}
			lost++
			for _, c := range b.Cameras {
				n := c.Valid.Dim(1)
				size := c.Frames.Len() / 8
				assert.Equal(t, make([]uint8, n), data[uint8](t, c.Valid)[row*n:(row+1)*n])
				assert.Equal(t, slices.Repeat([]uint8{1}, n), data[uint8](t, c.Pad)[row*n:(row+1)*n])
				assert.Equal(t, make([]int64, n), data[int64](t, c.Age)[row*n:(row+1)*n])
				assert.Equal(t, make([]uint8, size), data[uint8](t, c.Frames)[row*size:(row+1)*size])
			}
		}
	}
	assert.Equal(t, l.Report().Missing+l.Report().Streaming.Unread, lost)
	assert.Positive(t, l.Report().Missing)
	assert.Positive(t, l.Report().Streaming.Unread)
}

// shut are frames of a dataset that somebody has closed.
type shut struct{}

func (shut) ReadFrame(context.Context, int) ([]byte, error) { return nil, dataset.ErrClosed }

// A closed dataset is an error, and not so many black frames.
func TestFramesOfAClosedDatasetAreAnError(t *testing.T) {
	m := filmedRecordings(t, -1)
	for _, e := range m {
		e.Media[0].Source = shut{}
	}
	l := streamed(t, "cpu", m, cameraPlan(), loader.Options{Batch: 8, Cameras: twoCameras, ShardWindows: 40, MixShards: 2})
	for range 2 {
		require.ErrorIs(t, l.Next(context.Background()), dataset.ErrClosed)
	}
}

// If a plan sets how far windows may reach after an episode, the windows of cameras count too.
func TestWindowsOfCamerasCountForPadding(t *testing.T) {
	m := filmedRecordings(t, -1)
	p := cameraPlan()
	p.Windows["front"] = align.Window{From: -100 * time.Millisecond, To: 420 * time.Millisecond}
	p.Padding, p.PadAfter = "diffusion_policy", ops.Within(320*time.Millisecond)
	l := streamed(t, "cpu", m, p, loader.Options{Batch: 8, Cameras: twoCameras, ShardWindows: 40, MixShards: 2})
	assert.Equal(t, 4*len(m), l.Report().Unanchored, "a window ends 20 ticks behind its anchor, of which 16 may lie beyond the end")
	p.PadAfter = ops.Within(time.Second)
	_, err := loader.NewStreaming(context.Background(), open(t, "cpu"), m, p, loader.Options{Batch: 8, Cameras: twoCameras})
	var plan *align.PlanError
	assert.ErrorAs(t, err, &plan)
}

// Options without any possible batch are errors that name the option, for both kinds of loaders.
func TestOptionsThatCannotBeAreNamed(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	store := inMemory(t, m)
	for _, c := range []struct {
		arg    string
		opt    loader.Options
		change func(p *align.Plan)
	}{
		{"Batch", loader.Options{}, nil},
		{"Batch", loader.Options{Batch: 1 << 32, Ranks: 1 << 30}, nil},
		{"Ranks", loader.Options{Batch: 1, Ranks: -1}, nil},
		{"Ranks", loader.Options{Batch: 1 << 30, Ranks: 1 << 34}, nil},
		{"Last", loader.Options{Batch: 1, Last: 7}, nil},
		{"plan.windows.action", loader.Options{Batch: 1}, func(p *align.Plan) {
			p.Windows["action"] = align.Window{From: time.Millisecond, To: 2 * time.Millisecond}
		}},
	} {
		p := shards()
		if c.change != nil {
			c.change(&p)
		}
		_, resident := loader.New(ctx, open(t, "cpu"), store, p, c.opt)
		_, streaming := loader.NewStreaming(ctx, open(t, "cpu"), m, p, c.opt)
		for _, err := range []error{resident, streaming} {
			var option *loader.OptionError
			require.True(t, errors.As(err, &option), "%s: %v", c.arg, err)
			assert.Equal(t, c.arg, option.Arg)
		}
	}
	var mixture *loader.MixtureError
	_, err := loader.New(ctx, open(t, "cpu"), nil, shards(), loader.Options{Batch: 1})
	assert.ErrorAs(t, err, &mixture)
	var option *loader.OptionError
	_, err = loader.NewStreaming(ctx, open(t, "cpu"), nil, shards(), loader.Options{Batch: 1})
	assert.ErrorAs(t, err, &option)
}

// The shards that an error proposes fit, and twice as much does not.
func TestWhatIsSaidToFitFits(t *testing.T) {
	ctx := context.Background()
	b, err := sim.New(cudasim.New(cudasim.Config{Memory: 8 << 20}))
	require.NoError(t, err)
	d, err := ops.NewDevice(b)
	require.NoError(t, err)
	defer d.Close()
	const n = 40_000
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(i) * 1e6
	}
	var m made
	e := &dataset.Episode{Name: "long"}
	for _, name := range []string{"a", "b"} {
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.New(tensor.F32, n, 4)), nil)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	m = append(m, e)
	p := align.Plan{Rate: 1000, Streams: []align.Stream{{Name: "a"}, {Name: "b"}}}
	opt := loader.Options{Batch: 8, ShardWindows: 1000, MixShards: 4, Workers: 1}
	_, err = loader.NewStreaming(ctx, d, m, p, opt)
	var room *loader.RoomError
	require.ErrorAs(t, err, &room)
	assert.Equal(t, []int{1000, 2}, []int{room.FitWindows, room.FitMix}, "four slots of %d bytes", room.Bytes/8)
	opt.MixShards = room.FitMix
	l, err := loader.NewStreaming(ctx, d, m, p, opt)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// A copy of a batch does not change, and a copy of the copy is itself.
func TestACopyOfABatchStays(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	store := inMemory(t, m)
	l := load(t, "cpu", m, shards(), loader.Options{Batch: 4})
	require.NoError(t, l.Next(ctx))
	b, err := l.Batch().Host(ctx)
	require.NoError(t, err)
	_, want, err := l.Window(ctx, store, b, 1, "state")
	require.NoError(t, err)
	require.NoError(t, l.Next(ctx))
	_, got, err := l.Window(ctx, store, b, 1, "state")
	require.NoError(t, err)
	assert.Equal(t, mustFloats(t, want.Values), mustFloats(t, got.Values))
	for _, row := range []int{-1, 4, math.MaxInt} {
		_, err := b.Digest(row)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
	name, number := l.Known(-1)
	assert.Equal(t, []any{"", -1, 0}, []any{name, number, l.Windows(-1)})
}

// A plan file's settings of a stream apply to that stream, wherever cameras are in the list.
func TestCamerasInAPlanFileChangeNoStream(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, -1)
	store := inMemory(t, m)
	read := func(streams string) align.Plan {
		path := filepath.Join(t.TempDir(), "plan.yaml")
		require.NoError(t, os.WriteFile(path, []byte("version: 1\nrate: 50\nshuffle: shards\ndefaults:\n  offset: 40ms\nstreams:\n"+streams), 0o600))
		p, err := planfile.Read(path)
		require.NoError(t, err)
		return p
	}
	const front, state, imu = "  - name: front\n    offset: 0s\n", "  - name: state\n", "  - name: imu\n    offset: 0s\n"
	opt := loader.Options{Batch: 8, Age: true}
	want, err := loader.New(ctx, open(t, "cpu"), store, read(state+imu), opt)
	require.NoError(t, err)
	defer want.Close()
	opt.Cameras = twoCameras[:1]
	var ages []int64
	for _, streams := range []string{front + state + imu, state + front + imu, state + imu + front} {
		l := streamed(t, "cpu", m, read(streams), opt)
		require.NoError(t, want.Resume(ctx, loader.State{Version: 1, Windows: 402, ShardWindows: 4096, MixShards: 16}))
		require.NoError(t, want.Next(ctx))
		require.NoError(t, l.Next(ctx))
		a, err := want.Batch().Host(ctx)
		require.NoError(t, err)
		b, err := l.Batch().Host(ctx)
		require.NoError(t, err)
		for i := range a.Streams {
			assert.Equal(t, data[float32](t, a.Streams[i].Values), data[float32](t, b.Streams[i].Values), "%s of %s", a.Streams[i].Name, streams)
		}
		if ages == nil {
			ages = data[int64](t, b.Cameras[0].Age)
		}
		assert.Equal(t, ages, data[int64](t, b.Cameras[0].Age), streams)
	}
}

// A store that is closed under loaders, which read it at the same time, is an error of each, now and again, and leaves nothing behind.
func TestAStoreThatIsClosedUnderLoadersIsAnError(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.safetensors")
	require.NoError(t, store.Pack(ctx, filmedRecordings(t, 4), path, store.BuildOptions{Media: []string{store.AllMedia}}))
	before := runtime.NumGoroutine()
	for k := range 8 {
		store, err := store.Open(path)
		require.NoError(t, err)
		d, err := ops.Open("cpu")
		require.NoError(t, err)
		var all []*loader.Loader
		for i := range 3 {
			opt := loader.Options{Batch: 8, Seed: uint64(i), Cameras: twoCameras, ShardWindows: 20, MixShards: 2}
			l, err := loader.NewStreaming(ctx, d, store, cameraPlan(), opt)
			if i == 2 {
				require.NoError(t, l.Close())
				l, err = loader.New(ctx, d, store, cameraPlan(), opt)
			}
			require.NoError(t, err)
			all = append(all, l)
		}
		var drawing sync.WaitGroup
		for _, l := range all {
			drawing.Go(func() {
				var err error
				for err == nil {
					err = l.Next(ctx)
				}
				assert.ErrorIs(t, err, dataset.ErrClosed)
				assert.ErrorIs(t, l.Next(ctx), dataset.ErrClosed)
			})
		}
		time.Sleep(time.Duration(k) * 2 * time.Millisecond)
		require.NoError(t, store.Close())
		drawing.Wait()
		for _, l := range all {
			require.NoError(t, l.Close())
		}
		require.NoError(t, d.Close())
	}
	for range 100 { // goroutines may still be ending
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// A group that streams has the frames of one device, and goes on from a state, while somebody looks at its report.
func TestAGroupStreamsFrames(t *testing.T) {
	ctx := context.Background()
	store := packed(t, filmedRecordings(t, 4))
	opt := loader.Options{Batch: 6, Seed: 3, Last: ops.LastShort, Cameras: twoCameras, ShardWindows: 40, MixShards: 2}
	want := map[int64]uint64{}
	digests(t, streamed(t, "cpu", store, cameraPlan(), opt), want, 0, 1, 6)
	opt.Batch = 5
	list, err := ops.OpenAll("cpu,cpu,cpu")
	require.NoError(t, err)
	g, err := loader.NewGroup(list, opt, func(d *ops.Device, o loader.Options) (*loader.Loader, error) {
		return loader.NewStreaming(ctx, d, store, cameraPlan(), o)
	})
	require.NoError(t, err)
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				_, _ = g.Report(), g.Waits()
			}
		}
	})
	got := map[int64]uint64{}
	positions(t, g, got, 0, 3, 9)
	state, err := g.State(ctx)
	require.NoError(t, err)
	require.NoError(t, g.Next(ctx))
	require.NoError(t, g.Resume(ctx, state))
	positions(t, g, got, 0, 3, 0)
	close(done)
	looking.Wait()
	same(t, want, got, "three devices")
	require.NoError(t, g.Close())
	for _, d := range list {
		require.NoError(t, d.Close())
	}
}

// Frames of a weighted mixture are of the windows that were drawn, in every epoch and from any state.
func TestFramesOfAMixtureAreOfItsWindows(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, -1)
	p := cameraPlan()
	p.Shuffle = "windows"
	list := []loader.Weighted{{Store: packed(t, m[:3]), Weight: 1}, {Store: packed(t, m[3:]), Weight: 2}}
	l := mixture(t, "cpu", list, p, loader.Options{Batch: 7, Seed: 3, Last: ops.LastShort, Cameras: twoCameras, EpochWindows: 61})
	sums, states := kept(t, l, 7, 25)
	for _, at := range []int{0, 7, 8, 9, 23} {
		require.NoError(t, l.Resume(ctx, states[at]))
		again, _ := kept(t, l, 7, 1)
		require.Equal(t, sums[at+1], again[0], "after batch %d", at)
		b := l.Batch()
		c := &b.Cameras[0]
		n, size := c.Valid.Dim(1), c.Frames.Len()/c.Valid.Len()
		for row, e := range data[int64](t, b.Episodes) {
			store, number := l.StoreOf(e)
			for k := row * n; k < (row+1)*n; k++ {
				if data[uint8](t, c.Valid)[k] == 1 {
					require.EqualValues(t, 3*store+number, data[uint8](t, c.Frames)[k*size], "red is the episode")
				}
			}
		}
	}
}
