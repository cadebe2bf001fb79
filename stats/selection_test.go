package stats

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
)

// alone is a dataset with some episodes of another one, numbered from 0.
type alone struct {
	dataset.Dataset
	of []int
}

func (a alone) Len() int { return len(a.of) }

func (a alone) Info() dataset.Info {
	info := a.Dataset.Info()
	splits := info.SplitsOf(a.Dataset.Len())
	info.Splits = []dataset.Split{{Name: "train"}}
	for i, n := range a.of {
		if len(splits[n]) > 0 {
			info.Splits[0].Episodes = append(info.Splits[0].Episodes, i)
		}
	}
	return info
}

func (a alone) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	return a.Dataset.Episode(ctx, a.of[i])
}

// The statistics of selected episodes are those of a dataset with these alone, to the bit: with a plan's filter, and in shards.
func TestStatisticsOfSelectedEpisodesAreThoseOfTheseAlone(t *testing.T) {
	plan, err := planfile.Parse("plan.yaml", []byte("version: 1\nrate: 50\nfilter: {split: train}\n"))
	require.NoError(t, err)
	for _, numbers := range [][]int{{0}, {8}, {4}, {0, 2, 4, 6, 8}, {1, 2, 3, 5, 7}, {0, 1, 2, 4, 5, 6, 7, 8}} {
		d := &robots{episodes: 9, broken: 3}
		some, err := dataset.Select(d, dataset.Selection{Take: dataset.RangesOf(numbers)})
		require.NoError(t, err)
		opt := Options{Binned: true}
		if numbers[0] == 0 {
			opt.Plan = &plan
		}
		want, err := Compute(t.Context(), alone{d, numbers}, opt)
		require.NoError(t, err)
		got, err := Compute(t.Context(), some, opt)
		require.NoError(t, err)
		assert.Equal(t, text(t, want.Streams), text(t, got.Streams), numbers)
		assert.Equal(t, []int{want.Episodes, want.Read, want.Filtered}, []int{got.Episodes, got.Read, got.Filtered})
		if opt.Plan == nil {
			assert.Equal(t, text(t, want.Streams), text(t, inShards(t, some, 2).Report().Streams), numbers)
		}
	}
}

// A state continues with the episodes that it began with, however these are selected.
func TestAStateIsOfItsEpisodes(t *testing.T) {
	d := &robots{episodes: 4}
	pick := func(s dataset.Selection) dataset.Dataset {
		some, err := dataset.Select(d, s)
		require.NoError(t, err)
		return some
	}
	opt := Options{Shards: 2}
	s, err := Begin(pick(dataset.Selection{Take: dataset.Ranges{{0, 1}, {3, 3}}}), opt)
	require.NoError(t, err)
	other := pick(dataset.Selection{Leave: dataset.Ranges{{1, 1}}})
	assert.ErrorIs(t, s.Pass(t.Context(), other, opt), ErrMismatch, "as many others")
	begun, err := Begin(other, opt)
	require.NoError(t, err)
	require.NoError(t, s.Pass(t.Context(), pick(dataset.Selection{Leave: dataset.Ranges{{2, 2}}}), opt))
	opt.Shard = 1
	require.NoError(t, begun.Pass(t.Context(), other, opt))
	assert.ErrorIs(t, s.Merge(begun), ErrMismatch)

	all, err := Begin(d, opt)
	require.NoError(t, err)
	assert.NoError(t, all.Pass(t.Context(), pick(dataset.Selection{Take: dataset.Ranges{{0, 3}}}), opt), "each episode by its number")
}
