package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// voxelWrite computes occupancy and counts, with one atomic for each point.
var voxelWrite = voxelVariant{name: "write", prefers: always,
	supports: func(_ *gpu, job *backend.VoxelizeJob) string { return notCounted(job) },
	layout: func(c *voxelChain) {
		// voxel_write begins while the fill runs, so both must prefer the same split between shared memory and cache. Kernels after
		// voxel_fill in other chains need more cache. Therefore this fill is a separate kernel. bench/history/voxelize.md has the
		// measured gain.
		c.fill("voxel_write_fill", voxelFillArgs{out: c.job.Grid, value: emptyWord(c.job)}).prefersShared = true
		chunk := c.chunk()
		counts := c.job.Reduce == backend.ReduceCount
		kernel := "voxel_write"
		if c.job.Wide() {
			kernel = "voxel_write_f64"
		}
		c.add(kernel, (c.job.N+chunk-1)/chunk, ptx.WriteThreads, &ptx.VoxelWriteParams{
			Cloud: c.cloud(chunk), Grid: c.grid(), Out: uint64(pointer(c.job.Grid)), State: c.state,
			Flags: ptx.VoxelWriteParamsFlags{Counts: counts, FromZero: uint8(c.job.Empty) == 0 && pointer(c.job.Grid)%8 == 0}.Word(),
		}).prefersShared = true
	},
}

// notCounted returns a reason unless a job is a dense grid of occupancy, or of counts with empty value 0.
func notCounted(job *backend.VoxelizeJob) string {
	switch {
	case job.N == 0:
		return "no points"
	case job.Mode != backend.VoxelDense:
		return "not a dense grid"
	case job.Reduce == backend.ReduceCount && job.Empty != 0:
		return "counts beside an empty value"
	case job.Reduce != backend.ReduceCount && job.Reduce != backend.ReduceOccupancy:
		return "neither occupancy nor counts"
	}
	return ""
}
