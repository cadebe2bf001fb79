package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Measured in bench/history/voxelize-clouds.md.
const (
	atomicValues = 3 << 10 // limit for N x (1 + F) per multiprocessor; above it, grouping points is faster than atomics
	atomicTurns  = 6       // limit for turns per block; above it, grouping points is faster
	atomicTable  = 1 << 25 // limit for the words in the table
)

// voxelAtomic computes sums, means, extremes, and counts with an empty value, for few points. It uses atomics on a table as large as
// the grid. The table is all zero between runs.
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

// summed reports whether the reduction adds values.
func summed(job *backend.VoxelizeJob) bool {
	return job.Reduce == backend.ReduceSum || job.Reduce == backend.ReduceMean
}

// firstSum returns the index in a record at which sums begin. It is even, after the count and the best value of each feature.
func firstSum(job *backend.VoxelizeJob) int { return (job.F + 2) &^ 1 }

// recordWords returns the words per cell in the table.
func recordWords(job *backend.VoxelizeJob) int {
	switch {
	case !job.Reduce.OfFeatures():
		return 1
	case summed(job):
		return (firstSum(job) + 2*job.F + 3) &^ 3
	}
	return firstSum(job)
}

// turns returns how often a block goes over its points, four features at a time: once for each cell's best value, and once more for
// sums.
func turns(job *backend.VoxelizeJob) int {
	n := (job.F + 3) / 4
	if summed(job) {
		return 2 * n
	}
	return n
}

// atomicWork counts the points and feature values. For minima and maxima, which need one word per point, the number is
// reduced by a quarter.
func atomicWork(job *backend.VoxelizeJob) int {
	n := job.N * (1 + job.F)
	if job.Reduce == backend.ReduceMin || job.Reduce == backend.ReduceMax {
		return (3*n + 3) / 4
	}
	return n
}
