package batching

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

func TestSamplesThatAreNotFiniteAreNoted(t *testing.T) {
	some, none := 2, 0
	r := &loader.Report{Streams: []loader.StreamsReport{{Name: "a", Samples: 9, NotFinite: &some}, {Name: "b", NotFinite: &none}, {Name: "c"}}}
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotFiniteDrawn, Subject: "a", Count: 2, Detail: dataset.Detail{Of: 9}}}, Notes(r))
}

func TestNotesOfAStore(t *testing.T) {
	s, err := dataset.NewStream("s", []int64{0, 2, 1}, tensor.Must(tensor.New(tensor.F32, 3, 1)), []dataset.Column{{Name: "x"}})
	require.NoError(t, err)
	log := dataset.Note{Code: dataset.CodeLogClock, Subject: "s"}
	d := dataset.Single("x", "run", func(context.Context) (*dataset.Episode, error) {
		return &dataset.Episode{Name: "run", Streams: []dataset.Stream{s}, Notes: dataset.Notes{log}}, nil
	})
	store, err := store.Build(context.Background(), d, store.BuildOptions{})
	require.NoError(t, err)
	list, err := StoreNotes(context.Background(), store)
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, dataset.EpisodeNote{Note: log, Episode: "run", Episodes: 1}, list[0])
	assert.Equal(t, []any{dataset.CodePackedDisorder, "s"}, []any{list[1].Note.Code, list[1].Note.Subject})
	assert.EqualError(t, list[1].Note.Cause, "time goes backwards at sample 2")
}

// What batching decides for the user is passed to the watch.
func TestChoicesAreNoted(t *testing.T) {
	ctx := context.Background()
	var notes dataset.Notes
	watch := Watch{Note: func(n dataset.Note) { notes.Add(n) }}
	r := &Request{Packing: Packing{Path: "../../examples/data/g1"}}
	r.Paths, r.Batch, r.Statistics = []string{r.Path}, 1, map[string]loader.Statistics{"none": {}}
	source, err := Open(ctx, r, watch)
	require.NoError(t, err)
	defer source.Close()
	plan, err := source.Plan(ctx)
	require.NoError(t, err)
	_, err = source.statistics(ctx, plan)
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeRateDeclared, Detail: dataset.Detail{Got: "30", Names: []string{"hz"}}},
		{Code: dataset.CodeStatisticsUnused, Detail: dataset.Detail{Names: []string{"none"}}},
	}, notes)
}

func TestWindowsInGapsAreNotedWithoutALimit(t *testing.T) {
	r := &loader.Report{Windows: 9, Streams: []loader.StreamsReport{{Name: "a", InGaps: 2, Unlimited: true}, {Name: "b", InGaps: 2}}, Cameras: []loader.CameraReport{{Name: "c", InGaps: 3, Unlimited: true}}}
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeWindowsInGaps, Subject: "a", Count: 2, Detail: dataset.Detail{Of: 9}},
		{Code: dataset.CodeWindowsInGaps, Subject: "c", Count: 3, Detail: dataset.Detail{Of: 9}}}, Notes(r))
}
