package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharedFile is the path of a shared recording; a test is skipped where these are not.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("../../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings: ", err)
	}
	return path
}

// The steps a second that were given in training are those of the policy: who runs it need not say them again, and is told where others are given.
func TestPolicyTakesTheRateThatItWasTrainedOn(t *testing.T) {
	dir := t.TempDir()
	trained := filepath.Join(dir, "trained")
	demo := sharedFile(t, "robosuite_hdf5/demo.hdf5")
	good(t, "train", demo, "--rate=20", "--steps=1", "--batch=2", "--backend=cpu", "--out", trained)
	_, same := good(t, "policy", trained, demo, "--backend=cpu")
	assert.NotContains(t, same, "steps a second")
	_, other := good(t, "policy", trained, demo, "--rate=10", "--backend=cpu")
	assert.Contains(t, other, "the recordings have 10 steps a second, and those that the policy was trained on 20")
}

func TestTrainTellsOfClocksFiltersAndCopies(t *testing.T) {
	dir := t.TempDir()
	_, stderr := good(t, "train", g1, "--hz=100", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "the clock has 100 ticks a second, and the recordings have 30 steps: several ticks have the same sample")

	wrong := filepath.Join(dir, "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("version: 1\nrate: 30\nwindows: {state: [-200ms, 0s]}\n"), 0o600))
	code, _, stderr := cli("train", g1, "--plan", wrong, "--backend=cpu")
	assert.NotZero(t, code)
	assert.Regexp(t, `wrong\.yaml: line 3, column \d+: windows\.state: got "state", want a stream of the plan`, stderr)

	demos := sharedFile(t, "robomimic_bridge/lowdim_latest.hdf5")
	plan := filepath.Join(dir, "plan.yaml")
	good(t, "plan", demos, "--rate=5", "-o", plan)
	stdout, stderr := good(t, "train", demos, "--rate=5", "--plan", plan, "--hold-out=0,5", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Regexp(t, `\d+ episodes not held out and not trained on: the plan's filter leaves them out`, stderr)
	assert.Contains(t, stdout, "skill on episodes 0, 5", "which the filter would leave out")

	both := filepath.Join(dir, "both")
	require.NoError(t, os.Mkdir(both, 0o777))
	for _, name := range []string{"a.hdf5", "b.hdf5"} {
		text, err := os.ReadFile(sharedFile(t, "robosuite_hdf5/demo.hdf5"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(both, name), text, 0o600))
	}
	_, stderr = good(t, "train", both, "--rate=20", "--hold-out=1", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "held-out episodes that have the samples of one that is trained on, so that their skill says nothing: 1 is 0")
}

func TestStreamsThatAreTooManyAreToBeChosen(t *testing.T) {
	log := sharedFile(t, "px4_ulog/sample_log_small.ulg")
	code, _, stderr := cli("train", log, "--hz=50", "--action=actuator_controls_0", "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Regexp(t, `--state: got none, and \d+ streams that can be states, want at most \d+ of them`, stderr)
}

func TestColumnsThatAreTimesAreTold(t *testing.T) {
	log := sharedFile(t, "px4_ulog/sample_log_small.ulg")
	_, stderr := good(t, "train", log, "--hz=50", "--action=actuator_controls_0", "--state=vehicle_attitude", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "columns that are times or indices by their names, and no states or actions: timestamp_sample of actuator_controls_0; a plan can leave them out")
}
