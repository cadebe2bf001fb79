package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// resampleGeneral and resampleF64 handle any job with one interpolation that copies or blends samples: dtype conversions, row lengths,
// any strides, edges and limits (resample.cu).
var (
	resampleGeneral = generalVariant("resample", false)
	resampleF64     = generalVariant("resample_f64", true)
)

func generalVariant(name string, wide bool) *variant {
	return &variant{
		name: name,
		supports: perStream(func(j *backend.ResampleJob) string {
			_, one := uniform(j.Channels)
			switch {
			case !one:
				return "interpolations that look at values, or several"
			case wide != (j.Src.DType() == tensor.F64):
				return "values of another width"
			}
			return ""
		}),
		tunable: tuned.SearchSpace{ItemsPerThread: []int{1, 2, 4, 8}},
		heuristic: func(b *gpu, j *backend.FuseJob) tuned.Policy {
			return tuned.Policy{ItemsPerThread: b.unitsPerThreadFor(j.Rows()*(j.D>>bothWays(first(j))), inputsReady(j)), Check: checkPerTurn(threads, j.Clock)}
		},
		configure: func(b *gpu, j *backend.FuseJob, c tuned.Policy) []shape {
			return []shape{b.configureChunks(first(j), c, bothWays(first(j)), 1)}
		},
		params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) {
			kind, _ := uniform(first(j).Channels)
			params := p.resampleJob(first(j), kind, s[0], j.Rows())
			return &params, nil
		},
	}
}

// configureChunks divides a stream into blocks. Threads move chunks of 1 << vector elements, each for `together` consecutive targets.
func (b *gpu) configureChunks(j *backend.ResampleJob, c tuned.Policy, vector, together int) shape {
	s := shape{threads: threads, vector: vector, chunks: j.D >> vector}
	most := min(ptx.ChunkTile, ptx.FuseChunkTile)
	s.tile = min(max(c.ItemsPerThread*s.threads/s.chunks, 1), most)
	// Finding a window's targets takes longer than moving them. Therefore almost every thread finds one target, and each iteration of
	// the copy has work for all threads.
	if j.SrcStarts != nil && j.Rows() >= s.threads*b.sms {
		turns := max(1, s.chunks/together)
		s.tile = max(s.tile, min(turns*s.threads/s.chunks*together, most))
	}
	if whole := s.tile / together * together; whole > 0 {
		s.tile = whole
	} else if j.Rows() >= together*b.sms {
		s.tile = together
	}
	return b.grid(j, c.Check, s)
}

// side describes a tensor that features are read from or written to.
type side struct {
	at          *tensor.Tensor
	dtype       tensor.DType
	batch, step int
}

// vectorOf is the log2 of the most elements that can be moved together, at most 16 bytes in the first side (the source). The number of
// features, strides and addresses must be multiples of it on every side.
func vectorOf(j *backend.ResampleJob, sides ...side) int {
	for v := 3; v > 0; v-- {
		n := 1 << v
		fits := j.D%n == 0 && n*sides[0].dtype.Size() <= chunk
		for _, s := range sides {
			fits = fits && s.batch%n == 0 && s.step%n == 0 && address(s.at)%uint64(min(n*s.dtype.Size(), chunk)) == 0
		}
		if fits {
			return v
		}
	}
	return 0
}

// bothWays returns vectorOf for the source and the output.
func bothWays(j *backend.ResampleJob) int {
	return vectorOf(j, side{j.Src, j.Src.DType(), j.SrcBatch, j.SrcStep}, side{j.Dst, j.Dst.DType(), j.DstBatch, j.DstStep})
}

