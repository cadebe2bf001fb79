package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

const (
	// Below groupCells cells, of more than groupPoints points, those that concentrate in few cells, as a LiDAR's do, would be left to few blocks, where a sort has one or two
	// passes. bench/history/voxelize.md: at 13^3 partitioning them took 654 for a sort's 189 us.
	groupCells  = 1 << 13
	groupPoints = 1 << 16

	// A block that does all of a bucket reads and writes less, and looks at each cell three times: where few cells have points, or points are many, that
	// costs more. bench/history/voxelize.md: 4 cells a point or points a cell at most.
	bucketRatio  = 4
	bucketPoints = ptx.Buckets * ptx.BucketHeld // as many as blocks keep in shared memory

	bucketFeatures = 1 << 10                                        // so that the items of a bucket can be counted in 32 bits
	groupTile      = ptx.GroupItemsPerThread * ptx.PartitionThreads // points of a block of voxel_partition_points
	groupShared    = 4 * (ptx.GroupPart + ptx.WarpSize)             // bytes of a block that counts so many cells
	blockStatic    = 4 << 10                                        // at most, what it has besides
)

// voxelBucket makes sums, means and extremes of about as many points as cells: a block takes a bucket of cells.
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

// spread reports whether points are left to many blocks.
func spread(job *backend.VoxelizeJob) bool { return job.Keys() >= groupCells || job.N <= groupPoints }

// bucketShared is the dynamic shared memory of voxel_bucket: a word for each cell and each lane, and six bytes for each point that it keeps.
func bucketShared(job *backend.VoxelizeJob) int {
	return 4*(cellsOfBucket(job, ptx.GroupBits)+ptx.WarpSize) + 6*ptx.BucketHeld
}

// usedBuckets is how many buckets have cells: of a grid with fewer cells than one group for each the last have none.
func usedBuckets(job *backend.VoxelizeJob) int {
	return min(ptx.Buckets, (job.Keys()+1<<ptx.GroupBits-1)>>ptx.GroupBits)
}

// partitionedPoints is where voxel_partition_points leaves points and runs of them.
type partitionedPoints struct {
	partitioned, runs uint64
	tiles             int
}

// partitionPoints opens a chain that fills its own grid, and partitions the points.
func (c *voxelChain) partitionPoints() partitionedPoints {
	tiles := (c.job.N + groupTile - 1) / groupTile
	d := partitionedPoints{c.part(4 * groupTile * tiles), c.part(4 * ptx.Buckets * tiles), tiles}
	c.fill("voxel_fill", voxelFillArgs{})
	c.add("voxel_partition_points", tiles, ptx.PartitionThreads, &ptx.VoxelPartitionParams{
		Cloud: c.cloud(groupTile), Grid: c.grid(), Runs: d.runs, Partitioned: d.partitioned, State: c.state,
	}).shared = ptx.GroupPartitionShared
	return d
}
