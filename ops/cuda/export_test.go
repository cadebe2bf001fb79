package cuda

import "github.com/robocache/robocache/ops"

// VoxelsBy has a backend make voxels by one way where that can, whether it pays or not.
func VoxelsBy(b ops.Backend, way string) ops.Backend {
	b.(*backend).voxelWay = way
	return b
}

// VoxelsInTurn has each plan made by the next of the ways.
func VoxelsInTurn(b ops.Backend) ops.Backend { return &inTurn{backend: b.(*backend)} }

type inTurn struct {
	*backend
	plans int
}

func (t *inTurn) Voxelize(job *ops.VoxelizeJob) (ops.VoxelizePlan, error) {
	t.voxelWay = voxelVariants[t.plans%len(voxelVariants)].name
	t.plans++
	return t.backend.Voxelize(job)
}

// VoxelWays are the names of the ways.
func VoxelWays() (names []string) {
	for _, v := range voxelVariants {
		names = append(names, v.name)
	}
	return names
}
