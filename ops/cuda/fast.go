package cuda

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// notRegular returns the reason why fast.cuh cannot handle a stream with any interpolation; "" if it can. The kernels require rows of
// equal length, values with 16 or 32 bits that keep their dtype, ends that are clamped or filled, and timestamps without gaps between
// rows. They support no snapping, anchored clock, row selection or padding mask, and number targets and timestamps by 32 bits.
func notRegular(j *backend.ResampleJob) string {
	_, snap := j.Snap.Get()
	switch {
	case snap:
		return "targets that snap"
	case j.Src == nil || j.S == 0:
		return "a stream without samples"
	case j.SrcStarts != nil:
		return "a selection of rows"
	case j.Targets.Anchors != nil:
		return "an anchored clock"
	case j.Pad != nil:
		return "a mask of padding"
	case j.SrcLengths != nil || j.SrcOffsets != nil || j.DstLengths != nil || j.DstOffsets != nil:
		return "rows of lengths of their own"
	case j.Edge > backend.EdgeFill:
		return "ends that are neither clamped nor filled"
	case j.Src.DType() != j.Dst.DType():
		return "a conversion"
	case j.Src.DType().Size() > 4:
		return "values of 64 bits"
	case min(j.SrcBatch, j.SrcStep) < 0 || j.TimesRows != 1 && j.TimesBatch != j.S:
		return "rows in another order, or timestamps with gaps between them"
	case j.Rows() > math.MaxInt32 || j.Timestamps() > math.MaxInt32 || (j.B-1)*j.TargetBatch+j.T > math.MaxUint32:
		return "more targets or timestamps than 32 bits can number"
	}
	return ""
}

// notFast returns the reason why fast.cuh cannot handle a job; "" if it can. Its streams must be regular, without normalisation, and
// with one interpolation per stream that copies or blends samples. Outputs must have no gaps between batch rows.
func notFast(_ *gpu, j *backend.FuseJob) string {
	for _, p := range j.Parts {
		if why := notRegular(p.ResampleJob); why != "" {
			return why
		}
		if _, one := uniform(p.Channels); !one {
			return "interpolations that look at values, or several"
		}
		if p.Normalised() {
			return "normalised features"
		}
	}
	const far = math.MaxInt32 / ptx.MaxTile
	if r := first(j); !denseOutputs(r) || max(r.ValidStep, r.AgeStep) > math.MaxInt32 || r.DstStep < 0 || r.DstStep*r.Dst.DType().Size() > far {
		return "outputs with gaps between the rows of the batch, or far apart"
	}
	return ""
}

// layout describes the rows in a fast-path stream in the source and in dst.
type layout struct {
	unit, store int // log2 of the bytes, up to 16, that divide all row addresses in the source, and in dst
	units       int // units per target in the source
	column      int // bytes in a dst row before the stream
	fits        bool
}

func layoutsOf(j *backend.FuseJob) (list []layout) {
	column := 0
	for _, p := range j.Parts {
		size := p.Src.DType().Size()
		from := address(p.Src) | uint64(size*p.D) | uint64(size*p.SrcStep) | uint64(size*p.SrcBatch) | chunk
		to := address(j.Dst) | uint64(size*p.DstStep) | uint64(size*p.DstBatch) | uint64(column) | chunk
		l := layout{unit: bits.TrailingZeros64(from), column: column}
		l.store = min(l.unit, bits.TrailingZeros64(to))
		l.units = size * p.D >> l.unit
		l.fits = unitsFit(p.ResampleJob, 1<<l.unit)
		list = append(list, l)
		column += size * p.D
	}
	return list
}

// unitsFit reports whether 32 bits can number the units in a source, if a unit has the given number of bytes.
func unitsFit(j *backend.ResampleJob, unit int) bool {
	last := (j.B-1)*j.SrcBatch + (j.S-1)*j.SrcStep + j.D
	return last*j.Src.DType().Size()/unit <= math.MaxUint32
}

// notAligned returns the reason why rows do not consist of whole units; "" if they do. A Resample (single) requires units of 16 bytes
// and an output without gaps, a Fuse units of at least 4 bytes. A thread moves at most MaxUnitsPerThread units.
func notAligned(b *gpu, j *backend.FuseJob, single bool) string {
	if why := notFast(b, j); why != "" {
		return why
	}
	for _, l := range layoutsOf(j) {
		switch {
		case single && (l.store < 4 || first(j).DstStep != j.D):
			return "rows that are no multiples of 16 bytes, or apart from each other"
		case l.store < 2:
			return "widths or places that are no multiples of 4 bytes"
		case l.units > ptx.MaxUnitsPerThread*threads || !l.fits:
			return fmt.Sprintf("rows of more than %d units", ptx.MaxUnitsPerThread*threads)
		}
	}
	return ""
}

