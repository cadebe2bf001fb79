package cuda

import (
	"math"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
)

const (
	plainStreamBytes = 96 // the size of fuse_plain.cu's plain_stream
	fewStreams       = 4  // for which its kernels have a parameter of their own
	mostUnits        = 32 // units of less than 16 bytes that a target of fuse_plain's has: of more its blocks have too few targets
	sector           = 32 // bytes that are fetched at once: where targets skip fewer, a stream's rows are all fetched, and may be so before the stamps are known
)

// plainPart is how fuse_plain.cu makes a stream.
type plainPart struct {
	*ops.FusePart
	kind        ops.Kind
	form        plainForm // wholeRows or of odd rows
	unit, store uint32    // log2 of the bytes moved, and written, at once; of odd rows elements
	chunks      int       // units that a target has; of odd rows pieces
	odd, cut    shape     // as the model cuts odd rows; as it was chosen
}

// plainParts are a job's streams for fuse_plain.cu, of odd rows cut by the model, or it reports that it does not take the job: a stream that is not
// simple or is normalised, outputs with gaps between the rows of the batch, or rows of megabytes. Where a width or a place is no multiple of
// 4 bytes, or a target of many units, fuse_odd makes all streams.
func (b *backend) plainParts(job *ops.FuseJob) ([]plainPart, bool) {
	first := job.Parts[0]
	size := job.Dst.DType().Size()
	dense := func(is bool, batch, step int) bool { return !is || job.B == 1 || batch == job.T*step }
	if !dense(true, first.DstBatch, first.DstStep) || !dense(job.Valid != nil, first.ValidBatch, first.ValidStep) || !dense(job.Age != nil, first.AgeBatch, first.AgeStep) ||
		max(first.ValidStep, first.AgeStep) > math.MaxInt32 || first.DstStep*size > math.MaxInt32/mostTile {
		return nil, false
	}
	parts := make([]plainPart, len(job.Parts))
	column, whole, odd, slow := 0, true, true, false
	for m := range parts {
		p := &parts[m]
		p.FusePart = &job.Parts[m]
		if !simple(p.ResampleJob) || p.Shift != nil || p.Scale != nil {
			return nil, false
		}
		p.kind, _ = uniform(p.Channels)
		from := uint64(pointer(p.Src)) | uint64(size*p.D) | uint64(size*p.SrcStep) | uint64(size*p.SrcBatch) | chunk
		to := uint64(pointer(job.Dst)) | uint64(size*first.DstStep) | uint64(size*column) | chunk
		p.form, p.unit = wholeRows, uint32(bits.TrailingZeros64(from))
		p.store = min(p.unit, uint32(bits.TrailingZeros64(to)))
		p.chunks = size * p.D >> p.unit
		whole = whole && p.store >= 2 && unitsFit(p.ResampleJob, 1<<p.unit) && p.chunks <= mostEach*plainThreads
		odd = odd && oddFits(p.ResampleJob)
		slow = slow || p.unit < 4 && p.chunks > mostUnits
		column += p.D
	}
	if !whole || slow && odd {
		return b.oddParts(job, parts), odd
	}
	return parts, true
}

// oddParts cuts streams of odd rows into blocks.
func (b *backend) oddParts(job *ops.FuseJob, parts []plainPart) []plainPart {
	for m := range parts {
		p := &parts[m]
		size := job.Dst.DType().Size()
		p.unit, p.store = min(p.unit, p.store, 3), 0
		p.form = unitRows
		if p.unit < 2 {
			p.form, p.unit = oddForm(p.D), 1
		}
		p.odd = b.cutOdd(p.D, size, p.form, int(p.unit), p.Rows()*len(parts), pace(p.ResampleJob), job.Launch == ops.LaunchInputsReady)
		p.chunks = p.odd.chunks
	}
	return parts
}

// cutPlainParts cuts each stream into blocks. They are direct if all can be.
func (b *backend) cutPlainParts(parts []plainPart, c choice) (list []shape) {
	checks, widest := 0, 0
	for _, p := range parts {
		widest = max(widest, p.chunks)
		checks += directChecks(p.ResampleJob)
		c.Direct = c.Direct && p.form == wholeRows && isDirect(p.ResampleJob, p.chunks) && checks <= directFuseBlocks*b.sms
	}
	for _, p := range parts {
		switch {
		case c.Direct:
			list = append(list, b.cutDirect(p.ResampleJob, c, p.chunks))
		case p.form == wholeRows:
			cut := c
			for p.chunks < widest && cut.Each > 1 && 2*p.Rows()*p.chunks < cut.Each*plainThreads*b.sms { // a narrow one would have few blocks
				cut.Each /= 2
			}
			cut.Prefetch = c.Prefetch && (pace(p.ResampleJob)-2)*float32(p.D*p.Src.DType().Size()) < sector
			list = append(list, b.cutPlain(p.ResampleJob, cut, p.chunks))
		default:
			list = append(list, b.grid(p.ResampleJob, c, c.cap(p.odd)))
		}
	}
	return list
}

