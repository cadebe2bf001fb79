package dataset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// gapped has the episodes 1, 2, 4 and 6, by their own numbers.
type gapped struct{ dataset.Dataset }

func (gapped) Len() int { return 4 }

func (gapped) Info() dataset.Info {
	return dataset.Info{Numbers: []int{1, 2, 4, 6}, Frames: 40, Splits: []dataset.Split{{Name: "train", Episodes: []int{0, 2, 3}}}}
}

func (gapped) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	return &dataset.Episode{Name: string(rune('a' + i))}, nil
}

func (gapped) Weights() []int64 { return []int64{10, 20, 40, 60} }

func TestEpisodesAreSelectedByTheirOwnNumbers(t *testing.T) {
	ranges := func(text string) dataset.Ranges {
		r, err := dataset.ParseRanges(text)
		require.NoError(t, err)
		return r
	}
	d, err := dataset.Select(gapped{}, dataset.Selection{Take: ranges("4-6,1"), Leave: ranges("6")})
	require.NoError(t, err)
	info := d.Info()
	assert.Equal(t, []int{1, 4}, info.Numbers)
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: []int{0, 1}}}, info.Splits)
	assert.Equal(t, 0, info.Frames, "unknown")
	assert.Equal(t, []int64{10, 40}, d.(dataset.Weigher).Weights())
	e, err := d.Episode(context.Background(), 1)
	require.NoError(t, err)
	assert.Equal(t, "c", e.Name)
	assert.Equal(t, "1,4", dataset.Selected(d).String())
	assert.Equal(t, gapped{}, dataset.Whole(d))
	assert.Equal(t, gapped{}, dataset.Whole(dataset.Subset{Dataset: d, Places: []int{1}}), "of a subset's subset")

	all, err := dataset.Select(gapped{}, dataset.Selection{})
	require.NoError(t, err)
	assert.Equal(t, gapped{}, all)
	assert.Empty(t, dataset.Selected(all).String())
	all, err = dataset.Select(gapped{}, dataset.Selection{Take: ranges("1-6")})
	require.NoError(t, err)
	assert.Equal(t, gapped{}, all)

	for want, s := range map[string]dataset.Selection{
		"Episodes: got 3, want numbers for the dataset's 4 episodes, 1 to 6": {Take: ranges("1,3")},
		"Episodes: got 9, ":                     {Take: ranges("2-9")},
		"LeaveOut: got 0, ":                     {Leave: ranges("0")},
		"LeaveOut: got 2 twice":                 {Leave: ranges("1-2,2-4")},
		"LeaveOut: got all 4 episodes, want at": {Leave: ranges("1-6")},
		"LeaveOut: got all 1 episodes, want at": {Take: ranges("2"), Leave: ranges("1-2")},
	} {
		_, err := dataset.Select(gapped{}, s)
		require.ErrorIs(t, err, dataset.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

// A list requires each of its numbers, also those inside a run.
func TestEachNumberOfAListMustBeThere(t *testing.T) {
	list := []int{1, 2, 3, 4}
	_, err := dataset.Select(gapped{}, dataset.Selection{Take: dataset.RangesOf(list)})
	require.ErrorContains(t, err, "Episodes: got 3, want numbers for")
	_, err = dataset.Select(gapped{}, dataset.Selection{Leave: dataset.RangesOf(list)})
	require.ErrorContains(t, err, "LeaveOut: got 3, ")
	_, err = dataset.Select(gapped{}, dataset.Selection{Take: dataset.RangesOf([]int{-1})})
	require.ErrorContains(t, err, "Episodes: got -1, ")
	none, err := dataset.Select(gapped{}, dataset.Selection{Take: dataset.RangesOf([]int{})})
	require.NoError(t, err)
	assert.Zero(t, none.Len())
	some, err := dataset.Select(gapped{}, dataset.Selection{Take: dataset.RangesOf([]int{4, 1})})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 2}, some.(dataset.Subset).Places)
}

func TestRangesAreWrittenAsTheyAreRead(t *testing.T) {
	for _, text := range []string{"0", "0-9,12", "3,7", "5-6"} {
		r, err := dataset.ParseRanges(text)
		require.NoError(t, err)
		assert.Equal(t, text, r.String())
	}
	assert.Equal(t, "0-2,7", dataset.RangesOf([]int{0, 1, 2, 7}).String())
	for _, text := range []string{"", "x", "-1", "3-", "9-2", "1,,2", "0x3", "1-2-3", "99999999999999999999"} {
		_, err := dataset.ParseRanges(text)
		assert.Error(t, err, text)
	}
}
