package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Measured for RATIONALE, "Why have odd rows of two bytes a kernel of their own?".
const (
	leastRun   = 17      // elements of a row: of shorter ones most chunks would cross, 9 took 5.4 us for 3.7 by fuse_odd
	narrowRun  = 9       // that plain_run.cuh takes
	widestRun  = 1 << 14 // a block divides by them exactly
	runEach    = 8       // chunks that a thread moves at most
	runApart   = 5       // and in a launch by itself where no targets share samples: smaller blocks wait for memory at different times
	sharesNone = 0.9     // samples that a target moves on there
	even       = 8       // targets of a block, or a multiple
	runBlocks  = 9       // plain.cuh: resident
	busyBlocks = 8       // of those, as many as keep a multiprocessor busy
)

var tiles = []int{8, 16, warp, 64, 128, 256, ptx.MostTile}

// resampleRun makes odd rows of 2-byte elements, onto an output without gaps, as one run of elements (plain_run.cuh): 256 x 500 onto
// 250 x 75 took 15.0 us by single elements, and takes 11.1.
var resampleRun = &variant{
	name: "resample_run",
	takes: func(b *gpu, j *backend.FuseJob) string {
		if why := notOdd(b, j); why != "" {
			return why
		}
		if r := first(j); r.Src.DType().Size() != 2 || r.DstStep != r.D || r.D < narrowRun || r.D > widestRun {
			return "elements that are not of 2 bytes, rows apart from each other, or too short or long ones"
		}
		return ""
	},
	prefers: func(b *gpu, j *backend.FuseJob) string {
		if l := layoutsOf(j)[0]; l.store > 1 || j.D < leastRun {
			return "rows of units of 4 bytes or more, or short ones"
		}
		return ""
	},
	free: tuned.Freedom{Tile: tiles, Prefetch: true},
	model: func(b *gpu, j *backend.FuseJob) tuned.Choice {
		return tuned.Choice{Tile: ptx.MostTile, Check: oneTurn(threads, j.Clock), Prefetch: true}
	},
	cut: func(b *gpu, j *backend.FuseJob, c tuned.Choice) []shape { return []shape{b.cutRun(first(j), c)} },
	params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
		magic := uint32((1<<32 + j.D - 1) / j.D) // the high half of a product with it is exact for numbers below 2^32 / d
		return &ptx.RunParams{Job: p.plainParams(j, s[0], 1, 1, chunkMagic(1)), D: uint32(j.D), DMagic: magic}, nil
	},
}

// cutRun cuts rows for plain_run.cuh: of blocks of eights of targets, which begin at whole chunks if dst does, those for which the multiprocessor that has
// most of them is done first. A thread finds the place of one target, and moves runEach chunks at most, or runApart.
func (b *gpu) cutRun(j *backend.ResampleJob, c tuned.Choice) shape {
	s := shape{threads: threads, chunks: (2*j.D + chunk - 1) / chunk}
	each := runEach
	if pace(j) >= sharesNone && j.Launch != backend.LaunchInputsReady {
		each = runApart
	}
	most := each * threads * chunk / (2 * j.D)
	least := math.MaxInt
	for tile := min(even, max(1, most/2)); tile <= min(threads, max(even, most)); tile = (tile/even + 1) * even {
		if time := b.runTime(j, tile); time < least {
			s.tile, least = tile, time
		}
	}
	s.tile = min(s.tile, c.Tile)
	s.prefetch = c.Prefetch && s.tile >= leastPrefetch && pace(j) <= mostShared && sideBySide(j)
	return b.grid(j, c.Check, s)
}

// runTime is about how long blocks of so many targets take, in instructions of a multiprocessor's warps. A few blocks take as long as busyBlocks, since a warp waits for
// its own instructions. In launches by themselves memory is waited for each time that the device is full of blocks.
func (b *gpu) runTime(j *backend.ResampleJob, tile int) int {
	times := func(n, of int) int { return (n + of - 1) / of }
	warps := func(n int) int { return times(n, warp) }
	chunks := times(2*tile*j.D, chunk)
	block := 480 + 160*warps(tile) + 110*warps(chunks) + 260*warps(tile+1)
	blocks := times(j.Rows(), tile)
	time := max(busyBlocks, times(blocks, b.sms)) * block
	if j.Launch == backend.LaunchInputsReady {
		return time
	}
	return time + times(blocks, b.sms*runBlocks)*(4000+1500*times(chunks, 2*threads))
}
