package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Measured in bench/history/unaligned-rows.md.
const (
	minWideRow            = 32 // elements of a row from which on it is made by 16 bytes of dst
	maxUnalignedChunks    = 16 // chunks of an unaligned row that a thread moves at most
	unalignedUnitsPerTurn = 4  // units that it moves at once: a block of more makes them in turns
	smallTileBlocks       = 24 // blocks a multiprocessor, from which on a block makes no more than that of units of rows that are far apart
	smallTileStride       = 3  // samples that a target moves on there
)

// fuseUnaligned makes streams whose rows are of any width, at any place: of units of 8 or 4 bytes, or of elements of 2 (unaligned.cuh), and fuseUnalignedFew up to
// four of them with a smaller parameter: with inputs ready 256 x 500 onto 250 x 3 took 1.11 to 1.26 us, and 1.40 by fuse_unaligned. A Resample of such rows is a Fuse of one stream.
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
					stream.ChunkMagic = 0 // a block of one target divides by none
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

// notUnaligned says why rows cannot be numbered by the kernels of unaligned rows.
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

// unalignedForm is how rows of d elements are made, and the log2 of the bytes that their source's places are counted by.
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

// configureUnaligned divides a stream of unaligned rows: blocks of up to MaxTile targets and maxUnalignedChunks chunks a thread, of fewer targets where that would not fill the device as
// often as they should, but of a warp of them if they are not too wide.
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
	// bench/history/unaligned-rows.md has the measurements.
	if once := unalignedUnitsPerTurn * threads / s.chunks; form == ptx.UnalignedUnits && samplesPerTarget(r) >= smallTileStride && once >= warp && rows >= once*b.sms*smallTileBlocks {
		s.tile = min(ptx.MaxTile, once)
	}
	if form == ptx.UnalignedShort && r.D > ptx.MaxShortRow/2 { // what a block keeps of them in shared memory; whole 16 bytes of dst
		s.tile = ptx.MaxTile / 2
	}
	for s.tile > warp && rows < s.tile*full {
		s.tile /= 2
	}
	// A block divides by chunks exactly for numbers below 2^20 by chunks.
	for s.tile > 1 && (s.tile*s.chunks > threads && rows < s.tile*full || s.tile*s.chunks*s.chunks >= 1<<20) {
		s.tile = (s.tile + 1) / 2
	}
	return s
}
