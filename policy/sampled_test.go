package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/policy"
)

// short is a plan with two ticks for states and two for actions.
const short = "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-67ms, 0s], action: [0s, 67ms]}\n"

// modes returns episodes with actions that are -0.8 or 0.8 at random. The states do not depend on them.
func modes(t *testing.T, rows ...int) made {
	var m made
	for i, n := range rows {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{
			table(t, "state", n, joints[:1], func(row, j int) float64 { return math.Sin(float64(row)) }),
			table(t, "action", n, joints[:1], func(row, j int) float64 { return 0.8 * float64(2*rng.IntN(2)-1) }),
		}})
	}
	return m
}

// Regression predicts the mean between two modes, which is in no demonstration. Flow and diffusion draw a mode.
func TestSampledPoliciesChooseAMode(t *testing.T) {
	ctx := context.Background()
	store := build(t, modes(t, 300, 300, 60))
	for kind, between := range map[string][2]float64{policy.Kind: {0, 0.4}, policy.Flow: {0.6, 0.8001}, policy.Diffusion: {0.6, 0.8001}} {
		o := policy.Options{Policy: kind, Plan: short, HoldOut: []int{2}, Steps: 500, Batch: 32, Rate: 1e-3}
		if kind != policy.Kind {
			o.Size = "tiny"
		}
		tr := trainer(t, "cpu", store, o)
		losses := train(t, tr, o.Steps)
		mean := func(list []float32) (sum float64) {
			for _, v := range list {
				sum += float64(v) / float64(len(list))
			}
			return sum
		}
		size, n, up := 0.0, 0.0, 0.0
		_, err := tr.Evaluate(ctx, func(w *policy.Window, chunk []float64) error {
			for _, v := range chunk {
				size, n = size+math.Abs(v), n+1
				if v > 0 {
					up++
				}
			}
			return nil
		})
		require.NoError(t, err)
		t.Logf("%s: loss %.3f to %.3f, mean size %.3f of %.0f actions, %.0f up", kind, mean(losses[:20]), mean(losses[480:]), size/n, n, up)
		assert.GreaterOrEqual(t, size/n, between[0], kind)
		assert.LessOrEqual(t, size/n, between[1], kind)
		if kind != policy.Kind {
			assert.Less(t, mean(losses[480:]), 0.7*mean(losses[:20]), kind)
			assert.InDelta(t, 0.5, up/n, 0.25, "both modes occur")
		}
	}
}

// A decoder sees the states by cross-attention alone: it draws the mode that the latest state has.
func TestCrossAttentionSeesTheStates(t *testing.T) {
	var m made
	for i, n := range []int{300, 300, 60} {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		side := make([]float64, n)
		for k := range side {
			side[k] = float64(2*rng.IntN(2) - 1)
		}
		m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{
			table(t, "state", n, joints[:1], func(row, j int) float64 { return side[row] }),
			table(t, "action", n, joints[:1], func(row, j int) float64 { return 0.8 * side[row] }),
		}})
	}
	plan := strings.Replace(short, "action: [0s, 67ms]", "action: [0s, 33ms]", 1)
	tr := trainer(t, "cpu", build(t, m), policy.Options{Policy: policy.Flow, Size: "tiny", Condition: policy.Cross, Plan: plan, HoldOut: []int{2}, Steps: 200, Batch: 32, Rate: 1e-3})
	train(t, tr, 200)
	right, n := 0.0, 0.0
	_, err := tr.Evaluate(t.Context(), func(w *policy.Window, chunk []float64) error {
		if n++; math.Abs(chunk[0]-w.Actions[0]) < 0.4 {
			right++
		}
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, right/n, 0.9)
}

func TestSampledPoliciesAreEqualOnDevices(t *testing.T) {
	for _, condition := range []string{policy.Prefix, policy.Cross} {
		t.Run(condition, func(t *testing.T) { equalOnDevices(t, condition) })
	}
}