const (
	// A block with fewer targets does not prefetch, because the next block would request the same rows again.
	minPrefetchTargets = 4
	// Samples per target up to which rows are prefetched. Prefetching was slower with more samples, even if all were needed
	// (bench/README, Rows brought in early).
	maxPrefetchStride = 1.4
	// Bytes in a memory fetch. If targets skip fewer bytes, a fused stream reads every row anyway.
	sector = 32
)

var fastTunable = tuned.SearchSpace{ItemsPerThread: []int{1, 2, ptx.MaxUnitsPerThread}, Prefetch: true}

// resampleFast handles rows that consist of whole 16-byte units, if the output has no gaps (resample_fast).
var resampleFast = &variant{
	name:     "resample_fast",
	supports: func(b *gpu, j *backend.FuseJob) string { return notAligned(b, j, true) },
	tunable:  fastTunable,
	heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
		return tuned.Policy{ItemsPerThread: b.unitsPerThreadFor(j.Rows()*layoutsOf(j)[0].units, inputsReady(j)), Check: checkPerTurn(threads, j.Clock), Prefetch: true}
	},
	configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape {
		r := first(j)
		return []shape{b.configureAligned(r, c, layoutsOf(j)[0].units, samplesPerTarget(r) <= maxPrefetchStride)}
	},
	params: alignedParams,
}

func alignedParams(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
	params := p.fastParams(j, s[0], layoutsOf(j)[0].unit, s[0].chunks, chunkMagic(s[0].chunks))
	return &params, nil
}

// fuseFast handles streams that consist of 16-, 8- or 4-byte units (fuse_fast). fuseFastFew handles up to four such streams with a
// smaller parameter, so that launches with ready inputs follow each other faster: 4 rows of three streams took 0.88 us instead of 1.10.
// A Resample is a Fuse with one stream.
var (
	fuseFast    = fuseFastVariant("fuse_fast", ptx.MaxStreams)
	fuseFastFew = fuseFastVariant("fuse_fast_few", ptx.FewStreams)
)

func fuseFastVariant(name string, most int) *variant {
	return &variant{
		name:     name,
		supports: upTo(most, func(b *gpu, j *backend.FuseJob) string { return notAligned(b, j, false) }),
		// A thread has at most MaxUnitsPerThread units. With many small units, a block therefore has few targets, and each target costs
		// a search. Example: three streams with 317, 1 and 201 float32 features took 32.1 us, and 16.8 by fuse_unaligned
		// (bench/history/unaligned-rows.md).
		prefers: func(b *gpu, j *backend.FuseJob) string {
			for _, l := range layoutsOf(j) {
				if l.unit < 4 && len(j.Parts) == 1 && inputsReady(j) {
					return "one stream of small units, its inputs ready" // 256 x 500 onto 250 x 14 took 2.71 us, and 2.37 by fuse_unaligned
				}
				if l.unit < 4 && l.units > maxSmallUnits {
					return fmt.Sprintf("more than %d units of less than 16 bytes a target", maxSmallUnits)
				}
			}
			return ""
		},
		tunable: fastTunable,
		heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
			// Streams with many timestamps and narrow rows have few blocks. If the device holds all blocks at once, the blocks that
			// check timestamps end last (bench/history/fuse.md).
			c := tuned.Policy{ItemsPerThread: b.unitsPerThreadFor(j.Rows()*unitsOf(j), inputsReady(j)), Check: checkPerBlock / 2, Prefetch: true}
			if c.ItemsPerThread < pieces {
				c.ItemsPerThread, c.Check = 2, checkPerBlock/4
			}
			return c
		},
		configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) (list []shape) {
			layouts, widest := layoutsOf(j), 0
			for _, l := range layouts {
				widest = max(widest, l.units)
			}
			for m, p := range j.Parts {
				policy, units := c, layouts[m].units
				// A narrow stream would have few blocks.
				for units < widest && policy.ItemsPerThread > 1 && 2*p.Rows()*units < policy.ItemsPerThread*threads*b.sms {
					policy.ItemsPerThread /= 2
				}
				list = append(list, b.configureAligned(p.ResampleJob, policy, units, (samplesPerTarget(p.ResampleJob)-2)*float32(p.D*p.Src.DType().Size()) < sector))
			}
			return list
		},
		params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
			all := alignedStreams(p, j, s)
			if most > ptx.FewStreams {
				return all, nil
			}
			return fewOf(all), nil
		},
	}
}

