package policy_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/policy"
)

// A policy that runs on samples as they arrive predicts to the bit what it predicts of the whole recording.
func TestARunnerPredictsWhatTheRecordingGives(t *testing.T) {
	ctx := context.Background()
	d := robots(t, 70, 70)
	store := build(t, d)
	tr := trainer(t, "cpu:exact", store, policy.Options{HoldOut: []int{1}, Steps: 2, Batch: 4})
	train(t, tr, 2)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu:exact"), dir)
	require.NoError(t, err)
	defer p.Close()
	want := map[int64][]float64{}
	_, err = p.Evaluate(ctx, store, []int{1}, func(w *policy.Window, chunk []float64) error {
		want[w.Anchor] = slices.Clone(chunk)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, want, 69)

	e, err := store.Episode(ctx, 1)
	require.NoError(t, err)
	streams, err := p.LiveStreams(e)
	require.NoError(t, err)
	r, err := p.NewRunner(ctx, streams)
	require.NoError(t, err)
	defer r.Close()
	feed, err := policy.NewFeed(p.Config(), e)
	require.NoError(t, err)
	first, last := feed.Span()
	seen := 0
	for i := range 70 {
		anchor := first + (int64(i)*1e9+15)/30
		require.LessOrEqual(t, anchor, last)
		require.NoError(t, feed.Until(r, anchor))
		chunk, err := r.Act(ctx, anchor)
		if i == 0 {
			var none *policy.NoActionError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, anchor, none.Anchor)
			continue
		}
		require.NoError(t, err)
		if w := want[anchor]; assert.NotNil(t, w, i) {
			assert.Equal(t, w, chunk, i)
			seen++
		}
	}
	assert.Equal(t, 69, seen)
	for _, part := range r.Parts() {
		assert.Zero(t, part.Late)
	}
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "twice is fine")
}

// The streams of a runner are those that the policy was trained with.
func TestARunnerOfOtherStreamsIsRefused(t *testing.T) {
	ctx := context.Background()
	d := robots(t, 70)
	tr := trainer(t, "cpu", build(t, d), policy.Options{Steps: 1})
	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	streams, err := p.LiveStreams(d[0])
	require.NoError(t, err)
	_, err = p.NewRunner(ctx, streams[:1])
	assert.ErrorContains(t, err, "action")
	streams[0].Columns = streams[0].Columns[:2]
	_, err = p.NewRunner(ctx, streams)
	var stream *policy.StreamError
	assert.ErrorAs(t, err, &stream)
	d[0].Streams = d[0].Streams[:1]
	_, err = p.LiveStreams(d[0])
	assert.ErrorAs(t, err, &stream)
	_, err = policy.NewFeed(p.Config(), d[0])
	assert.ErrorAs(t, err, &stream)
}

// A sample that is no number is not taken, a prediction that is none is an error of its anchor alone, and a state that is not there is told.
func TestARunnerGoesOnAfterWhatItCannotUse(t *testing.T) {
	for _, backend := range []string{"cpu", "sim", "cuda"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "cuda" {
				gputest.Require(t)
			}
			goesOn(t, backend)
		})
	}
}

func goesOn(t *testing.T, backend string) {
	ctx := context.Background()
	d := robots(t, 70, 70)
	store := build(t, d)
	tr := trainer(t, "cpu", store, policy.Options{Steps: 1, Batch: 4})
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, backend), dir)
	require.NoError(t, err)
	defer p.Close()
	e, err := store.Episode(ctx, 0)
	require.NoError(t, err)
	streams, err := p.LiveStreams(e)
	require.NoError(t, err)
	r, err := p.NewRunner(ctx, streams)
	require.NoError(t, err)
	defer r.Close()
	tick := func(i int) int64 { return (int64(i)*1e9 + 15) / 30 }
	var wrong *policy.StreamError
	for i := range 20 {
		require.NoError(t, r.Push("action", tick(i), []float64{1, 2, 3}))
		switch {
		case i < 3:
		case i == 12:
			for _, v := range []float64{math.NaN(), math.Inf(1)} {
				require.ErrorAs(t, r.Push("state", tick(i), []float64{1, v, 3}), &wrong)
				assert.Equal(t, "state", wrong.Stream)
			}
			require.NoError(t, r.Push("state", tick(i), []float64{1, 1e300, 3}), "which float32 does not hold")
		default:
			require.NoError(t, r.Push("state", tick(i), []float64{1, 2, 3}))
		}
		chunk, err := r.Act(ctx, tick(i))
		if i == 0 {
			continue
		}
		if seen := p.Config().Recipe.History; i >= 12 && i < 12+seen {
			require.ErrorAs(t, err, &wrong, i)
			assert.Contains(t, wrong.Got, "a prediction that is not finite")
			continue
		}
		require.NoError(t, err, i)
		assert.Len(t, chunk, 90)
		if i < 3 {
			assert.Equal(t, []string{"state"}, r.Missing())
		} else {
			assert.Empty(t, r.Missing())
		}
	}
}
