package sim_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/pins"
	"github.com/robocache/robocache/internal/test/thorough"
)

// pinFile has what the launches of the main shapes do, to the instruction and the sector, by operation and shape. ROBOCACHE_PIN=1 writes it anew, after a
// kernel, a launch or a shape has changed on purpose; the difference tells what the change costs.
var pinFile = filepath.Join("testdata", "pins.json")

// A change that makes a kernel do more than before gives the same results, but not this. Less is no failure of a kernel's, but the pins stay tight.
func TestMainShapesDoWhatIsPinned(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		return // elsewhere Go fuses products and sums, and draws inputs that differ in their last bits
	}
	did := map[string]map[string][]pins.Launch{}
	for _, operation := range pins.Operations() {
		var err error
		did[operation], err = pins.Count(operation, cudasim.Config{})
		require.NoError(t, err)
		require.Len(t, did[operation], 5, operation)
	}
	if os.Getenv("ROBOCACHE_PIN") == "1" {
		text, err := json.MarshalIndent(did, "", "\t")
		require.NoError(t, err)
		filetest.Write(t, pinFile, append(text, '\n'))
	}
	text := filetest.Read(t, pinFile)
	var pinned map[string]map[string][]pins.Launch
	require.NoError(t, json.Unmarshal(text, &pinned))
	for operation, shapes := range did {
		require.Len(t, pinned[operation], len(shapes), "shapes of %s that are pinned", operation)
		for shape, launches := range shapes {
			assert.Equal(t, pinned[operation][shape], launches, shape)
		}
	}
}
