//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops/sim"
)

// One program on several devices draws the same as several programs, and as one device with larger batches: lines by position, files by
// rank, and a state from which each can resume.
func TestOneProgramDrivesSeveralDevices(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	t.Setenv(sim.CountEnv, "2")
	dir := t.TempDir()
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=20", "--seed=3", "--last=short", "--window=action=-100ms:200ms", "--stream=action", "--stream=reward", "--epochs=2"}
	run := func(more ...string) string {
		stdout, _ := good(t, append(append([]string{}, args...), more...)...)
		return stdout
	}
	whole := run("--digest", "--backend=cpu", "--batch=6")
	assert.Equal(t, whole, run("--digest", "--backend=sim:all", "--batch=3"))
	assert.Equal(t, whole, run("--digest", "--backend=cpu,cpu,cpu", "--batch=2"))

	// Two programs with two devices each: the hashes of a step alternate, and a row has two hashes from each program.
	var two [2][]string
	for rank := range two {
		two[rank] = strings.Split(run("--digest", "--backend=cpu,cpu", "--batch=3", "--world=2", fmt.Sprintf("--rank=%d", rank)), "\n")
	}
	for i, line := range strings.Split(run("--digest", "--backend=cpu", "--batch=12"), "\n") {
		var all []string
		a, b := strings.Fields(two[0][i]), strings.Fields(two[1][i])
		for k := 1; k < len(a); k += 2 {
			all = append(all, a[k:min(k+2, len(a))]...)
			all = append(all, b[min(k, len(b)):min(k+2, len(b))]...)
		}
		if len(a) > 0 {
			all = append(a[:1:1], all...)
		}
		assert.Equal(t, line, strings.Join(all, " "), "step %d", i)
	}

	state := filepath.Join(dir, "state.json")
	resumed := run("--digest", "--backend=cpu,cpu", "--batch=3", "--state", state, "--steps=2")
	resumed += run("--digest", "--backend=cpu", "--batch=6", "--state", state, "--steps=3")
	resumed += run("--digest", "--backend=cpu,cpu,cpu", "--batch=2", "--state", state)
	assert.Equal(t, whole, resumed)

	grouped, apart := filepath.Join(dir, "grouped"), filepath.Join(dir, "apart")
	run("--backend=cpu,cpu", "--batch=3", "--out", grouped)
	for rank := range 2 {
		run("--backend=cpu", "--batch=3", "--out", apart, "--world=2", fmt.Sprintf("--rank=%d", rank))
	}
	folders := listed(t, grouped)
	assert.Equal(t, []string{"rank-00000-of-00002", "rank-00001-of-00002"}, folders)
	for _, folder := range folders {
		files := listed(t, filepath.Join(apart, folder))
		require.Equal(t, files, listed(t, filepath.Join(grouped, folder)))
		for _, name := range files {
			a, err1 := os.ReadFile(filepath.Join(grouped, folder, name))
			b, err2 := os.ReadFile(filepath.Join(apart, folder, name))
			require.NoError(t, errors.Join(err1, err2))
			assert.Equal(t, b, a, "%s/%s", folder, name)
		}
	}

	one, both := unmarshal(t, run("--json", "--backend=cpu", "--batch=6")), unmarshal(t, run("--json", "--backend=cpu,cpu", "--batch=3"))
	for _, key := range []string{"windows", "batches", "dropped", "missing", "steps", "windows_drawn", "windows_dropped", "rows_missing", "padded", "invalid", "by_episode", "state"} {
		assert.Equal(t, one[key], both[key], key)
	}
	assert.Len(t, both["devices"], 2)
	code, _, stderr := execute(append(args, "--backend=sim:0,sim:2")...)
	assert.Equal(t, exitNoDevice, code, stderr)
}
