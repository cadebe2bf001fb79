package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// saved is a checkpoint of two steps.
func saved(t *testing.T, store *store.Store, o policy.Options) string {
	t.Helper()
	tr := trainer(t, "cpu", store, o)
	train(t, tr, 2)
	dir := t.TempDir()
	require.NoError(t, tr.Save(context.Background(), dir))
	return dir
}

// A program that is killed while it writes its first checkpoint leaves a folder in which training begins anew, and a later one goes on, whatever file it
// had come to.
func TestAKilledSaveLeavesAFolderThatTrainingBeginsIn(t *testing.T) {
	store := build(t, robots(t, 60))
	dir := saved(t, store, policy.Options{Steps: 4, Batch: 4})
	all := files(t, dir)
	const left = ".training.safetensors.0123456789abcdef.tmp"
	for name, kept := range map[string][]string{
		"nothing":         {},
		"a part":          {left},
		"a picture's":     {".loss.png.0123456789abcdef.tmp"},
		"the first":       {"training.safetensors", ".model.safetensors.0123456789abcdef.tmp"},
		"all but the end": {"training.safetensors", "model.safetensors", ".config.json.0123456789abcdef.tmp"},
	} {
		again := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(again, policy.BestFolder), 0o700)) // written first
		for _, file := range kept {
			filetest.Write(t, filepath.Join(again, file), all[file])
		}
		there, err := policy.Exists(again)
		require.NoError(t, err, name)
		assert.False(t, there, name)
	}
	for _, foreign := range []string{"model.safetensors", "notes.tmp"} { // somebody else's
		again := t.TempDir()
		filetest.Write(t, filepath.Join(again, foreign), "")
		_, err := policy.Exists(again)
		assert.Error(t, err, foreign)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "training.safetensors")))
	var bad *policy.CheckpointError
	require.ErrorAs(t, trainer(t, "cpu", store, policy.Options{Steps: 4, Batch: 4}).Resume(context.Background(), dir), &bad)
	assert.Equal(t, "no training.safetensors", bad.Got)

	full := t.TempDir() // the place that makes a checkpoint cannot be written
	require.NoError(t, os.Mkdir(filepath.Join(full, "training.safetensors"), 0o700))
	tr := trainer(t, "cpu", store, policy.Options{Steps: 4, Batch: 4})
	require.Error(t, tr.Save(context.Background(), full))
	_, err := os.Stat(filepath.Join(full, "config.json"))
	assert.ErrorIs(t, err, fs.ErrNotExist, "config.json is there last")
}

// After a value that is not finite training has ended: nothing more is trained, and no checkpoint takes the place of the one before.
func TestTrainingThatMetSuchAValueIsNotSaved(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60))
	tr := trainer(t, "cpu", store, policy.Options{Batch: 1, Steps: 500, Rate: 1}) // with such a rate the decay alone makes weights grow without end
	dir := filepath.Join(t.TempDir(), "new")
	var err error
	for err == nil && !tr.Done() {
		_, err = tr.Run(ctx, 10)
	}
	var bad *nn.NotFiniteError
	require.ErrorAs(t, err, &bad)
	_, again := tr.Run(ctx, 1)
	assert.Equal(t, err, again)
	assert.Equal(t, err, tr.Save(ctx, dir))
	_, err = os.Stat(dir)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// A trainer after Close says so.
func TestATrainerAfterCloseSaysSo(t *testing.T) {
	ctx := context.Background()
	tr := trainer(t, "cpu", build(t, robots(t, 60)), policy.Options{Steps: 4, Batch: 4})
	require.NoError(t, tr.Close())
	_, err := tr.Run(ctx, 1)
	require.ErrorIs(t, err, ops.ErrClosed)
	_, err = tr.Evaluate(ctx, nil)
	require.ErrorIs(t, err, ops.ErrClosed)
	require.ErrorIs(t, tr.Save(ctx, t.TempDir()), ops.ErrClosed)
	require.ErrorIs(t, tr.Resume(ctx, t.TempDir()), ops.ErrClosed)
}

// What ends with its context says so, releases what it had, and the device is as good as before.
func TestWhatEndsWithItsContextSaysSo(t *testing.T) {
	d := robots(t, 60, 60)
	store := build(t, d)
	dir := saved(t, store, policy.Options{Steps: 4, Batch: 4, HoldOut: []int{1}})
	device, err := ops.Open("sim") // which knows what is left open
	require.NoError(t, err)
	p, err := policy.Open(context.Background(), device, dir)
	require.NoError(t, err)
	streams, err := p.LiveStreams(d[0])
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = p.NewRunner(ctx, streams)
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Evaluate(ctx, store, []int{1}, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = policy.Open(ctx, device, dir)
	require.ErrorIs(t, err, context.Canceled)
	_, err = policy.NewTrainer(ctx, []*ops.Device{device}, store, policy.Options{Steps: 4, Batch: 4})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, p.Close())
	require.NoError(t, device.Close())
}

