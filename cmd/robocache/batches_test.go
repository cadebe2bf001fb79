package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/test/thorough"
)

const kindsRLDS = "../../dataset/rlds/testdata/kinds"

func batchesOf(t *testing.T, in string, args ...string) string {
	t.Helper()
	args = append([]string{"batches", in, "--hz=20", "--batch=3", "--seed=7", "--backend=cpu", "--digest", "--window=action=-200ms:300ms", "--window=reward=-100ms:0s", "--stream=action", "--stream=reward"}, args...)
	if in == kindsRLDS {
		args = append(args, "--rate=10")
	}
	stdout, _ := good(t, args...)
	return stdout
}

// An epoch's digests belong to its positions. They are equal from a dataset or its store, by one program or several, uninterrupted or
// resumed.
func TestBatchesHaveOneOrder(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	store := filepath.Join(dir, "kinds.safetensors")
	stdout, _ := good(t, "pack", kindsRLDS, "-o", store, "--rate=10")
	assert.Contains(t, stdout, "packed 5 episodes, ")
	whole := batchesOf(t, kindsRLDS)
	lines := strings.Split(strings.TrimSpace(whole), "\n")
	require.Greater(t, len(lines), 5)
	assert.Regexp(t, `^0( [0-9a-f]{16}){3}$`, lines[0])
	assert.Equal(t, whole, batchesOf(t, store))

	state := filepath.Join(dir, "state.json")
	var resumed strings.Builder
	for range len(lines)/2 + 2 { // more often than there is something to do
		resumed.WriteString(batchesOf(t, store, "--state", state, "--steps=2"))
	}
	assert.Equal(t, whole, resumed.String())

	var ranks [3][]string
	for r := range ranks {
		out := batchesOf(t, store, "--world=3", "--batch=1", "--rank", string(rune('0'+r)))
		ranks[r] = strings.Split(strings.TrimSpace(out), "\n")
	}
	for i, line := range lines {
		all := line[:strings.IndexByte(line, ' ')]
		for r := range ranks {
			all += ranks[r][i][strings.IndexByte(ranks[r][i], ' '):]
		}
		assert.Equal(t, line, all)
	}
}

func TestBatchesSaysWhatItDrew(t *testing.T) {
	stdout, _ := good(t, "batches", kindsRLDS, "--rate=10", "--hz=20", "--batch=4", "--backend=cpu", "--stream=action", "--json", "--last=short", "--dtype=bf16")
	got := unmarshal(t, stdout)
	assert.Equal(t, got["windows"], got["windows_drawn"])
	assert.EqualValues(t, 0, got["dropped"])
	stdout, _ = good(t, "batches", kindsRLDS, "--rate=10", "--hz=20", "--batch=4", "--backend=cpu", "--stream=action")
	assert.Regexp(t, `(?s)windows per epoch in \d+ episodes.*drew \d+ windows`, stdout)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 20\nstreams:\n  - name: act\n    from: action\n    normalise: mean-std\nwindows:\n  act: [0.0, 0.5]\nfilter: {task: do 0}\n"), 0o600))
	stdout, _ = good(t, "batches", kindsRLDS, "--rate=10", "--plan", plan, "--batch=2", "--backend=cpu", "--json")
	got = unmarshal(t, stdout)
	assert.EqualValues(t, 1, got["episodes"])
	assert.EqualValues(t, 4, got["filtered"])
}

func TestBatchesRefusesWhatCannotBe(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s.json")
	require.NoError(t, os.WriteFile(state, []byte(`{"version":1,"seed":9,"windows":3}`), 0o600))
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"--digest: got it":     {exitUsage, []string{"--hz=20", "--digest", "--json"}},
		"or --list":            {exitUsage, []string{"--hz=20", "--digest", "--list"}},
		"that robocache pack":  {exitUsage, []string{"--hz=20", "--check-fresh=."}},
		"--batch: got 0":       {exitUsage, []string{"--hz=20", "--batch=0"}},
		"--batch: got 1000000": {exitUsage, []string{"--hz=20", "--batch=1000000"}},
		"--rank: got 2":        {exitUsage, []string{"--hz=20", "--rank=2", "--world=2"}},
		"NAME=FROM:TO":         {exitUsage, []string{"--hz=20", "--window=action"}},
		"got action=1ms to 2ms, between two ticks of 20 Hz": {exitUsage, []string{"--hz=20", "--window=action=1ms:2ms"}},
		"one of":               {exitUsage, []string{"--hz=20", "--window=act=0s:1s"}},
		"which no episode has": {exitUsage, []string{"--hz=20", "--stream=act"}},
		"state: seed: got 9":   {exitInput, []string{"--hz=20", "--batch=3", "--state", state}},
	} {
		code, stdout, stderr := execute(append([]string{"batches", kindsRLDS, "--rate=10", "--backend=cpu"}, c.args...)...)
		assert.Equal(t, c.code, code, want)
		assert.Contains(t, stdout+stderr, want)
	}
	code, _, stderr := execute("batches", kindsRLDS, "--hz=20", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "no streams to pack", "nobody says how long a step is")
	assert.Contains(t, stderr, "; want --rate HZ")
	code, _, stderr = execute("batches", kindsRLDS, "--hz=20", "--backend=cpu", "--streaming")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "; want --rate HZ")
	for _, args := range [][]string{{"pack", kindsRLDS}, {"pack", kindsRLDS, "-o", "x.npz"}, {"pack"}, {"batches"}} {
		code, _, _ := execute(args...)
		assert.Equal(t, exitUsage, code)
	}
}

