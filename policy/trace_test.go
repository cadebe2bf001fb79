package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// A trace has the whole episode as it was recorded, and beside it what was known and predicted before.
func TestATraceHasTheWholeEpisode(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 90, 80))
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 1, Batch: 4})
	trace := policy.NewTrace(tr.Config(), 1)
	_, err := tr.Evaluate(ctx, trace.Add)
	require.NoError(t, err)
	streams, err := trace.Streams()
	require.NoError(t, err)
	require.Len(t, streams, 3)
	skill, err := policy.Ridge(ctx, tr.Config(), store)
	require.NoError(t, err)
	again, err := trace.Ridge(ctx, store)
	require.NoError(t, err)
	assert.Equal(t, skill, again)
	streams, err = trace.Streams()
	require.NoError(t, err)
	require.Len(t, streams, 4)
	episode, err := store.Episode(ctx, 1)
	require.NoError(t, err)
	times, chunk := episode.Stream("action").Nanoseconds(), tr.Config().Recipe.Chunk
	recorded, predicted, held, ridge := &streams[0], &streams[1], &streams[2], &streams[3]
	at := func(s *dataset.Stream, want []int64) {
		if assert.Len(t, s.Nanoseconds(), len(want), s.Name) {
			for i, ns := range s.Nanoseconds() {
				assert.InDelta(t, want[i], ns, 1, "%s at %d", s.Name, i)
			}
		}
	}
	at(recorded, times)
	assert.Equal(t, "predicted 1 s before", predicted.Name)
	for _, s := range []*dataset.Stream{predicted, held, ridge} {
		at(s, times[chunk:])
	}
	was, err := recorded.Values.Slice(0, 0, len(times)-chunk)
	require.NoError(t, err)
	assert.Equal(t, floats(t, was), floats(t, held.Values), "what is held is a chunk old")
	std, mse := tr.Config().Targets, 0.0
	for i, v := range floats(t, ridge.Values) {
		e := (v - floats(t, recorded.Values)[chunk*len(std)+i]) / std[i%len(std)].Std
		mse += e * e
	}
	assert.InDelta(t, again.Skills[2].MSE, mse/float64(len(floats(t, ridge.Values))), 1e-9, "the curve of the ridge has the ridge's error")
}

func floats(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.Floats(x)
	require.NoError(t, err)
	return list
}
