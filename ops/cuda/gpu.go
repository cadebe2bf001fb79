package cuda

import (
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
)

// gpu is one device. A kernel family is loaded when the first plan needs it.
type gpu struct {
	*device.Device
	kind           string // "cuda", or the name of a substitute driver such as "sim"
	dev            *cudadrv.Device
	sms            int
	shared         int    // maximum shared memory bytes per block
	voxelAlgorithm string // for tests: Voxelize uses this algorithm for all jobs that it supports, preferred or not
	kernels        *kernels.Set
	reason         string // why the first family's image was selected
	shapes         string // the source of launch shapes, for Describe
	table          atomic.Pointer[tuned.Table]
}

// bind creates a kernel launch. shared is the dynamic shared memory in bytes.
func (b *gpu) bind(kernel string, mode backend.LaunchMode, blocks, threads, shared int, params parameters) (*cudadrv.Launch, error) {
	config := cudadrv.LaunchConfig{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}, Shared: uint32(shared), Dependent: mode != backend.LaunchDefault}
	return b.kernels.Bind(kernel, config, params.Bytes())
}
