package policy_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// weightsIn reads a weight in a safetensors file.
func weightsIn(t *testing.T, path, name string) []float64 {
	t.Helper()
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := f.Tensor(name)
	require.NoError(t, err)
	list, err := tensor.Floats(w)
	require.NoError(t, err)
	return list
}

// With Recipe.EMA a policy has the averaged weights, and training keeps both.
func TestAPolicyHasTheAveragedWeights(t *testing.T) {
	store, dir := build(t, robots(t, 60, 60)), t.TempDir()
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 20, Batch: 4, EMA: fraction(0.75)})
	train(t, tr, 20)
	want, err := tr.Evaluate(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, tr.Save(t.Context(), dir))
	model, training := filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "training.safetensors")
	averaged := weightsIn(t, model, "output.weight")
	assert.Equal(t, weightsIn(t, training, "ema.output.weight"), averaged)
	assert.NotEqual(t, weightsIn(t, training, "parameters.output.weight"), averaged)
	p, err := policy.Open(t.Context(), open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	got, err := p.Evaluate(t.Context(), store, []int{1}, nil)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// Two batches in a step draw the windows of one batch that is twice as large, and learn the same, except for windows in which some
// ticks have no target, because the loss is the mean of the batches' means.
func TestTwoBatchesInAStepLearnWhatOneDoes(t *testing.T) {
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-200ms, 0s]}\n"
	store := build(t, robots(t, 900))
	o := policy.Options{Size: "seed", Plan: plan, Steps: 4, Batch: 4, Rate: 1e-4, Seed: 3}
	one := trainer(t, "cpu", store, o)
	want := train(t, one, 4)
	o.Batch, o.Accumulate = 2, 2
	two := trainer(t, "cpu", store, o)
	assert.Equal(t, 4, two.Config().Recipe.Windows())
	for i, loss := range train(t, two, 4) {
		assert.InEpsilon(t, want[i], loss, 0.02, i)
	}
	assert.Equal(t, 4, two.Steps())
}

// The folder best has the weights at the step with the lowest held-out loss, also after later steps and a resumption.
func TestTheBestCheckpointIsKept(t *testing.T) {
	store, dir := build(t, robots(t, 60, 60, 60)), t.TempDir()
	o := policy.Options{HoldOut: []int{1}, Steps: 60, Batch: 4, Rate: 0.3}
	tr := trainer(t, "cpu", store, o)
	assert.Equal(t, -1, tr.Best())
	weights := map[int][]float64{}
	for step := 1; step <= 12; step++ {
		train(t, tr, 1)
		_, err := tr.Evaluate(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, tr.Save(t.Context(), dir))
		weights[step] = weightsIn(t, filepath.Join(dir, "model.safetensors"), "output.weight")
		if step == 6 {
			tr = trainer(t, "cpu", store, o)
			require.NoError(t, tr.Resume(t.Context(), dir))
		}
		low := 1
		for s, loss := range tr.HeldOut() {
			if loss < tr.HeldOut()[low] {
				low = s
			}
		}
		require.Equal(t, low, tr.Best())
		best := filepath.Join(dir, policy.BestFolder)
		require.Equal(t, weights[low], weightsIn(t, filepath.Join(best, "model.safetensors"), "output.weight"), "step %d", step)
		p, err := policy.Open(t.Context(), open(t, "cpu"), best)
		require.NoError(t, err)
		e, err := p.Evaluate(t.Context(), store, []int{1}, nil)
		require.NoError(t, err)
		require.Equal(t, tr.HeldOut()[low], e.Loss)
		require.NoError(t, p.Close())
	}
	assert.Less(t, tr.Best(), 12, "a rate this high makes some step worse")
}