// bindPlainFuse fills in the launch.
func (p *plan) bindPlainFuse(job *ops.FuseJob, parts []plainPart) error {
	name := "fuse_plain_"
	if parts[0].form != wholeRows {
		name = "fuse_odd_"
	}
	name += job.Dst.DType().String()
	all := 0
	for _, part := range parts {
		all += part.chunks
	}
	cut := func(c choice) []shape { return p.b.cutPlainParts(parts, c) }
	shapes := p.chooseFuse(name, job, all, all, cut)
	var err error
	if p.kernel, err = p.fuseLaunch(job, parts, name, shapes); err == nil && slices.ContainsFunc(shapes, guesses) {
		p.instead = p.chosen.careful()
		p.careful, err = p.fuseLaunch(job, parts, name, cut(p.instead.choice))
	}
	return err
}

// fuseLaunch binds the launch of streams as they were cut.
func (p *plan) fuseLaunch(job *ops.FuseJob, parts []plainPart, name string, shapes []shape) (*cudadrv.Launch, error) {
	if name = shapes[0].kernel(name); len(parts) > fewStreams {
		name += "_many"
	}
	k, err := p.b.kernel(name)
	if err != nil {
		return nil, err
	}
	for m := range parts {
		parts[m].cut = shapes[m]
	}
	return k.Bind(p.b.config(name, job.Launch, blocksOf(shapes), shapes[0].threads), p.plainParams(job, parts))
}

// plainParams packs the kernels' parameter in the order of fuse_plain.cu.
func (p *plan) plainParams(job *ops.FuseJob, parts []plainPart) []byte {
	var out packer
	first, size := parts[0], job.Dst.DType().Size()
	magic, shift := divider(job.T, job.Rows())
	out.words(uint64(pointer(job.Targets.Times)), uint64(pointer(job.Dst)))
	out.halves(uint32(job.Rows()), uint32(job.T), magic, uint32(first.TargetBatch))
	most := fewStreams
	if len(parts) > fewStreams {
		most = ops.MaxStreams
	}
	firstBlocks, block := make([]uint32, most), 0
	for i := range firstBlocks {
		firstBlocks[i] = math.MaxUint32
		if i < len(parts) {
			firstBlocks[i] = uint32(block)
			block += parts[i].cut.blocks
		}
	}
	out.halves(firstBlocks...)
	out.words(uint64(pointer(job.Valid)), uint64(pointer(job.Age)), uint64(p.cell.cell), uint64(p.cell.flag))
	out.halves(uint32(size*first.DstStep), uint32(first.ValidStep), uint32(first.AgeStep), 0)
	out.words(uint64(job.Targets.Start), math.Float64bits(job.Targets.Rate))
	column := 0
	for i := range parts {
		s := &parts[i]
		chunks, divides, flags := s.cut.chunks, chunkMagic(s.cut.chunks), plainFlags(s.ResampleJob, s.kind, s.cut.each, shift)
		if job.Valid != nil || job.Age != nil {
			flags |= masked
		}
		if s.cut.prefetch {
			flags |= prefetched
		}
		if s.form == wholeRows {
			flags |= s.unit<<11 | s.store<<21
		} else {
			chunks, divides, flags = s.D, oddMagic(s.cut), flags|oddFlags(s.form, int(s.unit), false)
		}
		out.words(uint64(pointer(s.Src)), uint64(pointer(s.SrcTimes)), lengthBits(s.Offset, job.Clock))
		out.halves(flags, uint32(s.cut.tile), uint32(chunks), divides, s.cut.pace(s.ResampleJob), uint32(s.S), uint32(s.TimesBatch),
			uint32(size*s.SrcBatch>>s.unit), uint32(size*s.SrcStep>>s.unit), uint32(plainShare(s.ResampleJob, s.cut.blocks)),
			uint32(s.Stamps()), uint32(column), math.Float32bits(rowsAStamp(s.ResampleJob)), uint32(valueBits(s.Fill, job.Dst.DType())))
		out.words(gapBits(s.ResampleJob), limitBits(s.Tolerance, job.Clock))
		column += size * s.D
	}
	return append(out.data, make([]byte, plainStreamBytes*(most-len(parts)))...)
}
