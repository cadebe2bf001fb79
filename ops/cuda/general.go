package cuda

import (
	"math"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// resampleGeneral and resampleF64 handle rows of one interpolation that looks at no value, with all that a job may have: other dtypes than the source's, rows of
// lengths of their own, any strides, edges and limits (resample.cu).
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

// configureChunks divides a stream whose features are moved by chunks of 1 << vector elements, each of so many targets together.
func (b *gpu) configureChunks(j *backend.ResampleJob, c tuned.Policy, vector, together int) shape {
	s := shape{threads: threads, vector: vector, chunks: j.D >> vector}
	most := min(ptx.ChunkTile, ptx.FuseChunkTile)
	s.tile = min(max(c.ItemsPerThread*s.threads/s.chunks, 1), most)
	// Finding a window's targets takes longer than moving them: every thread finds one, or almost every, so that each iteration of moving has something for all.
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

// side is a tensor that features are read from or written to, and its strides.
type side struct {
	at          *tensor.Tensor
	dtype       tensor.DType
	batch, step int
}

// vectorOf is the log2 of the most elements, up to 16 bytes of the first side, the source, that can be moved at once: features, strides and addresses are
// multiples of them on all sides.
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

// bothWays is vectorOf from the source to the output.
func bothWays(j *backend.ResampleJob) int {
	return vectorOf(j, side{j.Src, j.Src.DType(), j.SrcBatch, j.SrcStep}, side{j.Dst, j.Dst.DType(), j.DstBatch, j.DstStep})
}

// resampleJob fills in the parameter of the kernels of resample.cu, for so many targets.
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

// jobMore is the rest of the switches, for values of a dtype.
func jobMore(j *backend.ResampleJob, in tensor.DType) ptx.ResampleJobMore {
	_, snap := j.Snap.Get()
	return ptx.ResampleJobMore{In: dtypeCode[in], Edge: uint32(j.Edge), HasSnap: snap}
}

// jobFlags are the switches of a stream, as resample_job.cuh reads them.
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

// checkKernel checks rows and timestamps as all do, whatever the values are.
const checkKernel = "resample"

// bindCheck makes a launch that only checks a job's rows and timestamps.
func (p *plan) bindCheck(j *backend.ResampleJob) error {
	j = j.Checked()
	s := shape{threads: threads, tile: 1, chunks: 1, blocks: min(p.b.checkers(j, checkPerBlock), math.MaxInt32)}
	params := p.resampleJob(j, backend.InterpLinear, s, 0)
	return p.Add(p.b.bind(checkKernel, j.Launch, s.blocks, s.threads, 0, &params))
}
