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

// notRegular says why fast.cuh does not take a stream, whatever its interpolation: it takes targets that count where they are, on no anchored clock and without a mask of padding, rows of one length, ends clamped or filled, values of 16 or
// 32 bits that keep their dtype, timestamps without gaps between the rows, and numbers of targets and timestamps that fit 32 bits.
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

// notFast says why fast.cuh does not take a job: its streams are regular, of one interpolation that looks at no value, and not normalised, and outputs
// have no gaps between the rows of the batch.
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

// layout is how a fast-path stream's rows lie in the source and in dst.
type layout struct {
	unit, store int // log2 of the bytes, up to 16, of which every place in the source is a multiple, and of those in dst
	units       int // of the former, that a target has
	column      int // bytes of a row of dst before the stream's
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

// unitsFit reports whether the units of a source, of so many bytes, can be numbered by 32 bits.
func unitsFit(j *backend.ResampleJob, unit int) bool {
	last := (j.B-1)*j.SrcBatch + (j.S-1)*j.SrcStep + j.D
	return last*j.Src.DType().Size()/unit <= math.MaxUint32
}

// notAligned says why rows are not made of whole units, at most MaxUnitsPerThread per thread: of 16 bytes onto an output without gaps for a Resample, of
// at least 4 for a Fuse.
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
	// A row of fewer targets a block is asked for again by the next block.
	minPrefetchTargets = 4
	// Samples that a target moves on where rows are prefetched: with more, prefetching was slower, though all were needed (bench/README, Rows brought in early).
	maxPrefetchStride = 1.4
	// Bytes that are fetched at once: where targets skip fewer, a fused stream's rows are all fetched all the same.
	sector = 32
)

var fastTunable = tuned.SearchSpace{ItemsPerThread: []int{1, 2, ptx.MaxUnitsPerThread}, Prefetch: true}

// resampleFast makes rows of whole 16 bytes onto an output without gaps (resample_fast).
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

// fuseFast makes streams of whole units of 16, 8 or 4 bytes (fuse_fast), and fuseFastFew up to four of them with a smaller parameter: launches whose
// inputs are ready follow each other closely then, 4 rows of three streams 0.88 us for 1.10. A Resample of units is a Fuse of one stream.
var (
	fuseFast    = fuseFastVariant("fuse_fast", ptx.MaxStreams)
	fuseFastFew = fuseFastVariant("fuse_fast_few", ptx.FewStreams)
)

func fuseFastVariant(name string, most int) *variant {
	return &variant{
		name:     name,
		supports: upTo(most, func(b *gpu, j *backend.FuseJob) string { return notAligned(b, j, false) }),
		// A thread has MaxUnitsPerThread units at most, so a block of many small ones has few targets, of which each costs a search: three streams of 317, 1
		// and 201 features of f32 took 32.1 us, and 16.8 by fuse_unaligned (bench/history/unaligned-rows.md).
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
			// Streams with many timestamps and narrow rows have few blocks of their own. Where the device holds all blocks at once those that check
			// are the last to end (bench/history/fuse.md).
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
				for units < widest && policy.ItemsPerThread > 1 && 2*p.Rows()*units < policy.ItemsPerThread*threads*b.sms { // a narrow one would have few blocks
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

// fewOf is the smaller parameter, of up to four streams.
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

// maxSmallUnits is of less than 16 bytes, of a target of fuse_fast.
const maxSmallUnits = 32

// unitsOf is how many units a target has in all streams.
func unitsOf(j *backend.FuseJob) (n int) {
	for _, l := range layoutsOf(j) {
		n += l.units
	}
	return n
}

// configureAligned divides a stream of whole units: a thread moves more of them than the policy says where a block would not hold a target.
func (b *gpu) configureAligned(j *backend.ResampleJob, c tuned.Policy, units int, near bool) shape {
	s := shape{threads: threads, chunks: units, unitsPerThread: c.ItemsPerThread}
	for s.unitsPerThread < ptx.MaxUnitsPerThread && units > s.unitsPerThread*threads {
		s.unitsPerThread *= 2
	}
	s.tile = s.unitsPerThread * threads / units
	s.prefetch = c.Prefetch && near && s.tile >= minPrefetchTargets && sideBySide(j)
	return b.grid(j, c.Check, s)
}

// sideBySide reports whether a stream's source has no gaps, and rows of samples enough to guess among.
func sideBySide(j *backend.ResampleJob) bool {
	return j.S > 1 && j.T > 1 && j.D == j.SrcStep && (j.B == 1 || j.SrcBatch == j.S*j.SrcStep)
}

// fastFlags are the switches of a fast-path stream, as fast.cuh reads them.
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

// fastParams fills in the parameter of the kernels of resample_fast.cu, for source places that are counted by units of 1 << unit bytes.
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

// fastStreams fills in the parameter of the kernels of fuse_fast.cu. own fills in what is a kernel's own.
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

// timestampsPerBlock is how many timestamps each of the blocks checks: whole 16 bytes.
func timestampsPerBlock(j *backend.ResampleJob, blocks int) uint32 {
	if !j.Check {
		return 0
	}
	return uint32((j.Timestamps()+blocks-1)/blocks+3) &^ 3
}

// gapBits are the bits of the longest bracket in the clock's own type: of the longest there is where none is set.
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

// fillWord is a word of the fill value.
func fillWord(j *backend.ResampleJob) uint32 {
	word := uint32(valueBits(j.Fill, j.Dst.DType()))
	if j.Dst.DType().Size() == 2 {
		word |= word << 16
	}
	return word
}
