package cuda

import (
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
)

// gpu is one device. Its kernels are loaded family by family, when the first plan needs them.
type gpu struct {
	*device.Device
	kind           string // "cuda", or what stands in for it
	dev            *cudadrv.Device
	sms            int
	shared         int    // bytes of shared memory that a block can have
	voxelAlgorithm string // for tests: the algorithm of Voxelize that takes all jobs that it supports, preferred or not
	kernels        *kernels.Set
	reason         string // why the image of the first family was taken
	shapes         string // where launch shapes come from
	table          atomic.Pointer[tuned.Table]
}

// bind makes a launch of so many blocks, with so many bytes of dynamic shared memory.
func (b *gpu) bind(kernel string, mode backend.LaunchMode, blocks, threads, shared int, params parameters) (*cudadrv.Launch, error) {
	config := cudadrv.LaunchConfig{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}, Shared: uint32(shared), Dependent: mode != backend.LaunchDefault}
	return b.kernels.Bind(kernel, config, params.Bytes())
}