// fewOf copies the parameter for up to four streams to the smaller type.
func fewOf(all *ptx.FastStreams) *ptx.FewFastStreams {
	few := &ptx.FewFastStreams{Head: all.Head, Rest: all.Rest}
	copy(few.FirstBlock[:], all.FirstBlock[:])
	copy(few.Stream[:], all.Stream[:])
	return few
}

func alignedStreams(p *plan, j *backend.FuseJob, s []shape) *ptx.FastStreams {
	return p.fastStreams(j, s, func(_ int, l layout, f *ptx.FastJobFlags, _ *ptx.FastStream) {
		f.Unit, f.Store = uint32(l.unit), uint32(l.store)
	})
}

// maxSmallUnits limits the units per target for fuse_fast if units have less than 16 bytes.
const maxSmallUnits = 32

// unitsOf returns the units per target, summed over all streams.
func unitsOf(j *backend.FuseJob) (n int) {
	for _, l := range layoutsOf(j) {
		n += l.units
	}
	return n
}

// configureAligned divides a stream of whole units into blocks. If a block would not hold one target, each thread moves more units than
// the policy requests.
func (b *gpu) configureAligned(j *backend.ResampleJob, c tuned.Policy, units int, near bool) shape {
	s := shape{threads: threads, chunks: units, unitsPerThread: c.ItemsPerThread}
	for s.unitsPerThread < ptx.MaxUnitsPerThread && units > s.unitsPerThread*threads {
		s.unitsPerThread *= 2
	}
	s.tile = s.unitsPerThread * threads / units
	s.prefetch = c.Prefetch && near && s.tile >= minPrefetchTargets && sideBySide(j)
	return b.grid(j, c.Check, s)
}

// sideBySide reports whether a stream's source has no gaps and enough samples to predict which of them a target needs.
func sideBySide(j *backend.ResampleJob) bool {
	return j.S > 1 && j.T > 1 && j.D == j.SrcStep && (j.B == 1 || j.SrcBatch == j.S*j.SrcStep)
}

// fastFlags returns the flags for a fast-path stream, in the encoding that fast.cuh reads.
func fastFlags(j *backend.ResampleJob, s shape) ptx.FastJobFlags {
	kind, _ := uniform(j.Channels)
	_, gap := j.MaxGap.Get()
	_, tolerance := j.Tolerance.Get()
	_, shift := divider(j.T, j.Rows())
	return ptx.FastJobFlags{
		Clock: clockCode[j.ClockType()], Interpolation: uint32(kind), UnitsPerThread: uint32(s.unitsPerThread), Check: j.Check, Dense: pointer(j.SrcTimes)%chunk == 0,
		Dtype: dtypeCode[j.Src.DType()], TShift: shift, HasGap: gap, HasTolerance: tolerance, FillGaps: j.FillGaps, FillEnds: j.Edge == backend.EdgeFill,
		LinearUnlimited: kind == backend.InterpLinear && !gap && !tolerance, HasMasks: j.Valid != nil || j.Age != nil, Prefetches: s.prefetch, Ready: j.Launch == backend.LaunchInputsReady,
	}
}

// fastParams returns the parameter for the kernels in resample_fast.cu. Source positions are in units of 1 << unit bytes.
func (p *plan) fastParams(j *backend.FuseJob, s shape, unit, chunks int, chunkMagic uint32) ptx.FastParams {
	r := first(j)
	size := r.Src.DType().Size()
	magic, _ := divider(r.T, r.Rows())
	f := fastFlags(r, s)
	f.Unit = uint32(unit)
	return ptx.FastParams{
		Src: address(r.Src), Times: address(r.SrcTimes), Targets: address(j.Targets.Times), Dst: address(j.Dst), Valid: address(j.Valid), Age: address(j.Age),
		Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Flags: f.Word(),
		Tile: uint32(s.tile), Chunks: uint32(chunks), ChunkMagic: chunkMagic, Total: uint32(r.Rows()), TMagic: magic, T: uint32(r.T), S: uint32(r.S), SamplesPerTarget: samplesPerTarget(r),
		TimesBatch: uint32(r.TimesBatch), TargetsBatch: uint32(r.TargetBatch), SrcBatch: uint32(size * r.SrcBatch >> unit), SrcStep: uint32(size * r.SrcStep >> unit),
		DstStep: uint32(size * r.DstStep), TimestampsPerBlock: timestampsPerBlock(r, s.blocks), Timestamps: uint32(r.Timestamps()), RowsPerTimestamp: 1 / float32(r.S),
		MaxGap: gapBits(r), Tolerance: limitBits(r.Tolerance, j.Clock), Fill: fillWord(r), Start: startBits(j.Targets, j.Clock), Rate: j.Targets.Rate,
	}
}

