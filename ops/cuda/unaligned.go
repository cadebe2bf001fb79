package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Measured in bench/history/unaligned-rows.md.
const (
	minWideRow            = 32 // elements per row from which dst is written in 16-byte chunks
	maxUnalignedChunks    = 16 // maximum chunks per thread in an unaligned row
	unalignedUnitsPerTurn = 4  // units that a thread moves per turn; larger blocks take several turns
	smallTileBlocks       = 24 // blocks per multiprocessor from which a block takes only one turn, if rows are far apart
	smallTileStride       = 3  // samples per target that make rows far apart
)

// fuseUnaligned handles streams with rows of any width at any address. It moves units of 8 or 4 bytes, or 2-byte elements
// (unaligned.cuh). fuseUnalignedFew handles up to four such streams with a smaller parameter: with ready inputs, 256 x 500 onto 250 x 3
// took 1.11 to 1.26 us, and 1.40 by fuse_unaligned. A Resample is a Fuse with one stream.
var (
	fuseUnaligned    = fuseUnalignedVariant("fuse_unaligned", ptx.MaxStreams)
	fuseUnalignedFew = fuseUnalignedVariant("fuse_unaligned_few", ptx.FewStreams)
)

func fuseUnalignedVariant(name string, most int) *variant {
	return &variant{
		name:     name,
		supports: upTo(most, notUnaligned),
		tunable:  tuned.SearchSpace{Tile: tiles},
		heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
			c := tuned.Policy{Tile: ptx.MaxTile, Check: checkPerBlock}
			if len(j.Parts) == 1 {
				c.Check = checkPerTurn(threads, j.Clock)
			}
			return c
		},
		configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) (list []shape) {
			for m, l := range layoutsOf(j) {
				r := j.Parts[m].ResampleJob
				s := b.configureUnaligned(j, r, l)
				s.tile = min(s.tile, c.Tile)
				list = append(list, b.grid(r, c.Check, s))
			}
			return list
		},
		params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
			out := &ptx.UnalignedStreams{}
			out.Fast = *p.fastStreams(j, s, func(m int, l layout, f *ptx.FastJobFlags, stream *ptx.FastStream) {
				form, unit := unalignedForm(j.Parts[m].D, l)
				f.Unit, f.Contiguous = uint32(unit), len(j.Parts) == 1 && first(j).DstStep == j.D
				out.D[m], out.Form[m] = uint32(j.Parts[m].D), form
				if s[m].tile == 1 {
					stream.ChunkMagic = 0 // a block with one target does not divide
				}
			})
			if most > ptx.FewStreams {
				return out, nil
			}
			few := &ptx.FewUnalignedStreams{Fast: *fewOf(&out.Fast)}
			copy(few.D[:], out.D[:])
			copy(few.Form[:], out.Form[:])
			return few, nil
		},
	}
}

// notUnaligned returns the reason why the kernels for unaligned rows cannot number a job's elements; "" if they can.
func notUnaligned(b *gpu, j *backend.FuseJob) string {
	if why := notFast(b, j); why != "" {
		return why
	}
	for _, p := range j.Parts {
		if size := p.Src.DType().Size(); p.D*size > math.MaxInt32/ptx.MaxTile || !unitsFit(p.ResampleJob, size) {
			return "rows of megabytes, or more elements than 32 bits can number"
		}
	}
	return ""
}

// unalignedForm returns the method for rows of d elements, and the log2 of the bytes in a unit of source positions.
func unalignedForm(d int, l layout) (form uint32, unit int) {
	switch unit = min(l.store, 3); {
	case unit >= 2:
		return ptx.UnalignedUnits, unit
	case d >= minWideRow:
		return ptx.UnalignedWide, 1
	case d <= ptx.MaxShortRow:
		return ptx.UnalignedShort, 1
	}
	return ptx.UnalignedNarrow, 1
}

// configureUnaligned divides a stream of unaligned rows into blocks of up to MaxTile targets and maxUnalignedChunks chunks per thread.
// If such blocks would not fill the device often enough, they get fewer targets, but at least a warp unless rows are too wide.
func (b *gpu) configureUnaligned(j *backend.FuseJob, r *backend.ResampleJob, l layout) shape {
	form, unit := unalignedForm(r.D, l)
	full, rows := targetWaves(inputsReady(j))*b.sms, j.Rows()*len(j.Parts)
	s := shape{threads: threads}
	switch form {
	case ptx.UnalignedUnits:
		s.chunks = r.Src.DType().Size() * r.D >> unit
	case ptx.UnalignedWide:
		s.chunks = r.D / 8
	default:
		s.chunks = r.D/2 + 1
	}
	s.tile = min(ptx.MaxTile, max(1, maxUnalignedChunks*threads/s.chunks))
	// The measurements are in bench/history/unaligned-rows.md.
	if once := unalignedUnitsPerTurn * threads / s.chunks; form == ptx.UnalignedUnits && samplesPerTarget(r) >= smallTileStride && once >= warp && rows >= once*b.sms*smallTileBlocks {
		s.tile = min(ptx.MaxTile, once)
	}
	if form == ptx.UnalignedShort && r.D > ptx.MaxShortRow/2 { // because such a block keeps dst in shared memory, in whole 16-byte chunks
		s.tile = ptx.MaxTile / 2
	}
	for s.tile > warp && rows < s.tile*full {
		s.tile /= 2
	}
	// A block divides by the number of chunks, which is exact only for numbers below 2^20 / chunks.
	for s.tile > 1 && (s.tile*s.chunks > threads && rows < s.tile*full || s.tile*s.chunks*s.chunks >= 1<<20) {
		s.tile = (s.tile + 1) / 2
	}
	return s
}
