package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

const g1 = "../../examples/data/g1"

// lines are lines of JSON.
func lines(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		list = append(list, v)
	}
	return list
}

// train writes a policy. The command policy runs it with the same skill, and writes predictions to files.
func TestTrainKeepsWhatPolicyRuns(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	out := filepath.Join(dir, "policy")
	stdout, stderr := good(t, "train", g1, "--hold-out=2", "--steps=40", "--seed=3", "--backend=cpu", "--json", "--out", out)
	assert.Empty(t, stderr)
	list := lines(t, stdout)
	require.Len(t, list, 11, "a line for each tenth, and one with the result")
	for i, line := range list[:10] {
		assert.Equal(t, []string{"held_out_loss", "loss", "schema", "step", "steps_per_second"}, keys(line))
		assert.EqualValues(t, 4*(i+1), line["step"])
	}
	last := list[10]
	curve, best := last["held_out_losses"].([]any), last["best"].(map[string]any)
	require.Len(t, curve, 10)
	for i, point := range curve {
		p := point.(map[string]any)
		assert.Equal(t, []any{list[i]["step"], list[i]["held_out_loss"]}, []any{p["step"], p["loss"]})
		assert.LessOrEqual(t, best["loss"], p["loss"])
	}
	checkKeys(t, jsonOf(t, last), reflect.TypeFor[trained]())
	assert.Equal(t, []string{"10", "20", "30"}, keys(last["skill"]))
	assert.Equal(t, []string{"10", "20", "30"}, keys(last["ridge_skill"]))
	assert.Equal(t, []string{"10", "20", "30"}, keys(last["mean_skill"]))
	assert.EqualValues(t, 40, last["steps"])
	assert.Equal(t, []any{map[string]any{"stream": "observation.state", "columns": 26.0}}, last["states"])
	assert.Equal(t, map[string]any{"stream": "action", "columns": 26.0}, last["action"])
	assert.Empty(t, last["not_states"])
	assert.Equal(t, []string{"best", "config.json", "loss.png", "model.safetensors", "training.safetensors"}, inside(t, out))
	picture, err := os.ReadFile(filepath.Join(out, "loss.png"))
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)

	npz, plot := filepath.Join(dir, "o.npz"), filepath.Join(dir, "o.png")
	stdout, stderr = good(t, "policy", out, g1, "--episode=2", "--backend=cpu", "--json", "-o", npz, "--plot", plot)
	assert.Empty(t, stderr)
	got := unmarshal(t, stdout)
	assert.Equal(t, last["skill"], got["skill"])
	assert.EqualValues(t, 409, got["latency"].(map[string]any)["predictions"])
	assert.Empty(t, got["trained"])
	assert.Empty(t, got["trained_skill"])
	f := open(t, npz)
	chunks, err := f.Tensor("chunks")
	require.NoError(t, err)
	assert.Equal(t, []int{409, 30, 26}, chunks.Shape())
	for name, shape := range map[string][]int{"recorded": {409, 30, 26}, "counts": {409, 30}, "anchors": {409}, "episodes": {409}, "ticks": {409}} {
		a, err := f.Tensor(name)
		require.NoError(t, err, name)
		assert.Equal(t, shape, a.Shape(), name)
	}
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	assert.Len(t, columns, 26)

	stdout, _ = good(t, "policy", out, g1, "--backend=cpu")
	assert.Regexp(t, `(?s)^skill on episode 2, .*\n 30 ticks ahead: [^\n]*\nit was trained on episodes 0, 1, so its skill there is only in --json\n\d+ predictions, each in .*state only: no cameras, no VAE`, stdout)
	stdout, _ = good(t, "train", g1, "--steps=2", "--backend=cpu")
	assert.Regexp(t, `(?s)^states: observation\.state \(26 columns\); action: action \(26 columns\)\nstep 1 of 2: loss .*trained bc-transformer small, 289228 parameters, 2 steps of 16 windows of 3 episodes, 42 MFLOP a step, on cpu\nstate only: no cameras, no VAE`, stdout)
}

