package cuda

import (
	"github.com/robocache/robocache/ops"

	"github.com/robocache/robocache/ops/backend"
)

// VoxelsBy has a backend make voxels by one way where that can, whether it pays or not.
func VoxelsBy(b backend.Backend, way string) backend.Backend {
	b.(*gpu).voxelWay = way
	return b
}

// VoxelsInTurn has each plan made by the next of the ways.
func VoxelsInTurn(b backend.Backend) backend.Backend { return &inTurn{gpu: b.(*gpu)} }

type inTurn struct {
	*gpu
	plans int
}

func (t *inTurn) Voxelize(job *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	t.voxelWay = voxelVariants[t.plans%len(voxelVariants)].name
	t.plans++
	return t.gpu.Voxelize(job)
}

// VoxelWays are the names of the ways.
func VoxelWays() (names []string) {
	for _, v := range voxelVariants {
		names = append(names, v.name)
	}
	return names
}
