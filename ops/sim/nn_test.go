package sim_test

import (
	"testing"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ops/nntest"
)

// The suite of networks on a simulated device, in an order of blocks and warps of its own: the bits of the CPU's exact way, which are a GPU's.
func TestNN(t *testing.T) {
	t.Parallel()
	dev, _ := device(t, cudasim.Config{Seed: 1})
	nntest.Run(t, dev)
}