// Whatever somebody has written into a config is an error, or a policy that runs: never a panic, nor memory that the weights do not fill.
func TestAHostileConfigIsAnErrorOrRuns(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60))
	dir := saved(t, store, policy.Options{Steps: 4, Batch: 4})
	text := []byte(files(t, dir)["config.json"])
	device := open(t, "cpu")
	var whole any
	require.NoError(t, json.Unmarshal(text, &whole))
	tried, turn := 0, 0
	var walk func(v any, set func(any))
	try := func(what string) {
		tried++
		changed, err := json.Marshal(whole)
		require.NoError(t, err)
		filetest.Write(t, filepath.Join(dir, "config.json"), changed)
		require.NotPanics(t, func() {
			p, err := policy.Open(ctx, device, dir)
			if err != nil {
				return
			}
			defer p.Close()
			if e, err := p.Evaluate(ctx, store, []int{0}, nil); err == nil {
				_, err = json.Marshal(e)
				assert.NoError(t, err, what)
			}
			e, err := store.Episode(ctx, 0)
			require.NoError(t, err)
			streams, err := p.LiveStreams(e)
			if err != nil {
				return
			}
			r, err := p.NewRunner(ctx, streams)
			if err != nil {
				return
			}
			defer r.Close()
			feed, err := policy.NewFeed(p.Config(), e)
			if err != nil {
				return
			}
			if feed.Until(r, 1e9) == nil {
				_, _ = r.Act(ctx, 1e9)
			}
		}, what)
	}
	walk = func(v any, set func(any)) {
		each := []any{nil, -1.0, 0.0, 1.0, 2.0, 3.0, 1e9, 1e300, 1e-300, "", "action", "state", true, []any{}, map[string]any{}}
		turn++
		for i, to := range each {
			if i > 0 && (i+turn)%2 == 0 && !thorough.Long { // null and half of the others, which take turns
				continue
			}
			set(to)
			try(fmt.Sprintf("%v for %v", to, v))
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				walk(v[k], func(to any) { v[k] = to })
			}
		case []any:
			if len(v) > 0 { // the first stands for the others
				walk(v[0], func(to any) { v[0] = to })
				set(v[:len(v)-1])
				try("one fewer")
				set(append(append([]any{}, v...), v[0]))
				try("one more")
				set(v)
			}
		}
	}
	for k, v := range whole.(map[string]any) {
		walk(v, func(to any) { whole.(map[string]any)[k] = to })
	}
	assert.Greater(t, tried, thorough.Of(400, 500))
}

// A network that asks for more memory than its file has weights for is refused before it has any.
func TestATableOfPositionsThatIsNotThereTakesNoMemory(t *testing.T) {
	ctx := context.Background()
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-300ms, 0s]}\n"
	dir := saved(t, build(t, robots(t, 60)), policy.Options{Size: "seed", Plan: plan, Steps: 4, Batch: 4})
	var c map[string]any
	require.NoError(t, json.Unmarshal([]byte(files(t, dir)["config.json"]), &c))
	r := c["recipe"].(map[string]any)
	r["history"], r["width"], r["layers"] = 4096, 1<<15, 0
	text, err := json.Marshal(c)
	require.NoError(t, err)
	filetest.Write(t, filepath.Join(dir, "config.json"), text)
	var bad *policy.CheckpointError
	_, err = policy.Open(ctx, open(t, "cpu"), dir)
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "model.safetensors", bad.What)
}

