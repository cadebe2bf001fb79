package policy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
)

// A policy learns the motion of a robot well enough to foretell that of an episode that it has not seen.
func TestTrainingForetellsAnEpisodeThatWasHeldOut(t *testing.T) {
	tr := trainer(t, "cpu", build(t, robots(t, 150, 150, 150, 150)), policy.Options{HoldOut: []int{2}, Steps: 150})
	assert.Equal(t, []int{0, 1, 3}, tr.Config().Trained)
	losses := train(t, tr, 150)
	assert.True(t, tr.Done())
	assert.Less(t, losses[149], losses[0]/4)
	e, err := tr.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	require.Len(t, e.Skills, 3)
	for _, s := range e.Skills {
		assert.Greater(t, s.Skill, 0.7, s.Ticks)
		assert.Equal(t, 150-s.Ticks, s.Windows, "an anchor has an action before it, and one so many ticks later")
	}
	again, err := tr.Run(context.Background(), 10)
	require.NoError(t, err)
	assert.Empty(t, again, "there are as many steps as the recipe has")
}

// A network begins with holding the last action, to the rounding: that is skill 0.
func TestAPolicyBeginsWithHoldingTheLastAction(t *testing.T) {
	tr := trainer(t, "cpu", build(t, robots(t, 80, 80)), policy.Options{HoldOut: []int{1}})
	e, err := tr.Evaluate(context.Background(), func(w *policy.Window, chunk []float64) error {
		for i, v := range chunk {
			assert.Equal(t, w.Last[i%3], v)
		}
		return nil
	})
	require.NoError(t, err)
	for _, s := range e.Skills {
		assert.Zero(t, s.Skill)
		assert.Positive(t, s.Hold)
	}
}

// The error of holding is that of the definition: on the G1's recordings it has been computed by another program.
func TestHoldIsThatOfTheDefinition(t *testing.T) {
	store := recorded(t, "shared/data/lerobot_v21_g1")
	sum := map[int]float64{}
	for fold := range 8 {
		tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{fold}})
		e, err := tr.Evaluate(context.Background(), nil)
		require.NoError(t, err)
		for _, s := range e.Skills {
			sum[s.Ticks] += s.Hold / 8
		}
	}
	assert.InDelta(t, 0.0579, sum[10], 0.00005)
	assert.InDelta(t, 0.1669, sum[20], 0.00005)
	assert.InDelta(t, 0.3016, sum[30], 0.00005)
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, f := range list {
		text := filetest.Read(t, filepath.Join(dir, f.Name()))
		all[f.Name()] = string(text)
	}
	return all
}

// Training that was stopped and goes on ends with the bits of one that was not, place in the order of the windows and all.
func TestTrainingGoesOnToTheBit(t *testing.T) {
	ctx := context.Background()
	for backend, steps := range map[string]int{"cpu": 30, "cpu:exact": 4} {
		store := build(t, robots(t, 60, 60, 60))
		o := policy.Options{HoldOut: []int{1}, Steps: steps, Batch: 4, Seed: 5, EMA: fraction(0.75), Accumulate: 2}
		whole := trainer(t, backend, store, o)
		losses := train(t, whole, steps)
		dirs := []string{t.TempDir(), t.TempDir()}
		require.NoError(t, whole.Save(ctx, dirs[0]))

		first := trainer(t, backend, store, o)
		got := train(t, first, steps/2)
		require.NoError(t, first.Save(ctx, dirs[1]))
		second := trainer(t, backend, store, o)
		require.NoError(t, second.Resume(ctx, dirs[1]))
		assert.Equal(t, steps/2, second.Steps())
		assert.Equal(t, losses[:steps/2], second.Losses(), "those of all steps")
		got = append(got, train(t, second, steps-steps/2)...)
		assert.Equal(t, losses, second.Losses())
		require.NoError(t, second.Save(ctx, dirs[1]))
		assert.Equal(t, losses, got, backend)
		a, b := files(t, dirs[0]), files(t, dirs[1])
		assert.Len(t, a, 3)
		for name := range a {
			assert.True(t, a[name] == b[name], "%s: %s", backend, name)
		}
	}
}