// inside are the names of a folder's files.
func inside(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// Resumed training leaves the same bytes as uninterrupted training. It only continues from a checkpoint with the same options.
func TestTrainResumesToTheByte(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	args := []string{"train", g1, shortPlan(t), "--hold-out=0", "--steps=12", "--batch=4", "--backend=cpu"}
	good(t, append(args, "--out", whole)...)
	good(t, append(args, "--resume", "--out", parts)...)
	_, stderr := good(t, append(args, "--resume", "--out", parts)...)
	assert.Contains(t, stderr, "goes on after step 12 of 12")
	sameCheckpoint(t, whole, parts)
	code, _, stderr := execute(append(args, "--lr=0.5", "--resume", "--out", parts)...)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "lr: got 0.5, want 0.001, as the checkpoint has: --resume goes on with its options and recordings")
	code, _, stderr = execute(append(args, "--out", parts)...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "which has a checkpoint, want another folder, or --resume")
}

// sameCheckpoint checks that two folders have the same checkpoint, byte for byte.
func sameCheckpoint(t *testing.T, one, other string) {
	for _, name := range []string{"config.json", "model.safetensors", "training.safetensors"} {
		a, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(other, name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(a, b), name)
	}
}

// Several devices train one policy together, and go on together.
func TestTrainOnSeveralDevices(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	args := []string{"train", g1, shortPlan(t), "--hold-out=0", "--steps=12", "--batch=4", "--json", "--backend"}
	stdout, _ := good(t, append(args, "cpu,cpu", "--out", whole)...)
	list := lines(t, stdout)
	last := list[len(list)-1]
	assert.Len(t, last["devices"], 2)
	assert.EqualValues(t, 12, last["steps"])
	assert.Len(t, last["skill"], 3)
	for range 2 {
		good(t, append(args, "cpu,cpu", "--resume", "--out", parts)...)
	}
	sameCheckpoint(t, whole, parts)
	code, stdout, _ := execute(append(args, "cpu", "--resume", "--out", parts)...)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stdout, "devices: got 1, want 2")
	stdout, _ = good(t, "train", g1, "--steps=1", "--batch=4", "--backend=cpu,cpu")
	assert.Regexp(t, `(?s) 1 steps of 8 windows of 3 episodes, 21 MFLOP a step, on cpu and cpu\n`, stdout)
	code, _, stderr := execute("train", g1, "--steps=1", "--backend=cpu,cpu:exact")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "got cpu:exact, which computes in bf16, want f32, as cpu does")
}

