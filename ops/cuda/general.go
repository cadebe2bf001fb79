package cuda

import (
	"math"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// resampleGeneral and resampleF64 make rows of one kind that looks at no value, with all that a job may have: other dtypes than the source's, rows of
// lengths of their own, any strides, edges and limits (resample.cu).
var (
	resampleGeneral = generalVariant("resample", false)
	resampleF64     = generalVariant("resample_f64", true)
)

func generalVariant(name string, wide bool) *variant {
	return &variant{
		name: name,
		takes: perStream(func(j *ops.ResampleJob) string {
			_, one := uniform(j.Channels)
			switch {
			case !one:
				return "kinds that look at values, or several"
			case wide != (j.Src.DType() == tensor.F64):
				return "values of another width"
			}
			return ""
		}),
		free: freedom{each: []int{1, 2, 4, 8}},
		model: func(b *backend, j *ops.FuseJob) tuned.Choice {
			return tuned.Choice{Each: b.eachOf(j.Rows()*(j.D>>vectorOf(first(j))), ready(j)), Check: oneTurn(threads, j.Clock)}
		},
		cut: func(b *backend, j *ops.FuseJob, c tuned.Choice) []shape {
			return []shape{b.cutChunks(first(j), c, vectorOf(first(j)))}
		},
		params: func(p *plan, j *ops.FuseJob, s []shape) (parameters, error) {
			kind, _ := uniform(first(j).Channels)
			params := p.resampleJob(first(j), kind, s[0], j.Rows())
			return &params, nil
		},
	}
}

// cutChunks cuts a stream whose features are moved by chunks of 1 << vector elements.
func (b *backend) cutChunks(j *ops.ResampleJob, c tuned.Choice, vector int) shape {
	s := shape{threads: threads, vector: vector, chunks: j.D >> vector}
	s.tile = min(max(c.Each*s.threads/s.chunks, 1), ptx.ChunkTile, ptx.FuseChunkTile)
	return b.grid(j, c.Check, s)
}

// vectorOf is the log2 of the most elements, up to 16 bytes of source, that can be moved at once: features, strides and
// addresses are multiples of them on both sides.
func vectorOf(j *ops.ResampleJob) int {
	fits := func(t *tensor.Tensor, n, widest int, strides ...int) bool {
		ok := address(t)%uint64(min(n*t.DType().Size(), widest)) == 0
		for _, s := range strides {
			ok = ok && s%n == 0
		}
		return ok
	}
	for v := 3; v > 0; v-- {
		n := 1 << v
		if n*j.Src.DType().Size() <= 16 && j.D%n == 0 && fits(j.Src, n, 16, j.SrcBatch, j.SrcStep) && fits(j.Dst, n, 16, j.DstBatch, j.DstStep) {
			return v
		}
	}
	return 0
}

// resampleJob fills in the parameter of the kernels of resample.cu, for so many targets.
func (p *planBase) resampleJob(j *ops.ResampleJob, kind ops.Kind, s shape, targets int) ptx.ResampleJob {
	magic, shift := divider(j.T, targets)
	clock := j.ClockType()
	f := jobFlags(j, clock, kind, s)
	f.TShift = shift
	return ptx.ResampleJob{
		Src: address(j.Src), SrcBatch: int64(j.SrcBatch), SrcStep: int64(j.SrcStep), Times: address(j.SrcTimes), TimesBatch: int64(j.TimesBatch),
		Targets: address(j.Targets.Times), TargetsBatch: int64(j.TargetBatch), Dst: address(j.Dst), DstBatch: int64(j.DstBatch), DstStep: int64(j.DstStep),
		Valid: address(j.Valid), ValidBatch: int64(j.ValidBatch), Age: address(j.Age), AgeBatch: int64(j.AgeBatch),
		SrcRows: rows(j.SrcLengths, j.SrcOffsets), DstRows: rows(j.DstLengths, j.DstOffsets), Fault: uint64(p.cell.cell), FaultFlag: uint64(p.cell.flag),
		Start: j.Targets.Start, Rate: j.Targets.Rate, Fill: valueBits(j.Fill, j.Dst.DType()), MaxGap: limitBits(j.MaxGap, clock), Tolerance: limitBits(j.Tolerance, clock),
		Total: uint64(targets), Stamps: uint64(j.Stamps()), Share: uint64((j.Stamps() + s.blocks - 1) / s.blocks), S: uint64(j.S), T: uint64(j.T), TMagic: magic, Pace: pace(j),
		B: uint32(j.B), D: uint32(j.D), Tile: uint32(s.tile), Chunks: uint32(s.chunks), ChunkMagic: chunkMagic(s.chunks), Flags: f.Word(),
		More: ptx.ResampleJobMore{In: dtypeCode[j.Src.DType()]}.Word(),
	}
}

// jobFlags are the switches of a stream, as resample_job.cuh reads them.
func jobFlags(j *ops.ResampleJob, clock tensor.DType, kind ops.Kind, s shape) ptx.ResampleJobFlags {
	_, gap := j.MaxGap.Get()
	_, tolerance := j.Tolerance.Get()
	_, window := j.ShortestWindow().Get()
	f := ptx.ResampleJobFlags{
		Clock: clockCode[clock], Out: dtypeCode[j.Dst.DType()], Kind: uint32(kind), Edge: uint32(j.Edge), Vector: uint32(s.vector), Dense: s.dense,
		SrcLengths: j.SrcLengths != nil, SrcOffsets: j.SrcOffsets != nil, DstLengths: j.DstLengths != nil, DstOffsets: j.DstOffsets != nil,
		HasGap: gap, HasTolerance: tolerance, FillGaps: j.FillGaps, Check: j.Check, TimesFlat: j.TimesRows == 1 || j.TimesBatch == j.S,
		Windowed: window, Ready: j.Launch == ops.LaunchInputsReady,
	}
	for _, c := range j.Channels {
		f.NearPrevious = f.NearPrevious || c.Kind == ops.Previous
		f.NearNext = f.NearNext || c.Kind == ops.Next
		f.NearNearest = f.NearNearest || c.Kind == ops.Nearest
	}
	return f
}

// checkKernel checks rows and stamps as all do, whatever the values are.
const checkKernel = "resample"

// bindCheck makes a launch that only checks a job's rows and stamps.
func (p *planBase) bindCheck(j *ops.ResampleJob) (*cudadrv.Launch, error) {
	j = j.Checked()
	k, err := p.b.kernels.Kernel(checkKernel)
	if err != nil {
		return nil, err
	}
	s := shape{threads: threads, tile: 1, chunks: 1, blocks: min(p.b.checkers(j, checkShare), math.MaxInt32)}
	params := p.resampleJob(j, ops.Linear, s, 0)
	return k.Bind(p.b.config(checkKernel, j.Launch, s.blocks, s.threads), params.Bytes())
}
