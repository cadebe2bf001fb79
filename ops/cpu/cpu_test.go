package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/opstest"
)

func TestCPU(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	opstest.Run(t, dev, opstest.Config{OneOf: thorough.Of(3, 1)})
	require.NoError(t, dev.Close())
}
