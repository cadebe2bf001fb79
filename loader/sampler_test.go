package loader_test

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// epochOf returns how often an epoch draws each window, by episode number and anchor, and the hash of each.
func epochOf(t *testing.T, l *loader.Loader, epoch int64) (drawn map[[2]int64]int, hashes map[[2]int64]uint64) {
	t.Helper()
	drawn, hashes = map[[2]int64]int{}, map[[2]int64]uint64{}
	require.NoError(t, l.Resume(context.Background(), l.StateAt(epoch, 0)))
	for b, err := range l.Epoch(context.Background()) {
		require.NoError(t, err)
		b, err = b.Host(context.Background())
		require.NoError(t, err)
		for row, e := range data[int64](t, b.Episodes) {
			if e < 0 {
				continue
			}
			_, number := l.Known(e)
			key := [2]int64{int64(number), data[int64](t, b.Anchors)[row]}
			drawn[key]++
			hash, err := b.Digest(row)
			require.NoError(t, err)
			hashes[key] = hash
		}
	}
	return drawn, hashes
}

// As with LeRobot's EpisodeAwareSampler, an episode of n frames has the anchors first to n-last-1, and none if that is empty. Their windows
// still reach over the frames that are dropped.
func TestDroppedTicksAreNoAnchors(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := recordings(t)
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort}
	whole := load(t, "cpu", m, asRecorded(), opt)
	_, all := epochOf(t, whole, 0)
	opt.DropFirst, opt.DropLast = 7, 41 // an episode of 0.8 s has 41 ticks
	want := map[[2]int64]uint64{}
	dropped, empty := 0, 0
	for e := range m {
		n, begin := whole.Windows(int64(e)), int64(math.MaxInt64)
		for key := range all {
			if key[0] == int64(e) {
				begin = min(begin, key[1])
			}
		}
		for tick := 7; tick < n-41; tick++ {
			key := [2]int64{int64(e), begin + int64(tick)*20e6}
			require.Contains(t, all, key)
			want[key] = all[key]
		}
		dropped += min(n, 48)
		if n <= 48 {
			empty++
		}
	}
	require.Positive(t, empty)
	for _, backend := range []string{"cpu", "sim"} {
		l := load(t, backend, m, asRecorded(), opt)
		assert.Equal(t, []int{len(want), dropped, 0}, []int{l.Report().Windows, l.Report().Trimmed, l.Report().Unanchored})
		drawn, got := epochOf(t, l, 0)
		assert.Equal(t, want, got, "the windows of these anchors, with their bits")
		assert.Len(t, drawn, len(want))
	}
	streaming := opt
	streaming.ShardWindows, streaming.MixShards = 20, 4
	p := asRecorded()
	p.Shuffle = "shards"
	_, got := epochOf(t, streamed(t, "cpu", m, p, streaming), 0)
	assert.Equal(t, want, got, "streamed")

	one, other := opt, opt
	one.DropFirst, one.DropLast, other.DropFirst, other.DropLast = 5, 0, 0, 5
	var state *loader.StateError
	assert.ErrorAs(t, load(t, "cpu", m, asRecorded(), one).Check(load(t, "cpu", m, asRecorded(), other).StateAt(0, 0)), &state)
	for arg, wrong := range map[string]loader.Options{"DropFirst": {Batch: 1, DropFirst: -1}, "DropLast": {Batch: 1, DropLast: -1}} {
		_, err := loader.New(context.Background(), open(t, "cpu"), inMemory(t, m), asRecorded(), wrong)
		var bad *loader.OptionError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, arg, bad.Arg)
	}
	_, err := loader.New(context.Background(), open(t, "cpu"), inMemory(t, m), asRecorded(), loader.Options{Batch: 1, DropLast: math.MaxInt})
	var none *loader.EmptyError
	require.ErrorAs(t, err, &none)
	assert.Equal(t, whole.Report().Windows, none.Trimmed)
}

