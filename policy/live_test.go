package policy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// slow is a stream of about 3 Hz, of noise, that begins at a time.
func slow(t testing.TB, name string, seed uint64, begin int64, rows int) dataset.Stream {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	times, values := make([]int64, rows), make([]float32, rows*len(joints))
	for i := range times {
		times[i] = begin + int64(i)*333333333 + rng.Int64N(20e6)
	}
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, len(joints))), joints)
	require.NoError(t, err)
	return s
}

// What a policy sees in training it sees live, to the bit, though its states and actions are ten times slower than its clock: of the whole recording it
// foretells what it foretells from the samples that have arrived, at every tick.
func TestAPolicySeesLiveWhatItSawInTraining(t *testing.T) {
	for name, plan := range map[string]string{
		"as it is": "",
		"no older": "version: 1\nrate: 30\nstreams: [{name: state, tolerance: 200ms}, {name: action}, {name: fast, tolerance: 20ms, offset: -100ms}]\n",
		"window":   "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}, {name: fast, method: window-mean, window: 100ms}]\n",
	} {
		t.Run(name, func(t *testing.T) { seesLive(t, plan) })
	}
}

func seesLive(t *testing.T, plan string) {
	ctx := context.Background()
	var d made
	for i := range uint64(3) {
		d = append(d, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{
			slow(t, "state", 10+i, 170e6, 24), slow(t, "action", 20+i, 0, 25), table(t, "fast", 230, joints, func(row, j int) float64 { return float64(row * j % 7) }),
		}})
	}
	store := build(t, d)
	tr := trainer(t, "cpu:exact", store, policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 3, Batch: 4, Rate: 1e-2})
	train(t, tr, 3)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu:exact"), dir)
	require.NoError(t, err)
	defer p.Close()
	var anchors []int64
	var want [][]float64
	offline, err := p.Evaluate(ctx, store, []int{1}, func(w *policy.Window, chunk []float64) error {
		anchors, want = append(anchors, w.Anchor), append(want, slices.Clone(chunk))
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(want), 200)
	assert.NotEqual(t, want[0], want[1], "it does more than hold")

	e, err := store.Episode(ctx, 1)
	require.NoError(t, err)
	streams, err := p.LiveStreams(e)
	require.NoError(t, err)
	r, err := p.NewRunner(ctx, streams)
	require.NoError(t, err)
	defer r.Close()
	feed, err := policy.NewFeed(p.Config(), e)
	require.NoError(t, err)
	score, err := policy.NewScore(p.Config(), e)
	require.NoError(t, err)
	defer score.Close()
	first, last := feed.Span()
	assert.Equal(t, anchors[0], first, "the action begins before the state, so that the first tick has one before it")
	assert.Equal(t, anchors[len(anchors)-1], last)
	for i, anchor := range anchors {
		require.NoError(t, feed.Until(r, anchor))
		chunk, err := r.Act(ctx, anchor)
		require.NoError(t, err)
		require.Equal(t, want[i], chunk, "tick %d", i)
		require.NoError(t, score.Add(ctx, anchor, chunk))
	}
	assert.Equal(t, offline, score.Evaluation(1), "so its skill is the same")
	require.NoError(t, score.Close())
	require.NoError(t, score.Close(), "twice is fine")

	e.Streams = e.Streams[:1]
	_, err = policy.NewScore(p.Config(), e)
	var stream *policy.StreamError
	assert.ErrorAs(t, err, &stream)
}

// A plan that would have a policy see what has not arrived yet is refused.
func TestAPlanThatLooksAheadIsRefused(t *testing.T) {
	store := build(t, robots(t, 80, 80))
	for state, want := range map[string]string{
		"method: linear":          "method: got linear, which looks ahead, want previous, or one of the window methods",
		"method: next":            "method: got next, which looks ahead",
		"method: nearest":         "method: got nearest, which looks ahead",
		"method: pchip":           "method: got pchip, which looks ahead",
		"method: {elbow: linear}": "method.elbow: got linear, which looks ahead",
		"edge: clamp":             "edge: got clamp, want hold",
		"edge: extrapolate":       "edge: got extrapolate",
		"max_gap: 1s":             "max_gap: got 1s, which looks ahead, want tolerance",
		"method: previous":        "",
		"edge: hold":              "",
		"tolerance: 1s":           "",
	} {
		for _, plan := range []string{
			"version: 1\nrate: 30\nstreams: [{name: state, " + state + "}, {name: action}]\n",
			"version: 1\nrate: 30\ndefaults: {" + state + "}\nstreams: [{name: state}, {name: action}]\n",
		} {
			tr, err := policy.NewTrainer(context.Background(), all(t, "cpu"), store, policy.Options{Plan: plan, Steps: 1})
			if want == "" {
				require.NoError(t, err, plan)
				require.NoError(t, tr.Close())
				continue
			}
			var wrong *align.PlanError
			require.ErrorAs(t, err, &wrong, plan)
			assert.Equal(t, 3, wrong.Line, "%v", err)
			assert.ErrorContains(t, err, want)
		}
	}
}