// A sampled policy that resumes training has the same files as one that was not interrupted. By default it averages its weights. Training
// from its checkpoint begins with them.
func TestSampledTrainingResumes(t *testing.T) {
	ctx := t.Context()
	store := build(t, robots(t, 60, 60, 60))
	for kind, o := range map[string]policy.Options{policy.Flow: {SampleSteps: 3}, policy.Diffusion: {Sampler: policy.DDIM, SampleSteps: 3, Condition: policy.Cross}} {
		o.Policy, o.Size, o.Plan, o.HoldOut, o.Steps, o.Batch, o.Accumulate, o.Rate, o.Seed = kind, "tiny", short, []int{1}, 6, 4, 2, 1e-2, 7
		whole, parts := t.TempDir(), t.TempDir()
		dirs := []string{whole, parts}
		trainers := []*policy.Trainer{trainer(t, "cpu", store, o), trainer(t, "cpu", store, o)}
		for i, tr := range trainers {
			for step := range o.Steps {
				if i == 1 && step == 3 {
					tr = trainer(t, "cpu", store, o)
					require.NoError(t, tr.Resume(ctx, parts))
				}
				train(t, tr, 1)
				if step%2 == 0 {
					_, err := tr.Evaluate(ctx, nil)
					require.NoError(t, err)
					require.NoError(t, tr.Save(ctx, dirs[i]))
				}
			}
			_, err := tr.Evaluate(ctx, nil)
			require.NoError(t, err)
			require.NoError(t, tr.Save(ctx, dirs[i]))
			trainers[i] = tr
		}
		assert.Equal(t, 0.75, trainers[0].Config().Recipe.EMA)
		assert.Equal(t, trainers[0].Losses(), trainers[1].Losses())
		assert.Equal(t, trainers[0].HeldOut(), trainers[1].HeldOut())
		for _, name := range []string{"model.safetensors", "training.safetensors", "best/model.safetensors"} {
			assert.Equal(t, filetest.Read(t, filepath.Join(whole, name)), filetest.Read(t, filepath.Join(parts, name)), "%s: %s", kind, name)
		}
		average := weightsIn(t, filepath.Join(whole, "model.safetensors"), "output.weight")
		assert.Equal(t, weightsIn(t, filepath.Join(whole, "training.safetensors"), "ema.output.weight"), average)
		assert.NotEqual(t, weightsIn(t, filepath.Join(whole, "training.safetensors"), "parameters.output.weight"), average)

		from := trainer(t, "cpu", store, policy.Options{From: whole, HoldOut: []int{1}, Steps: 9})
		got, err := from.Evaluate(ctx, nil)
		require.NoError(t, err)
		assert.Equal(t, trainers[0].HeldOut()[6], got.Loss, "before the first step")
		train(t, from, 2)
		assert.Equal(t, []any{kind, 3, 9, 2}, []any{from.Config().Policy, from.Config().Recipe.SampleSteps, from.Config().Recipe.Steps, from.Steps()})
		from = trainer(t, "cpu", store, policy.Options{From: whole, SampleSteps: 4, Execute: 1})
		assert.Equal(t, []int{4, 1}, []int{from.Config().Recipe.SampleSteps, from.Config().Recipe.Execute})
		assert.Equal(t, o.Condition, from.Config().Recipe.Condition)
		_, err = policy.NewTrainer(ctx, all(t, "cpu"), store, policy.Options{From: whole, Sampler: policy.DDPM, SampleSteps: 3})
		assert.ErrorContains(t, err, "Sampl")
	}
}

// Training from a checkpoint begins with its weights and statistics, on other recordings, and continues for its own number of steps.
func TestTrainingBeginsFromACheckpoint(t *testing.T) {
	dir := t.TempDir()
	plan := "version: 1\nrate: 15\nstreams:\n  - {name: body, from: state, columns: [wrist, elbow]}\n  - {name: actions, from: action, columns: [elbow]}\nwindows: {body: [-400ms, 0s], actions: [0s, 600ms]}\n"
	first := trainer(t, "cpu", build(t, robots(t, 80, 80)), policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 30, Batch: 4, Seed: 3, EMA: fraction(0.75)})
	train(t, first, 30)
	require.NoError(t, first.Save(t.Context(), dir))

	other := robots(t, 70, 90, 80)
	for i := range other {
		for s, name := range []string{"state", "action"} {
			old, err := tensor.Floats(other[i].Streams[s].Values)
			require.NoError(t, err)
			other[i].Streams[s] = table(t, name, len(old)/3, joints, func(row, j int) float64 { return 2*old[3*row+j] + 1 })
		}
	}
	store := build(t, other)
	o := policy.Options{From: dir, HoldOut: []int{2}, Steps: 150}
	tr := trainer(t, "cpu", store, o)
	c, was := tr.Config(), first.Config()
	assert.Equal(t, was.Inputs, c.Inputs)
	assert.Equal(t, was.Targets, c.Targets)
	assert.Equal(t, []int{0, 1}, c.Trained)
	assert.Equal(t, []any{150, 4, 0.75, 100, uint64(3)}, []any{c.Recipe.Steps, c.Recipe.Batch, c.Recipe.EMA, c.Recipe.WarmUp, c.Seed})
	p, err := policy.Open(t.Context(), open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	want, err := p.Evaluate(t.Context(), store, []int{2}, nil)
	require.NoError(t, err)
	got, err := tr.Evaluate(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, want, got, "before the first step")
	train(t, tr, 150)
	after, err := tr.Evaluate(t.Context(), nil)
	require.NoError(t, err)
	assert.Less(t, after.Loss, got.Loss)

	out := t.TempDir()
	require.NoError(t, tr.Save(t.Context(), out))
	o.From = out
	again := trainer(t, "cpu", store, o)
	require.NoError(t, again.Resume(t.Context(), out))
	assert.True(t, again.Done())

	var option *policy.OptionError
	for arg, o := range map[string]policy.Options{"Policy": {Policy: policy.Kind}, "Size": {Size: "seed"}, "Condition": {Condition: policy.Prefix}, "Plan": {Plan: plan}, "Hz": {Hz: 3}, "Action": {Action: "a"}, "States": {States: []string{"a"}},
		"Unordered": {Unordered: "drop"}, "Floor": {Floor: 1}} {
		o.From = dir
		_, err := policy.NewTrainer(t.Context(), all(t, "cpu"), store, o)
		require.ErrorAs(t, err, &option, arg)
		assert.Equal(t, arg, option.Arg)
	}
	var bad *policy.CheckpointError
	_, err = policy.NewTrainer(t.Context(), all(t, "cpu"), store, policy.Options{From: t.TempDir()})
	assert.ErrorAs(t, err, &bad)
	turned := robots(t, 80)
	for s := range turned[0].Streams {
		turned[0].Streams[s].Columns = []dataset.Column{{Name: "shoulder"}, {Name: "knee"}, {Name: "wrist"}}
	}
	_, err = policy.NewTrainer(t.Context(), all(t, "cpu"), build(t, turned), policy.Options{From: dir})
	assert.Error(t, err)
}

