package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// Measured for RATIONALE, "How are rows made that are no whole multiple of 16 bytes?" and "Why do some large jobs of units have small blocks?".
const (
	wideOdd   = 32 // elements of a row from which on it is made by 16 bytes of dst
	oddEach   = 16 // chunks of an odd row that a thread moves at most
	oddTurn   = 4  // units that it moves at once: a block of more makes them in turns
	oddBlocks = 24 // blocks a multiprocessor, from which on a block makes no more than that of units of rows that are far apart
	oddApart  = 3  // samples that a target moves on there
)

// fuseOdd makes streams whose rows are of any width, at any place: of units of 8 or 4 bytes, or of elements of 2 (plain_odd.cuh), and fuseOddFew up to
// four of them with a smaller parameter: with inputs ready 256 x 500 onto 250 x 3 took 1.11 to 1.26 us, and 1.40 by fuse_odd. A Resample of such rows is a Fuse of one stream.
var (
	fuseOdd    = fuseOddVariant("fuse_odd", ptx.MaxStreams)
	fuseOddFew = fuseOddVariant("fuse_odd_few", ptx.FewStreams)
)

func fuseOddVariant(name string, most int) *variant {
	return &variant{
		name:  name,
		takes: upTo(most, notOdd),
		free:  tuned.Freedom{Tile: tiles},
		model: func(b *gpu, j *backend.FuseJob) tuned.Choice {
			c := tuned.Choice{Tile: ptx.MostTile, Check: checkShare}
			if len(j.Parts) == 1 {
				c.Check = oneTurn(threads, j.Clock)
			}
			return c
		},
		cut: func(b *gpu, j *backend.FuseJob, c tuned.Choice) (list []shape) {
			for m, l := range layoutsOf(j) {
				r := j.Parts[m].ResampleJob
				s := b.cutOdd(j, r, l)
				s.tile = min(s.tile, c.Tile)
				list = append(list, b.grid(r, c.Check, s))
			}
			return list
		},
		params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
			out := &ptx.OddStreams{}
			out.Plain = *p.plainStreams(j, s, func(m int, l layout, f *ptx.PlainTaskFlags, stream *ptx.PlainStream) {
				form, unit := oddForm(j.Parts[m].D, l)
				f.Unit, f.RunOn = uint32(unit), len(j.Parts) == 1 && first(j).DstStep == j.D
				out.D[m], out.Form[m] = uint32(j.Parts[m].D), form
				if s[m].tile == 1 {
					stream.ChunkMagic = 0 // a block of one target divides by none
				}
			})
			if most > ptx.FewStreams {
				return out, nil
			}
			few := &ptx.FewOddStreams{Plain: *fewOf(&out.Plain)}
			copy(few.D[:], out.D[:])
			copy(few.Form[:], out.Form[:])
			return few, nil
		},
	}
}

// notOdd says why rows cannot be numbered by the kernels of odd rows.
func notOdd(b *gpu, j *backend.FuseJob) string {
	if why := notPlain(b, j); why != "" {
		return why
	}
	for _, p := range j.Parts {
		if size := p.Src.DType().Size(); p.D*size > math.MaxInt32/ptx.MostTile || !unitsFit(p.ResampleJob, size) {
			return "rows of megabytes, or more elements than 32 bits can number"
		}
	}
	return ""
}

// oddForm is how rows of d elements are made, and the log2 of the bytes that their source's places are counted by.
func oddForm(d int, l layout) (form uint32, unit int) {
	switch unit = min(l.store, 3); {
	case unit >= 2:
		return ptx.OddUnits, unit
	case d >= wideOdd:
		return ptx.OddWide, 1
	case d <= ptx.MostOwn:
		return ptx.OddOwn, 1
	}
	return ptx.OddNarrow, 1
}

// cutOdd cuts a stream of odd rows: blocks of up to mostTile targets and oddEach chunks a thread, of fewer targets where that would not fill the device as
// often as they should, but of a warp of them if they are not too wide.
func (b *gpu) cutOdd(j *backend.FuseJob, r *backend.ResampleJob, l layout) shape {
	form, unit := oddForm(r.D, l)
	full, rows := fills(ready(j))*b.sms, j.Rows()*len(j.Parts)
	s := shape{threads: threads}
	switch form {
	case ptx.OddUnits:
		s.chunks = r.Src.DType().Size() * r.D >> unit
	case ptx.OddWide:
		s.chunks = r.D / 8
	default:
		s.chunks = r.D/2 + 1
	}
	s.tile = min(ptx.MostTile, max(1, oddEach*threads/s.chunks))
	// RATIONALE, Why do some large jobs of units have small blocks?
	if once := oddTurn * threads / s.chunks; form == ptx.OddUnits && pace(r) >= oddApart && once >= warp && rows >= once*b.sms*oddBlocks {
		s.tile = min(ptx.MostTile, once)
	}
	if form == ptx.OddOwn && r.D > ptx.MostOwn/2 { // what a block keeps of them in shared memory; whole 16 bytes of dst
		s.tile = ptx.MostTile / 2
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
