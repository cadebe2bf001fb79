package cuda

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// tallyPoints is how many points there must be for each multiprocessor: where the grid is large, and so are the points, atomics on it would wait for its
// memory. RATIONALE, "Which forms of Voxelize lost?": 20M points took 740 us by atomics, and 146 dealt out.
const tallyPoints = 1 << 15

// dealKeys is how many cells can be dealt out to buckets: of these each has 1 << 16, whose numbers take two bytes.
const dealKeys = 1 << 25

const (
	tallyTile   = ptx.TallyEach * ptx.DealThreads    // points of a block of voxel_deal
	tallyShared = 4 * (ptx.TallyPart + ptx.WarpSize) // bytes of one of voxel_tally, which takes more than voxel_deal's
)

// voxelTally counts large clouds in shared memory, of cells dealt out to buckets.
var voxelTally = voxelVariant{name: "tally",
	can: func(b *gpu, job *backend.VoxelizeJob) string {
		switch why := notCounted(job); {
		case why != "":
			return why
		case job.Reduce != backend.ReduceCount:
			return "occupancy"
		case job.Keys() > dealKeys:
			return "more cells than are dealt out"
		case pointer(job.Grid)%16 != 0:
			return "the grid is not aligned to 16 bytes"
		case b.shared < tallyShared:
			return "too little shared memory"
		}
		return ""
	},
	pays: func(b *gpu, job *backend.VoxelizeJob) string {
		if job.N < tallyPoints*b.sms {
			return "few points: atomics take less"
		}
		return ""
	},
	lay: func(c *voxelChain) {
		tiles := (c.job.N + tallyTile - 1) / tallyTile
		dealt, runs := c.part(2*tallyTile*tiles), c.part(4*ptx.Buckets*tiles)
		c.fill("voxel_fill", voxelFilling{}) // voxel_tally writes every cell
		c.add("voxel_deal", tiles, ptx.DealThreads, &ptx.VoxelDealParams{
			Cloud: c.cloud(tallyTile), Grid: c.grid(), Runs: runs, Dealt: dealt, State: c.state,
		}).shared = ptx.TallyDealShared
		parts := (cellsOfBucket(c.job, ptx.TallyBits) + ptx.TallyPart - 1) / ptx.TallyPart
		c.add("voxel_tally", ptx.Buckets*parts, ptx.TallyThreads, &ptx.VoxelTallyParams{
			Runs: runs, Dealt: dealt, Out: uint64(pointer(c.job.Grid)), Keys: uint64(c.job.Keys()), Tiles: uint32(tiles),
		}).shared = tallyShared
	},
}

// cellsOfBucket is how many cells a bucket may have, where 2^bits neighbouring ones are dealt out at a time.
func cellsOfBucket(job *backend.VoxelizeJob, bits int) int {
	all := ptx.Buckets << bits
	return (job.Keys() + all - 1) / all << bits
}