// Devices train to the bits of as many of the CPU's exact way, from the draw of a window to the checkpoint.
func sameBits(t *testing.T, backend string, store *store.Store, o policy.Options, steps int) {
	t.Helper()
	ctx := context.Background()
	var all []map[string]string
	var skills []policy.Evaluation
	for _, name := range []string{strings.Repeat("cpu:exact,", strings.Count(backend, ",")) + "cpu:exact", backend} {
		tr := trainer(t, name, store, o)
		train(t, tr, steps)
		dir := t.TempDir()
		require.NoError(t, tr.Save(ctx, dir))
		all = append(all, files(t, dir))
		e, err := tr.Evaluate(ctx, nil)
		require.NoError(t, err)
		skills = append(skills, e)
	}
	assert.Equal(t, skills[0], skills[1])
	for name := range all[0] {
		assert.True(t, all[0][name] == all[1][name], name)
	}
}

func TestTheSimulatedDeviceTrainsToTheSameBits(t *testing.T) {
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-67ms, 0s], action: [0s, 100ms]}\n"
	sameBits(t, "sim", build(t, robots(t, 20, 20)), policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 3, Batch: 4}, 3)
}

func TestAGPUTrainsToTheSameBits(t *testing.T) {
	d, err := ops.Open("cuda")
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("ROBOCACHE_REQUIRE_GPU"), err)
		t.Skipf("no GPU: %v", err)
	}
	require.NoError(t, d.Close())
	sameBits(t, "cuda", recorded(t, "examples/data/g1"), policy.Options{HoldOut: []int{2}, Steps: 40}, 40)
}

func TestTwoGPUsTrainToTheSameBits(t *testing.T) {
	devices, err := ops.OpenAll("cuda:0,cuda:1")
	if err != nil {
		t.Skipf("no second GPU: %v", err)
	}
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
	sameBits(t, "cuda:0,cuda:1", recorded(t, "examples/data/g1"), policy.Options{HoldOut: []int{2}, Steps: 40}, 40)
}

// A checkpoint has all that is needed to run it: it predicts what the trainer did, on the same episodes.
func TestACheckpointIsThePolicy(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 80, 80))
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 20})
	train(t, tr, 20)
	var want []float64
	e, err := tr.Evaluate(ctx, func(_ *policy.Window, chunk []float64) error {
		want = append(want, chunk...)
		return nil
	})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	var got []float64
	again, err := p.Evaluate(ctx, store, []int{1}, func(_ *policy.Window, chunk []float64) error {
		got = append(got, chunk...)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, e, again)
	assert.Equal(t, tr.Config(), p.Config())
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "twice is fine")
}

// A plan says which streams and columns are taken, how many ticks are seen and how many predicted.
func TestAPlanSaysWhatIsSeenAndPredicted(t *testing.T) {
	plan := "version: 1\nrate: 15\nstreams:\n  - {name: body, from: state, columns: [wrist, elbow]}\n  - {name: actions, from: action, columns: [elbow]}\nwindows: {body: [-400ms, 0s], actions: [0s, 600ms]}\n"
	tr := trainer(t, "cpu", build(t, robots(t, 80, 80)), policy.Options{HoldOut: []int{0}, Plan: plan, Steps: 2})
	train(t, tr, 2)
	c := tr.Config()
	assert.Equal(t, 6, c.Recipe.History)
	assert.Equal(t, 9, c.Recipe.Chunk)
	var relative []int
	for _, x := range c.Inputs {
		relative = append(relative, x.Relative)
	}
	assert.Equal(t, []int{-1, 0, 0, -1}, relative, "a state is relative to the action of its name")
	e, err := tr.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 6, 9}, []int{e.Skills[0].Ticks, e.Skills[1].Ticks, e.Skills[2].Ticks})
}

// The seed's size predicts the action of each token's own tick.
func TestTheSeedPredictsEachTick(t *testing.T) {
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-300ms, 0s]}\n"
	tr := trainer(t, "cpu", build(t, robots(t, 60, 60)), policy.Options{Size: "seed", HoldOut: []int{1}, Plan: plan, Steps: 12, Batch: 4, Rate: 1e-3})
	losses := train(t, tr, 12)
	assert.Less(t, losses[11], losses[0])
	e, err := tr.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	require.Len(t, e.Skills, 1)
	assert.Equal(t, 59, e.Skills[0].Windows)
}

