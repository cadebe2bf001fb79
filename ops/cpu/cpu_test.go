package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/ops"
)

func TestCPU(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	opstest.Run(t, dev, opstest.Config{})
	require.NoError(t, dev.Close())
}
