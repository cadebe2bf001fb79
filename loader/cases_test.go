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

// farAway has episodes of a position on Earth, in metres, that moves by centimetres, and of a state of the same numbers.
func farAway(t *testing.T) made {
	var m made
	for k := range 2 {
		times, values := make([]int64, 40), make([]float64, 80)
		for i := range times {
			times[i] = int64(i) * 50_000_000
			values[2*i], values[2*i+1] = 4_500_000+0.01*float64(i+k), -0.01*float64(i)
		}
		e := &dataset.Episode{Name: string(rune('a' + k))}
		for _, name := range []string{"pos", "state"} {
			v, err := tensor.Of(values, 40, 2)
			require.NoError(t, err)
			s, err := dataset.NewStream(name, times, v, nil)
			require.NoError(t, err)
			e.Streams = append(e.Streams, s)
		}
		m = append(m, e)
	}
	return m
}

// off returns the greatest difference of the stream from the recorded values in an epoch without shuffling.
func off(t *testing.T, l *loader.Loader, m made, stream string) (most float64) {
	t.Helper()
	ctx := context.Background()
	row := 0
	for b, err := range l.Epoch(ctx) {
		require.NoError(t, err)
		h, err := b.Host(ctx)
		require.NoError(t, err)
		got, err := tensor.Floats(h.Stream(stream).Values)
		require.NoError(t, err)
		for i := range len(got) / 2 {
			want, err := tensor.Data[float64](m[row/40].Stream(stream).Values)
			require.NoError(t, err)
			most = max(most, math.Abs(got[2*i]-want[row%40*2]), math.Abs(got[2*i+1]-want[row%40*2+1]))
			row++
		}
	}
	assert.Equal(t, 80, row)
	return most
}

// What is drawn in float64 has the recorded values, packed or streamed, by option or by plan, and other streams stay float32; where that cannot be it is
// refused.
func TestPythonFloat64Loader(t *testing.T) {
	ctx := context.Background()
	m := farAway(t)
	everything := align.Plan{Rate: 20, Shuffle: "none"}
	one := align.Plan{Rate: 20, Shuffle: "none", Streams: []align.Stream{{Name: "pos", Sampling: align.Sampling{DType: tensor.F64}}, {Name: "state"}}}
	for what, c := range map[string]struct {
		plan  align.Plan
		dtype tensor.DType
		state float64 // the least difference of the other stream
	}{"option": {everything, tensor.F64, 0}, "plan": {one, 0, 0.01}} {
		opt := loader.Options{Batch: 8, DType: c.dtype}
		packed, err := store.Build(ctx, m, store.BuildOptions{Double: loader.Doubles(&c.plan, &opt)})
		require.NoError(t, err)
		resident, err := loader.New(ctx, open(t, "cpu"), packed, c.plan, opt)
		require.NoError(t, err)
		defer resident.Close()
		streaming, err := loader.NewStreaming(ctx, open(t, "cpu"), m, func() align.Plan { p := c.plan; p.Shuffle = "shards"; return p }(), opt)
		require.NoError(t, err)
		defer streaming.Close()
		assert.Zero(t, off(t, resident, m, "pos"), what)
		assert.GreaterOrEqual(t, off(t, resident, m, "state"), c.state, what)
		assert.Equal(t, tensor.F64, streaming.Batch().Stream("pos").Values.DType(), what)
		ordered := map[uint64]int{}
		for _, l := range []*loader.Loader{resident, streaming} {
			for b, err := range l.Epoch(ctx) {
				require.NoError(t, err)
				h, err := b.Host(ctx)
				require.NoError(t, err)
				for row := range 8 {
					d, err := h.Digest(row)
					require.NoError(t, err)
					ordered[d]++
				}
			}
		}
		for _, n := range ordered {
			assert.Zero(t, n%2, "%s: a window of one loader alone", what)
		}
	}
	rounded := inMemory(t, m)
	_, err := loader.New(ctx, open(t, "cpu"), rounded, everything, loader.Options{Batch: 8, DType: tensor.F64})
	var bad *loader.OptionError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "DType", bad.Arg)
	everything.Defaults.Normalise = "mean-std"
	_, err = loader.NewStreaming(ctx, open(t, "cpu"), m, func() align.Plan { p := everything; p.Shuffle = "shards"; return p }(), loader.Options{Batch: 8, DType: tensor.F64})
	require.ErrorAs(t, err, &bad)
	assert.Contains(t, bad.Got, "normalised")
}

// The clock of a store is the one that its episodes have.
func TestTheClockOfAStoreIsThatOfItsEpisodes(t *testing.T) {
	own := dataset.Notes{{Code: dataset.CodeFrameTimeOwn, Count: 3}}
	for want, notes := range map[string][]dataset.Notes{
		"": {nil, nil}, "timestamp": {own, own}, ", timestamp": {own, nil, own},
	} {
		m := recordings(t)[:len(notes)]
		for i := range notes {
			m[i].Notes = notes[i]
		}
		assert.Equal(t, want, inMemory(t, m).Clock())
	}
}

// numbered is a dataset whose episodes have numbers of their own.
type numbered struct {
	made
	numbers []int
}

func (n numbered) Info() dataset.Info { return dataset.Info{Numbers: n.numbers} }

// Options.Episodes, Known, errors and a packed store have the dataset's own numbers, not places.
func TestEpisodesAreNumberedAsTheDatasetDoes(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	d := numbered{append(m[:3:3], nil), []int{2, 5, 9, 12}}
	p := plan()
	packed, err := store.Build(ctx, d, store.BuildOptions{})
	require.NoError(t, err)
	info := packed.Info()
	assert.Equal(t, []int{2, 5, 9}, info.Numbers)
	assert.Equal(t, dataset.At(12), packed.Skipped[0].Row)
	resident, err := loader.New(ctx, open(t, "cpu"), packed, p, loader.Options{Batch: 2, Episodes: [][]int{{5, 9}}})
	require.NoError(t, err)
	defer resident.Close()
	p.Shuffle = "shards"
	streaming, err := loader.NewStreaming(ctx, open(t, "cpu"), d, p, loader.Options{Batch: 2, Episodes: [][]int{{5, 9}}})
	require.NoError(t, err)
	defer streaming.Close()
	for _, l := range []*loader.Loader{resident, streaming} {
		assert.Equal(t, 2, l.Report().Episodes)
		name, number := l.Known(0)
		assert.Equal(t, []any{"e1", 5}, []any{name, number})
	}
	for got, list := range map[string][]int{"1": {1}, "3": {2, 3, 4, 5}, "6": {5, 6, 7, 8, 9}} { // also inside a run with valid ends
		opt, want := loader.Options{Batch: 2, Episodes: [][]int{list}}, &loader.OptionError{Arg: "Episodes", Got: got, Want: "numbers for the dataset's 4 episodes, 2 to 12"}
		var bad *loader.OptionError
		for _, from := range []dataset.Dataset{d, packed} {
			_, err = loader.NewStreaming(ctx, open(t, "cpu"), from, p, opt)
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, want, bad)
		}
		_, err = loader.New(ctx, open(t, "cpu"), packed, p, opt)
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, want, bad)
	}
	var failed *dataset.EpisodeError
	_, err = store.Build(ctx, d, store.BuildOptions{Strict: true})
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 12, failed.Episode)
}
