package cudadrv_test

import (
	"testing"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
)

// The tests of the GPU hold on the simulated device. Those missing here need time or threads of a real one.
func TestSimulatedDevice(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"device":                     TestGPUDevice,
		"vector add":                 TestGPUVectorAdd,
		"kernel signature":           TestGPUKernelSignature,
		"mixed sizes":                TestGPUMixedSizes,
		"a launch allocates nothing": TestGPULaunchAllocatesNothing,
		"shared memory":              TestGPUSharedMemoryOptIn,
		"bad images":                 TestGPUBadImages,
		"out of memory":              TestGPUOutOfMemory,
		"the pool's threshold":       TestGPUPoolKeepsWhatTheThresholdAllows,
		"copies":                     TestGPUCopies,
		"registered memory":          TestGPURegisteredMemory,
		"many goroutines":            TestGPUManyGoroutines,
		"graphs":                     TestGPUGraphs,
		"joined streams":             TestGPUCaptureJoinsStreams,
		"failed captures":            TestGPUFailedCaptureLeavesTheStreamUsable,
	} {
		t.Run(name, func(t *testing.T) {
			gputest.Simulate(t, cudasim.Config{})
			test(t)
		})
	}
}
