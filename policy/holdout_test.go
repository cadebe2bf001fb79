package policy_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/policy"
)

// A plan's filter says what is trained on. Episodes that are held out, or asked for, are compared with whatever it says.
func TestAFilterIsOfWhatIsTrainedOn(t *testing.T) {
	ctx := context.Background()
	d := robots(t, 80, 80, 80, 80)
	good, bad := true, false
	for i, success := range []*bool{&good, &bad, &good, &bad} {
		d[i].Attributes.Success = success
	}
	store := build(t, d)
	o := policy.Options{Steps: 1, HoldOut: []int{1, 2}, Plan: "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nfilter: {success: true}\n"}
	tr := trainer(t, "cpu", store, o)
	assert.Equal(t, []int{0}, tr.Config().Trained)
	assert.Equal(t, 1, tr.Config().Filtered, "of those that are not held out")
	both, err := tr.Evaluate(ctx, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, both.Episodes)
	assert.Equal(t, 2*(80-10), both.Skills[0].Windows)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Evaluate(ctx, store, []int{3}, nil)
	assert.NoError(t, err)
	seen, err := p.TrainedOn(ctx, store, []int{0, 1, 2, 3})
	require.NoError(t, err)
	assert.Equal(t, []int{0}, seen)

	o.HoldOut = []int{0, 2}
	_, err = policy.NewTrainer(ctx, all(t, "cpu"), store, o)
	var empty *loader.EmptyError
	require.ErrorAs(t, err, &empty)
	assert.Equal(t, 2, empty.Failed)
	assert.Equal(t, 2, empty.Filtered)
}

// An episode that is held out, and trained on in a copy, is named.
func TestACopyOfWhatIsHeldOutIsNamed(t *testing.T) {
	d := robots(t, 80, 80, 80)
	d[2].Streams = d[0].Streams
	store := build(t, d)
	assert.Equal(t, [][2]int{{0, 2}}, trainer(t, "cpu", store, policy.Options{Steps: 1, HoldOut: []int{0, 1}}).Config().Copies())
	assert.Empty(t, trainer(t, "cpu", store, policy.Options{Steps: 1, HoldOut: []int{1}}).Config().Copies())
}

// Weights that another program has written into a checkpoint are not written over.
func TestGoingOnSparesTheWeightsOfAnotherProgram(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 80, 80))
	o := policy.Options{Steps: 3}
	tr := trainer(t, "cpu", store, o)
	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(ctx, dir))
	require.NoError(t, trainer(t, "cpu", store, o).Resume(ctx, dir), "its own")

	weights := filepath.Join(dir, "model.safetensors")
	text := filetest.Read(t, weights)
	length := binary.LittleEndian.Uint64(text)
	header := map[string]any{}
	require.NoError(t, json.Unmarshal(text[8:8+length], &header))
	delete(header, "__metadata__") // as torch's save_file writes it
	bare, err := json.Marshal(header)
	require.NoError(t, err)
	bare = append(bare, bytes.Repeat([]byte(" "), (8-len(bare)%8)%8)...)
	text = append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(bare))), bare...), text[8+length:]...)
	filetest.Write(t, weights, text)
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err, "it runs")
	defer p.Close()
	err = trainer(t, "cpu", store, o).Resume(ctx, dir)
	var refused *policy.CheckpointError
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, err.Error(), "model.safetensors: got another program's weights")
}

// A context that has ended ends a loop over Run.
func TestRunSaysThatItsContextHasEnded(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	tr := trainer(t, "cpu", build(t, robots(t, 80, 80)), policy.Options{Steps: 3})
	train(t, tr, 1)
	end()
	losses, err := tr.Run(ctx, 1)
	assert.Empty(t, losses)
	require.ErrorIs(t, err, context.Canceled)
	train(t, tr, 2)
	losses, err = tr.Run(ctx, 1)
	assert.Empty(t, losses)
	assert.NoError(t, err, "there are as many steps as the recipe has")
}

// leave leaves out episodes.
func leave(numbers ...int) dataset.Selection {
	return dataset.Selection{Leave: dataset.RangesOf(numbers)}
}

