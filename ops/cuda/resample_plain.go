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

// isPlain reports whether resample_plain.cu takes a job: a simple one, of rows of whole chunks, with outputs without gaps.
func isPlain(job *ops.ResampleJob) bool {
	if !simple(job) {
		return false
	}
	size := job.Src.DType().Size()
	whole := func(elements ...int) bool {
		for _, n := range elements {
			if n < 0 || n*size%chunk != 0 {
				return false
			}
		}
		return true
	}
	aligned := func(t *tensor.Tensor) bool {
		addr, _ := t.Addr()
		return addr%chunk == 0
	}
	dense := func(t *tensor.Tensor, batch, row int) bool { return t == nil || batch == row || job.B == 1 }
	return unitsFit(job, chunk) && whole(job.D, job.SrcBatch, job.SrcStep) && aligned(job.Src) && aligned(job.Dst) && job.D*size/chunk <= mostEach*plainThreads &&
		job.DstStep == job.D && dense(job.Dst, job.DstBatch, job.T*job.D) && dense(job.Valid, job.ValidBatch, job.T) && dense(job.Age, job.AgeBatch, job.T)
}

// bindPlain fills in the launch of a plain job.
func (p *plan) bindPlain(job *ops.ResampleJob) error {
	kind, _ := uniform(job.Channels)
	name := "resample_plain_" + job.Src.DType().String()
	k, err := p.b.kernel(name)
	if err != nil {
		return err
	}
	perChunk := chunk / job.Src.DType().Size()
	chunks := job.D / perChunk
	cut := p.chooseOne(name, job, chunks, func(c Choice) shape { return p.b.cutPlain(job, c, chunks) })
	magic, shift := divider(job.T, job.Rows())
	share := plainShare(job, cut.blocks)
	flags := plainFlags(job, kind, cut.each, shift)
	p.kernel, err = k.Bind(p.b.config(name, job.Launch, cut.blocks, plainThreads),
		pointer(job.Src), pointer(job.SrcTimes), pointer(job.Targets.Times), pointer(job.Dst), pointer(job.Valid), pointer(job.Age),
		p.cell.cell, p.cell.flag, job.Targets.Start, job.Targets.Rate,
		uint32(job.SrcBatch/perChunk), uint32(job.SrcStep/perChunk), uint32(job.TimesBatch), uint32(job.TargetBatch),
		uint32(job.Rows()), uint32(job.Stamps()), uint32(share), uint32(job.S), uint32(job.T), magic, pace(job),
		uint32(cut.tile), uint32(chunks), uint32((1<<20+chunks-1)/chunks), flags)
	return err
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