// A sampled policy trains and acts to the same bits on the exact CPU and the simulated device, and a runner acts as Evaluate
// predicts from the whole recording.
func equalOnDevices(t *testing.T, condition string) {
	ctx := context.Background()
	store := build(t, robots(t, 60, 40))
	all := map[string][][]float64{}
	var losses [][]float32
	for _, backend := range []string{"cpu:exact", "sim"} {
		tr := trainer(t, backend, store, policy.Options{Policy: policy.Flow, Size: "tiny", Condition: condition, Plan: short, HoldOut: []int{1}, Steps: 2, Batch: 2, Accumulate: 2, SampleSteps: 2, Rate: 1e-2, Dropout: fraction(0.3), Seed: 5})
		losses = append(losses, train(t, tr, 2))
		dir := t.TempDir()
		require.NoError(t, tr.Save(ctx, dir))
		p, err := policy.Open(ctx, open(t, backend), dir)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		assert.Equal(t, 2, p.Config().Recipe.SampleSteps)
		e, err := store.Episode(ctx, 1)
		require.NoError(t, err)
		streams, err := p.LiveStreams(e)
		require.NoError(t, err)
		r, err := p.NewRunner(ctx, streams)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		feed, err := policy.NewFeed(p.Config(), e)
		require.NoError(t, err)
		state := e.Stream("state").Nanoseconds()
		for _, tick := range []int{1, 2, 7} {
			require.NoError(t, feed.Until(r, state[tick]))
			chunk, err := r.Act(ctx, state[tick])
			require.NoError(t, err)
			all[backend] = append(all[backend], slices.Clone(chunk))
		}
		if backend != "cpu:exact" {
			continue
		}
		_, err = p.Evaluate(ctx, store, []int{1}, func(w *policy.Window, chunk []float64) error {
			if i := slices.Index([]int64{1, 2, 7}, w.Tick); i >= 0 {
				assert.Equal(t, chunk, all[backend][i], "tick %d", w.Tick)
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Equal(t, losses[0], losses[1])
	assert.Equal(t, all["cpu:exact"], all["sim"])
	assert.NotEqual(t, all["sim"][0], all["sim"][1])
}

// Action executes a chunk for the given number of ticks, or returns the weighted mean over all chunks for a tick.
func TestActionsOfChunks(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60))
	dir := saved(t, store, policy.Options{Steps: 4, Batch: 4})
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	e, err := store.Episode(ctx, 0)
	require.NoError(t, err)
	times := e.Stream("state").Nanoseconds()
	const decay, c = 0.3, 30
	rule := map[string]policy.Execution{"4 steps": {Steps: 4}, "a chunk": {}, "ensemble": {Ensemble: true, Decay: decay}}
	for name, rule := range rule {
		streams, err := p.LiveStreams(e)
		require.NoError(t, err)
		r, err := p.NewRunner(ctx, streams)
		require.NoError(t, err)
		feed, err := policy.NewFeed(p.Config(), e)
		require.NoError(t, err)
		var chunks [][]float64
		for tick := range 40 {
			require.NoError(t, feed.Until(r, times[tick+1]))
			chunk, err := r.Act(ctx, times[tick+1])
			require.NoError(t, err)
			chunks = append(chunks, slices.Clone(chunk))
			got, err := r.Action(ctx, times[tick+1], rule)
			require.NoError(t, err)
			want, sum := make([]float64, 3), 0.0
			oldest, latest := max(0, tick-c+1), tick
			switch name {
			case "4 steps":
				oldest = tick / 4 * 4
				latest = oldest
			case "a chunk":
				oldest = tick / c * c
				latest = oldest
			}
			for i := oldest; i <= latest; i++ {
				weight := math.Exp(-decay * float64(i-oldest))
				if sum += weight; name != "ensemble" {
					weight, sum = 1, 1
				}
				for j := range want {
					want[j] += weight * chunks[i][(tick-i)*3+j]
				}
			}
			for j := range want {
				assert.InDelta(t, want[j]/sum, got[j], 1e-12, "%s: tick %d", name, tick)
			}
		}
		require.NoError(t, r.Close())
	}
}

// A checkpoint with another sampler than its kind has, or with impossible numbers, is refused.
func TestSamplersThatDoNotFit(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60))
	for want, o := range map[string]policy.Options{
		`Policy: got "x"`: {Policy: "x"},
		`Size: got "small", want one of ["base" "tiny"]`: {Policy: policy.Flow, Size: "small"},
		`Sampler: got "ddim", want one of ["euler"]`:     {Policy: policy.Flow, Sampler: policy.DDIM},
		`Sampler: got "euler", want one of [""]`:         {Sampler: policy.Euler},
		`SampleSteps: got 3, want 0 to 0`:                {SampleSteps: 3},
		`SampleSteps: got 16, want 100 to 100`:           {Policy: policy.Diffusion, Sampler: policy.DDPM, SampleSteps: 16},
		`SampleSteps: got 1001, want 1 to 1000`:          {Policy: policy.Flow, SampleSteps: 1001},
		`Condition: got "cross", want "prefix", or "cr`:  {Condition: policy.Cross},
		`Condition: got "x", want "prefix", or "cross"`:  {Policy: policy.Flow, Condition: "x"},
		`Execute: got 17, want 1 to 16`:                  {Policy: policy.Flow, Execute: 17},
	} {
		_, err := policy.NewTrainer(ctx, all(t, "cpu"), store, o)
		assert.ErrorContains(t, err, want)
	}
	dir := saved(t, store, policy.Options{Policy: policy.Diffusion, Size: "tiny", Plan: short, Steps: 2, Batch: 2})
	path := filepath.Join(dir, "config.json")
	text := filetest.Read(t, path)
	for key, value := range map[string]any{"sampler": "", "condition": "x", "sample_steps": 0, "execute": 99, "per_token": true, "differences": true, "policy": "flow"} {
		var c map[string]any
		require.NoError(t, json.Unmarshal(text, &c))
		if c[key] != nil {
			c[key] = value
		} else {
			c["recipe"].(map[string]any)[key] = value
		}
		changed, err := json.Marshal(c)
		require.NoError(t, err)
		filetest.Write(t, path, changed)
		_, err = policy.Open(ctx, open(t, "cpu"), dir)
		var bad *policy.CheckpointError
		assert.ErrorAs(t, err, &bad, key)
	}
}
