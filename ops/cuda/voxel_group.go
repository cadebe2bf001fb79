package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// voxelGroup makes sums, means and extremes of any points that are dealt out to buckets.
var voxelGroup = voxelVariant{name: "group",
	can: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notReduced(job); {
		case why != "":
			return why
		case job.Keys() > dealKeys:
			return "more cells than are dealt out"
		case b.shared < groupShared+blockStatic:
			return "too little shared memory"
		}
		return ""
	},
	pays: func(_ *gpu, job *backend.VoxelizeJob) string {
		if !spread(job) {
			return "many points of few cells: a sort takes less if they crowd"
		}
		return ""
	},
	lay: func(c *voxelChain) {
		job := c.job
		crowds := c.crowds()
		d := c.dealPoints()
		lists := ptx.VoxelGroupLists{
			Singles: c.part(8 * job.N), Order: c.part(4 * job.N), Voxels: c.part(16 * min(job.N/2+1, job.Keys())), State: c.state,
		}
		cells := cellsOfBucket(job, ptx.GroupBits)
		looks := (min(cells, ptx.GroupPart) + ptx.GroupLook - 1) / ptx.GroupLook
		c.add("voxel_group", usedBuckets(job)*((cells+ptx.GroupPart-1)/ptx.GroupPart), ptx.GroupThreads, &ptx.VoxelGroupParams{
			Runs: d.runs, Dealt: d.dealt, Tiles: uint32(d.tiles), Keys: uint64(job.Keys()), Out: uint64(pointer(job.Grid)),
			Words: uint64(job.Keys() * gridWords(job)), Empty: emptyWord(job), Lists: lists,
		}).shared = 4 * (looks*ptx.GroupLook + ptx.WarpSize)
		// As many blocks as run at once, and at least two, one for each kind of cell.
		values, items := c.values(0), min(job.N, job.Keys())*lanesOf(job)
		c.add("voxel_cells", min(max((items+ptx.CellsThreads-1)/ptx.CellsThreads, 2), 3*c.sms), ptx.CellsThreads, &ptx.VoxelCellsParams{Lists: lists, Values: values, Crowds: crowds})
		c.crowded(values, lists.Order, crowds)
	},
}
