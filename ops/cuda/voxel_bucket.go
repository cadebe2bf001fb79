package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

const (
	// With fewer than groupCells cells and more than groupPoints points, few blocks would get most points if points concentrate in few
	// cells, as in a LiDAR scan. A sort then needs only one or two passes. bench/history/voxelize.md: at 13^3, partitioning took 654 us
	// and a sort 189 us.
	groupCells  = 1 << 13
	groupPoints = 1 << 16

	// A block that processes a whole bucket reads and writes less but visits each cell three times. That costs more if few cells have
	// points, or if there are many points. bench/history/voxelize.md: at most 4 cells per point, or 4 points per cell.
	bucketRatio  = 4
	bucketPoints = ptx.Buckets * ptx.BucketHeld // as many points as blocks keep in shared memory

	bucketFeatures = 1 << 10                                        // so that 32 bits can count the items in a bucket
	groupTile      = ptx.GroupItemsPerThread * ptx.PartitionThreads // points per block in voxel_partition_points
	groupShared    = 4 * (ptx.GroupPart + ptx.WarpSize)             // shared memory bytes per block for the cell counters
	blockStatic    = 4 << 10                                        // upper bound for a block's other shared memory in bytes
)

// voxelBucket computes sums, means and extremes if there are about as many points as cells. One block processes one bucket of cells.
var voxelBucket = voxelVariant{name: "bucket",
	supports: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notReduced(job); {
		case why != "":
			return why
		case job.F > bucketFeatures:
			return "too many features"
		case bucketShared(job)+blockStatic > b.shared:
			return "more cells than a block's shared memory has room for"
		}
		return ""
	},
	prefers: func(b *gpu, job *backend.VoxelizeJob) string {
		switch {
		case !spread(job):
			return "many points of few cells: a sort takes less where they concentrate"
		case job.Keys() > bucketRatio*job.N:
			return "many cells for the points"
		case job.N > bucketRatio*job.Keys() || job.N > bucketPoints:
			return "more points than blocks keep"
		}
		return ""
	},
	layout: func(c *voxelChain) {
		job := c.job
		largeList := c.largeList()
		d := c.partitionPoints()
		values, order := c.values(0), c.part(4*job.N)
		c.add("voxel_bucket", usedBuckets(job), ptx.BucketThreads, &ptx.VoxelBucketParams{
			Runs: d.runs, Partitioned: d.partitioned, Tiles: uint32(d.tiles), Keys: uint64(job.Keys()), Empty: emptyWord(job), Values: values,
			Order: order, List: c.part(2 * job.N), LargePieces: largeList,
		}).shared = bucketShared(job)
		c.reduceLarge(values, order, largeList)
	},
}

// spread reports whether many blocks share the points.
func spread(job *backend.VoxelizeJob) bool { return job.Keys() >= groupCells || job.N <= groupPoints }

// bucketShared returns voxel_bucket's dynamic shared memory in bytes: a word for each cell and each lane, and six bytes for each point
// that a block keeps.
func bucketShared(job *backend.VoxelizeJob) int {
	return 4*(cellsOfBucket(job, ptx.GroupBits)+ptx.WarpSize) + 6*ptx.BucketHeld
}

// usedBuckets counts the buckets with cells. In a small grid the last buckets have none.
func usedBuckets(job *backend.VoxelizeJob) int {
	return min(ptx.Buckets, (job.Keys()+1<<ptx.GroupBits-1)>>ptx.GroupBits)
}

// partitionedPoints has the addresses of the output from voxel_partition_points: the points and their runs.
type partitionedPoints struct {
	partitioned, runs uint64
	tiles             int
}

// partitionPoints starts a chain that fills its own grid, and partitions the points.
func (c *voxelChain) partitionPoints() partitionedPoints {
	tiles := (c.job.N + groupTile - 1) / groupTile
	d := partitionedPoints{c.part(4 * groupTile * tiles), c.part(4 * ptx.Buckets * tiles), tiles}
	c.fill("voxel_fill", voxelFillArgs{})
	c.add("voxel_partition_points", tiles, ptx.PartitionThreads, &ptx.VoxelPartitionParams{
		Cloud: c.cloud(groupTile), Grid: c.grid(), Runs: d.runs, Partitioned: d.partitioned, State: c.state,
	}).shared = ptx.GroupPartitionShared
	return d
}
