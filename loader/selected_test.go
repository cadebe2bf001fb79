package loader_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// selections are numbers of episodes among seven: the first, the last, one inside, every second one, a run, all but one, all.
var selections = [][]int{{0}, {6}, {3}, {0, 2, 4, 6}, {1, 3, 5}, {2, 3, 4}, {0, 1, 2, 4, 5, 6}, {0, 1, 2, 3, 4, 5, 6}}

// among returns a dataset with these recordings alone, numbered from 0.
func (m made) among(numbers []int) (some made) {
	for _, n := range numbers {
		some = append(some, m[n])
	}
	return some
}

func selected(t *testing.T, d dataset.Dataset, s dataset.Selection) dataset.Dataset {
	t.Helper()
	some, err := dataset.Select(d, s)
	require.NoError(t, err)
	return some
}

// taken returns loaders of the selected recordings: each takes the selection in another way.
func taken(t *testing.T, m made, numbers []int, p align.Plan, opt loader.Options) map[string]*loader.Loader {
	t.Helper()
	ctx, cpu, all := context.Background(), open(t, "cpu"), inMemory(t, m)
	take := dataset.Selection{Take: dataset.RangesOf(numbers)}
	leave := dataset.Selection{Leave: dataset.RangesOf(slices.DeleteFunc([]int{0, 1, 2, 3, 4, 5, 6}, func(n int) bool { return slices.Contains(numbers, n) }))}
	by, whole := opt, opt
	by.Episodes = [][]int{numbers}
	folder := t.TempDir()
	for i := range 2 {
		_, err := store.PackShard(ctx, selected(t, m, take), t.TempDir(), folder, i, 2, store.BuildOptions{})
		require.NoError(t, err)
	}
	shards, err := store.Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shards.Close()) })
	list := map[string]*loader.Loader{}
	add := func(name string, l *loader.Loader, err error) {
		require.NoError(t, err, name)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		list[name] = l
	}
	resident := func(name string, from *store.Store, opt loader.Options) {
		l, err := loader.New(ctx, cpu, from, p, opt)
		add(name, l, err)
	}
	resident("from a store", all, by)
	resident("packed", inMemory(t, selected(t, m, leave)), whole)
	resident("packed from a store", inMemory(t, selected(t, all, take)), whole)
	resident("packed as shards", shards, whole)
	if p.Shuffle == "windows" {
		return list
	}
	for name, from := range map[string]dataset.Dataset{"store": all, "recordings": m} {
		l, err := loader.NewStreaming(ctx, cpu, from, p, by)
		add("streamed from "+name, l, err)
	}
	l, err := loader.NewStreaming(ctx, cpu, selected(t, m, leave), p, whole)
	add("streamed from selected recordings", l, err)
	return list
}

// However episodes are selected, the batches and statistics are those of a dataset with these recordings alone, to the bit.
func TestASelectionGivesTheBitsOfTheseRecordingsAlone(t *testing.T) {
	m := recordings(t)
	for at, numbers := range selections {
		p, opt := plan(), loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, ShardWindows: 30, MixShards: 2}
		p.Shuffle = []string{"shards", "windows", "none"}[at%3]
		real := load(t, "cpu", m.among(numbers), p, opt)
		want := map[int64]uint64{}
		digests(t, real, want, 0, 1, 8)
		for name, l := range taken(t, m, numbers, p, opt) {
			got := map[int64]uint64{}
			digests(t, l, got, 0, 1, 8)
			assert.Equal(t, want, got, "%s %v", name, numbers)
			assert.Equal(t, real.Stats("state"), l.Stats("state"), name)
			assert.Equal(t, []int{len(numbers), real.Report().Windows}, []int{l.Report().Episodes, l.Report().Windows}, name)
			for e, n := range numbers {
				known, number := l.Known(int64(e))
				assert.Equal(t, []any{m[n].Name, n}, []any{known, number}, name)
			}
		}
	}
}

