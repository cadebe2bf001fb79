package cuda

import "github.com/robocache/robocache/ops"

// VoxelizeBy has a backend make voxels by one algorithm where that supports the job, preferred or not.
func VoxelizeBy(b ops.Backend, algorithm string) ops.Backend {
	b.(*backend).voxelAlgorithm = algorithm
	return b
}

// VoxelizeInTurn has each plan made by the next of the algorithms.
func VoxelizeInTurn(b ops.Backend) ops.Backend { return &inTurn{backend: b.(*backend)} }

type inTurn struct {
	*backend
	plans int
}

func (t *inTurn) Voxelize(job *ops.VoxelizeJob) (ops.VoxelizePlan, error) {
	t.voxelAlgorithm = voxelVariants[t.plans%len(voxelVariants)].name
	t.plans++
	return t.backend.Voxelize(job)
}

// VoxelAlgorithms are the names of the algorithms.
func VoxelAlgorithms() (names []string) {
	for _, v := range voxelVariants {
		names = append(names, v.name)
	}
	return names
}
