package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

func TestCPU(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	var parts []string
	if thorough.Raced { // more cases start no other goroutines
		parts = []string{"life", "resample/generated", "fuse/generated", "backward/generated", "voxel/generated", "draw/generated", "tally/generated", "frames/generated"}
	}
	opstest.Run(t, dev, opstest.Config{}, parts...)
	require.NoError(t, dev.Close())
}
