package loader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func shards() align.Plan {
	p := plan()
	p.Shuffle = "shards"
	return p
}

func streamed(t *testing.T, backend string, d dataset.Dataset, p align.Plan, opt loader.Options) *loader.Loader {
	t.Helper()
	l, err := loader.NewStreaming(context.Background(), open(t, backend), d, p, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// A loader that reads meanwhile gives the windows of one that keeps its store, in the same order, to the bit: from recordings or their store, in one
// file or several, with any number of workers, shards and ranks.
func TestStreamingGivesTheBitsOfAResidentStore(t *testing.T) {
	m := recordings(t)
	packed := inMemory(t, m)
	dir := t.TempDir()
	for i := range 3 {
		_, err := store.PackShard(context.Background(), m, t.TempDir(), dir, i, 3, store.BuildOptions{})
		require.NoError(t, err)
	}
	files, err := store.Open(dir)
	require.NoError(t, err)
	defer files.Close()
	for _, c := range []struct{ windows, mix int }{{16, 3}, {30, 2}, {64, 2}, {1000, 1}, {100, 9}} {
		opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, ShardWindows: c.windows, MixShards: c.mix}
		want := map[int64]uint64{}
		digests(t, load(t, "cpu", m, shards(), opt), want, 0, 1, 8)
		require.Equal(t, 402, len(want))
		for _, d := range []dataset.Dataset{packed, files, m} {
			for _, workers := range []int{1, 16} {
				opt.Workers = workers
				got := map[int64]uint64{}
				digests(t, streamed(t, "cpu", d, shards(), opt), got, 0, 1, 8)
				same(t, want, got, "%+v, %d workers, %T", c, workers, d)
			}
		}
		for _, ranks := range []int{2, 4, 7} {
			got := map[int64]uint64{}
			for rank := range ranks {
				opt.Batch, opt.Rank, opt.Ranks = 3, rank, ranks
				digests(t, streamed(t, "cpu", packed, shards(), opt), got, rank, ranks, 3)
			}
			same(t, want, got, "%d ranks", ranks)
		}
	}
}

// The rows of a large batch are filled by several goroutines.
func TestALargeBatchIsThatOfAResidentStore(t *testing.T) {
	m := recordings(t)
	p := shards()
	p.Rate *= 3
	opt := loader.Options{Batch: 520, Seed: 5, Last: ops.LastShort, ShardWindows: 300, MixShards: 2}
	want, got := map[int64]uint64{}, map[int64]uint64{}
	digests(t, load(t, "cpu", m, p, opt), want, 0, 1, opt.Batch)
	require.Greater(t, len(want), 2*opt.Batch)
	digests(t, streamed(t, "cpu", m, p, opt), got, 0, 1, opt.Batch)
	same(t, want, got, "a batch of %d", opt.Batch)
}

// same compares digests by position.
func same(t *testing.T, want, got map[int64]uint64, what string, args ...any) {
	t.Helper()
	require.Equal(t, len(want), len(got), fmt.Sprintf(what, args...))
	for position := range int64(len(want)) {
		require.Equal(t, want[position], got[position], "position %d, %s", position, fmt.Sprintf(what, args...))
	}
}

// kept returns the digests of so many batches, and the state after each.
func kept(t *testing.T, l *loader.Loader, batch, n int) (sums [][]uint64, states []loader.State) {
	t.Helper()
	ctx := context.Background()
	for range n {
		require.NoError(t, l.Next(ctx))
		b, err := l.Batch().Host(ctx)
		require.NoError(t, err)
		var list []uint64
		for i := range batch {
			d, err := b.Digest(i)
			require.NoError(t, err)
			list = append(list, d)
		}
		s, err := l.State(ctx)
		require.NoError(t, err)
		sums, states = append(sums, list), append(states, s)
	}
	return sums, states
}

// Epochs follow each other as from a store on the device, for every treatment of an epoch's end, shuffled or in order, on every device.
// A loader that resumes from any state, here or there, continues them.
func TestStreamingGoesOnFromAnyState(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	type on struct {
		backend, shuffle string
		last             ops.LastBatch
	}
	cases := []on{{"cpu", "shards", ops.LastDrop}, {"cpu", "none", ops.LastDrop}}
	for _, backend := range backends(t) {
		cases = append(cases, on{backend, "shards", ops.LastShort})
	}
	for _, c := range cases {
		what := fmt.Sprintf("%+v", c)
		p := plan()
		p.Shuffle = c.shuffle
		opt := loader.Options{Batch: 11, Seed: 9, Last: c.last, ShardWindows: 32, MixShards: 2, Workers: 3}
		resident := load(t, "cpu", m, p, opt)
		n := 2*resident.Report().Batches + 3
		if c.backend == "sim" {
			n = 9
		}
		want, states := kept(t, resident, 11, n)
		l := streamed(t, c.backend, m, p, opt)
		got, theirs := kept(t, l, 11, n)
		require.Equal(t, want, got, what)
		require.Equal(t, states, theirs, what)
		r := l.Report().Streaming
		assert.Equal(t, c.backend != "cpu", r.Pinned > 0, "on the CPU a shard is read into its slot")
		assert.LessOrEqual(t, r.Slots*r.SlotBytes, l.Report().Bytes)
		for _, at := range []int{n - 2, 0, 3, 5, resident.Report().Batches - 1} {
			if at >= n-1 {
				continue
			}
			require.NoError(t, l.Resume(ctx, states[at]))
			got, _ := kept(t, l, 11, 1)
			require.Equal(t, want[at+1], got[0], "%s, after batch %d", what, at)
		}
	}
}

// With other ranks and another batch it goes on in the same order, in the middle of a group.
func TestStreamingGoesOnWithOtherRanks(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	opt := loader.Options{Batch: 8, Seed: 2, Last: ops.LastShort, ShardWindows: 32, MixShards: 2}
	want := map[int64]uint64{}
	whole := streamed(t, "cpu", m, shards(), opt)
	digests(t, whole, want, 0, 1, 8)
	got := map[int64]uint64{}
	first := streamed(t, "cpu", m, shards(), opt)
	sums, states := kept(t, first, 8, 5)
	for i, list := range sums {
		for k, d := range list {
			got[int64(8*i+k)] = d
		}
	}
	const ranks, batch = 3, 5
	for rank := range ranks {
		opt.Batch, opt.Rank, opt.Ranks = batch, rank, ranks
		l := streamed(t, "cpu", m, shards(), opt)
		require.NoError(t, l.Resume(ctx, states[4]))
		part := map[int64]uint64{}
		digests(t, l, part, rank, ranks, batch)
		for position, d := range part {
			got[40+position] = d
		}
	}
	same(t, want, got, "resumed by %d ranks", ranks)
	opt.ShardWindows = 33
	l := streamed(t, "cpu", m, shards(), opt)
	var bad *loader.StateError
	require.ErrorAs(t, l.Resume(ctx, states[4]), &bad)
	assert.Equal(t, "shards", bad.What)
}

// failing is a dataset with episodes that fail, or change, when they are read again.
type failing struct {
	made
	again  atomic.Bool // good episodes fail from now on
	broken map[int]error
	others map[int]*dataset.Episode
	slow   chan struct{} // later reads wait for it
}

func (f *failing) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if f.again.Load() {
		if f.slow != nil {
			select {
			case <-f.slow:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if err := f.broken[i]; err != nil {
			return nil, err
		}
		if e := f.others[i]; e != nil {
			return e, nil
		}
	}
	return f.made.Episode(ctx, i)
}

// An episode that cannot be read again, or is another by then, is an error with its number and why, or costs its windows alone, which are counted.
func TestAnEpisodeThatCannotBeReadAgainCostsItsWindows(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	longer := *m[5]
	longer.Streams = slices.Clone(longer.Streams)
	longer.Streams[1] = stream(t, rand.New(rand.NewPCG(1, 2)), "imu", 5, 100, 2, 3)
	later := *m[6]
	later.Streams = slices.Clone(later.Streams)
	later.Streams[1].Times = tensor.Must(tensor.Of(slices.Clone(data[int64](t, later.Streams[1].Times)), later.Streams[1].Len()))
	data[int64](t, later.Streams[1].Times)[7]++
	make := func() *failing {
		return &failing{made: m, broken: map[int]error{3: fmt.Errorf("the cable is cut")}, others: map[int]*dataset.Episode{5: &longer, 6: &later}}
	}
	opt := loader.Options{Batch: 8, Seed: 2, Last: ops.LastShort, ShardWindows: 32, MixShards: 2, Workers: 2}
	p := shards()
	p.Streams[0].Normalise = ""
	f := make()
	l := streamed(t, "cpu", f, p, opt)
	f.again.Store(true)
	missing := 0
	want := map[int64]uint64{}
	digests(t, load(t, "cpu", m, p, opt), want, 0, 1, 8)
	step := int64(0)
	for b, err := range l.Epoch(ctx) {
		require.NoError(t, err)
		b, err = b.Host(ctx)
		require.NoError(t, err)
		for i, e := range data[int64](t, b.Episodes) {
			if step+int64(i) >= int64(l.Report().Windows) {
				break
			}
			if e < 0 {
				missing++
				continue
			}
			assert.NotContains(t, []int64{3, 5, 6}, e)
			d, err := b.Digest(i)
			require.NoError(t, err)
			assert.Equal(t, want[step+int64(i)], d)
		}
		step += 8
	}
	r := l.Report()
	assert.Equal(t, missing, r.Streaming.Unread)
	assert.Greater(t, missing, 50)
	require.Len(t, r.Notes, 3)
	all := fmt.Sprint(r.Notes)
	assert.Contains(t, all, "the cable is cut")
	assert.Contains(t, all, "loader: changed since the loader was opened: samples of imu: got 201, want")
	assert.Contains(t, all, "loader: changed since the loader was opened: timestamps")

	opt.Strict = true
	f = make()
	l = streamed(t, "cpu", f, p, opt)
	f.again.Store(true)
	var err error
	for err == nil {
		err = l.Next(ctx)
	}
	var episode *dataset.EpisodeError
	require.ErrorAs(t, err, &episode)
	assert.Contains(t, []int{3, 5, 6}, episode.Episode)
	assert.ErrorContains(t, err, "loader: epoch 0, shard of")
	assert.Equal(t, err, l.Next(ctx), "and again")
}

// Who stops waits for no shard, loses none, and leaves nothing behind when the loader is closed.
func TestStreamingStopsWhenItIsTold(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	opt := loader.Options{Batch: 8, Seed: 2, ShardWindows: 32, MixShards: 2, Workers: 5}
	want, _ := kept(t, streamed(t, "cpu", m, shards(), opt), 8, 1)
	f := &failing{made: m, slow: make(chan struct{})}
	d, err := ops.Open("cpu")
	require.NoError(t, err)
	defer d.Close()
	before := runtime.NumGoroutine()
	l, err := loader.NewStreaming(ctx, d, f, shards(), opt)
	require.NoError(t, err)
	f.again.Store(true)
	for tries := 0; tries < 100 && l.Waits().Shards <= 10*time.Millisecond; tries++ { // on a busy machine the time may be over before it waits
		soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		require.ErrorIs(t, l.Next(soon), context.DeadlineExceeded)
		cancel()
	}
	assert.Greater(t, l.Waits().Shards, 10*time.Millisecond)
	close(f.slow)
	got, _ := kept(t, l, 8, 1)
	assert.Equal(t, want, got, "nothing was lost")
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Next(ctx), dataset.ErrClosed)
	gone := func() {
		for range 100 { // goroutines may still be ending
			if runtime.NumGoroutine() <= before {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		assert.LessOrEqual(t, runtime.NumGoroutine(), before)
	}
	gone()

	f.slow = make(chan struct{}) // and it is closed while workers wait
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	l, err = loader.NewStreaming(soon, d, f, shards(), opt)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Nil(t, l)
	gone()
}

// Reading keeps step with drawing: it is at most two groups ahead, and Waits reports the side that waits.
func TestReadingWaitsForFreeSlots(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	opt := loader.Options{Batch: 8, Seed: 2, ShardWindows: 32, MixShards: 2, Workers: 5}
	l := streamed(t, "cpu", m, shards(), opt)
	require.NoError(t, l.Next(ctx))
	for range 100 {
		if l.Waits().Read == 4 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	assert.EqualValues(t, 4, l.Waits().Read)
	r := l.Report().Streaming
	assert.Equal(t, 4, r.Slots)
	assert.LessOrEqual(t, l.Waits().Bytes, int64(r.Slots*r.SlotBytes))
	for range 8 {
		require.NoError(t, l.Next(ctx))
	}
	assert.Eventually(t, func() bool { return l.Waits().Slots > 20*time.Millisecond }, time.Second, time.Millisecond)
	assert.EqualValues(t, 0, load(t, "cpu", m, shards(), opt).Waits().Bytes)
}

func TestStreamingRefusesWhatCannotBe(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	d := open(t, "cpu")
	opt := loader.Options{Batch: 8, ShardWindows: 32, MixShards: 2}
	l := streamed(t, "cpu", m, shards(), opt)
	_, err := l.Capture(d.Queue())
	var streaming *loader.StreamingError
	require.ErrorAs(t, err, &streaming)
	require.ErrorAs(t, l.Run(d.Queue()), &streaming)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	for want, o := range map[string]loader.Options{
		"option ShardWindows: got -1": {Batch: 8, ShardWindows: -1}, "option MixShards: got -1": {Batch: 8, MixShards: -1}, "option Workers: got -1": {Batch: 8, Workers: -1},
		"option MixShards: got 2 of 32 windows, want at least the 66 windows": {Batch: 33, Ranks: 2, ShardWindows: 32, MixShards: 2},
	} {
		_, err := loader.NewStreaming(ctx, d, m, shards(), o)
		assert.ErrorContains(t, err, want)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
	_, err = loader.NewStreaming(ctx, d, m, plan(), opt)
	assert.ErrorContains(t, err, "shards or none")
	p := shards()
	p.Streams[0].Name, p.Windows = "stat", nil
	_, err = loader.NewStreaming(ctx, d, m, p, opt)
	var missing *clocks.MissingError
	assert.ErrorAs(t, err, &missing)
	_, err = loader.NewStreaming(ctx, d, made{}, shards(), opt)
	assert.ErrorIs(t, err, ops.ErrMissing)
}

// If the device has too little memory, the error has the bytes needed, and shards that would fit.
func TestADeviceThatIsTooSmallIsToldWhatFits(t *testing.T) {
	const n = 200_000
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(i) * 1e6
	}
	s, err := dataset.NewStream("s", times, tensor.Must(tensor.New(tensor.F32, n, 4)), nil)
	require.NoError(t, err)
	m := made{{Name: "long", Streams: []dataset.Stream{s}}}
	p := align.Plan{Rate: 1000, Streams: []align.Stream{{Name: "s"}}}
	_, err = loader.NewStreaming(context.Background(), open(t, "cpu"), m, p, loader.Options{Batch: 8, ShardWindows: 1, MixShards: n})
	var room *loader.RoomError
	require.ErrorAs(t, err, &room)
	assert.ErrorIs(t, err, ops.ErrOutOfMemory)
	assert.Equal(t, 2*n*n*(4*4+8), room.Bytes, "each shard is of the whole episode")
	assert.Equal(t, 1, room.FitWindows)
	assert.Less(t, room.FitMix, n)
	assert.ErrorContains(t, err, fmt.Sprintf("want %d mixed of 1 windows", room.FitMix))
}

// Next does not allocate, except for reading shards.
func TestDrawingAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	packed := large(t, 20)
	l, err := loader.NewStreaming(ctx, open(t, "cpu"), packed, align.Plan{Rate: 30, Streams: []align.Stream{{Name: "state"}, {Name: "action"}}}, loader.Options{Batch: 8, ShardWindows: 2000, MixShards: 2})
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, l.Next(ctx))
	for l.Waits().Read < 4 {
		time.Sleep(time.Millisecond)
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { require.NoError(t, l.Next(ctx)) }), 0.0)
}

// grown is a dataset with episodes that are made when they are read: 500 frames of 26 doubles.
type grown struct {
	made
	n int
}

func (g grown) Len() int           { return g.n }
func (g grown) Info() dataset.Info { return dataset.Info{} }
func (g grown) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	const frames, width = 500, 26
	times, values := make([]int64, frames), make([]float64, frames*width)
	for k := range times {
		times[k] = int64(k) * 1e9 / 30
	}
	for k := range values {
		values[k] = float64(i) + float64(k)/1e6
	}
	s, err := dataset.NewStream("state", times, tensor.Must(tensor.Of(values, frames, width)), nil)
	return &dataset.Episode{Name: fmt.Sprint(i), Streams: []dataset.Stream{s}}, err
}

// For a dataset of any size the loader keeps the slots, and a few numbers an episode.
func TestMemoryDoesNotGrowWithTheDataset(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	ctx := context.Background()
	live := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	p := align.Plan{Rate: 1, Streams: []align.Stream{{Name: "state", Sampling: align.Sampling{Normalise: "q01-q99"}}}}
	l := streamed(t, "cpu", grown{n: 600}, p, loader.Options{Batch: 32, ShardWindows: 64, MixShards: 2, Workers: 3})
	r := l.Report()
	assert.Less(t, r.Bytes, 4<<20)
	for i := range 2 * r.Batches {
		require.NoError(t, l.Next(ctx))
		if i%200 == 100 {
			assert.Less(t, live()-before, r.Bytes+(4<<20), "the values of all episodes are 31 MB")
		}
	}
	assert.Greater(t, l.Waits().Bytes, int64(60<<20))
	assert.InDelta(t, 300, l.Stats("state")[0].Mean, 1)
}
