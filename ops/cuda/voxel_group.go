package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// voxelGroup computes sums, means and extremes for any number of points, after partitioning them into buckets.
var voxelGroup = voxelVariant{name: "group",
	supports: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notReduced(job); {
		case why != "":
			return why
		case job.Keys() > partitionKeys:
			return "more cells than can be partitioned"
		case b.shared < groupShared+blockStatic:
			return "too little shared memory"
		}
		return ""
	},
	prefers: func(_ *gpu, job *backend.VoxelizeJob) string {
		if !spread(job) {
			return "many points of few cells: a sort takes less where they concentrate"
		}
		return ""
	},
	layout: func(c *voxelChain) {
		job := c.job
		largeList := c.largeList()
		d := c.partitionPoints()
		lists := ptx.VoxelGroupLists{
			Singles: c.part(8 * job.N), Order: c.part(4 * job.N), Voxels: c.part(16 * min(job.N/2+1, job.Keys())), State: c.state,
		}
		cells := cellsOfBucket(job, ptx.GroupBits)
		lookback := (min(cells, ptx.GroupPart) + ptx.GroupWarpCells - 1) / ptx.GroupWarpCells
		c.add("voxel_group", usedBuckets(job)*((cells+ptx.GroupPart-1)/ptx.GroupPart), ptx.GroupThreads, &ptx.VoxelGroupParams{
			Runs: d.runs, Partitioned: d.partitioned, Tiles: uint32(d.tiles), Keys: uint64(job.Keys()), Out: uint64(pointer(job.Grid)),
			Words: uint64(job.Keys() * gridWords(job)), Empty: emptyWord(job), Lists: lists,
		}).shared = 4 * (lookback*ptx.GroupWarpCells + ptx.WarpSize)
		// As many blocks as run at once, but at least two: one for cells with one point, and one for other cells.
		values, items := c.values(0), min(job.N, job.Keys())*lanesOf(job)
		c.add("voxel_cells", min(max((items+ptx.CellsThreads-1)/ptx.CellsThreads, 2), 3*c.sms), ptx.CellsThreads, &ptx.VoxelCellsParams{Lists: lists, Values: values, LargePieces: largeList})
		c.reduceLarge(values, lists.Order, largeList)
	},
}
