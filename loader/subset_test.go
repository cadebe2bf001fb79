package loader_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// A subset of the episodes is drawn from like a whole dataset. The episodes keep their numbers.
func TestSomeEpisodesAreDrawnFromAsIfTheyWereAll(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	m[4] = nil // which cannot be read
	numbers := []int{1, 2, 4, 6}
	p := plan()
	p.Shuffle = "none"
	batches := func(l *loader.Loader) (sums []uint64, episodes map[int]bool) {
		episodes = map[int]bool{}
		for b, err := range l.Epoch(ctx) {
			require.NoError(t, err)
			b, err := b.Host(ctx)
			require.NoError(t, err)
			for row, e := range data[int64](t, b.Episodes) {
				sum, err := b.Digest(row)
				require.NoError(t, err)
				sums = append(sums, sum)
				name, number := l.Known(e)
				episodes[number] = true
				assert.Equal(t, m[number].Name, name)
			}
		}
		return sums, episodes
	}
	opt := loader.Options{Batch: 1}
	few := load(t, "cpu", made{m[1], m[2], m[6]}, p, opt)
	want := []uint64{}
	for b, err := range few.Epoch(ctx) {
		require.NoError(t, err)
		sum, err := b.Digest(0)
		require.NoError(t, err)
		want = append(want, sum)
	}
	opt.Episodes = [][]int{numbers}
	whole := inMemory(t, m)
	built := inMemory(t, selected(t, m, dataset.Selection{Take: dataset.RangesOf(numbers)}))
	assert.Len(t, built.Episodes, 3)
	assert.Equal(t, dataset.At(4), built.Skipped[0].Row)
	cpu := open(t, "cpu")
	for what, make := range map[string]func() (*loader.Loader, error){
		"a store":       func() (*loader.Loader, error) { return loader.New(ctx, cpu, whole, p, opt) },
		"some of it":    func() (*loader.Loader, error) { return loader.New(ctx, cpu, built, p, opt) },
		"streamed":      func() (*loader.Loader, error) { return loader.NewStreaming(ctx, cpu, whole, p, opt) },
		"from a folder": func() (*loader.Loader, error) { return loader.NewStreaming(ctx, cpu, m, p, opt) },
	} {
		l, err := make()
		require.NoError(t, err, what)
		got, episodes := batches(l)
		assert.Equal(t, want, got, what)
		assert.Equal(t, map[int]bool{1: true, 2: true, 6: true}, episodes, what)
		assert.Equal(t, few.Stats("state"), l.Stats("state"), what)
		require.NoError(t, l.Close())
	}

	var option *loader.OptionError
	for _, bad := range [][]int{{0, 7}, {-1}, {2, 1}, {1, 1}} {
		o := loader.Options{Batch: 1, Episodes: [][]int{bad}}
		for _, from := range []dataset.Dataset{m, whole} {
			_, err := loader.NewStreaming(ctx, cpu, from, p, o)
			require.ErrorAs(t, err, &option)
			assert.Equal(t, "Episodes", option.Arg)
		}
		_, err := loader.New(ctx, cpu, whole, p, o)
		require.ErrorAs(t, err, &option)
		assert.Equal(t, "Episodes", option.Arg)
	}
	for _, one := range [][][]int{{nil, nil}} {
		_, err := loader.New(ctx, cpu, whole, p, loader.Options{Batch: 1, Episodes: one})
		assert.ErrorAs(t, err, &option)
		_, err = loader.NewStreaming(ctx, cpu, m, p, loader.Options{Batch: 1, Episodes: one})
		assert.ErrorAs(t, err, &option)
	}
	var empty *loader.EmptyError
	_, err := loader.New(ctx, cpu, whole, p, loader.Options{Batch: 1, Episodes: [][]int{{}}})
	require.ErrorAs(t, err, &empty)
	assert.Zero(t, empty.Episodes)
	p.Filter.Task = "none"
	_, err = loader.New(ctx, cpu, whole, p, opt)
	require.ErrorAs(t, err, &empty)
	assert.Equal(t, []int{3, 3}, []int{empty.Episodes, empty.Filtered}, "of those that are selected")
}

// Statistics that are given normalise in place of a stream's own, and must be its rule's and its columns'.
func TestStatisticsOfOthersNormalise(t *testing.T) {
	m := recordings(t)
	for _, rule := range []string{"mean-std", "q01-q99"} {
		p := plan()
		p.Streams = []align.Stream{{Name: "state", Sampling: align.Sampling{Normalise: rule}}, {Name: "action"}}
		p.Windows = nil
		train := load(t, "cpu", m[:5], p, loader.Options{Batch: 4})
		by := loader.Statistics{Rule: rule, Stats: train.Stats("state")}
		for _, c := range train.Batch().Stream("state").Columns {
			by.Columns = append(by.Columns, c.Name)
		}
		opt := loader.Options{Batch: 4, Statistics: map[string]loader.Statistics{"state": by}}
		held := load(t, "cpu", m[5:], p, opt)
		assert.Equal(t, train.Normalisation("state"), held.Normalisation("state"))
		assert.Equal(t, train.Stats("state"), held.Stats("state"))
		assert.NotEqual(t, train.Stats("state"), load(t, "cpu", m[5:], p, loader.Options{Batch: 4}).Stats("state"))

		used := train.Normalisation("state")
		used.Shift[1], used.Scale[2] = 7, -3 // by hand
		opt.Statistics = map[string]loader.Statistics{"state": {Rule: rule, Shift: used.Shift, Scale: used.Scale}}
		assert.Equal(t, used, load(t, "cpu", m[5:], p, opt).Normalisation("state"))

		store, err := store.Build(context.Background(), m, store.BuildOptions{DType: tensor.F32})
		require.NoError(t, err)
		cpu := open(t, "cpu")
		for what, bad := range map[string]loader.Statistics{
			"rule": {Rule: "min-max", Columns: by.Columns, Stats: by.Stats}, "columns": {Rule: rule, Columns: by.Columns[1:], Stats: by.Stats[1:]}, "stats": {Rule: rule, Columns: by.Columns},
			"scale of 0": {Shift: make([]float32, 5), Scale: make([]float32, 5)}, "short": {Shift: used.Shift[1:], Scale: used.Scale[1:]},
			"not finite": {Shift: used.Shift, Scale: []float32{1, 1, 1, 1, float32(math.Inf(1))}}, "unknown": {Stats: []loader.ColumnStats{{Count: 1, Mean: math.NaN(), Q01: math.NaN()}, {}, {}, {}, {}}},
		} {
			var option *loader.OptionError
			opt.Statistics = map[string]loader.Statistics{"state": bad}
			_, err := loader.New(context.Background(), cpu, store, p, opt)
			require.ErrorAs(t, err, &option, what)
			assert.Equal(t, "Statistics[state]", option.Arg)
		}
		opt.Statistics = map[string]loader.Statistics{"other": by}
		_, err = loader.New(context.Background(), cpu, store, p, opt)
		assert.ErrorContains(t, err, "not taken")
	}
}
