package cuda

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Limits for a row in thread_per_row.cuh, and for the rows that one warp copies. They were measured in bench/history/thread-per-row.md.
const (
	maxRowBytes    = 124      // bytes: rows of 128 bytes would put all lanes in one bank of shared memory
	maxCopyBytes   = 6144     // bytes for 32 targets in rows of up to narrowRowBytes
	narrowRowBytes = 64       // wider rows may copy twice maxCopyBytes
	maxSharedBytes = 48 << 10 // per block

	twoWarpBlocks    = 8            // blocks of two warps that a multiprocessor holds
	maxNarrowTargets = 5 * 4 * warp // targets per multiprocessor in blocks of four warps, for rows with one interpolation
	maxNarrowStride  = 4            // samples per target for such rows, because all samples are copied to shared memory
)

// resampleThreadPerRow handles short rows without gaps, one row per lane (thread_per_row.cuh). A row consists of pieces with different
// interpolations: 256 x 500 onto 250 x 22 with a quaternion took 14.9 us by resample_channels and takes 8.1. It also handles a few
// narrow rows with one interpolation: 256 x 500 onto 250 x 3 took 3.4 by fuse_unaligned and takes 3.0.
var resampleThreadPerRow = &variant{
	name:     "resample_thread_per_row",
	supports: perStream(notThreadPerRow),
	prefers: func(b *gpu, j *backend.FuseJob) string {
		switch _, one := uniform(first(j).Channels); {
		case !one:
			return ""
		case j.D > ptx.MaxShortRow:
			return fmt.Sprintf("one interpolation, and rows of more than %d features", ptx.MaxShortRow)
		case inputsReady(j):
			return "one interpolation, and inputs that are ready"
		case j.Rows() > b.sms*maxNarrowTargets || samplesPerTarget(first(j)) > maxNarrowStride:
			return "one interpolation, and many rows, or samples far apart"
		}
		return ""
	},
	// Tile is the target count per block: 32, shared by all warps in the block, or one target per thread.
	tunable: tuned.SearchSpace{Tile: []int{warp, 2 * warp, 4 * warp}},
	heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
		c := tuned.Policy{Tile: b.threadPerRowTile(j), Check: checkPerBlock}
		c.Check = checkPerTurn(max(c.Tile, 2*warp), j.Clock)
		return c
	},
	configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape {
		r, s := first(j), shape{threads: c.Tile, tile: c.Tile, chunks: 1}
		bytes := sharedLayoutOf(r).bytes
		for s.tile > warp && s.tile/warp*bytes > maxSharedBytes {
			s.tile /= 2
		}
		if s.threads = s.tile; s.tile == warp && needsDoubleWeights(rowPieces(r)) && len(rowPieces(r)) > 1 {
			s.threads = 2 * warp // a second warp for the same targets if a piece is slow
		}
		s.shared = s.tile / warp * bytes
		return []shape{b.grid(r, c.Check, s)}
	},
	params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
		return p.threadPerRowParams(j, s[0]), nil
	},
}

// threadPerRowTile returns the targets per block for the device's size. It is one warp of targets if a second warp speeds them up and
// the device holds all such blocks at once. Otherwise it is up to four warps of targets, reduced until each multiprocessor has two
// blocks, or one if inputs are ready.
func (b *gpu) threadPerRowTile(j *backend.FuseJob) int {
	list := rowPieces(first(j))
	if !inputsReady(j) && len(list) > 1 && needsDoubleWeights(list) && j.Rows() <= warp*twoWarpBlocks*b.sms {
		return warp
	}
	tile := 4 * warp
	for tile > warp && j.Rows() < tile*b.sms*min(targetWaves(inputsReady(j)), 2) {
		tile /= 2
	}
	return tile
}

// notThreadPerRow returns the reason why thread_per_row.cuh cannot handle a stream; "" if it can. The source, targets and outputs must
// have no gaps, rows must be short, and a warp must be able to copy the rows that evenly spaced targets need.
func notThreadPerRow(j *backend.ResampleJob) string {
	_, gap := j.MaxGap.Get()
	_, tolerance := j.Tolerance.Get()
	if why := notRegular(j); why != "" {
		return why
	}
	row, copied := j.D*j.Src.DType().Size(), copiedRows(j)
	switch {
	case gap || tolerance:
		return "a limit on gaps, or a tolerance"
	case j.Edge != backend.EdgeClamp:
		return "ends that are not held"
	case j.S < minSamples || j.T < 2 || j.B*j.S > math.MaxInt32 || pointer(j.Src)%chunk != 0:
		return "few samples or targets, or a source that is not aligned"
	case j.SrcStep != j.D || j.DstStep != j.D || !dense(j.Src, j.SrcBatch, j.S*j.D, j.B) || !denseOutputs(j) || j.ValidStep != 1 || j.AgeStep != 1:
		return "rows that are apart from each other"
	case row > maxRowBytes || row <= narrowRowBytes && copied*row > maxCopyBytes || copied*row > 2*maxCopyBytes:
		return fmt.Sprintf("rows of more than %d bytes, or too many samples between targets", maxRowBytes)
	case rowPieces(j) == nil:
		return fmt.Sprintf("interpolations that it does not have, or more than %d pieces", ptx.MaxPieces)
	}
	return ""
}

