package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// tuneArgs tune two small jobs on the simulated device, briefly.
func tuneArgs(t *testing.T, more ...string) []string {
	jobs := shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 64, "T": 65, "D": 8}, {"suite": "fuse", "B": 2, "T": 20, "streams": [{"S": 30, "D": 3}, {"S": 40, "D": 4}]}`)
	return append([]string{"tune", "--backend=sim", "--shapes", jobs, "--samples=5", "--time=1us", "--batch=1us", "--rotate=0.001"}, more...)
}

func TestTuneWritesATableThatIsUsed(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	path := filepath.Join(t.TempDir(), "cache", "tuned.json")
	t.Setenv("ROBOCACHE_TUNED", path)
	out, stderr := good(t, tuneArgs(t)...)
	assert.Regexp(t, `(?m)^resample 2x64->65x8 +\d+ +resample_\w+ (items|check) `, out)
	assert.Contains(t, out, "\n"+path+" has ")
	assert.Contains(t, stderr, "1 of 2: resample 2x64->65x8: ")
	info, _ := good(t, "info", "--backend=sim")
	assert.Contains(t, info, "keys by "+path)
	explained, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 8}`))
	assert.Contains(t, explained, "launch shapes: tuned for ")
	assert.Regexp(t, ` resample_\w+ .* (items|check) \d.* heuristic +plain\n`, explained)

	// Another file, and results with prepared inputs.
	other := filepath.Join(t.TempDir(), "other.json")
	text, _ := good(t, tuneArgs(t, "--json", "--launch=ready", "-o", other)...)
	v := unmarshal(t, text)
	assert.Equal(t, other, v["path"])
	assert.Equal(t, "ready", v["launch"])
	require.Len(t, v["rows"], 2)
	for _, row := range v["rows"].([]any) {
		assert.Equal(t, true, row.(map[string]any)["key"].(map[string]any)["ready"])
	}
	assert.FileExists(t, other)

	fresh := filepath.Join(t.TempDir(), "fresh.json")
	out, _ = good(t, tuneArgs(t, "--limit=1ns", "-o", fresh)...)
	assert.Contains(t, out, "cut short after 0 of 2 jobs: --limit 1ns")
	assert.NoFileExists(t, fresh, "nothing was measured")
}

func TestABadTableStopsNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	path := filepath.Join(t.TempDir(), "tuned.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	t.Setenv("ROBOCACHE_TUNED", path)
	out, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 3}`))
	assert.Contains(t, out, "launch shapes: the heuristic: "+path+" is not used: not a table")
}

func TestTuneRefusesWhatCannotBe(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Setenv("ROBOCACHE_TUNED", "")
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"tune", "--backend=cpu"}, exitUsage, "the CPU launches no kernels"},
		{[]string{"tune", "--limit=-1s"}, exitUsage, "not negative"},
		{[]string{"tune", "--launch=fast"}, exitUsage, `--launch "fast": want default, dependent or ready`},
		{[]string{"tune", "--shapes=missing.json"}, exitInput, "missing.json"},
		{tuneArgs(t), exitUsage, "this device has no place for a table"},
		{tuneArgs(t, "-o", t.TempDir()), exitOther, "is a directory"},
	} {
		code, _, stderr := execute(x.args...)
		assert.Equal(t, x.code, code, "%v: %s", x.args, stderr)
		assert.Contains(t, stderr, x.want, "%v", x.args)
	}
}
