package cuda

import (
	"math"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

const (
	plainThreads = 128 // resample_plain.cu: threads
	mostEach     = 4   // resample_plain.cu: most_each
	mostTile     = 512 // resample_plain.cu: most_tile
	warp         = 32  // threads that go together
	chunk        = 16  // bytes that a thread moves at once
)

// simple reports what plain.cuh asks of a job and of a stream: rows of one length, ends held, no limits, values of 16 or 32 bits
// that keep their dtype, stamps without gaps, and numbers of targets and stamps that fit 32 bits.
func simple(job *ops.ResampleJob) bool {
	if job.Src == nil {
		return false
	}
	size := job.Src.DType().Size()
	_, gap := job.MaxGap.Get()
	_, tolerance := job.Tolerance.Get()
	_, uniform := uniform(job.Channels)
	ragged := job.SrcLengths != nil || job.SrcOffsets != nil || job.DstLengths != nil || job.DstOffsets != nil
	if !uniform || ragged || gap || tolerance || job.Edge != ops.Clamp || job.Src.DType() != job.Dst.DType() || size > 4 {
		return false
	}
	return job.S > 0 && min(job.SrcBatch, job.SrcStep) >= 0 && (job.TimesRows == 1 || job.TimesBatch == job.S) &&
		job.Rows() <= math.MaxInt32 && job.Stamps() <= math.MaxInt32 && job.TargetBatch <= math.MaxUint32
}

// unitsFit reports whether the units of a source, of so many bytes, can be numbered by 32 bits.
func unitsFit(job *ops.ResampleJob, unit int) bool {
	last := (job.B-1)*job.SrcBatch + (job.S-1)*job.SrcStep + job.D
	return last*job.Src.DType().Size()/unit <= math.MaxUint32
}

// plainForm is which kernel of resample_plain.cu takes a job.
type plainForm int

const (
	notPlain   plainForm = iota
	wholeRows            // resample_plain: rows of whole chunks, outputs without gaps
	oddWindows           // resample_odd: other rows, of at least wideOdd bytes
	oddWords             // resample_odd: narrower ones
)

// A row that is made 16 bytes at once, wherever it begins, has so many bytes at least, as some of it is made twice: between other
// features, and in outputs without gaps, whose words can cross from one row to the next.
const (
	wideApart = 32
	wideDense = 128
)

// oddForm is how rows that are not of whole chunks are made.
func oddForm(job *ops.ResampleJob, runOn bool) plainForm {
	if bytes := job.D * job.Dst.DType().Size(); bytes >= wideDense || bytes >= wideApart && !runOn {
		return oddWindows
	}
	return oddWords
}

// runsOn reports whether outputs have no gaps.
func runsOn(job *ops.ResampleJob) bool { return job.DstStep == job.D }

// plainFormOf chooses the kernel of resample_plain.cu for a job: a simple one whose rows of outputs follow each other from one row of
// the batch to the next.
func plainFormOf(job *ops.ResampleJob) plainForm {
	dense := func(is bool, batch, row int) bool { return !is || batch == row || job.B == 1 }
	if !simple(job) || !dense(true, job.DstBatch, job.T*job.DstStep) || !dense(job.Valid != nil, job.ValidBatch, job.T) || !dense(job.Age != nil, job.AgeBatch, job.T) {
		return notPlain
	}
	size := job.Src.DType().Size()
	whole := uint64(pointer(job.Src)) | uint64(pointer(job.Dst)) | uint64(size*job.D) | uint64(size*job.SrcBatch) | uint64(size*job.SrcStep)
	if job.DstStep == job.D && whole%chunk == 0 && job.D*size/chunk <= mostEach*plainThreads && unitsFit(job, chunk) {
		return wholeRows
	}
	if !oddFits(job) {
		return notPlain
	}
	return oddForm(job, runsOn(job))
}

// oddFits reports whether a row is short enough, and its elements few enough, for the kernels of odd rows to number them.
func oddFits(job *ops.ResampleJob) bool {
	const far = math.MaxInt32 / mostTile
	size := job.Src.DType().Size()
	return job.D*size <= far && job.DstStep >= 0 && job.DstStep <= far/size && unitsFit(job, size)
}

// bindPlain fills in the launch of a plain job.
func (p *plan) bindPlain(job *ops.ResampleJob, form plainForm) error {
	kind, _ := uniform(job.Channels)
	size := job.Src.DType().Size()
	name, unit := "resample_plain_", chunk/size
	if form != wholeRows {
		name, unit = "resample_odd_", 1
	}
	name += job.Src.DType().String()
	k, err := p.b.kernel(name)
	if err != nil {
		return err
	}
	chunks := job.D / unit
	shapes := func(c Choice) shape { return p.b.cutPlain(job, c, chunks) }
	if form != wholeRows {
		chunks = oddChunks(job, form, form == oddWords && runsOn(job))
		shapes = func(c Choice) shape { return p.b.cutOdd(job, c, form, chunks) }
	}
	cut := p.chooseOne(name, job, chunks, shapes)
	magic, shift := divider(job.T, job.Rows())
	flags := plainFlags(job, kind, cut.each, shift)
	args := []any{
		pointer(job.Src), pointer(job.SrcTimes), pointer(job.Targets.Times), pointer(job.Dst), pointer(job.Valid), pointer(job.Age),
		p.cell.cell, p.cell.flag, job.Targets.Start, job.Targets.Rate,
		uint32(job.SrcBatch / unit), uint32(job.SrcStep / unit), uint32(job.TimesBatch), uint32(job.TargetBatch),
		uint32(job.Rows()), uint32(job.Stamps()), uint32(plainShare(job, cut.blocks)), uint32(job.S), uint32(job.T), magic, pace(job),
		uint32(cut.tile),
	}
	if form == wholeRows {
		args = append(args, uint32(cut.chunks), chunkMagic(cut.chunks), flags)
	} else {
		args = append(args, uint32(job.D), oddMagic(cut), flags|oddFlags(form, runsOn(job)), uint32(size*job.DstStep))
	}
	p.kernel, err = k.Bind(p.b.config(name, job.Launch, cut.blocks, plainThreads), args...)
	return err
}

// oddChunks are the windows, or words, that a row may have; narrow rows without gaps are counted by their features.
func oddChunks(job *ops.ResampleJob, form plainForm, runOn bool) int {
	if runOn {
		return job.D
	}
	n := 4 / job.Src.DType().Size()
	if form == oddWindows {
		n = chunk / job.Src.DType().Size()
	}
	return (job.D + 2*n - 2) / n
}

// cutOdd cuts a job of odd rows: into blocks of up to so many targets and, of windows, so many a thread; but of a warp of targets at
// least where rows are narrow.
func (b *backend) cutOdd(job *ops.ResampleJob, c Choice, form plainForm, chunks int) shape {
	s := shape{threads: plainThreads, chunks: chunks, tile: c.Tile}
	for s.tile > warp && s.tile*s.chunks*s.chunks >= 1<<20 {
		s.tile /= 2
	}
	if form == oddWindows {
		s.tile = min(s.tile, max(1, c.Each*plainThreads/s.chunks))
	}
	return b.grid(job, c, s)
}

// oddMagic is the factor with which a block divides by chunks: 0 where it has one target. It is exact for numbers below 2^20 by
// chunks, as cutOdd sees to.
func oddMagic(cut shape) uint32 {
	if cut.tile == 1 {
		return 0
	}
	return chunkMagic(cut.chunks)
}

// oddFlags are the switches of odd rows.
func oddFlags(form plainForm, runOn bool) (flags uint32) {
	flags = 2 << 11
	if form == oddWindows {
		flags = 4 << 11
	}
	if runOn {
		flags |= 1 << 9
	}
	return flags
}

// plainShare is how many stamps each of the blocks checks: whole 16 bytes.
func plainShare(job *ops.ResampleJob, blocks int) int {
	return ((job.Stamps()+blocks-1)/blocks + 3) &^ 3
}

// plainFlags packs the switches of a job as plain.cuh reads them.
func plainFlags(job *ops.ResampleJob, kind ops.Kind, each int, shift uint32) uint32 {
	flags := clockCode[job.ClockType()] | uint32(kind)<<2 | uint32(each)<<4 | shift<<16
	if job.Check {
		flags |= 1 << 7
	}
	if pointer(job.SrcTimes)%chunk == 0 {
		flags |= 1 << 8
	}
	if job.Launch == ops.LaunchInputsReady {
		flags |= 1 << inputsReady
	}
	return flags
}

// cutPlain cuts a job for a plain kernel, which a thread moves as many chunks of as it takes for a block to hold a target.
func (b *backend) cutPlain(job *ops.ResampleJob, c Choice, chunks int) shape {
	s := shape{threads: plainThreads, chunks: chunks, each: c.Each}
	for s.each < mostEach && chunks > s.each*plainThreads {
		s.each *= 2
	}
	s.tile = s.each * plainThreads / chunks
	return b.grid(job, c, s)
}

// pointer is a tensor's address, 0 for one that is not there.
func pointer(t *tensor.Tensor) cudadrv.DevicePtr {
	if t == nil {
		return 0
	}
	addr, _ := t.Addr()
	return cudadrv.DevicePtr(addr)
}
