package loader_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
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
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// made is a dataset of episodes in memory.
type made []*dataset.Episode

func (m made) Name() string   { return "made" }
func (m made) Format() string { return "made" }
func (m made) Info() dataset.Info {
	s := dataset.Split{Name: "train"}
	for i := range len(m) - len(m)/3 {
		s.Episodes = append(s.Episodes, i)
	}
	return dataset.Info{Splits: []dataset.Split{s}}
}
func (m made) Len() int     { return len(m) }
func (m made) Close() error { return nil }
func (m made) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	if m[i] == nil {
		return nil, fmt.Errorf("broken")
	}
	return m[i], nil
}

// stream makes a stream at a jittered rate. Its numbers encode their place.
func stream(t *testing.T, r *rand.Rand, name string, episode int, hz float64, seconds float64, width int) dataset.Stream {
	t.Helper()
	n := int(hz*seconds) + 1
	times, values := make([]int64, n), make([]float32, n*width)
	for i := range times {
		times[i] = int64((float64(i)+0.3*r.Float64())/hz*1e9) + int64(episode)*1e12
		for d := range width {
			values[i*width+d] = float32(math.Sin(float64(i)/hz*3+float64(d))) + float32(episode)
		}
	}
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, n, width)), nil)
	require.NoError(t, err)
	return s
}

func recordings(t *testing.T) made {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var m made
	for i := range 7 {
		length := 0.8 + 0.4*float64(i%3)
		e := &dataset.Episode{Name: fmt.Sprint("e", i), Attributes: dataset.Attributes{Task: []string{"lift", "drop"}[i%2]}}
		e.Streams = append(e.Streams, stream(t, r, "state", i, 30, length, 5), stream(t, r, "imu", i, 100, length+.1, 3), stream(t, r, "action", i, 30, length, 2))
		e.Streams[2].Times = e.Streams[0].Times // as in a table
		m = append(m, e)
	}
	return m
}

func plan() align.Plan {
	return align.Plan{
		Rate: 50, Shuffle: "windows",
		Streams: []align.Stream{
			{Name: "state", Sampling: align.Sampling{Normalise: "mean-std"}}, {Name: "imu", Columns: []string{"0:2"}, Sampling: align.Sampling{Kind: "nearest"}},
			{Name: "action", Sampling: align.Sampling{DType: tensor.F64}},
		},
		Windows: map[string]align.Window{"state": {From: -200 * time.Millisecond, To: 0}, "action": {From: 0, To: 300 * time.Millisecond}},
	}
}

