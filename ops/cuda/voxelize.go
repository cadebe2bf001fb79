package cuda

import "github.com/robocache/robocache/ops"

func (b *backend) Voxelize(job *ops.VoxelizeJob) (ops.VoxelizePlan, error) {
	return nil, &ops.ArgError{Op: "Voxelize", Arg: "device", Kind: ops.ErrNoDevice, Got: b.name, Want: "cpu"}
}