// An epoch draws windows in proportion to their episodes' weights. No window is drawn again before the others of its weight.
func TestEpisodesAreDrawnByTheirWeights(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := recordings(t)
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, EpochWindows: 1000, EpisodeWeights: []map[int]float64{{1: 3, 4: 3, 2: 0, 6: 0.5}}}
	l := load(t, "cpu", m, asRecorded(), opt)
	weights := []float64{1, 3, 0, 1, 3, 1, 0.5}
	all := 0.0
	for e := range weights {
		name, number := l.Known(int64(e))
		assert.Equal(t, m[number].Name, name)
		all += weights[number] * float64(l.Windows(int64(e)))
	}
	drawn, hashes := epochOf(t, l, 0)
	total := 0
	for e := range weights {
		_, number := l.Known(int64(e))
		each := 1000 * weights[number] / all
		for key, n := range drawn {
			if key[0] == int64(number) {
				total += n
				assert.InDelta(t, each, n, 1, "episode %d", number)
			}
		}
	}
	assert.Equal(t, 1000, total)
	r := l.Report()
	require.Len(t, r.Weights, 4)
	assert.Equal(t, []float64{0, 0.5, 1, 3}, []float64{r.Weights[0].Weight, r.Weights[1].Weight, r.Weights[2].Weight, r.Weights[3].Weight})
	assert.Equal(t, []int{1, 1, 3, 2}, []int{r.Weights[0].Episodes, r.Weights[1].Episodes, r.Weights[2].Episodes, r.Weights[3].Episodes})
	share := 0
	for _, k := range r.Weights {
		share += k.Share
		assert.InDelta(t, 1000*k.Weight*float64(k.Windows)/all, k.Share, 1)
	}
	assert.Equal(t, []int{1000, 0}, []int{share, r.Weights[0].Share})
	_, plain := epochOf(t, load(t, "cpu", m, asRecorded(), loader.Options{Batch: 8, Last: ops.LastShort}), 0)
	for key, hash := range hashes {
		assert.Equal(t, plain[key], hash, "%v", key)
	}

	want, got := map[int64]uint64{}, map[int64]uint64{}
	few := opt
	few.EpochWindows = 160
	digests(t, load(t, "cpu", m, asRecorded(), few), want, 0, 1, 8)
	digests(t, load(t, "sim", m, asRecorded(), few), got, 0, 1, 8)
	assert.True(t, maps.Equal(want, got), "on every backend")

	text, err := json.Marshal(l.StateAt(0, 16))
	require.NoError(t, err)
	var s loader.State
	require.NoError(t, json.Unmarshal(text, &s))
	assert.NoError(t, load(t, "cpu", m, asRecorded(), opt).Check(s))
	opt.EpisodeWeights = []map[int]float64{{1: 3, 4: 3, 2: 0, 6: 0.25}}
	var bad *loader.StateError
	require.ErrorAs(t, load(t, "cpu", m, asRecorded(), opt).Check(s), &bad)
	assert.Equal(t, "mixture", bad.What)
}

// Weights of datasets divide an epoch among them, and weights of episodes each dataset's part.
func TestWeightsOfEpisodesInAMixture(t *testing.T) {
	list := two(t, recordings(t)) // episodes 0 to 2, and 0 to 3
	opt := loader.Options{Batch: 8, Last: ops.LastShort, EpochWindows: 300, EpisodeWeights: []map[int]float64{nil, {0: 2, 1: 2, 2: 0, 3: 0}}}
	l := mixture(t, "cpu", list, asRecorded(), opt)
	r := l.Report()
	assert.Equal(t, 300, r.Mixture[0].Share+r.Mixture[1].Share)
	require.Len(t, r.Weights, 3)
	assert.Equal(t, []int{0, r.Mixture[0].Share, 1, 0, 1, r.Mixture[1].Share}, []int{r.Weights[0].Dataset, r.Weights[0].Share, r.Weights[1].Dataset, r.Weights[1].Share, r.Weights[2].Dataset, r.Weights[2].Share})
	assert.InDelta(t, 2*r.Weights[0].Epochs, r.Weights[2].Epochs, 0.05)
	list[0].Weight, list[1].Weight = 1, 2
	r = mixture(t, "cpu", list, asRecorded(), opt).Report()
	assert.Equal(t, []int{100, 200}, []int{r.Mixture[0].Share, r.Mixture[1].Share})
	assert.Equal(t, []int{100, 0, 200}, []int{r.Weights[0].Share, r.Weights[1].Share, r.Weights[2].Share})
}

func TestWeightsThatCannotBeAreRefused(t *testing.T) {
	m := recordings(t)
	many := made{}
	distinct := map[int]float64{}
	for i := range ops.MaxSources + 1 {
		many = append(many, m[0])
		distinct[i] = float64(1 + i)
	}
	for want, c := range map[string]struct {
		m       made
		weights []map[int]float64
	}{
		"got 2 maps": {m, []map[int]float64{nil, nil}}, "got -1 for episode 3": {m, []map[int]float64{{3: -1}}}, "got NaN": {m, []map[int]float64{{3: math.NaN()}}},
		"got +Inf": {m, []map[int]float64{{3: math.Inf(1)}}}, "got 1 numbers that dataset 0 does not have": {m, []map[int]float64{{3: 1, 7: 2}}},
		"at most 64": {many, []map[int]float64{distinct}}, "0 for all windows": {m[:1], []map[int]float64{{0: 0}}},
	} {
		_, err := loader.New(context.Background(), open(t, "cpu"), inMemory(t, c.m), asRecorded(), loader.Options{Batch: 1, EpisodeWeights: c.weights})
		var bad *loader.OptionError
		require.ErrorAs(t, err, &bad, want)
		assert.Equal(t, "EpisodeWeights", bad.Arg)
		assert.ErrorContains(t, err, want)
	}
	p := asRecorded()
	p.Shuffle = "shards"
	opt := loader.Options{Batch: 1, EpisodeWeights: []map[int]float64{{0: 2}}}
	_, err := loader.New(context.Background(), open(t, "cpu"), inMemory(t, m), p, opt)
	assert.ErrorContains(t, err, "plan.shuffle")
	_, err = loader.NewStreaming(context.Background(), open(t, "cpu"), m, p, opt)
	assert.ErrorContains(t, err, "EpisodeWeights")
}