// fastStreams returns the parameter for the kernels in fuse_fast.cu. It calls own for each stream to fill in the fields that differ
// between the kernels.
func (p *plan) fastStreams(j *backend.FuseJob, shapes []shape, own func(m int, l layout, f *ptx.FastJobFlags, out *ptx.FastStream)) *ptx.FastStreams {
	r := first(j)
	size := j.Dst.DType().Size()
	magic, _ := divider(j.T, j.Rows())
	out := &ptx.FastStreams{
		Head: ptx.FastHead{Targets: address(j.Targets.Times), Dst: address(j.Dst), Total: uint32(j.Rows()), T: uint32(j.T), TMagic: magic, TargetsBatch: uint32(r.TargetBatch)},
		Rest: ptx.FastRest{Valid: address(j.Valid), Age: address(j.Age), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Start: startBits(j.Targets, j.Clock), Rate: j.Targets.Rate,
			DstStep: uint32(size * r.DstStep), ValidStep: uint32(r.ValidStep), AgeStep: uint32(r.AgeStep)},
	}
	out.FirstBlock = firstBlocks(shapes)
	layouts := layoutsOf(j)
	for m := range j.Parts {
		part, s, l := &j.Parts[m], shapes[m], layouts[m]
		f := fastFlags(part.ResampleJob, s)
		stream := ptx.FastStream{
			Src: address(part.Src), Times: address(part.SrcTimes), Offset: lengthBits(part.Offset, j.Clock),
			Tile: uint32(s.tile), Chunks: uint32(s.chunks), ChunkMagic: chunkMagic(s.chunks), SamplesPerTarget: samplesPerTarget(part.ResampleJob), S: uint32(part.S),
			TimesBatch: uint32(part.TimesBatch), TimestampsPerBlock: timestampsPerBlock(part.ResampleJob, s.blocks), Timestamps: uint32(part.Timestamps()), Column: uint32(l.column),
			RowsPerTimestamp: 1 / float32(part.S), Fill: fillWord(part.ResampleJob), MaxGap: gapBits(part.ResampleJob), Tolerance: limitBits(part.Tolerance, j.Clock),
		}
		own(m, l, &f, &stream)
		stream.SrcBatch, stream.SrcStep = uint32(size*part.SrcBatch>>f.Unit), uint32(size*part.SrcStep>>f.Unit)
		stream.Flags = f.Word()
		out.Stream[m] = stream
	}
	return out
}

// timestampsPerBlock counts the timestamps that each block checks, a multiple of 4.
func timestampsPerBlock(j *backend.ResampleJob, blocks int) uint32 {
	if !j.Check {
		return 0
	}
	return uint32((j.Timestamps()+blocks-1)/blocks+3) &^ 3
}

// gapBits returns the longest allowed bracket as bits in the clock's own type. Without a limit it is the type's maximum.
func gapBits(j *backend.ResampleJob) uint64 {
	clock := j.ClockType()
	_, set := j.MaxGap.Get()
	switch {
	case set:
		return limitBits(j.MaxGap, clock)
	case clock == tensor.I64:
		return math.MaxInt64
	case clock == tensor.F64:
		return math.Float64bits(math.Inf(1))
	}
	return uint64(math.Float32bits(float32(math.Inf(1))))
}

// fillWord returns the fill value as a 32-bit word. A 16-bit value appears twice.
func fillWord(j *backend.ResampleJob) uint32 {
	word := uint32(valueBits(j.Fill, j.Dst.DType()))
	if j.Dst.DType().Size() == 2 {
		word |= word << 16
	}
	return word
}