// Weights that are not finite are refused, and such as give no finite action make an error of it, and no motion.
func TestAnActionIsAFiniteNumber(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60))
	dir := saved(t, store, policy.Options{Steps: 4, Batch: 4})
	weights := filepath.Join(dir, "model.safetensors")
	write := func(value float32) {
		f, err := safetensors.Open(weights)
		require.NoError(t, err)
		list := map[string]*tensor.Tensor{}
		for _, name := range f.Names() {
			v, err := f.Tensor(name)
			require.NoError(t, err)
			v, err = v.Contiguous()
			require.NoError(t, err)
			data, err := tensor.Data[float32](v)
			require.NoError(t, err)
			for i := range data {
				data[i] = value
			}
			list[name] = v
		}
		names := f.Names()
		require.NoError(t, safetensors.WriteFile(weights, func(w *safetensors.Writer) error {
			for _, name := range names {
				if err := w.Add(name, list[name]); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, f.Close())
	}
	write(3e38)
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	var bad *policy.PredictionError
	_, err = p.Evaluate(ctx, store, []int{0}, nil)
	require.ErrorAs(t, err, &bad)
	e, err := store.Episode(ctx, 0)
	require.NoError(t, err)
	streams, err := p.LiveStreams(e)
	require.NoError(t, err)
	r, err := p.NewRunner(ctx, streams)
	require.NoError(t, err)
	defer r.Close()
	feed, err := policy.NewFeed(p.Config(), e)
	require.NoError(t, err)
	require.NoError(t, feed.Until(r, 1e9))
	chunk, err := r.Act(ctx, 1e9)
	require.ErrorAs(t, err, &bad)
	assert.Nil(t, chunk)
	write(float32(math.NaN()))
	_, err = policy.Open(ctx, open(t, "cpu"), dir)
	require.ErrorIs(t, err, ops.ErrValue)
}

// A value that is not finite in an episode that is held out is found before training, not when it is over.
func TestAHeldOutEpisodeIsLookedAtBeforeTraining(t *testing.T) {
	for _, at := range []int{59, 30} { // the last action is a target alone
		for stream, name := range []string{"state", "action"} {
			d := robots(t, 60, 60)
			d[1].Streams[stream] = table(t, name, 60, joints, func(row, j int) float64 {
				if row == at && j == 1 {
					return math.NaN()
				}
				return float64(row * j)
			})
			store := build(t, d)
			_, err := policy.NewTrainer(context.Background(), []*ops.Device{open(t, "cpu")}, store, policy.Options{HoldOut: []int{1}})
			var bad *policy.StreamError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, name, bad.Stream)
			assert.Contains(t, bad.Got, "NaN in column elbow of episode e1, row ")
		}
	}
}

// unread is a dataset whose first episode cannot be read.
type unread struct{ made }

func (u unread) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if i == 0 {
		return nil, errors.New("broken")
	}
	return u.made.Episode(ctx, i)
}

// Episodes have their numbers in the dataset where one before them was skipped.
func TestEpisodesKeepTheirNumbers(t *testing.T) {
	ctx := context.Background()
	store := build(t, unread{robots(t, 60, 61, 62, 63)})
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{2}, Steps: 2})
	assert.Equal(t, []int{1, 3}, tr.Config().Trained)
	trace := policy.NewTrace(tr.Config(), 2)
	e, err := tr.Evaluate(ctx, func(w *policy.Window, chunk []float64) error {
		assert.Equal(t, 2, w.Episode)
		return trace.Add(w, chunk)
	})
	require.NoError(t, err)
	assert.Equal(t, []int{2}, e.Episodes)
	streams, err := trace.Streams()
	require.NoError(t, err)
	assert.Equal(t, 62, streams[0].Values.Dim(0), "the whole episode")
	assert.Equal(t, 32, streams[1].Values.Dim(0), "those that are predicted")
	_, err = policy.Ridge(ctx, tr.Config(), store)
	require.NoError(t, err)
}

// A ridge without episodes to compare it with has no skill, and no number that is none.
func TestARidgeOfNothingIsFinite(t *testing.T) {
	store := build(t, robots(t, 60, 60))
	e, err := policy.Ridge(context.Background(), trainer(t, "cpu", store, policy.Options{}).Config(), store)
	require.NoError(t, err)
	for _, s := range e.Skills {
		assert.Equal(t, policy.Skill{Ticks: s.Ticks, Lambda: s.Lambda}, s)
	}
}

func TestARateThatCannotBeIsRefused(t *testing.T) {
	dir := saved(t, build(t, robots(t, 60)), policy.Options{Steps: 4, Batch: 4})
	text := files(t, dir)["config.json"]
	for rate, good := range map[string]bool{"20": true, "-1": false, "1e300": false} {
		filetest.Write(t, filepath.Join(dir, "config.json"), strings.Replace(text, "{", `{"rate": `+rate+`,`, 1))
		p, err := policy.Open(context.Background(), open(t, "cpu"), dir)
		if good {
			require.NoError(t, err)
			require.NoError(t, p.Close())
			continue
		}
		assert.ErrorContains(t, err, "config.json: rate: got "+rate[:1])
	}
}

// Checkpoints on disks have the old name of notes.
func TestLeftOutOfAnOlderConfigIsNotes(t *testing.T) {
	dir := saved(t, build(t, robots(t, 60)), policy.Options{Steps: 4, Batch: 4})
	path := filepath.Join(dir, "config.json")
	text := string(filetest.Read(t, path))
	const none, note = `"notes": []`, `[{"code": "skipped:too-short", "subject": "e9", "count": 3, "row": null}]`
	require.Contains(t, text, none)
	for _, key := range []string{`"left_out": `, `"notes": `} {
		filetest.Write(t, path, strings.Replace(text, none, key+note, 1))
		p, err := policy.Open(context.Background(), open(t, "cpu"), dir)
		require.NoError(t, err)
		assert.Equal(t, dataset.Notes{{Code: "skipped:too-short", Subject: "e9", Count: 3}}, p.Config().LeftOut)
		require.NoError(t, p.Close())
	}
}