// Whatever cannot be trained on is an error of a type that says what was got and what is wanted.
func TestWhatCannotBeTrainedOnIsNamed(t *testing.T) {
	good := robots(t, 80, 80)
	renamed := robots(t, 80, 80)
	for _, e := range renamed {
		e.Streams[1].Name = "command"
	}
	twice := robots(t, 80)
	twice[0].Streams = append(twice[0].Streams, twice[0].Streams[1])
	twice[0].Streams[2].Name = "actions"
	alone := robots(t, 80)
	alone[0].Streams = alone[0].Streams[1:]
	streams := "streams: [{name: state}, {name: action}]\n"
	for name, c := range map[string]struct {
		d    made
		o    policy.Options
		want string
	}{
		"size":                   {good, policy.Options{Size: "large"}, `Size: got "large", want one of ["small" "seed"]`},
		"steps":                  {good, policy.Options{Steps: -1}, "Steps: got -1, want 1 to"},
		"batch of all":           {good, policy.Options{Batch: 1000}, "Batch"},
		"rate":                   {good, policy.Options{Rate: math.NaN()}, "Rate: got NaN"},
		"no action":              {renamed, policy.Options{}, "none of that name among state, command, want a stream called action or actions"},
		"two actions":            {twice, policy.Options{}, "a second action stream beside action"},
		"no state":               {alone, policy.Options{}, "stream state: got none beside action"},
		"episode that is not":    {good, policy.Options{HoldOut: []int{7}}, "HoldOut: got 7, want an episode number, 0 to"},
		"episode held out twice": {good, policy.Options{HoldOut: []int{1, 1}}, "HoldOut: got 1 twice"},
		"all held out":           {good, policy.Options{HoldOut: []int{0, 1}}, "HoldOut: got all 2 episodes"},
		"all are short":          {robots(t, 4, 5, 3), policy.Options{}, "episode e1: got 5 ticks of 30 Hz, the most that one of 3 episodes has, want 35 or more: 5 for states and 30 for predictions, as a plan's windows"},
		"all held out are short": {robots(t, 80, 20), policy.Options{HoldOut: []int{1}, Plan: "version: 1\nrate: 30\nwindows: {action: [0s, 1s]}\n"}, "episode e1: got 20 ticks of 30 Hz, want 35 or more"},
		"no plan":                {good, policy.Options{Plan: "version: 2"}, "version"},
		"dtype":                  {good, policy.Options{Plan: "version: 1\nrate: 30\nstreams: [{name: state, dtype: f64}, {name: action}]\n"}, "line 3, column 32: streams[0].dtype: got f64, want f32"},
		"a stream that is not":   {good, policy.Options{Plan: "version: 1\nrate: 30\nstreams: [{name: legs}, {name: action}]\n"}, "legs"},
		"a window of states":     {good, policy.Options{Plan: "version: 1\nrate: 30\n" + streams + "windows: {state: [-1s, 1s]}\n"}, "windows.state"},
		"a window of actions":    {good, policy.Options{Plan: "version: 1\nrate: 30\n" + streams + "windows: {action: [-1s, -500ms]}\n"}, "windows.action"},
		"actions from later on":  {good, policy.Options{Plan: "version: 1\nrate: 30\n" + streams + "windows: {action: [200ms, 1s]}\n"}, "windows.action: got 200ms to 1s, want one that begins at the anchor"},
		"actions from before on": {good, policy.Options{Plan: "version: 1\nrate: 30\n" + streams + "windows: {action: [-500ms, 500ms]}\n"}, "windows.action: got -500ms to 500ms, want one that begins at the anchor"},
		"the seed's chunk":       {good, policy.Options{Size: "seed", Plan: "version: 1\nrate: 30\n" + streams + "windows: {action: [0s, 1s]}\n"}, "windows.action: got 30 ticks"},
	} {
		_, err := policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, c.d), c.o)
		assert.ErrorContains(t, err, c.want, name)
	}
	var option *policy.OptionError
	_, err := policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, good), policy.Options{Size: "large"})
	assert.True(t, errors.As(err, &option))
}

