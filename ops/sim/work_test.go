package sim_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
)

// workFile pins what each kernel does in the suite, to the instruction. ROBOCACHE_PIN=1 writes it anew, after a kernel or
// the sample has changed on purpose; the difference tells what the change costs.
var workFile = filepath.Join("testdata", "work.json")

// A change that makes a kernel do more than before gives the same results, but not this. Less is no failure of a kernel's, but
// the pins stay tight.
// What the kernels of Voxelize do depends a little on where memory lies.
func checkWork(t *testing.T, did cudasim.Tally) {
	maps.DeleteFunc(did, func(kernel string, _ cudasim.Work) bool { return strings.HasPrefix(kernel, "voxel_") })
	if os.Getenv("ROBOCACHE_PIN") == "1" {
		text, err := json.MarshalIndent(did, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(workFile, append(text, '\n'), 0o644))
	}
	text, err := os.ReadFile(workFile)
	require.NoError(t, err)
	var pinned cudasim.Tally
	require.NoError(t, json.Unmarshal(text, &pinned))
	assert.Equal(t, pinned, did)
}
