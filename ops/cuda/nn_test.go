package cuda_test

import (
	"testing"

	"github.com/robocache/robocache/ops/nntest"
)

// The suite of networks on a GPU: the bits of the CPU's exact way.
func TestNN(t *testing.T) { nntest.Run(t, device(t)) }
