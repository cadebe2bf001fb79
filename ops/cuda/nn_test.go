package cuda_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/nntest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/sim"
)

// The suite of networks on a GPU: the bits of the CPU's exact way.
func TestNN(t *testing.T) { nntest.Run(t, device(t)) }

// On a GPU a norm behind a product has the same bits whether it is made with the product or by a launch of its own.
func TestNormsApartAreNormsWhole(t *testing.T) {
	for name, by := range map[string]func(backend.Backend) backend.Backend{"apart": cuda.NormsApart, "whole": cuda.NormsWhole} {
		t.Run(name, func(t *testing.T) {
			b, err := cuda.New(gputest.Require(t), 0)
			require.NoError(t, err)
			suiteOf(t, by(b), "matmul")
		})
	}
}

// A GPU whose blocks have 99 KB of shared memory, as most have that are no data centre's, computes all that a larger one does, with its bits: norms of
// more than 128 columns by launches of their own, and the gradient of attention over fewer keys at once.
func TestNNWithLittleSharedMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	b, err := sim.New(cudasim.New(cudasim.Config{Shared: 99 << 10}))
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	large := regexp.MustCompile(`x(176|256|257|272|512)x`) // columns of norms, and keys, that need more memory than there is
	// The default set leaves out the products with few rows, because their plans are those of the other norms of 512 columns.
	left := regexp.MustCompile(`^few_rows_`)
	nntest.Pick(t, dev, func(name string) bool { return large.MatchString(name) && (thorough.Long || !left.MatchString(name)) }, "matmul", "attention")
	assert.NoError(t, dev.Close())
}

func suiteOf(t *testing.T, b backend.Backend, groups ...string) {
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	nntest.Run(t, dev, groups...)
	assert.NoError(t, dev.Close())
}