// An episode that is left out by its number is neither trained on nor compared with, nor looked at.
func TestAnEpisodeIsLeftOutByItsNumber(t *testing.T) {
	d := robots(t, 80, 80, 80)
	d[1].Streams[0] = table(t, "state", 80, joints, func(row, j int) float64 { return math.NaN() })
	store := build(t, d)
	ctx := context.Background()
	refused := func(o policy.Options) error {
		_, err := policy.NewTrainer(ctx, all(t, "cpu"), store, o)
		return err
	}
	assert.ErrorContains(t, refused(policy.Options{HoldOut: []int{0}}), "got NaN in column shoulder of episode e1, row 0")
	c := trainer(t, "cpu", store, policy.Options{Steps: 1, HoldOut: []int{0}, Episodes: leave(1)}).Config()
	assert.Equal(t, []int{2}, c.Trained)
	assert.Equal(t, []int{1}, c.LeaveOut)
	assert.ErrorContains(t, refused(policy.Options{Episodes: leave(3)}), "LeaveOut: got 3, want numbers for the dataset's 3 episodes, 0 to 2")
	assert.ErrorContains(t, refused(policy.Options{Episodes: leave(1, 1)}), "LeaveOut: got 1 twice")
	assert.ErrorContains(t, refused(policy.Options{HoldOut: []int{1}, Episodes: leave(1)}), "LeaveOut: got 1, which is held out")
	assert.ErrorContains(t, refused(policy.Options{HoldOut: []int{0}, Episodes: leave(1, 2)}), "HoldOut: got all 3 episodes, or left out")
	taken := dataset.Selection{Take: dataset.RangesOf([]int{1, 2})}
	assert.ErrorContains(t, refused(policy.Options{HoldOut: []int{0}, Episodes: taken}), "HoldOut: got 0, which is not selected, want one of 1-2")
	assert.ErrorContains(t, refused(policy.Options{Episodes: leave(0, 1, 2)}), "LeaveOut: got all 3 episodes, want at least one that stays")
}

// Training on selected episodes writes the weights that a dataset with these alone gives, and goes on from its checkpoint however they
// are selected.
func TestTrainingOnSelectedEpisodesIsTrainingOnTheseAlone(t *testing.T) {
	ctx, d := context.Background(), robots(t, 80, 60, 70, 75, 65, 90)
	weights := func(tr *policy.Trainer, steps int) []byte {
		dir := t.TempDir()
		train(t, tr, steps)
		require.NoError(t, tr.Save(ctx, dir))
		return filetest.Read(t, filepath.Join(dir, "model.safetensors"))
	}
	for _, numbers := range [][]int{{0}, {5}, {0, 2, 4}, {1, 3, 5}, {0, 1, 3, 4, 5}} {
		o := policy.Options{Steps: 3, Batch: 4}
		var some made
		for _, n := range numbers {
			some = append(some, d[n])
		}
		if len(numbers) > 2 {
			o.HoldOut = []int{1}
		}
		real := trainer(t, "cpu", build(t, some), o)
		want := weights(real, 3)
		if len(numbers) > 2 {
			o.HoldOut = numbers[1:2]
		}
		o.Episodes = dataset.Selection{Take: dataset.RangesOf(numbers)}
		tr := trainer(t, "cpu", build(t, d), o)
		assert.Equal(t, want, weights(tr, 3), numbers)
		if len(numbers) < 3 {
			continue
		}
		e, err := real.Evaluate(ctx, nil)
		require.NoError(t, err)
		chosen, err := tr.Evaluate(ctx, nil)
		require.NoError(t, err)
		assert.Equal(t, e.Loss, chosen.Loss)

		part, err := dataset.Select(d, o.Episodes)
		require.NoError(t, err)
		dir, begun := t.TempDir(), trainer(t, "cpu", build(t, part), o)
		train(t, begun, 1)
		require.NoError(t, begun.Save(ctx, dir))
		o.Episodes = dataset.Selection{}
		for n := range len(d) {
			if !slices.Contains(numbers, n) {
				o.Episodes.Leave = append(o.Episodes.Leave, [2]int{n, n})
			}
		}
		resumed := trainer(t, "cpu", build(t, d), o)
		require.NoError(t, resumed.Resume(ctx, dir))
		assert.Equal(t, want, weights(resumed, 2), numbers)

		o.Episodes = leave(numbers[0])
		var refused *policy.CheckpointError
		assert.ErrorAs(t, trainer(t, "cpu", build(t, d), o).Resume(ctx, dir), &refused, "other episodes")
	}
}

// The loss on the held-out episodes is that of the definition, and a checkpoint has it for each step at which it was measured.
func TestLossesOnHeldOutEpisodesAreKept(t *testing.T) {
	ctx, store, dir := context.Background(), build(t, robots(t, 90, 80, 70)), t.TempDir()
	o := policy.Options{HoldOut: []int{2}, Steps: 6, Batch: 4}
	tr := trainer(t, "cpu", store, o)
	assert.Empty(t, tr.HeldOut())
	train(t, tr, 3)
	sum, n, c := 0.0, 0, tr.Config()
	e, err := tr.Evaluate(ctx, func(w *policy.Window, chunk []float64) error {
		for i, v := range chunk {
			if w.Counts[i/len(c.Targets)] {
				off := (v - w.Actions[i]) / c.Targets[i%len(c.Targets)].Std
				sum, n = sum+off*off, n+1
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.InEpsilon(t, sum/float64(n), e.Loss, 1e-12)
	require.NoError(t, tr.Save(ctx, dir))
	other := trainer(t, "cpu", store, o)
	require.NoError(t, other.Resume(ctx, dir))
	assert.Equal(t, map[int]float64{3: e.Loss}, other.HeldOut())
	train(t, other, 3)
	_, err = other.Evaluate(ctx, nil)
	require.NoError(t, err)
	assert.Len(t, other.HeldOut(), 2)
}