// A plan that is for batches too may normalise: a policy leaves that out, says so, and is the same.
func TestWhatAPlanNormalisesIsLeftToThePolicy(t *testing.T) {
	store := build(t, robots(t, 80, 80))
	const plan = "version: 1\nrate: 30\n%sstreams: [{name: state%s}, {name: action}]\n"
	o := policy.Options{Plan: fmt.Sprintf(plan, "", ""), Steps: 3, Batch: 4}
	want := train(t, trainer(t, "cpu", store, o), 3)
	for text, says := range map[string][]string{
		fmt.Sprintf(plan, "", ", normalise: min-max"):                              {"min-max of state"},
		fmt.Sprintf(plan, "defaults: {normalise: q01-q99}\n", ", normalise: none"): {"q01-q99 of action"},
		"version: 1\nrate: 30\ndefaults: {normalise: lerobot}\n":                   {"lerobot of all"},
	} {
		o.Plan = text
		tr := trainer(t, "cpu", store, o)
		got, err := tr.Config().Normalised()
		require.NoError(t, err)
		assert.Equal(t, says, got)
		assert.Equal(t, want, train(t, tr, 3), text)
	}
}

// Episodes that are shorter than the windows cost themselves, those held out too: they are listed, and all else is as without them.
func TestShortEpisodesAreLeftOutAndListed(t *testing.T) {
	o := policy.Options{HoldOut: []int{2, 3}, Steps: 4, Batch: 4}
	d := robots(t, 80, 20, 34, 80, 35)
	tr := trainer(t, "cpu", build(t, d), o)
	c := tr.Config()
	assert.Equal(t, []int{0, 4}, c.Trained)
	assert.Equal(t, []int{3}, c.HoldOut)
	require.Len(t, c.LeftOut, 2)
	assert.Equal(t, []any{dataset.CodeEpisodeShort, "e1"}, []any{c.LeftOut[0].Code, c.LeftOut[0].Subject})
	assert.Equal(t, "episode-short: 20, got 20 ticks of 30 Hz, want 35 or more: 5 for states and 30 for predictions, as a plan's windows can set", c.LeftOut[0].Reason())
	assert.Equal(t, "e2", c.LeftOut[1].Subject)
	assert.Equal(t, 2, tr.Report().Episodes)
	e, err := tr.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	assert.Equal(t, []int{3}, e.Episodes)

	without := trainer(t, "cpu", build(t, made{d[0], d[3], d[4]}), policy.Options{HoldOut: []int{1}, Steps: 4, Batch: 4})
	assert.Equal(t, train(t, without, 4), train(t, tr, 4))
	assert.Empty(t, without.Config().LeftOut)
}

// A value that is not finite is named, and nothing is trained with it.
func TestAValueThatIsNotFiniteIsNamed(t *testing.T) {
	d := robots(t, 60, 60)
	d[0].Streams[0] = table(t, "state", 60, joints, func(row, j int) float64 {
		if row == 30 && j == 1 {
			return math.NaN()
		}
		return float64(row * j)
	})
	_, err := policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, d), policy.Options{})
	var stream *policy.StreamError
	require.ErrorAs(t, err, &stream)
	assert.Equal(t, "state", stream.Stream)
	assert.Contains(t, err.Error(), "column elbow")

	d = robots(t, 60, 60) // huge ones, of which the loss is not finite
	d[0].Streams[1] = table(t, "action", 60, joints, func(row, j int) float64 { return 3e38 * float64(row%2*2-1) })
	tr, err := policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, d), policy.Options{Batch: 60})
	if err == nil {
		defer tr.Close()
		_, err = tr.Run(context.Background(), 5)
		var bad *nn.NotFiniteError
		assert.ErrorAs(t, err, &bad)
	}
	require.Error(t, err)
}

