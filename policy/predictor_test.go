package policy_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// rowsOf are rows lo to hi-1 of a stream, as f64, without those before its first.
func rowsOf(t *testing.T, s *dataset.Stream, lo, hi int) *tensor.Tensor {
	t.Helper()
	v, err := tensor.Floats(tensor.Must(s.Values.Slice(0, max(lo, 0), max(hi, 0))))
	require.NoError(t, err)
	return tensor.Must(tensor.Of(v, len(v)/len(s.Columns), len(s.Columns)))
}

// At each tick of a recording, the last rows of its streams give the actions that the recording gives, to the bit: also where rows are absent.
func TestAWindowPredictsWhatTheRecordingGives(t *testing.T) {
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-150ms, 0s]}\n"
	for _, o := range []policy.Options{{Size: "small"}, {Size: "seed"}, {Policy: policy.Flow, Size: "tiny"}, {Policy: policy.Flow, Size: "tiny", Condition: policy.Cross}, {Policy: policy.Diffusion, Size: "tiny", Sampler: policy.DDPM}} {
		ctx := context.Background()
		d := robots(t, 22, 22)
		store := build(t, d)
		o.Plan, o.HoldOut, o.Steps, o.Batch, o.Rate = plan, []int{1}, 1, 1, 1e-2
		tr := trainer(t, "cpu", store, o)
		train(t, tr, 1)
		dir := t.TempDir()
		require.NoError(t, tr.Save(ctx, dir))
		p, err := policy.Open(ctx, open(t, "cpu"), dir)
		require.NoError(t, err)
		defer p.Close()
		r, err := p.NewPredictor(ctx)
		require.NoError(t, err)
		defer r.Close()
		e, err := store.Episode(ctx, 1)
		require.NoError(t, err)
		state, action := e.Stream("state"), e.Stream("action")
		history := p.Config().Recipe.History
		last := []float64{}
		seen := 0
		_, err = p.Evaluate(ctx, store, []int{1}, func(w *policy.Window, chunk []float64) error {
			i := int(w.Tick)
			for _, more := range []int{0, 3} { // rows that the policy does not see
				got, err := r.Predict(ctx, map[string]*tensor.Tensor{"state": rowsOf(t, state, i+1-history-more, i+1), "action": rowsOf(t, action, i-history-more, i)})
				require.NoError(t, err)
				require.Equal(t, chunk, got, "tick %d", i)
				require.NotEqual(t, last, got)
			}
			assert.Empty(t, r.Missing())
			last = slices.Clone(chunk)
			seen++
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, 21, seen)
	}
}

// A row of NaN is an absent row, and what cannot be used is an error of one call.
func TestAWindowThatCannotBeUsedIsRefused(t *testing.T) {
	ctx := context.Background()
	tr := trainer(t, "cpu", build(t, robots(t, 70)), policy.Options{Steps: 2, Batch: 4, Rate: 1e-2})
	train(t, tr, 2)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	r, err := p.NewPredictor(ctx)
	require.NoError(t, err)
	defer r.Close()
	matrix := func(rows int, v ...float64) *tensor.Tensor { return tensor.Must(tensor.Of(v, rows, len(v)/rows)) }
	nan := math.NaN()
	good := map[string]*tensor.Tensor{"state": matrix(1, 1, 2, 3), "action": matrix(1, 1, 2, 3)}
	chunk, err := r.Predict(ctx, good)
	require.NoError(t, err)
	want := slices.Clone(chunk)
	again := func(streams map[string]*tensor.Tensor) []float64 {
		got, err := r.Predict(ctx, streams)
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, want, again(map[string]*tensor.Tensor{"state": matrix(2, nan, nan, nan, 1, 2, 3), "action": matrix(1, 1, 2, 3)}))
	assert.Equal(t, want, again(map[string]*tensor.Tensor{"state": tensor.Must(tensor.Of([]int32{1, 2, 3}, 1, 3)), "action": tensor.Must(tensor.Of([]float32{1, 2, 3}, 1, 3))}))
	assert.NotEqual(t, want, again(map[string]*tensor.Tensor{"state": matrix(2, 1, 2, 3, nan, nan, nan), "action": matrix(1, 1, 2, 3)}))
	assert.Equal(t, []string{"state"}, r.Missing())
	absent := slices.Clone(again(map[string]*tensor.Tensor{"action": matrix(1, 1, 2, 3)}))
	assert.Equal(t, absent, again(map[string]*tensor.Tensor{"state": matrix(1, nan, nan, nan), "action": matrix(1, 1, 2, 3)}))
	var none *policy.NoActionError
	for _, action := range []*tensor.Tensor{nil, matrix(2, 1, 2, 3, nan, nan, nan), tensor.Must(tensor.New(tensor.F32, 0, 3))} {
		_, err = r.Predict(ctx, map[string]*tensor.Tensor{"state": matrix(1, 1, 2, 3), "action": action})
		require.ErrorAs(t, err, &none)
	}
	for text, state := range map[string]*tensor.Tensor{
		"shape [1,2]":                         matrix(1, 1, 2),
		"shape [3]":                           tensor.Must(tensor.Of([]float64{1, 2, 3}, 3)),
		"not finite, 1 ticks before the last": matrix(2, 1, nan, 3, 1, 2, 3),
		"not finite, 0 ticks before the last": matrix(1, 1, math.Inf(1), 3),
		"a prediction that is not finite":     matrix(1, 1, 1e300, 3),
	} {
		_, err := r.Predict(ctx, map[string]*tensor.Tensor{"state": state, "action": matrix(1, 1, 2, 3)})
		var stream *policy.StreamError
		require.ErrorAs(t, err, &stream)
		assert.Contains(t, stream.Got, text)
	}
	_, err = r.Predict(ctx, map[string]*tensor.Tensor{"stat": matrix(1, 1, 2, 3)})
	assert.ErrorContains(t, err, "stream stat: got a stream of this name, want one of state, action")
	assert.Equal(t, want, again(good), "errors leave nothing behind")
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "twice is fine")
}
