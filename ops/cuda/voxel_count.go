package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// countPoints is the minimum number of points per multiprocessor. With a large grid and many points, atomics on the grid would wait for
// its memory. bench/history/voxelize.md: 20M points took 740 us by atomics and 146 us partitioned.
const countPoints = 1 << 15

// partitionKeys limits the cells for partitioning. A bucket has at most 1 << 16 cells, numbered by two bytes.
const partitionKeys = 1 << 25

const (
	countTile   = ptx.CountItemsPerThread * ptx.PartitionThreads // points per block in voxel_partition_cells
	countShared = 4 * (ptx.CountPart + ptx.WarpSize)             // bytes per block in voxel_count, which needs more than voxel_partition_cells
)

// voxelCount counts large clouds in shared memory, after partitioning cells into buckets.
var voxelCount = voxelVariant{name: "count",
	supports: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notCounted(job); {
		case why != "":
			return why
		case job.Reduce != backend.ReduceCount:
			return "occupancy"
		case job.Keys() > partitionKeys:
			return "more cells than can be partitioned"
		case pointer(job.Grid)%16 != 0:
			return "the grid is not aligned to 16 bytes"
		case b.shared < countShared:
			return "too little shared memory"
		}
		return ""
	},
	prefers: func(b *gpu, job *backend.VoxelizeJob) string {
		if job.N < countPoints*b.sms {
			return "few points: atomics take less"
		}
		return ""
	},
	layout: func(c *voxelChain) {
		tiles := (c.job.N + countTile - 1) / countTile
		partitioned, runs := c.part(2*countTile*tiles), c.part(4*ptx.Buckets*tiles)
		c.fill("voxel_fill", voxelFillArgs{}) // the output is not filled because voxel_count writes every cell
		c.add("voxel_partition_cells", tiles, ptx.PartitionThreads, &ptx.VoxelPartitionParams{
			Cloud: c.cloud(countTile), Grid: c.grid(), Runs: runs, Partitioned: partitioned, State: c.state,
		}).shared = ptx.CountPartitionShared
		parts := (cellsOfBucket(c.job, ptx.CountGroupBits) + ptx.CountPart - 1) / ptx.CountPart
		c.add("voxel_count", ptx.Buckets*parts, ptx.CountThreads, &ptx.VoxelCountParams{
			Runs: runs, Partitioned: partitioned, Out: uint64(pointer(c.job.Grid)), Keys: uint64(c.job.Keys()), Tiles: uint32(tiles),
		}).shared = countShared
	},
}

// cellsOfBucket returns the maximum cell count per bucket, if groups of 2^bits neighbouring cells share a bucket.
func cellsOfBucket(job *backend.VoxelizeJob, bits int) int {
	all := ptx.Buckets << bits
	return (job.Keys() + all - 1) / all << bits
}