// A folder that is not the checkpoint that is asked for is refused, and says why.
func TestACheckpointOfSomethingElseIsRefused(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 80, 80, 80))
	o := policy.Options{HoldOut: []int{1}, Steps: 4, Batch: 4}
	tr := trainer(t, "cpu", store, o)
	train(t, tr, 2)
	dir := filepath.Join(t.TempDir(), "a", "b")
	there, err := policy.Exists(dir)
	require.NoError(t, err)
	assert.False(t, there)
	require.NoError(t, tr.Save(ctx, dir))
	there, err = policy.Exists(dir)
	require.NoError(t, err)
	assert.True(t, there)
	var bad *policy.CheckpointError
	for what, other := range map[string]policy.Options{
		"steps":             {HoldOut: []int{1}, Steps: 5, Batch: 4},
		"seed":              {HoldOut: []int{1}, Steps: 4, Batch: 4, Seed: 1},
		"episodes held out": {HoldOut: []int{2}, Steps: 4, Batch: 4},
	} {
		err := trainer(t, "cpu", store, other).Resume(ctx, dir)
		require.ErrorAs(t, err, &bad, what)
		assert.Equal(t, what, bad.What)
	}
	other := robots(t, 80, 80, 90)
	err = trainer(t, "cpu", build(t, other), o).Resume(ctx, dir)
	require.ErrorAs(t, err, &bad, "other recordings")
	assert.Equal(t, "samples of 2", bad.What)

	config := files(t, dir)["config.json"]
	for _, text := range []string{"", "{", "[]", `{"version":1,"policy":"other"}`, `{"version":1,"policy":"bc-transformer"}`} {
		filetest.Write(t, filepath.Join(dir, "config.json"), text)
		_, err := policy.Open(ctx, open(t, "cpu"), dir)
		assert.ErrorAs(t, err, &bad, text)
	}
	filetest.Write(t, filepath.Join(dir, "config.json"), config)
	wide := strings.Replace(config, `"width": 64`, `"width": 32768`, 1)
	require.NotEqual(t, config, wide)
	filetest.Write(t, filepath.Join(dir, "config.json"), wide)
	_, err = policy.Open(ctx, open(t, "cpu"), dir)
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "model.safetensors", bad.What, "no memory is taken for weights that are not there")
	filetest.Write(t, filepath.Join(dir, "config.json"), config)
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	_, err = policy.Open(ctx, open(t, "cpu"), dir)
	assert.ErrorAs(t, err, &bad)
	full := t.TempDir()
	filetest.Write(t, filepath.Join(full, "notes.txt"), "")
	_, err = policy.Exists(full)
	assert.ErrorAs(t, err, &bad)
	_, err = policy.Open(ctx, open(t, "cpu"), filepath.Join(full, "none"))
	assert.ErrorAs(t, err, &bad)
}

// A recording of another robot is refused.
func TestARecordingWithOtherColumnsIsRefused(t *testing.T) {
	ctx := context.Background()
	tr := trainer(t, "cpu", build(t, robots(t, 60)), policy.Options{Steps: 1})
	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	other := robots(t, 60)
	other[0].Streams[0].Columns = []dataset.Column{{Name: "shoulder"}, {Name: "elbow"}, {Name: "knee"}}
	_, err = p.Evaluate(ctx, build(t, other), []int{0}, nil)
	var stream *policy.StreamError
	require.ErrorAs(t, err, &stream)
	assert.Equal(t, "state", stream.Stream)
	other[0].Streams = other[0].Streams[1:]
	_, err = p.Evaluate(ctx, build(t, other), []int{0}, nil)
	assert.ErrorContains(t, err, "state")
}

// The chunk is one that nine in ten episodes allow where the default is longer than all, and a plan's chunk stays.
func TestTheChunkIsOneThatShortEpisodesAllow(t *testing.T) {
	for _, c := range []struct {
		d     made
		o     policy.Options
		chunk int
		got   string
	}{
		{robots(t, 10, 20, 12), policy.Options{}, 5, "10"},
		{robots(t, 5, 20, 5), policy.Options{}, 15, "20"}, // few episodes have more ticks than are seen
		{robots(t, 80, 20), policy.Options{HoldOut: []int{1}}, 15, "20"},
	} {
		c.o.Steps, c.o.Batch = 1, 2
		tr := trainer(t, "cpu", build(t, c.d), c.o)
		got := tr.Config()
		assert.Equal(t, c.chunk, got.Recipe.Chunk)
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeChunkShort, Subject: "action", Count: c.chunk, Detail: dataset.Detail{Of: 30, Got: c.got}}}, got.Choices)
		train(t, tr, 1)
	}
	assert.Empty(t, trainer(t, "cpu", build(t, robots(t, 80, 20)), policy.Options{Steps: 1, Batch: 2}).Config().Choices, "an episode costs itself")
}

// The mean of white noise has half of the error of the last sample; that of a ramp has more.
func TestTheMeanActionIsABaseline(t *testing.T) {
	d := robots(t, 400, 400)
	for i, e := range d {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		e.Streams[1] = table(t, "action", 400, joints, func(int, int) float64 { return r.NormFloat64() })
	}
	store := build(t, d)
	c := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 1}).Config()
	mean, err := policy.Mean(t.Context(), c, store)
	require.NoError(t, err)
	require.Len(t, mean.Skills, 3)
	for _, s := range mean.Skills {
		assert.InDelta(t, .5, s.Skill, .05)
	}
}
