package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// Each command that reads whole datasets reports missing declared episodes once, also for a store. Strict commands write nothing.
func TestDeclaredEpisodesThatAreNotThereAreTold(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	in, store, out := filepath.Join(dir, "in"), filepath.Join(dir, "s.safetensors"), filepath.Join(dir, "out")
	require.NoError(t, os.CopyFS(in, os.DirFS(kindsRLDS)))
	const gone = "kinds-train.tfrecord-00001-of-00002"
	require.NoError(t, os.Remove(filepath.Join(in, gone)))
	told := ": 3 of 5 declared episodes are missing: " + gone + ": is not there"
	for _, c := range []struct {
		input string
		args  []string
	}{
		{in, []string{"stats", in, "--rate=10"}},
		{in, []string{"pack", in, "-o", store, "--rate=10"}},
		{store, []string{"batches", store, "--batch=2", "--backend=cpu"}},
		{in, []string{"batches", in, "--batch=2", "--backend=cpu", "--rate=10", "--streaming"}},
		{in, []string{"convert", in, "-o", out, "--to=npz", "--rate=10"}},
	} {
		stdout, _ := good(t, append(c.args, "--json")...)
		assert.Contains(t, unmarshal(t, stdout)["notes"], map[string]any{"class": "problem", "code": "episodes-absent", "subject": c.input, "count": 3.0, "of": 5.0, "row": nil,
			"text": c.input + told, "episode": "", "first": 0.0, "episodes": 0.0}, "%v", c.args)
		_, stderr := good(t, c.args...)
		assert.Contains(t, stderr, c.input+told, "%v", c.args)
	}
	report, err := os.ReadFile(filepath.Join(out, "convert.json"))
	require.NoError(t, err)
	inputs := unmarshal(t, string(report))["inputs"].([]any)
	assert.Equal(t, 3.0, inputs[0].(map[string]any)["notes"].([]any)[0].(map[string]any)["count"])
	code, _, stderr := execute("convert", in, "-o", out+"2", "--to=npz", "--rate=10", "--strict")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, gone)
	assert.NoDirExists(t, out+"2")
	stdout, _ := good(t, "stats", kindsRLDS, "--rate=10", "--json")
	assert.NotContains(t, stdout, "episodes-absent")

	// inspect and doctor list the same as notes.
	stdout, _ = good(t, "inspect", in, "--json", "--rate=10")
	problems := unmarshal(t, stdout)["problems"].([]any)
	require.Len(t, problems, 2)
	text := "3 of 5 declared episodes are missing: " + gone + ": is not there"
	assert.Equal(t, map[string]any{"where": "dataset_info.json", "what": text, "class": "problem", "of": 5.0, "code": "episodes-absent", "subject": "dataset_info.json", "count": 3.0, "row": nil, "text": text}, problems[1])
	_, stdout, _ = execute("doctor", in, "--json", "--rate=10")
	for _, f := range unmarshal(t, stdout)["findings"].([]any) {
		for _, key := range []string{"code", "subject", "count", "row", "text"} {
			assert.Contains(t, f, key)
		}
	}
}
