package cuda

import (
	"github.com/robocache/robocache/ops/backend"
)

// VoxelizeBy has a backend make voxels by one algorithm where that supports the job, preferred or not.
func VoxelizeBy(b backend.Backend, algorithm string) backend.Backend {
	b.(*gpu).voxelAlgorithm = algorithm
	return b
}

// VoxelizeInTurn has each plan made by the next of the algorithms.
func VoxelizeInTurn(b backend.Backend) backend.Backend { return &inTurn{gpu: b.(*gpu)} }

type inTurn struct {
	*gpu
	plans int
}

func (t *inTurn) Voxelize(job *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	t.voxelAlgorithm = voxelVariants[t.plans%len(voxelVariants)].name
	t.plans++
	return t.gpu.Voxelize(job)
}

// VoxelAlgorithms are the names of the algorithms.
func VoxelAlgorithms() (names []string) {
	for _, v := range voxelVariants {
		names = append(names, v.name)
	}
	return names
}