// Ticks at the ends of episodes are left out and counted. An epoch draws episodes by their weights.
func TestSamplersOfBatches(t *testing.T) {
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=10", "--batch=1", "--backend=cpu", "--stream=action", "--json"}
	drawn := func(more ...string) (r struct {
		Windows, Episodes int
		Dropped           int                                    `json:"ticks_dropped"`
		Weights           []struct{ Share, Windows int }         `json:"episode_weights"`
		ByEpisode         []struct{ Number, Windows, Drawn int } `json:"by_episode"`
	}) {
		stdout, _ := good(t, append(args, more...)...)
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		return r
	}
	all := drawn()
	some := drawn("--drop-first=1", "--drop-last=2")
	assert.Equal(t, all.Windows, some.Windows+some.Dropped)
	assert.Equal(t, 3*all.Episodes, some.Dropped)
	weighted := drawn("--episode-weights=0=3", "--epoch-windows=200")
	require.Len(t, weighted.Weights, 2)
	for _, e := range weighted.ByEpisode {
		weight := 1
		if e.Number == 0 {
			weight = 3
		}
		most := weighted.Weights[0].Windows + 3*weighted.Weights[1].Windows
		assert.InDelta(t, 200*weight*e.Windows/most, e.Drawn, float64(e.Windows))
	}
	for says, more := range map[string][]string{
		"--drop-first: got -1": {"--drop-first=-1"}, "such as 3=2 or 7-9=0.5": {"--episode-weights=3"}, "--episode-weights: got 1 numbers": {"--episode-weights=99=1"},
		"--episode-weights: got 2 datasets": {kindsRLDS, "--episode-weights=0=1"}, "it with --episode-weights": {"--streaming", "--episode-weights=0=1"},
		"0 to 1e+12": {"--episode-weights=0=-1"}, "ticks at episode ends are left out": {"--drop-last=1000"},
	} {
		code, _, stderr := execute(append(args[:len(args)-1:len(args)-1], more...)...) // without --json
		assert.NotZero(t, code, says)
		assert.Contains(t, stderr, says)
	}
}

// A stream may have columns, as in resample, and a window in seconds. A plan may have the same with durations.
func TestStreamsOfBatchesHaveColumnsAndWindows(t *testing.T) {
	args := []string{"batches", kindsRLDS, "--rate=10", "--batch=4", "--backend=cpu", "--digest"}
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nstreams: [{name: action, columns: [\"2\", \"0\"]}, {name: reward}]\n"+text), 0o600))
	}
	write("windows: {action: [-200ms, 300ms]}")
	want, stderr := good(t, append(args, "--plan", plan)...)
	assert.NotContains(t, stderr, "the plan has no windows")
	for _, window := range []string{"action=-200ms:300ms", "action=-0.2:0.3", "action=-0.2:300ms"} {
		got, _ := good(t, append(args, "--hz=10", "--stream=action[2,0]", "--stream=reward", "--window", window)...)
		assert.Equal(t, want, got)
	}
	write("windows: {action: {at: [-400ms, -0.1, 0s]}}")
	single, _ := good(t, append(args, "--plan", plan)...)
	assert.NotEqual(t, want, single)
	got, _ := good(t, append(args, "--hz=10", "--stream=action[2,0]", "--stream=reward", "--window=action=at:-0.4,-100ms,0")...)
	assert.Equal(t, single, got)
	write("")
	_, stderr = good(t, append(args, "--plan", plan)...)
	assert.Contains(t, stderr, notetext.Line(dataset.Note{Code: dataset.CodeWindowsNone, Detail: dataset.Detail{Want: "{action: [0s, 1s]}"}}))
	for says, flag := range map[string]string{
		"each has a --stream of its own": "--stream=action,reward",
		`column "9"`:                     "--stream=action[9]",
		"want columns in brackets":       "--stream=action[]",
		"or in seconds":                  "--window=action=soon:1",
		"or single times":                "--window=action=at:",
	} {
		code, _, stderr := execute(append(args, "--hz=10", flag)...)
		assert.NotZero(t, code)
		assert.Contains(t, stderr, says)
	}
	store := filepath.Join(filepath.Dir(plan), "s.safetensors")
	good(t, "pack", kindsRLDS, "--rate=10", "-o", store)
	code, _, stderr := execute("batches", store, "--backend=cpu", "--stream=action,reward")
	assert.NotZero(t, code)
	assert.Contains(t, stderr, "each stream needs its own --stream")
}

