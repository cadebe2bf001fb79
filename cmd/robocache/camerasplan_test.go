package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A plan for a conversion names cameras. Numeric commands skip them with a remark, and stats reports an empty filter.
func TestAPlanWithCamerasWorksWhereThereAreNumbers(t *testing.T) {
	const lines = "version: 1\nrate: 10\nstreams:\n- name: action\n- name: observation/depth16\n"
	dir := t.TempDir()
	plan, none := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "none.yaml")
	require.NoError(t, os.WriteFile(plan, []byte(lines), 0o600))
	require.NoError(t, os.WriteFile(none, []byte(lines+"filter: {task: nothing}\n"), 0o600))
	stdout, stderr := good(t, "stats", kindsRLDS, "--rate=10", "--plan", plan)
	assert.Contains(t, stdout, "action")
	assert.Contains(t, stderr, "observation/depth16 has no numbers in any episode")
	_, stderr = good(t, "resample", kindsRLDS, "--rate=10", "--episode=0", "--plan", plan, "--backend=cpu", "-o", filepath.Join(dir, "o.npz"))
	assert.Contains(t, stderr, "left out, 5 png frames")
	_, stderr = good(t, "stats", kindsRLDS, "--rate=10", "--plan", none)
	assert.Contains(t, stderr, "the plan's filter wants none of 5 episodes")
}