// Invalid flags and inputs are errors before anything is written, with the right exit code.
func TestTrainAndPolicyRefuseWhatCannotBe(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	require.NoError(t, os.Mkdir(full, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(full, "notes.txt"), nil, 0o600))
	plan := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 30\nstreams: [{name: action}]\n"), 0o600))
	wrong := filepath.Join(dir, "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("version: 1\nrate: fast\n"), 0o600))
	good(t, "train", g1, "--steps=1", "--batch=1", "--backend=cpu", "--out", filepath.Join(dir, "policy"))
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"train takes a dataset":                             {exitUsage, []string{"train"}},
		`--policy: got "act"`:                               {exitUsage, []string{"train", g1, "--policy=act"}},
		`--size: got "huge", want one of`:                   {exitUsage, []string{"train", g1, "--size=huge"}},
		"--steps: got -1":                                   {exitUsage, []string{"train", g1, "--steps=-1"}},
		"--lr: got 7, want above 0, at most 1":              {exitUsage, []string{"train", g1, "--lr=7"}},
		"--resume: got it without --out":                    {exitUsage, []string{"train", g1, "--resume"}},
		"--hold-out: got 9, want an episode number, 0 to 2": {exitUsage, []string{"train", g1, "--hold-out=9"}},
		`--hold-out: got "a", want the numbers of episodes, such as 3,7 or 0-9,12`: {exitUsage, []string{"train", g1, "--hold-out=a"}},
		`--lr: got "abc", want a number`:                                           {exitUsage, []string{"train", g1, "--lr=abc"}},
		`--seed: got "-1", want a whole number from 0`:                             {exitUsage, []string{"train", g1, "--seed=-1"}},
		"--floor: got -1, want a number above 0":                                   {exitUsage, []string{"train", g1, "--floor=-1"}},
		"--hold-out: got 1 twice":                                                  {exitUsage, []string{"train", g1, "--hold-out=0-2,1"}},
		"--hold-out: got 900, want an episode number":                              {exitUsage, []string{"train", g1, "--hold-out=1-900"}},
		"--hold-out: got all 3 episodes,":                                          {exitUsage, []string{"train", g1, "--hold-out=0-2"}},
		"--hold-out: got all 3 episodes":                                           {exitUsage, []string{"train", g1, "--hold-out=0,1,2"}},
		"--batch: got 10000":                                                       {exitUsage, []string{"train", g1, "--batch=10000"}},
		"got a folder with notes.txt and no config.json, want a n":                 {exitInput, []string{"train", g1, "--out", full}},
		"none beside action, want a state stream":                                  {exitInput, []string{"train", g1, "--plan", plan}},
		"wrong.yaml: line 2":                                                       {exitInput, []string{"train", g1, "--plan", wrong}},
		"no such file":                                                             {exitInput, []string{"train", g1, "--plan", filepath.Join(dir, "none.yaml")}},
		"policy takes a folder":                                                    {exitUsage, []string{"policy", g1}},
		"got no config.json, want a folder":                                        {exitInput, []string{"policy", g1 + "/meta/info.json", g1}},
		"got no config.json":                                                       {exitInput, []string{"policy", full, g1}},
		"--hz: got it without --live":                                              {exitUsage, []string{"policy", filepath.Join(dir, "policy"), g1, "--hz=5"}},
		"want --episode for --live":                                                {exitUsage, []string{"policy", filepath.Join(dir, "policy"), g1, "--live"}},
		"--episode: got 5":                                                         {exitUsage, []string{"policy", filepath.Join(dir, "policy"), g1, "--episode=5"}},
		"-o: got \"o.csv\"":                                                        {exitUsage, []string{"policy", filepath.Join(dir, "policy"), g1, "-o", "o.csv"}},
		"--live: got it with -o":                                                   {exitUsage, []string{"policy", filepath.Join(dir, "policy"), g1, "--live", "-o", "o.npz"}},
		"--hz: got none, and a dataset without a rate":                             {exitUsage, []string{"train", flight}},
		`--action: got "actoin" (did you mean action?), want one o`:                {exitUsage, []string{"train", g1, "--action=actoin"}},
		`--state: got "state", want one of observation.state, acti`:                {exitUsage, []string{"train", g1, "--state=state"}},
		`--state: got "action" twice, or as the action too, want e`:                {exitUsage, []string{"train", g1, "--state=action"}},
		"--plan: got it with --hz, --action, --state or --unordered, want these ":  {exitUsage, []string{"train", g1, "--plan", plan, "--state=action"}},
	} {
		code, stdout, stderr := execute(append(c.args, "--backend=cpu")...)
		assert.Equal(t, c.code, code, want)
		assert.Contains(t, stderr, want)
		assert.Empty(t, stdout, want)
	}
	assert.Equal(t, []string{"notes.txt"}, inside(t, full))
}

// Episodes too short for the windows are left out with a remark.
func TestTrainSaysWhichEpisodesAreTooShort(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 30\nwindows: {action: [0s, 13s]}\n"), 0o600))
	stdout, _ := good(t, "train", g1, "--plan", plan, "--steps=1", "--backend=cpu", "--json")
	list := lines(t, stdout)
	last := list[len(list)-1]
	assert.EqualValues(t, 1, last["episodes"])
	left := leftOutOf(t, last)
	require.Len(t, left, 2)
	for _, reason := range left {
		assert.Regexp(t, `^got \d+ ticks of 30 Hz, want 395 or more: 5 for states and 390 for predictions`, reason)
	}
	_, stderr := good(t, "train", g1, "--plan", plan, "--steps=1", "--backend=cpu")
	assert.Contains(t, stderr, "left out: 2 episodes: the first, ")
	code, _, stderr := execute("train", g1, "--plan", plan, "--hold-out=0", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "want 395 or more")
}