// A finished command that is started again reports that nothing is left.
func TestBatchesSaysThatNothingIsLeft(t *testing.T) {
	state := filepath.Join(t.TempDir(), "run.json")
	args := []string{"batches", kindsRLDS, "--rate=10", "--batch=4", "--backend=cpu", "--digest", "--stream=action", "--state", state}
	_, stderr := good(t, args...)
	assert.NotContains(t, stderr, "nothing is left")
	stdout, stderr := good(t, args...)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "nothing is left to draw: "+state+" has all of 1 epoch\n")
}

// A dataset that declares a rate needs no plan. For another dataset the error names the missing flag.
func TestTheClockIsThatOfTheDataset(t *testing.T) {
	stdout, stderr := good(t, "batches", kindsRLDS, "--rate=10", "--batch=4", "--backend=cpu")
	assert.Contains(t, stderr, "robocache: the clock has 10 Hz, as the dataset has; --hz takes another\n")
	assert.Regexp(t, `drew \d+ windows in \d+ steps, \d+ a second; .*\nbound by .*: \d+ % of the time went into `, stdout)
	at := func(args ...string) string {
		stdout, _ := good(t, append([]string{"batches", kindsRLDS, "--rate=10", "--batch=4", "--backend=cpu", "--digest"}, args...)...)
		return stdout
	}
	assert.Equal(t, at("--hz=10"), at())
	stdout, _ = good(t, "batches", kindsRLDS, "--rate=10", "--batch=4", "--backend=cpu", "--json")
	got := unmarshal(t, stdout)
	assert.EqualValues(t, 10, got["hz"])
	assert.Contains(t, noteTexts(got), "the clock has 10 Hz, as the dataset has; --hz takes another")
	code, _, stderr := execute("batches", twoStreams(t, nil), "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--hz: got none, want the clock's rate, or --plan: ")
	assert.Contains(t, stderr, "declares no rate")
}

// Digests belong to positions: on every device, for any number of ranks, and with any batch size.
func TestDigestsAreThoseOfThePositions(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=20", "--seed=3", "--digest", "--last=short", "--window=action=-100ms:200ms", "--stream=action", "--stream=reward", "--epochs=2"}
	// drawn are the windows by epoch and position.
	drawn := func(backend string, world, batch int) []string {
		var all []string
		var lines [][]string
		for rank := range world {
			stdout, _ := good(t, append(args, "--backend="+backend, fmt.Sprintf("--world=%d", world), fmt.Sprintf("--rank=%d", rank), fmt.Sprintf("--batch=%d", batch))...)
			lines = append(lines, strings.Split(strings.TrimSpace(stdout), "\n"))
		}
		for step := range lines[0] {
			for row := range batch {
				for rank := range world {
					if f := strings.Fields(lines[rank][step]); row+1 < len(f) {
						all = append(all, f[row+1])
					}
				}
			}
		}
		return all
	}
	want := drawn("cpu", 1, 1)
	require.Len(t, want, 2*38)
	assert.NotEqual(t, want[:38], want[38:])
	for _, batch := range []int{2, 5, 38, 100} {
		assert.Equal(t, want, drawn("cpu", 1, batch))
	}
	for _, world := range []int{2, 4, 7} {
		assert.Equal(t, want, drawn("cpu", world, 3))
	}
	assert.Equal(t, want, drawn("sim", 1, 8))
	assert.Equal(t, want, drawn("sim", 2, 16))
}