// Dropout and EMA of 0 replace those of the size. Training from a checkpoint keeps its own, and has new ones if they are given. Predictions
// have no dropout.
func TestDropoutAndEMAOfACheckpoint(t *testing.T) {
	store := build(t, robots(t, 60, 60))
	for _, kind := range policy.Kinds {
		size := policy.Sizes(kind)[0]
		if kind != policy.Kind {
			size = "tiny"
		}
		o := policy.Options{Policy: kind, Size: size, Plan: short, HoldOut: []int{1}, Steps: 3, Batch: 4, Rate: 1e-2}
		if kind != policy.Kind {
			o.SampleSteps = 2
		}
		has := func(dropout, attention, ema float64, o policy.Options) (*policy.Trainer, []float32) {
			tr := trainer(t, "cpu", store, o)
			r := tr.Config().Recipe
			assert.Equal(t, []float64{dropout, attention, ema}, []float64{r.Dropout, r.AttentionDropout, r.EMA})
			return tr, train(t, tr, 3)
		}
		o.Dropout, o.EMA = fraction(0), fraction(0)
		_, want := has(0, 0, 0, o)
		o.Dropout, o.EMA = fraction(0.75), fraction(0.9)
		tr, losses := has(0.25, 0.75, 0.9, o)
		assert.NotEqual(t, want, losses, kind)

		dir := t.TempDir()
		require.NoError(t, tr.Save(t.Context(), dir))
		has(0.25, 0.75, 0.9, policy.Options{From: dir})
		has(0, 0, 0, policy.Options{From: dir, Dropout: fraction(0), EMA: fraction(0)})
		trained, err := tr.Evaluate(t.Context(), nil)
		require.NoError(t, err)
		config := filepath.Join(dir, "config.json")
		text := string(filetest.Read(t, config))
		filetest.Write(t, config, []byte(strings.NewReplacer(`"dropout": 0.25`, `"dropout": 0`, `"attention_dropout": 0.75`, `"attention_dropout": 0`).Replace(text)))
		p, err := policy.Open(t.Context(), open(t, "cpu"), dir)
		require.NoError(t, err)
		defer p.Close()
		assert.Zero(t, p.Config().Recipe.AttentionDropout)
		got, err := p.Evaluate(t.Context(), store, []int{1}, nil)
		require.NoError(t, err)
		assert.Equal(t, trained, got, kind)
	}
	var option *policy.OptionError
	for _, o := range []policy.Options{{Dropout: fraction(1)}, {Dropout: fraction(-0.1)}, {Dropout: fraction(math.NaN())}} {
		_, err := policy.NewTrainer(t.Context(), all(t, "cpu"), store, o)
		require.ErrorAs(t, err, &option)
		assert.Equal(t, "Dropout", option.Arg)
	}
}