// rowPieces returns the pieces of a stream's rows, slowest first. It returns nil if thread_per_row.cuh lacks an interpolation or there
// are too many pieces.
func rowPieces(j *backend.ResampleJob) []ptx.Piece {
	size := j.Src.DType().Size()
	var list []ptx.Piece
	for _, c := range j.Channels {
		for lo := c.Lo; lo < c.Hi; {
			n := 4
			switch {
			case pieceCost(uint16(c.Interp)) < 0:
				return nil
			case c.Interp == backend.InterpAngle && c.Hi-lo >= 6:
				n = 6
			case c.Interp == backend.InterpAngle:
				n = 2
			}
			n = min(n, c.Hi-lo)
			list = append(list, ptx.Piece{Period: math.Float64bits(c.Period), At: uint32(lo * size), Interpolation: uint16(c.Interp), N: uint16(n)})
			lo += n
		}
	}
	if len(list) > ptx.MaxPieces {
		return nil
	}
	slices.SortStableFunc(list, func(a, b ptx.Piece) int { return pieceCost(b.Interpolation) - pieceCost(a.Interpolation) })
	return list
}

// copiedRows counts the samples that a warp's targets need: 1.3 times the number for even spacing, plus neighbours, plus
// extra samples at the ends of rows.
func copiedRows(j *backend.ResampleJob) int {
	return int(1.3*(warp-1)*samplesPerTarget(j)) + 6 + 4*((warp-1)/j.T+1)
}

// pieceCost ranks interpolations by the time that a piece takes. It is negative if thread_per_row.cuh lacks the interpolation.
func pieceCost(kind uint16) int {
	switch kind {
	case ptx.InterpolationSlerp:
		return 2
	case ptx.InterpolationAngle:
		return 1
	case ptx.InterpolationLinear, ptx.InterpolationPrevious, ptx.InterpolationNext, ptx.InterpolationNearest:
		return 0
	}
	return -1
}

// needsDoubleWeights reports whether a piece computes its weights in float64. The list is sorted slowest first.
func needsDoubleWeights(list []ptx.Piece) bool { return pieceCost(list[0].Interpolation) > 0 }

// sharedLayout is the shared memory for 32 targets.
type sharedLayout struct {
	rows       int // samples that are copied
	out, bytes int // byte offset of the output rows, and total bytes
}

func sharedLayoutOf(j *backend.ResampleJob) sharedLayout {
	row := j.D * j.Src.DType().Size()
	r := sharedLayout{rows: copiedRows(j)}
	r.out = (max(r.rows*row+2*(chunk-1), 2*warp*row) + chunk - 1) &^ (chunk - 1)
	r.bytes = r.out + warp*row
	return r
}

func (p *plan) threadPerRowParams(j *backend.FuseJob, s shape) *ptx.ThreadPerRowParams {
	r := first(j)
	magic, _ := divider(r.T, r.Rows())
	row, samples, space, list := r.D*r.Src.DType().Size(), r.B*r.S, sharedLayoutOf(r), rowPieces(r)
	f := fastFlags(r, s)
	f.Interpolation, f.HasMasks = 0, false
	out := &ptx.ThreadPerRowParams{
		Src: address(r.Src), Times: address(r.SrcTimes), Targets: address(j.Targets.Times), Dst: address(j.Dst), Valid: address(j.Valid), Age: address(j.Age),
		Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Start: startBits(j.Targets, j.Clock), Rate: j.Targets.Rate, TimesBatch: uint32(r.TimesBatch),
		TargetBatch: uint32(r.TargetBatch), Total: uint32(r.Rows()), Timestamps: uint32(r.Timestamps()), TimestampsPerBlock: timestampsPerBlock(r, s.blocks), S: uint32(r.S), T: uint32(r.T),
		TMagic: magic, SamplesPerTarget: samplesPerTarget(r), RowsPerTimestamp: 1 / float32(r.S), Flags: f.Word() | ptx.ThreadPerRowParamsFlags{DoubleWeights: needsDoubleWeights(list)}.Word(), Tile: uint32(s.tile),
		Row: uint32(row), CopyCapacity: uint32(space.rows), GroupBytes: uint32(space.bytes), OutAt: uint32(space.out), Samples: uint32(samples),
		SafeSamples: uint32(max(0, samples-(chunk+row-2)/row)), Pieces: uint32(len(list)),
	}
	copy(out.PieceOf[:], list)
	return out
}
