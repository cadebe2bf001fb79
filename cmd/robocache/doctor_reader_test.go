package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// doctor --for finds a recording with several clocks, with a code, a remedy and the exit code of findings. convert refuses it.
func TestDoctorFindsWhatAReaderRefuses(t *testing.T) {
	log := "../../examples/data/flight.ulg"
	code, stdout, _ := execute("doctor", log, "--for", "lerobot", "--fail-on", "error", "--json")
	assert.Equal(t, exitFound, code)
	report := unmarshal(t, stdout)
	assert.Contains(t, report["checked"].(map[string]any)["kinds"], "misfit")
	found := 0
	for _, f := range report["findings"].([]any) {
		if f := f.(map[string]any); f["kind"] == "misfit" {
			found++
			assert.Equal(t, []any{"several-clocks", "error", 0.0}, []any{f["code"], f["severity"], f["episode"]})
			assert.Contains(t, f["what_to_do"], "--hz")
		}
	}
	assert.Equal(t, 1, found)
	code, _, _ = execute("convert", log, "--to", "lerobot", "-o", filepath.Join(t.TempDir(), "out"))
	assert.Equal(t, exitUsage, code)
	code, stdout, _ = execute("doctor", log, "--json")
	assert.Equal(t, exitGood, code)
	assert.NotContains(t, stdout, "misfit")
	code, _, stderr := execute("doctor", log, "--for", "tensorflow")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "gr00t")
}

// Each reader of --for accepts a table that has all that it needs, and has a finding for one without.
func TestEachReaderIsChecked(t *testing.T) {
	table := filepath.Join(t.TempDir(), "a.csv")
	assert.NoError(t, os.WriteFile(table, []byte("time,x\n0,1\n0.1,2\n0.2,4\n0.3,3\n"), 0o600))
	policies := map[string]bool{"openpi": true, "gr00t": true}
	app := newApp(nil, nil, nil)
	app.convertCommand()
	for _, name := range readers() {
		code, stdout, stderr := execute("doctor", table, "--for", name)
		if app.targets[map[bool]string{true: "lerobot-2.1", false: name}[policies[name]]] == nil {
			assert.Equal(t, exitUsage, code, name)
			continue
		}
		assert.Equal(t, exitGood, code, "%s: %s", name, stderr)
		if policies[name] {
			assert.Regexp(t, `misfit +observation.state: missing, and `+name, stdout)
			assert.Contains(t, stdout, "no task, which "+name+" needs")
		} else {
			assert.NotContains(t, stdout, "misfit", name)
		}
	}
}
