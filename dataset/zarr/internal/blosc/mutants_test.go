package blosc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/mutate"
)

// Broken chunks give a *dataset.FormatError, or other bytes, because a chunk has no checksum.
func TestMutantsDoNoHarm(t *testing.T) {
	var seeds []mutate.Seed
	for _, g := range goldens(t) {
		seeds = append(seeds, mutate.Seed{Name: g.Name, Data: g.Chunk, To: min(len(g.Chunk), 40)})
	}
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: 20_000, Most: 16 << 20, Try: func(m mutate.Mutant) {
		if err := Expand("blosc", make([]byte, declared(m.Data)), m.Data); err != nil {
			var bad *dataset.FormatError
			require.ErrorAs(t, err, &bad)
			assert.NotEmpty(t, bad.Msg)
		}
	}})
}
