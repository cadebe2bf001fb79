package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// The recordings of these tests.
const (
	flightLog  = "../../examples/data/flight.ulg"
	robosuite  = "../../dataset/robomimic/testdata/demo.hdf5"
	withSplits = "../../dataset/robomimic/testdata/kinds.hdf5" // train 2 episodes, valid 1
)

// The policy keeps the rate given in training. Later commands need no rate, and report a different one.
func TestPolicyTakesTheRateThatItWasTrainedOn(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	trained := filepath.Join(dir, "trained")
	good(t, "train", robosuite, "--rate=20", "--steps=1", "--batch=2", "--backend=cpu", "--out", trained)
	_, same := good(t, "policy", trained, robosuite, "--backend=cpu")
	assert.NotContains(t, same, "steps a second")
	_, other := good(t, "policy", trained, robosuite, "--rate=10", "--backend=cpu")
	assert.Contains(t, other, "the recordings have 10 steps a second, but in training 20")
}

func TestTrainTellsOfClocksFiltersAndCopies(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, filtered := t.TempDir(), 0
	_, stderr := good(t, "train", g1, "--hz=100", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "the clock has 100 ticks a second, and the recordings have 30 steps: several ticks have the same sample")

	wrong := filepath.Join(dir, "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("version: 1\nrate: 30\nwindows: {state: [-200ms, 0s]}\n"), 0o600))
	code, _, stderr := execute("train", g1, "--plan", wrong, "--backend=cpu")
	assert.NotZero(t, code)
	assert.Regexp(t, `wrong\.yaml: line 3, column \d+: windows\.state: got "state", want a stream in the plan`, stderr)

	plan := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 20\nstreams: [{name: obs/small}, {name: action, from: actions}]\n"+
		"windows: {obs/small: [-50ms, 0s], action: [0s, 50ms]}\nfilter: {split: train}\n"), 0o600))
	held := func(episode string) (stdout, stderr string) {
		return good(t, "train", withSplits, "--rate=20", "--plan", plan, "--hold-out", episode, "--steps=1", "--batch=1", "--backend=cpu")
	}
	for _, episode := range []string{"0", "1", "2"} {
		stdout, stderr := held(episode)
		assert.Contains(t, stdout, "skill on episode "+episode+",", "whatever its split is")
		if strings.Contains(stderr, "1 episode not held out and not trained on: left out by the plan's filter") {
			filtered++
		}
	}
	assert.Equal(t, 2, filtered, "where the episode of the other split is not held out")

	both := filepath.Join(dir, "both")
	require.NoError(t, os.Mkdir(both, 0o777))
	for _, name := range []string{"a.hdf5", "b.hdf5"} {
		text, err := os.ReadFile(robosuite)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(both, name), text, 0o600))
	}
	_, stderr = good(t, "train", both, "--rate=20", "--hold-out=1", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "held-out episodes that have the samples of a training episode, so that their skill means nothing: 1 is 0")
}

func TestStreamsThatAreTooManyAreToBeChosen(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	code, _, stderr := execute("train", flightLog, "--hz=50", "--action=actuator_controls_0", "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Regexp(t, `--state: got none, and \d+ streams that can be states, want at most \d+ of them`, stderr)
}

func TestColumnsThatAreTimesAreTold(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	_, stderr := good(t, "train", flightLog, "--hz=50", "--action=actuator_controls_0", "--state=vehicle_attitude", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "columns that are times or indices by their names, and no states or actions: timestamp_sample of actuator_controls_0; a plan can leave them out")
}

// A state without further samples is missing after the plan's tolerance. Predictions go on, with a remark.
func TestLiveTellsOfAStateThatIsMissing(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	t.Parallel() // it waits for the episode's time
	dir := t.TempDir()
	plan, out := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "policy")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nstreams: [{name: state, tolerance: 100ms}, {name: action}]\nwindows: {state: [-200ms, 0s], action: [0s, 300ms]}\n"), 0o600))
	var times []int64
	var values []float32
	for i := range 12 {
		times, values = append(times, int64(i)*1e8), append(values, float32(i%5), float32(i%3))
	}
	episode := writeNPZ(t, map[string]*tensor.Tensor{"state.values": tensor.Must(tensor.Of(values[:12], 6, 2)), "state.times": vec(times[:6]...),
		"action.values": tensor.Must(tensor.Of(values, 12, 2)), "action.times": vec(times...)})
	good(t, "train", episode, "--plan", plan, "--steps=2", "--batch=2", "--backend=cpu", "--out", out)
	stdout, _ := good(t, "policy", out, episode, "--live", "--backend=cpu")
	assert.Regexp(t, `1 without an action before them, 5 without a sample of a state\n`, stdout, "the state's last sample is at 0.5 s, and that is young enough at 0.6 s")
}

// A plan's streams that the dataset declares as cameras are drawn only with --camera. batches prints a remark.
func TestBatchesTellOfAPlansCameras(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 5\nstreams: [{name: action}, {name: eye, from: observation/depth16}]\n"), 0o600))
	_, stderr := good(t, "batches", "../../dataset/rlds/testdata/kinds", "--rate=5", "--plan", plan, "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, notetext.Line(dataset.Note{Code: dataset.CodePlanCamera, Subject: "eye", Detail: dataset.Detail{Got: "observation/depth16", Names: []string{"--camera"}}}))
	assert.Contains(t, stderr, "the plan's stream eye is a camera, which batches have by --camera observation/depth16=WIDTHxHEIGHT")
}
