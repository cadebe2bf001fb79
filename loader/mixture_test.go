package loader_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// two are stores of the first and the last of the recordings.
func two(t *testing.T, m made) []loader.Weighted {
	t.Helper()
	var list []loader.Weighted
	for _, part := range []made{m[:3], m[3:]} {
		store := inMemory(t, part)
		list = append(list, loader.Weighted{Store: store})
	}
	return list
}

func mixture(t *testing.T, backend string, list []loader.Weighted, p align.Plan, opt loader.Options) *loader.Loader {
	t.Helper()
	l, err := loader.NewMixture(context.Background(), open(t, backend), list, p, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// asRecorded is the plan without settings that depend on all episodes together.
func asRecorded() align.Plan {
	p := plan()
	p.Streams[0].Normalise = ""
	return p
}

// Without weights several stores are as one of all their episodes, in every order.
func TestStoresWithoutWeightsAreAsOne(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := recordings(t)
	for _, shuffle := range []string{"windows", "shards", "none"} {
		p := plan()
		p.Shuffle = shuffle
		opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, ShardWindows: 30, MixShards: 2}
		want, got := map[int64]uint64{}, map[int64]uint64{}
		digests(t, load(t, "cpu", m, p, opt), want, 0, 1, 8)
		l := mixture(t, "cpu", two(t, m), p, opt)
		digests(t, l, got, 0, 1, 8)
		assert.Equal(t, want, got, shuffle)
		r := l.Report().Mixture
		require.Len(t, r, 2)
		assert.Equal(t, []int{3, 4}, []int{r[0].Episodes, r[1].Episodes})
		assert.Equal(t, []float64{1, 1}, []float64{r[0].Epochs, r[1].Epochs})
		for e := range 7 {
			store, number := l.StoreOf(int64(e))
			assert.Equal(t, [2]int{e/3 - e/6, e - e/3*3 + e/6*3}, [2]int{store, number}, "episode %d", e)
		}
		store, number := l.StoreOf(-1)
		assert.Equal(t, []int{-1, -1}, []int{store, number})
	}
}

// An epoch draws of each store its share, over epochs each of its windows as often as the others, and each is that of the store alone, to
// the bit, on every device and for any number of ranks.
func TestAMixtureDrawsByWeight(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	m := recordings(t)
	list := two(t, m)
	list[0].Weight, list[1].Weight = 0.5, 2
	opt := loader.Options{Batch: 10, Seed: 5, Last: ops.LastShort, EpochWindows: 300}
	l := mixture(t, "cpu", list, asRecorded(), opt)
	r := l.Report()
	assert.Equal(t, 300, r.Windows)
	assert.Equal(t, []int{60, 240}, []int{r.Mixture[0].Share, r.Mixture[1].Share})
	assert.Equal(t, 30, r.Batches)
	assert.InDelta(t, 240/float64(r.Mixture[1].Windows), r.Mixture[1].Epochs, 1e-12)

	alone := [2]map[[2]int64]uint64{{}, {}} // digests by episode and tick
	for i := range list {
		one, err := loader.New(ctx, open(t, "cpu"), list[i].Store, asRecorded(), loader.Options{Batch: 10, Last: ops.LastShort})
		require.NoError(t, err)
		defer one.Close()
		each(t, one, 1, func(e, tick int64, digest uint64) { alone[i][[2]int64{e, tick}] = digest })
		assert.Len(t, alone[i], r.Mixture[i].Windows)
	}
	drawn, shares := [2]map[[2]int64]int{{}, {}}, [2]int{}
	const epochs = 4
	each(t, l, epochs, func(e, tick int64, digest uint64) {
		store, number := l.StoreOf(e)
		at := [2]int64{int64(number), tick}
		require.Equal(t, alone[store][at], digest)
		drawn[store][at]++
		shares[store]++
	})
	assert.Equal(t, [2]int{60 * epochs, 240 * epochs}, shares)
	for i := range drawn {
		least, most := math.MaxInt, 0
		for at := range alone[i] {
			least, most = min(least, drawn[i][at]), max(most, drawn[i][at])
		}
		assert.LessOrEqual(t, most-least, 1, "each window as often")
	}

	want := map[int64]uint64{}
	digests(t, mixture(t, "cpu", list, asRecorded(), opt), want, 0, 1, 10)
	for _, backend := range backends(t)[1:] {
		got := map[int64]uint64{}
		digests(t, mixture(t, backend, list, asRecorded(), opt), got, 0, 1, 10)
		assert.Equal(t, want, got, backend)
	}
	got := map[int64]uint64{}
	for rank := range 3 {
		o := opt
		o.Batch, o.Rank, o.Ranks = 4, rank, 3
		digests(t, mixture(t, "cpu", list, asRecorded(), o), got, rank, 3, 4)
	}
	assert.Equal(t, want, got)
}

// each gives all windows of the loader's first epochs to do.
func each(t *testing.T, l *loader.Loader, epochs int64, do func(e, tick int64, digest uint64)) {
	t.Helper()
	ctx := context.Background()
	for epoch := range epochs {
		for b, err := range l.Epoch(ctx) {
			require.NoError(t, err)
			b, err = b.Host(ctx)
			require.NoError(t, err)
			for i, e := range data[int64](t, b.Episodes) {
				if e < 0 {
					continue
				}
				d, err := b.Digest(i)
				require.NoError(t, err)
				do(e, data[int64](t, b.Ticks)[i], d)
			}
		}
		s, err := l.State(ctx)
		require.NoError(t, err)
		require.Equal(t, epoch, s.Epoch)
	}
}

// A state is of one mixture: of other weights or stores the windows that follow would be others.
func TestAStateIsOfOneMixture(t *testing.T) {
	ctx := context.Background()
	list := two(t, recordings(t))
	list[0].Weight, list[1].Weight = 1, 1
	opt := loader.Options{Batch: 10, Seed: 5}
	l := mixture(t, "cpu", list, plan(), opt)
	require.NoError(t, l.Next(ctx))
	s, err := l.State(ctx)
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":1,"seed":5,"epoch":0,"taken":10,"windows":402,"shuffle":"windows","episodes":"482e04320b65574a","mixture":[{"windows":182,"share":201},{"windows":220,"share":201}]}`, string(text))
	require.NoError(t, l.Next(ctx))
	b, err := l.Batch().Host(ctx)
	require.NoError(t, err)
	want, err := b.Digest(3)
	require.NoError(t, err)

	var again loader.State
	require.NoError(t, json.Unmarshal(text, &again))
	other := mixture(t, "cpu", list, plan(), opt)
	require.NoError(t, other.Resume(ctx, again))
	require.NoError(t, other.Next(ctx))
	b, err = other.Batch().Host(ctx)
	require.NoError(t, err)
	got, err := b.Digest(3)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	list[0].Weight = 2
	var bad *loader.StateError
	require.ErrorAs(t, mixture(t, "cpu", list, plan(), opt).Resume(ctx, again), &bad)
	assert.Equal(t, "mixture", bad.What)
	list[0].Weight, list[1].Weight = 0, 0
	require.ErrorAs(t, mixture(t, "cpu", list, plan(), opt).Resume(ctx, again), &bad)
}

func TestStoresThatAreNotAlikeAreRefused(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	build := func(m made, o store.BuildOptions) *store.Store {
		s, err := store.Build(ctx, m, o)
		require.NoError(t, err)
		return s
	}
	columns := *m[4]
	columns.Streams = append([]dataset.Stream{}, m[4].Streams...)
	names := append([]dataset.Column{}, columns.Streams[1].Columns...)
	names[2].Name = "other"
	columns.Streams[1].Columns = names
	one := build(m[:3], store.BuildOptions{})
	for want, second := range map[string]loader.Weighted{
		"loader: store 1: stream imu: got none":                      {Store: build(m[3:], store.BuildOptions{Streams: []string{"state", "action"}})},
		"other, want the 3 of the first store":                       {Store: build(made{&columns}, store.BuildOptions{})},
		"stream state: got f16, want f32":                            {Store: build(m[3:], store.BuildOptions{DType: tensor.F16})},
		"store 1: weight: got -1":                                    {Store: one, Weight: -1},
		"store 1: weight: got NaN":                                   {Store: one, Weight: math.NaN()},
		"store 1: weight: got +Inf":                                  {Store: one, Weight: math.Inf(1)},
		"store 1: windows: got none, want a window at least to draw": {Store: build(made{m[1]}, store.BuildOptions{}), Weight: 1},
	} {
		p := plan()
		p.Filter.Task = "lift" // which episode 1 is not
		_, err := loader.NewMixture(ctx, open(t, "cpu"), []loader.Weighted{{Store: one, Weight: 1}, second}, p, loader.Options{Batch: 2})
		var bad *loader.MixtureError
		require.ErrorAs(t, err, &bad, want)
		assert.Equal(t, 1, bad.Store)
		assert.ErrorContains(t, err, want)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
	for arg, edit := range map[string]func(*align.Plan, *loader.Options, *[]loader.Weighted){
		"plan.shuffle": func(p *align.Plan, _ *loader.Options, _ *[]loader.Weighted) { p.Shuffle = "shards" },
		"EpochWindows": func(_ *align.Plan, o *loader.Options, _ *[]loader.Weighted) { o.EpochWindows = -1 },
		"stores":       func(_ *align.Plan, _ *loader.Options, list *[]loader.Weighted) { *list = nil },
		"Batch":        func(_ *align.Plan, o *loader.Options, _ *[]loader.Weighted) { o.EpochWindows = 1 },
	} {
		p, o, list := plan(), loader.Options{Batch: 2}, []loader.Weighted{{Store: one, Weight: 1}, {Store: one, Weight: 2}}
		edit(&p, &o, &list)
		_, err := loader.NewMixture(ctx, open(t, "cpu"), list, p, o)
		var bad *loader.OptionError
		require.ErrorAs(t, err, &bad, arg)
		assert.Equal(t, arg, bad.Arg)
	}
	_, err := loader.New(ctx, open(t, "cpu"), one, plan(), loader.Options{Batch: 2, EpochWindows: 5})
	assert.ErrorIs(t, err, dataset.ErrOption, "of no mixture")
	_, err = loader.NewStreaming(ctx, open(t, "cpu"), one, shards(), loader.Options{Batch: 2, EpochWindows: 5})
	assert.ErrorIs(t, err, dataset.ErrOption, "of no mixture")
}
