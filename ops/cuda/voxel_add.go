package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// All of these are from RATIONALE, "Why are few points added by atomics all the same?".
const (
	addValues = 3 << 10 // points and features of them for each multiprocessor, up to which atomics take less than bringing points together
	addTurns  = 6       // of a block: of more, bringing points together takes less
	addTable  = 1 << 25 // words of the table
)

// voxelAdd makes sums, means, extremes, and counts beside an empty value, of few points, by atomics on a table as large as the grid, which is 0 between
// runs.
var voxelAdd = voxelVariant{name: "add",
	can: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notReduced(job); {
		case why != "":
			return why
		case gridWords(job) > ptx.AddThreads:
			return "more features than a block has threads"
		case job.Keys()*recordWords(job) > addTable:
			return "a table would be too large"
		}
		return ""
	},
	pays: func(b *gpu, job *backend.VoxelizeJob) string {
		switch {
		case addedValues(job) > b.sms*addValues:
			return "many points: bringing them together takes less"
		case turns(job) > addTurns:
			return "many features: bringing points together takes less"
		}
		return ""
	},
	lay: func(c *voxelChain) {
		job := c.job
		table := ptx.VoxelAddTable{Records: c.part(4 * job.Keys() * recordWords(job)), State: c.state, RecordWords: uint32(recordWords(job)), FirstSum: uint32(firstSum(job))}
		c.zeroed = c.size
		table.PointsIn, table.Cells = c.part(4*job.N), c.part(4*min(job.N, job.Keys()))
		values, blocks := c.values(ptx.AddThreads), (job.N+ptx.AddThreads-1)/ptx.AddThreads
		c.fill("voxel_fill", voxelFilling{out: job.Grid, value: emptyWord(job)})
		c.add("voxel_best", blocks, ptx.AddThreads, &ptx.VoxelBestParams{Values: values, Grid: c.grid(), Table: table})
		sums := &ptx.VoxelSumsParams{Values: values, Table: table}
		if summed(job) {
			c.add("voxel_add", blocks, ptx.AddThreads, sums)
		}
		c.add("voxel_finish", c.walk(min(job.N, job.Keys()), ptx.AddThreads/gridWords(job)), ptx.AddThreads, sums)
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

// addedValues is how many points there are, and features of them. For the least and the greatest a point has one word each, and three are worth four.
func addedValues(job *backend.VoxelizeJob) int {
	n := job.N * (1 + job.F)
	if job.Reduce == backend.ReduceMin || job.Reduce == backend.ReduceMax {
		return (3*n + 3) / 4
	}
	return n
}
