package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/opstest"
)

func TestCPU(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	opstest.Run(t, dev)
	require.NoError(t, dev.Close())
}