func open(t *testing.T, backend string) *ops.Device {
	t.Helper()
	d, err := ops.Open(backend)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// inMemory is a store that is built in memory.
func inMemory(t testing.TB, d dataset.Dataset) *store.Store {
	t.Helper()
	s, err := store.Build(context.Background(), d, store.BuildOptions{})
	require.NoError(t, err)
	return s
}

func load(t *testing.T, backend string, m made, p align.Plan, opt loader.Options) *loader.Loader {
	t.Helper()
	packed := inMemory(t, m)
	l, err := loader.New(context.Background(), open(t, backend), packed, p, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// A window equals Fuse of the whole recording at the same times.
func TestAWindowIsWhatFuseGivesForTheWholeRecording(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	for _, backend := range []string{"cpu", "sim"} {
		m := recordings(t)
		l := load(t, backend, m, plan(), loader.Options{Batch: 6, Seed: 3, Last: ops.LastShort})
		r := l.Report()
		assert.Equal(t, 7, r.Episodes)
		host := open(t, "cpu")
		seen := map[[2]int64]bool{}
		n := 0
		for b, err := range l.Epoch(ctx) {
			require.NoError(t, err)
			b, err = b.Host(ctx)
			require.NoError(t, err)
			if n++; backend == "sim" && n > 2 {
				break
			}
			check(t, host, l, m, b, seen)
		}
		if backend == "cpu" {
			assert.Equal(t, r.Windows, len(seen), "each window once")
			assert.Equal(t, r.Batches, n)
		}
	}
}

func check(t *testing.T, host *ops.Device, l *loader.Loader, m made, b *loader.Batch, seen map[[2]int64]bool) {
	t.Helper()
	ctx := context.Background()
	episodes, ticks, anchors := data[int64](t, b.Episodes), data[int64](t, b.Ticks), data[int64](t, b.Anchors)
	for row, e := range episodes {
		if e < 0 {
			assert.Equal(t, int64(-1), ticks[row])
			for _, s := range b.Streams {
				for k := range s.Valid.Dim(1) {
					assert.Zero(t, data[uint8](t, s.Valid)[row*s.Valid.Dim(1)+k])
					assert.Equal(t, uint8(1), data[uint8](t, s.Pad)[row*s.Valid.Dim(1)+k])
				}
			}
			continue
		}
		require.False(t, seen[[2]int64{e, ticks[row]}], "a window twice")
		seen[[2]int64{e, ticks[row]}] = true
		for _, s := range b.Streams {
			p := plan()
			targets := make([]int64, s.Valid.Dim(1))
			for k := range targets {
				step := int64(k) * 20e6
				if s.Name == "state" {
					step = int64(k-len(targets)+1) * 20e6
				}
				targets[k] = anchors[row] + step
			}
			one := align.Plan{Targets: tensor.Must(tensor.Of(targets, len(targets)))}
			for _, o := range p.Streams {
				if o.Name == s.Name {
					one.Streams = append(one.Streams, o)
				}
			}
			one.Snap = ops.Within(clocks.Snap)
			want, err := align.Fuse(ctx, host, m[l.EpisodeOf(e)], one)
			require.NoError(t, err)
			assert.Equal(t, data[uint8](t, want.Valid), data[uint8](t, s.Valid)[row*len(targets):(row+1)*len(targets)], s.Name)
			got, err := tensor.Floats(s.Values)
			require.NoError(t, err)
			made, err := tensor.Floats(want.Values)
			require.NoError(t, err)
			width := s.Values.Dim(2)
			stats := l.Stats(s.Name)
			for k, v := range made {
				if stats != nil {
					st := stats[k%width]
					v = float64((float32(v) - float32(st.Mean)) * float32(1/(st.Std+1e-8)))
				}
				require.Equal(t, v, got[row*len(made)+k], "%s, episode %d, tick %d, number %d", s.Name, e, ticks[row], k)
			}
		}
	}
}

func data[T tensor.Element](t testing.TB, of *tensor.Tensor) []T {
	t.Helper()
	list, err := tensor.Data[T](of)
	require.NoError(t, err)
	return list
}

// digests returns the digest of each position of an epoch that a loader's rank has.
func digests(t *testing.T, l *loader.Loader, into map[int64]uint64, rank, ranks, batch int) {
	t.Helper()
	ctx := context.Background()
	step := int64(0)
	for b, err := range l.Epoch(ctx) {
		require.NoError(t, err)
		b, err = b.Host(ctx)
		require.NoError(t, err)
		for i := range batch {
			if data[int64](t, b.Episodes)[i] < 0 {
				continue
			}
			d, err := b.Digest(i)
			require.NoError(t, err)
			position := step + int64(rank+ranks*i)
			_, twice := into[position]
			require.False(t, twice, position)
			into[position] = d
		}
		step += int64(batch * ranks)
	}
}

// The order is the same for any number of ranks, batch and backend.
func TestOneOrderForAnyNumberOfRanks(t *testing.T) {
	m := recordings(t)
	want := map[int64]uint64{}
	digests(t, load(t, "cpu", m, plan(), loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort}), want, 0, 1, 8)
	for _, ranks := range []int{2, 4, 7} {
		got := map[int64]uint64{}
		for rank := range ranks {
			digests(t, load(t, "cpu", m, plan(), loader.Options{Batch: 3, Seed: 5, Rank: rank, Ranks: ranks, Last: ops.LastShort}), got, rank, ranks, 3)
		}
		assert.Equal(t, want, got)
	}
}

// A loader that resumes from a state draws the same windows.
func TestResumingGoesOn(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	opt := loader.Options{Batch: 5, Seed: 9}
	whole := load(t, "cpu", m, plan(), opt)
	var want []uint64
	var states []loader.State
	n := 2*whole.Report().Batches + 3
	for b, err := range whole.Batches(ctx) {
		require.NoError(t, err)
		b, err = b.Host(ctx)
		require.NoError(t, err)
		for i := range 5 {
			d, err := b.Digest(i)
			require.NoError(t, err)
			want = append(want, d)
		}
		s, err := whole.State(ctx)
		require.NoError(t, err)
		states = append(states, s)
		if len(states) == n {
			break
		}
	}
	for _, at := range []int{0, 3, whole.Report().Batches - 1, n - 2} {
		l := load(t, "cpu", m, plan(), opt)
		require.NoError(t, l.Resume(ctx, states[at]))
		require.NoError(t, l.Next(ctx))
		b, err := l.Batch().Host(ctx)
		require.NoError(t, err)
		d, err := b.Digest(2)
		require.NoError(t, err)
		assert.Equal(t, want[5*(at+1)+2], d, "after batch %d", at)
	}
	l := load(t, "cpu", m, plan(), opt)
	for _, s := range []loader.State{{Version: 2, Seed: 9, Windows: states[0].Windows}, {Version: 1, Seed: 8, Windows: states[0].Windows}, {Version: 1, Seed: 9, Windows: 3}, {Version: 1, Seed: 9, Windows: states[0].Windows, Taken: -1},
		{Version: 1, Seed: 9, Windows: states[0].Windows, Epoch: math.MaxInt64}, {Version: 1, Seed: 9, Windows: states[0].Windows, Epoch: -1}} {
		assert.ErrorIs(t, l.Resume(ctx, s), ops.ErrOption)
	}
}

// A state's JSON is a contract. A state without shards, from an older program, is of an order without shards.
func TestStatesOfBothOrdersAreRead(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	p := plan()
	for shuffle, want := range map[string]string{
		"windows": `{"version":1,"seed":9,"epoch":0,"taken":5,"windows":402,"shuffle":"windows","episodes":"620a9527d72c7bae"}`,
		"shards":  `{"version":1,"seed":9,"epoch":0,"taken":5,"windows":402,"shuffle":"shards","episodes":"620a9527d72c7bae","shard_windows":30,"mix_shards":2}`,
	} {
		p.Shuffle = shuffle
		l := load(t, "cpu", m, p, loader.Options{Batch: 5, Seed: 9, ShardWindows: 30, MixShards: 2})
		require.NoError(t, l.Next(ctx))
		s, err := l.State(ctx)
		require.NoError(t, err)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		var again loader.State
		require.NoError(t, json.Unmarshal(text, &again))
		require.NoError(t, l.Resume(ctx, again))
		p.Shuffle = map[string]string{"windows": "shards", "shards": "windows"}[shuffle]
		other := load(t, "cpu", m, p, loader.Options{Batch: 5, Seed: 9, ShardWindows: 30, MixShards: 2})
		var bad *loader.StateError
		require.ErrorAs(t, other.Resume(ctx, again), &bad)
		assert.Equal(t, "shards", bad.What)
		older := again
		older.Shuffle, older.Episodes = "", ""
		require.NoError(t, l.Resume(ctx, older))
		again.MixShards++
		assert.ErrorAs(t, l.Resume(ctx, again), &bad)
	}
}

// A state of an order that is not shuffled, or of other episodes with as many windows, is refused.
func TestAStateIsOfOneOrderOfOneSetOfEpisodes(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	twins := made{m[0], m[0], m[0]}
	l := load(t, "cpu", twins, plan(), loader.Options{Batch: 2, Episodes: [][]int{{0, 1}}})
	require.NoError(t, l.Next(ctx))
	s, err := l.State(ctx)
	require.NoError(t, err)
	plain := plan()
	plain.Shuffle = "none"
	for what, other := range map[string]*loader.Loader{
		"shuffle":  load(t, "cpu", twins, plain, loader.Options{Batch: 2, Episodes: [][]int{{0, 1}}}),
		"episodes": load(t, "cpu", twins, plan(), loader.Options{Batch: 2, Episodes: [][]int{{0, 2}}}),
	} {
		var bad *loader.StateError
		require.ErrorAs(t, other.Resume(ctx, s), &bad)
		assert.Equal(t, what, bad.What)
	}
	require.NoError(t, load(t, "cpu", twins, plan(), loader.Options{Batch: 3, Episodes: [][]int{{0, 1}}}).Resume(ctx, s))
}

func TestFiltersAndBrokenEpisodesAreCounted(t *testing.T) {
	m := recordings(t)
	m[3] = nil
	m[2].Streams = m[2].Streams[:2] // without action
	m[0].Streams[1].Columns = nil
	packed, err := store.Build(context.Background(), m, store.BuildOptions{Workers: 1})
	require.NoError(t, err)
	assert.Equal(t, 6, packed.Len())
	require.Len(t, packed.Skipped, 1)
	assert.Equal(t, []any{dataset.CodeEpisodeUnread, dataset.At(3)}, []any{packed.Skipped[0].Code, packed.Skipped[0].Row})
	_, err = store.Build(context.Background(), m, store.BuildOptions{Strict: true})
	assert.ErrorContains(t, err, "episode 3")

	p := plan()
	p.Filter = dataset.Filter{Split: "train", Task: "lift"}
	l, err := loader.New(context.Background(), open(t, "cpu"), packed, p, loader.Options{Batch: 2})
	require.NoError(t, err)
	defer l.Close()
	r := l.Report()
	assert.Equal(t, 3, r.Episodes, "0, 2 and 4")
	assert.Equal(t, 3, r.Filtered)
	assert.Equal(t, 1, r.Streams[2].Empty, "episode 2 has no action")
	p.Filter.Task = "none"
	_, err = loader.New(context.Background(), open(t, "cpu"), packed, p, loader.Options{Batch: 2})
	require.ErrorIs(t, err, ops.ErrMissing)
	assert.ErrorContains(t, err, `of 6 episodes the filter leaves out 6: split "train", which some have; task "none", where the tasks are ["lift"`)
	yes := true
	p.Filter = dataset.Filter{Split: "tain", Success: &yes}
	_, err = loader.New(context.Background(), open(t, "cpu"), packed, p, loader.Options{Batch: 2})
	assert.ErrorContains(t, err, `split "tain" (did you mean train?), where the splits are ["train"`)
	assert.ErrorContains(t, err, "; success true, where ")
	p.Filter = dataset.Filter{}
	p.Windows["imu"] = align.Window{From: time.Nanosecond, To: 2 * time.Nanosecond}
	_, err = loader.New(context.Background(), open(t, "cpu"), packed, p, loader.Options{Batch: 2})
	var option *loader.OptionError
	require.ErrorAs(t, err, &option, "which is the plan's and no episode's")
	assert.Equal(t, "plan.windows.imu", option.Arg)
}

func TestTheSameReasonIsToldOnce(t *testing.T) {
	list := dataset.Notes{{Code: "x", Subject: "a"}, {Code: "y", Subject: "b"}, {Code: "x", Subject: "c"}, {Code: "x", Subject: "d"}}
	got := list.Groups()
	assert.Equal(t, []dataset.Notes{{list[0], list[2], list[3]}, {list[1]}}, got)
	assert.Equal(t, []string{"a and 2 more", "b"}, []string{got[0].Who(), got[1].Who()})
	assert.Equal(t, "loader: no windows in 4 episodes; a and 2 more: x; b: y", (&loader.EmptyError{Episodes: 4, Notes: list}).Error())
}
