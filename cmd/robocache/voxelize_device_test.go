package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// sameVoxels wants a backend to write the CPU's bytes and print its counters.
func sameVoxels(t *testing.T, backend string) {
	for _, args := range [][]string{
		{lidar, "--size=1"},
		{lidar, "--size=1", "--mode=mean", "--order=xyz"},
		{lidar, "--size=1", "--mode=max", "--min=-10,-10,-3", "--max=10,10,3"},
		{lidar, "--size=.5", "--mode=hard", "--max-points=2", "--max-voxels=100"},
		{lidar, "--size=1", "--mode=sparse"},
		{lidar, "--size=1", "--preset=open3d"},
		{lidar, "--size=1,1,8", "--preset=mmcv"},
		{people, "--size=.2", "--mode=occupancy"},
	} {
		var files [2][]byte
		var printed [2]string
		for i, name := range []string{"cpu", backend} {
			out := filepath.Join(t.TempDir(), "o.npz")
			printed[i], _ = good(t, append([]string{"voxelize", "-o", out, "--json", "--backend", name}, args...)...)
			var err error
			files[i], err = os.ReadFile(out)
			require.NoError(t, err)
		}
		assert.Equal(t, printed[0], printed[1], "%q", args)
		assert.True(t, bytes.Equal(files[0], files[1]), "%q", args)
	}
}

func TestSimulatedDeviceWritesTheSameVoxels(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sameVoxels(t, "sim")
}

func TestCUDAWritesTheSameVoxels(t *testing.T) {
	needGPU(t)
	sameVoxels(t, "cuda")
}