// An episode is played in its own time, and predictions are made meanwhile.
func TestPolicyPlaysAnEpisodeLive(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	t.Parallel() // it waits for the episode's time
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-200ms, 0s], action: [0s, 300ms]}\n"), 0o600))
	var times []int64
	var values []float32
	for i := range 12 {
		times, values = append(times, int64(i)*1e8), append(values, float32(i%5), float32(i%3))
	}
	rows := tensor.Must(tensor.Of(values, 12, 2))
	episode := writeNPZ(t, map[string]*tensor.Tensor{"state.values": rows, "state.times": vec(times...), "action.values": rows, "action.times": vec(times...)})
	out := filepath.Join(dir, "policy")
	good(t, "train", episode, "--plan", plan, "--steps=2", "--batch=2", "--backend=cpu", "--out", out)
	stdout, _ := good(t, "policy", out, episode, "--live", "--hz=20", "--backend=cpu", "--json")
	got := unmarshal(t, stdout)
	live := got["live"].(map[string]any)
	assert.Greater(t, live["seconds"], 1.0, "an episode of 1.1 seconds")
	assert.EqualValues(t, 20, live["hz"])
	assert.EqualValues(t, 23, live["without_action"].(float64)+got["latency"].(map[string]any)["predictions"].(float64))
	assert.NotEmpty(t, got["trained_skill"], "at times that are not the clock's, too")
	stdout, _ = good(t, "policy", out, episode, "--backend=cpu")
	skill, _, there := strings.Cut(stdout, "\n")
	require.True(t, there, stdout)
	stdout, _ = good(t, "policy", out, episode, "--live", "--backend=cpu")
	assert.Contains(t, stdout, skill, "at the ticks of the clock it is that of the whole recording")
	assert.Regexp(t, `(?m)^played episode in for \d+\.\d s, 10 predictions a second: \d+ late, \d+ without an action before them\n\d+ predictions, each in`, stdout)
}

// Episodes from the training are recognised by their samples, also in a renamed copy of the dataset. Their skill is separate.
func TestPolicyKnowsACopyOfWhatItWasTrainedOn(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	out, other := filepath.Join(dir, "policy"), filepath.Join(dir, "other")
	require.NoError(t, os.CopyFS(other, os.DirFS(g1)))
	good(t, "train", g1, "--hold-out=1", "--steps=2", "--batch=2", "--backend=cpu", "--out", out)
	stdout, _ := good(t, "policy", out, other, "--backend=cpu", "--json")
	got := unmarshal(t, stdout)
	assert.Equal(t, []any{0.0, 2.0}, got["trained"])
	assert.Equal(t, []any{1.0}, got["evaluation"].(map[string]any)["episodes"])
	assert.Equal(t, []any{0.0, 2.0}, got["trained_evaluation"].(map[string]any)["episodes"])
	columns := got["evaluation"].(map[string]any)["skills"].([]any)[2].(map[string]any)["columns"].([]any)
	require.Len(t, columns, 26)
	assert.Equal(t, []string{"mse", "mse_hold", "name", "skill", "std"}, keys(columns[0]))
	stdout, _ = good(t, "policy", out, other, "--episode=1", "--backend=cpu", "--columns")
	assert.Regexp(t, `(?s)\nby column, 30 ticks ahead, errors in its unit:\n +column +skill +root of MSE +of MSE\(hold\) +measured by\n +kLeftShoulderPitch +-?\d`, stdout)
}

// train warns about surprises in training: columns scaled by a floor, an endless warm-up, and a rate that diverges.
func TestTrainSaysWhatItsFlagsCameTo(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "policy")
	_, stderr := good(t, "train", g1, "--steps=2", "--batch=2", "--backend=cpu", "--resume", "--out", out)
	assert.Contains(t, stderr, "--resume: there is no checkpoint in "+out+", training begins with the first step")
	assert.Regexp(t, `\d+ of 26 columns of the action hardly vary, so errors in them are divided by the floor and not by the standard deviation: kLeft\w+ \(0\.05\), `, stderr)
	assert.Contains(t, stderr, "the learning rate rises in all of the 2 steps")
	text, err := os.ReadFile(filepath.Join(out, "config.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"warm_up": 2,`)
	_, stderr = good(t, "train", g1, "--steps=2", "--batch=2", "--backend=cpu", "--floor=1e-9")
	assert.NotContains(t, stderr, "hardly vary")
	assert.Contains(t, stderr, "nothing is kept, want --out DIR")
}

// A range has the numbers that the dataset has, and its ends, which a dataset must have.
func TestARangeTakesTheNumbersOfTheDataset(t *testing.T) {
	assert.Equal(t, []int{3, 7, 12, 1, 4, 7, 8}, numbersIn(dataset.Ranges{{3, 12}, {1, 1}, {4, 8}}, []int{3, 7, 12}))
}

// The remark about many episodes is one line.
func TestEpisodesAreToldInALine(t *testing.T) {
	for want, list := range map[string][]int{"episode 4": {4}, "episodes 0, 1": {0, 1}, "episodes 0 to 2, 5, 7 to 9": {0, 1, 2, 5, 7, 8, 9}} {
		assert.Equal(t, want, numbered(list))
	}
}
