package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tuneArgs tune two small jobs on the simulated device, briefly.
func tuneArgs(t *testing.T, more ...string) []string {
	jobs := shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 64, "T": 300, "D": 8}, {"suite": "fuse", "B": 2, "T": 60, "streams": [{"S": 30, "D": 3}, {"S": 40, "D": 4}], "values": "f64"}`)
	return append([]string{"tune", "--backend=sim", "--shapes", jobs, "--only", ` 2x64->| 2x\(30`, "--samples=5", "--time=1us", "--batch=1us", "--rotate=0.001"}, more...)
}

func TestTuneWritesATableThatIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "tuned.json")
	t.Setenv("ROBOCACHE_TUNED", path)
	out, stderr := good(t, tuneArgs(t)...)
	assert.Regexp(t, `(?m)^resample 2x64->300x8 +resample_plain_bf16 +7 +each 1, .*direct `, out)
	assert.Regexp(t, `(?m)^fuse 2x\(30x3\+40x4\)->60 f64 +fuse +\d+ `, out)
	assert.Contains(t, out, "\n"+path+" has ")
	assert.Contains(t, stderr, "1 of 2: resample 2x64->300x8: ")
	assert.FileExists(t, path)
	info, _ := good(t, "info", "--backend=sim")
	assert.Contains(t, info, "classes by "+path)
	text, _ := good(t, "info", "--backend=sim", "--json")
	assert.Contains(t, text, `"shapes": "tuned for `)
	explained, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 8}`))
	assert.Contains(t, explained, "launch shapes: tuned for ")
	assert.Regexp(t, `each 1, threads 128, check 512, direct +model +plain`, explained)
}

func TestTuneWritesWhereItIsTold(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ROBOCACHE_TUNED", filepath.Join(dir, "env.json"))
	out, _ := good(t, tuneArgs(t, "--dry-run")...)
	assert.Contains(t, out, "no table was written")
	other := filepath.Join(dir, "other.json")
	text, _ := good(t, tuneArgs(t, "--json", "-o", other)...)
	v := unmarshal(t, text)
	assert.Equal(t, other, v["path"])
	require.Len(t, v["rows"], 2)
	row := v["rows"].([]any)[0].(map[string]any)
	assert.Equal(t, "resample_plain_bf16", row["class"].(map[string]any)["kernel"])
	assert.Positive(t, row["model_time"].(map[string]any)["median_us"])
	assert.NotContains(t, row["class"], "ready")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "the table, and nothing beside it")
	text, _ = good(t, tuneArgs(t, "--json", "--launch=ready", "-o", other)...)
	v = unmarshal(t, text)
	assert.Equal(t, "ready", v["launch"])
	for _, row := range v["rows"].([]any) {
		assert.Equal(t, true, row.(map[string]any)["class"].(map[string]any)["ready"])
	}
	out, _ = good(t, tuneArgs(t, "--limit=1ns")...)
	assert.Contains(t, out, "cut short after 0 of 2 jobs: --limit 1ns")
	assert.NoFileExists(t, filepath.Join(dir, "env.json"), "nothing was measured")
}

func TestABadTableStopsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tuned.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	t.Setenv("ROBOCACHE_TUNED", path)
	info, _ := good(t, "info", "--backend=sim")
	assert.Contains(t, info, "the model: "+path+" is not used: not a table")
	out, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 3}`))
	assert.Contains(t, out, "launch shapes: the model: "+path+" is not used")
}

func TestTuneRefusesWhatCannotBe(t *testing.T) {
	t.Setenv("ROBOCACHE_TUNED", "")
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"tune", "--backend=cpu"}, exitUsage, "the CPU launches no kernels"},
		{[]string{"tune", "resample"}, exitUsage, ""},
		{[]string{"tune", "--limit=-1s"}, exitUsage, "not negative"},
		{[]string{"tune", "--dry-run", "-o", "x.json"}, exitUsage, "--dry-run writes no table"},
		{[]string{"tune", "--launch=fast"}, exitUsage, `--launch "fast": want plain, dependent or ready`},
		{[]string{"tune", "--only=nothing"}, exitUsage, "no job matches"},
		{[]string{"tune", "--shapes=missing.json"}, exitInput, "missing.json"},
		{[]string{"tune", "--backend=sim", "--samples=4"}, exitUsage, "samples: got 4"},
		{tuneArgs(t), exitUsage, "this device has no place for a table"},
		{tuneArgs(t, "-o", t.TempDir()), exitOther, "is a directory"},
	} {
		code, _, stderr := cli(x.args...)
		assert.Equal(t, x.code, code, "%v: %s", x.args, stderr)
		assert.Contains(t, stderr, x.want, "%v", x.args)
	}
}