// Ranks share a selection's windows, and a state of one loader continues in another that takes the selection in another way.
func TestASelectionIsSharedByRanksAndResumed(t *testing.T) {
	ctx, m, numbers := context.Background(), recordings(t), []int{0, 2, 4, 6}
	opt := loader.Options{Batch: 4, Seed: 5, Last: ops.LastShort, ShardWindows: 30, MixShards: 2}
	real, want := load(t, "cpu", m.among(numbers), shards(), opt), map[int64]uint64{}
	digests(t, real, want, 0, 1, 4)
	shared := map[string]map[int64]uint64{}
	for rank := range 3 {
		o := opt
		o.Batch, o.Rank, o.Ranks = 2, rank, 3
		for name, l := range taken(t, m, numbers, shards(), o) {
			if shared[name] == nil {
				shared[name] = map[int64]uint64{}
			}
			digests(t, l, shared[name], rank, 3, 2)
		}
	}
	for name, got := range shared {
		assert.Equal(t, want, got, name)
	}

	list := taken(t, m, numbers, shards(), opt)
	for range 3 {
		require.NoError(t, list["streamed from recordings"].Next(ctx))
	}
	s, err := list["streamed from recordings"].State(ctx)
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	delete(list, "streamed from recordings")
	for name, l := range list {
		var state loader.State
		require.NoError(t, json.Unmarshal(text, &state))
		require.NoError(t, l.Resume(ctx, state), name)
		for position := int64(12); position < 20; position += 4 {
			require.NoError(t, l.Next(ctx))
			b, err := l.Batch().Host(ctx)
			require.NoError(t, err)
			for row := range 4 {
				sum, err := b.Digest(row)
				require.NoError(t, err)
				assert.Equal(t, want[position+int64(row)], sum, name)
			}
		}
	}
	var other *loader.StateError
	m[1] = m[0]
	for name, l := range taken(t, m, []int{1, 2, 4, 6}, shards(), opt) {
		require.ErrorAs(t, l.Resume(ctx, s), &other, name)
		assert.Equal(t, "episodes", other.What, "other numbers, as many windows")
	}
}

// A plan's filter takes selected episodes by the splits that they have in the whole dataset: 0 to 4 are in train.
func TestSelectedEpisodesKeepTheirSplits(t *testing.T) {
	m, p := recordings(t), shards()
	p.Filter.Split = "train"
	for name, l := range taken(t, m, []int{1, 3, 5, 6}, p, loader.Options{Batch: 4, ShardWindows: 30, MixShards: 2}) {
		require.Equal(t, []int{2, 2}, []int{l.Report().Episodes, l.Report().Filtered}, name)
		for e, want := range []int{1, 3} {
			_, number := l.Known(int64(e))
			assert.Equal(t, want, number, name)
		}
	}
}

// Each dataset of a mixture has a selection.
func TestSelectionsOfAMixture(t *testing.T) {
	m := recordings(t)
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort}
	mixed := func(weight float64, opt loader.Options, from ...dataset.Dataset) (*loader.Loader, map[int64]uint64) {
		var list []loader.Weighted
		for i, d := range from {
			list = append(list, loader.Weighted{Store: inMemory(t, d), Weight: weight * float64(i+1)})
		}
		l, sums := mixture(t, "cpu", list, plan(), opt), map[int64]uint64{}
		digests(t, l, sums, 0, 1, 8)
		return l, sums
	}
	for _, weight := range []float64{0, 1} {
		_, want := mixed(weight, opt, m.among([]int{1, 3, 6}), m, m.among([]int{2}))
		by := opt
		by.Episodes = [][]int{{1, 3, 6}, nil, {2}}
		l, got := mixed(weight, by, m, m, m)
		assert.Equal(t, want, got)
		var places [][2]int
		for e := range l.Report().Episodes {
			of, _ := l.StoreOf(int64(e))
			_, number := l.Known(int64(e))
			places = append(places, [2]int{of, number})
		}
		assert.Equal(t, [][2]int{{0, 1}, {0, 3}, {0, 6}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {2, 2}}, places)
		_, same := mixed(weight, opt, selected(t, m, dataset.Selection{Take: dataset.RangesOf(by.Episodes[0])}), m, selected(t, m, dataset.Selection{Take: dataset.Ranges{{2, 2}}}))
		assert.Equal(t, want, same)
	}
}

// A store without some of its dataset's episodes has the splits of the others, and these are selected by their numbers.
func TestAStoreWithSkippedEpisodesHasTheSplitsOfTheOthers(t *testing.T) {
	m := recordings(t)
	m[0], m[3] = nil, nil
	split := func(episodes ...int) []dataset.Split { return []dataset.Split{{Name: "train", Episodes: episodes}} } // 0 to 4 of the dataset
	built, opened, _ := saved(t, m, store.BuildOptions{})
	for _, s := range []*store.Store{built, opened} {
		assert.Equal(t, split(0, 1, 2), s.Info().Splits)
		for i, e := range inMemory(t, s).Episodes {
			assert.Equal(t, s.Episodes[i].Splits, e.Splits, "packed again")
		}
		some := selected(t, s, dataset.Selection{Take: dataset.Ranges{{0, 5}}, Leave: dataset.Ranges{{1, 1}, {3, 3}}})
		info := some.Info()
		assert.Equal(t, []int{2, 4, 5}, info.Numbers)
		assert.Equal(t, split(0, 1), info.Splits)
		assert.Same(t, s, selected(t, s, dataset.Selection{Leave: dataset.Ranges{{0, 0}, {3, 3}}}), "all that it has")
		_, err := dataset.Select(s, dataset.Selection{Take: dataset.Ranges{{3, 3}}})
		assert.ErrorContains(t, err, "Episodes: got 3, want an episode that could be read")
	}
}