// resampleJob returns the parameter for the kernels in resample.cu.
func (p *plan) resampleJob(j *backend.ResampleJob, kind backend.Interp, s shape, targets int) ptx.ResampleJob {
	magic, shift := divider(j.T, targets)
	clock := j.ClockType()
	f := jobFlags(j, clock, kind, s)
	f.TShift = shift
	return ptx.ResampleJob{
		Src: address(j.Src), SrcBatch: int64(j.SrcBatch), SrcStep: int64(j.SrcStep), Times: address(j.SrcTimes), TimesBatch: int64(j.TimesBatch),
		Targets: targetsOf(j.Targets), TargetsBatch: int64(j.TargetBatch), Anchors: address(j.Targets.Anchors), Dst: address(j.Dst), DstBatch: int64(j.DstBatch), DstStep: int64(j.DstStep),
		Valid: address(j.Valid), ValidBatch: int64(j.ValidBatch), Age: address(j.Age), AgeBatch: int64(j.AgeBatch), Pad: address(j.Pad), PadBatch: int64(j.PadBatch),
		SrcRows: rows(j.SrcLengths, j.SrcOffsets), SrcStarts: address(j.SrcStarts), DstRows: rows(j.DstLengths, j.DstOffsets), Fault: p.Cell.At, FaultFlag: p.Cell.Flag,
		Start: startBits(j.Targets, clock), Rate: j.Targets.Rate, Fill: valueBits(j.Fill, j.Dst.DType()), MaxGap: limitBits(j.Slack(j.MaxGap), clock), Tolerance: limitBits(j.Slack(j.Tolerance), clock), Snap: limitBits(j.Snap, clock),
		Total: uint64(targets), Timestamps: uint64(j.Timestamps()), TimestampsPerBlock: uint64((j.Timestamps() + s.blocks - 1) / s.blocks), S: uint64(j.S), T: uint64(j.T), TMagic: magic, SamplesPerTarget: samplesPerTarget(j),
		B: uint32(j.B), D: uint32(j.D), Tile: uint32(s.tile), Chunks: uint32(s.chunks), ChunkMagic: chunkMagic(s.chunks), Flags: f.Word(),
		More: jobMore(j, j.Src.DType()).Word(),
	}
}

// jobMore returns the remaining flags, for source values of dtype in.
func jobMore(j *backend.ResampleJob, in tensor.DType) ptx.ResampleJobMore {
	_, snap := j.Snap.Get()
	return ptx.ResampleJobMore{In: dtypeCode[in], Edge: uint32(j.Edge), HasSnap: snap}
}

// jobFlags returns the flags for a stream in the encoding that resample_job.cuh reads.
func jobFlags(j *backend.ResampleJob, clock tensor.DType, kind backend.Interp, s shape) ptx.ResampleJobFlags {
	_, gap := j.MaxGap.Get()
	_, tolerance := j.Tolerance.Get()
	_, window := j.ShortestWindow().Get()
	f := ptx.ResampleJobFlags{
		Clock: clockCode[clock], Out: dtypeCode[j.Dst.DType()], Interpolation: uint32(kind), Vector: uint32(s.vector), Dense: s.dense,
		SrcLengths: j.SrcLengths != nil, SrcOffsets: j.SrcOffsets != nil, DstLengths: j.DstLengths != nil, DstOffsets: j.DstOffsets != nil,
		HasGap: gap, HasTolerance: tolerance, FillGaps: j.FillGaps, Check: j.Check, TimesFlat: j.TimesRows == 1 || j.TimesBatch == j.S,
		Windowed: window, Ready: j.Launch == backend.LaunchInputsReady,
	}
	for _, c := range j.Channels {
		f.NearPrevious = f.NearPrevious || c.Interp == backend.InterpPrevious
		f.NearNext = f.NearNext || c.Interp == backend.InterpNext
		f.NearNearest = f.NearNearest || c.Interp == backend.InterpNearest
	}
	return f
}

// checkKernel is the kernel for jobs that only check rows and timestamps. Those checks do not depend on the values.
const checkKernel = "resample"

// bindCheck adds a launch that only checks a job's rows and timestamps.
func (p *plan) bindCheck(j *backend.ResampleJob) error {
	j = j.Checked()
	s := shape{threads: threads, tile: 1, chunks: 1, blocks: min(p.b.checkers(j, checkPerBlock), math.MaxInt32)}
	params := p.resampleJob(j, backend.InterpLinear, s, 0)
	return p.Add(p.b.bind(checkKernel, j.Launch, s.blocks, s.threads, 0, &params))
}
