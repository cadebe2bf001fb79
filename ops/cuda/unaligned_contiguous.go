package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Measured in bench/history/unaligned-rows.md.
const (
	minContiguousRow         = 17      // elements per row; most chunks of shorter rows cross a border: with 9, 5.4 us, and 3.7 by fuse_unaligned
	minUnalignedRow          = 9       // fewest elements per row in unaligned_contiguous.cuh
	maxUnalignedRow          = 1 << 14 // most elements per row for which a block's division is exact
	maxChunksPerThread       = 8       // maximum chunks per thread
	maxChunksPerThreadSparse = 5       // the same if targets share no samples and inputs are not ready: small blocks overlap their waits for memory
	sparseStride             = 0.9     // samples per target that make targets sparse
	tileStep                 = 8       // targets per block are a multiple of this
	residentBlocks           = 9       // resident blocks per multiprocessor, as in fast.cuh
	busyBlocks               = 8       // blocks that keep a multiprocessor busy
)

var tiles = []int{8, 16, warp, 64, 128, 256, ptx.MaxTile}

// resampleUnaligned handles unaligned rows of 2-byte elements if the output has no gaps. It writes dst as one contiguous run of
// elements (unaligned_contiguous.cuh). Example: 256 x 500 onto 250 x 75 took 15.0 us by single elements and takes 11.1.
var resampleUnaligned = &variant{
	name: "resample_unaligned",
	supports: func(b *gpu, j *backend.FuseJob) string {
		if why := notUnaligned(b, j); why != "" {
			return why
		}
		if r := first(j); r.Src.DType().Size() != 2 || r.DstStep != r.D || r.D < minUnalignedRow || r.D > maxUnalignedRow {
			return "elements that are not of 2 bytes, rows apart from each other, or too short or long ones"
		}
		return ""
	},
	prefers: func(b *gpu, j *backend.FuseJob) string {
		if l := layoutsOf(j)[0]; l.store > 1 || j.D < minContiguousRow {
			return "rows of units of 4 bytes or more, or short ones"
		}
		return ""
	},
	tunable: tuned.SearchSpace{Tile: tiles, Prefetch: true},
	heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
		return tuned.Policy{Tile: ptx.MaxTile, Check: checkPerTurn(threads, j.Clock), Prefetch: true}
	},
	configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape {
		return []shape{b.configureContiguous(first(j), c)}
	},
	params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
		magic := uint32((1<<32 + j.D - 1) / j.D) // the high half of a product with it is exact for numbers below 2^32 / d
		return &ptx.UnalignedParams{Job: p.fastParams(j, s[0], 1, 1, chunkMagic(1)), D: uint32(j.D), DMagic: magic}, nil
	},
}

// configureContiguous divides rows for unaligned_contiguous.cuh. The number of targets per block is a multiple of 8, so that blocks
// start at whole chunks if dst does. It takes the number with the lowest estimated time. A thread finds one target's position and moves
// at most maxChunksPerThread chunks, or maxChunksPerThreadSparse if targets are sparse.
func (b *gpu) configureContiguous(j *backend.ResampleJob, c tuned.Policy) shape {
	s := shape{threads: threads, chunks: (2*j.D + chunk - 1) / chunk}
	chunksPerThread := maxChunksPerThread
	if samplesPerTarget(j) >= sparseStride && j.Launch != backend.LaunchInputsReady {
		chunksPerThread = maxChunksPerThreadSparse
	}
	most := chunksPerThread * threads * chunk / (2 * j.D)
	least := math.MaxInt
	for tile := min(tileStep, max(1, most/2)); tile <= min(threads, max(tileStep, most)); tile = (tile/tileStep + 1) * tileStep {
		if time := b.estimatedTime(j, tile); time < least {
			s.tile, least = tile, time
		}
	}
	s.tile = min(s.tile, c.Tile)
	s.prefetch = c.Prefetch && s.tile >= minPrefetchTargets && samplesPerTarget(j) <= maxPrefetchStride && sideBySide(j)
	return b.grid(j, c.Check, s)
}

// estimatedTime estimates the run time for blocks with tile targets, in warp instructions per multiprocessor. Fewer than busyBlocks
// blocks take as long as busyBlocks, because a warp waits for its own instructions. If inputs are not ready, each wave of blocks also
// waits for memory.
func (b *gpu) estimatedTime(j *backend.ResampleJob, tile int) int {
	times := func(n, of int) int { return (n + of - 1) / of }
	warps := func(n int) int { return times(n, warp) }
	chunks := times(2*tile*j.D, chunk)
	block := 480 + 160*warps(tile) + 110*warps(chunks) + 260*warps(tile+1)
	blocks := times(j.Rows(), tile)
	time := max(busyBlocks, times(blocks, b.sms)) * block
	if j.Launch == backend.LaunchInputsReady {
		return time
	}
	return time + times(blocks, b.sms*residentBlocks)*(4000+1500*times(chunks, 2*threads))
}
