package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// All of these are from bench/history/voxelize-clouds.md.
const (
	atomicValues = 3 << 10 // points and features of them for each multiprocessor, up to which atomics take less than bringing points together
	atomicTurns  = 6       // of a block: of more, bringing points together takes less
	atomicTable  = 1 << 25 // words of the table
)

// voxelAtomic makes sums, means, extremes, and counts beside an empty value, of few points, by atomics on a table as large as the grid, which is 0 between
// runs.
var voxelAtomic = voxelVariant{name: "atomic",
	supports: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notReduced(job); {
		case why != "":
			return why
		case gridWords(job) > ptx.AtomicThreads:
			return "more features than a block has threads"
		case job.Keys()*recordWords(job) > atomicTable:
			return "a table would be too large"
		}
		return ""
	},
	prefers: func(b *gpu, job *backend.VoxelizeJob) string {
		switch {
		case atomicWork(job) > b.sms*atomicValues:
			return "many points: bringing them together takes less"
		case turns(job) > atomicTurns:
			return "many features: bringing points together takes less"
		}
		return ""
	},
	layout: func(c *voxelChain) {
		job := c.job
		table := ptx.VoxelAtomicTable{Records: c.part(4 * job.Keys() * recordWords(job)), State: c.state, RecordWords: uint32(recordWords(job)), FirstSum: uint32(firstSum(job))}
		c.zeroed = c.size
		table.PointsIn, table.Cells = c.part(4*job.N), c.part(4*min(job.N, job.Keys()))
		values, blocks := c.values(ptx.AtomicThreads), (job.N+ptx.AtomicThreads-1)/ptx.AtomicThreads
		c.fill("voxel_fill", voxelFillArgs{out: job.Grid, value: emptyWord(job)})
		c.add("voxel_atomic_max", blocks, ptx.AtomicThreads, &ptx.VoxelAtomicMaxParams{Values: values, Grid: c.grid(), Table: table})
		sums := &ptx.VoxelAtomicSumParams{Values: values, Table: table}
		if summed(job) {
			c.add("voxel_atomic_sum", blocks, ptx.AtomicThreads, sums)
		}
		c.add("voxel_atomic_finish", c.walk(min(job.N, job.Keys()), ptx.AtomicThreads/gridWords(job)), ptx.AtomicThreads, sums)
	},
}

// summed reports whether values are added up.
func summed(job *backend.VoxelizeJob) bool {
	return job.Reduce == backend.ReduceSum || job.Reduce == backend.ReduceMean
}

// firstSum is the word of a record at which sums begin, an even one behind the count and the best of each feature.
func firstSum(job *backend.VoxelizeJob) int { return (job.F + 2) &^ 1 }

// recordWords is how many words the table has for a cell.
func recordWords(job *backend.VoxelizeJob) int {
	switch {
	case !job.Reduce.OfFeatures():
		return 1
	case summed(job):
		return (firstSum(job) + 2*job.F + 3) &^ 3
	}
	return firstSum(job)
}

// turns is how often a block goes over its points, four features at a time: once for the best of each cell, and once more for sums.
func turns(job *backend.VoxelizeJob) int {
	n := (job.F + 3) / 4
	if summed(job) {
		return 2 * n
	}
	return n
}

// atomicWork is how many points there are, and features of them. For the least and the greatest a point has one word each, and three are worth four.
func atomicWork(job *backend.VoxelizeJob) int {
	n := job.N * (1 + job.F)
	if job.Reduce == backend.ReduceMin || job.Reduce == backend.ReduceMax {
		return (3*n + 3) / 4
	}
	return n
}
