package cuda

import (
	"bytes"
	"math/bits"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// fuseVariants lists the variants of Fuse in the order in which they are tried, like resampleVariants.
var fuseVariants = []*variant{fuseSmall, fuseFastFew, fuseFast, fuseUnalignedFew, fuseUnaligned, fuseChunks, fuseAny}

func (b *gpu) Fuse(job *backend.FuseJob) (backend.Plan, error) {
	return b.prepared(job, func(p *plan) error {
		if job.Empty() {
			return p.bindFuseCheck(job.Checked())
		}
		return p.bind("Fuse", fuseVariants, job)
	})
}

// bindFuseCheck adds a launch that only checks the streams' rows and timestamps.
func (p *plan) bindFuseCheck(j *backend.FuseJob) error {
	shapes, parts := make([]shape, len(j.Parts)), make([]streamForm, len(j.Parts))
	for m, part := range j.Parts {
		shapes[m] = shape{threads: threads, tile: 1, chunks: 1, blocks: p.b.checkers(part.ResampleJob, checkPerBlock)}
		parts[m].dtype = tensor.F32
	}
	return p.Add(p.b.bind(fuseChunks.name, j.Launch, blocksOf(shapes), threads, 0, p.fuseParams(j, parts, shapes)))
}

// fuseChunks handles streams with 16- or 32-bit values on both sides and one interpolation that copies or blends samples (fuse_chunks).
// fuseAny handles every stream (fuse) but needs more registers: three streams with 512, 128 and 64 features took 39.5 us by fuse_chunks
// and 50.2 by fuse.
var (
	fuseChunks = &variant{
		name: "fuse_chunks",
		supports: func(_ *gpu, j *backend.FuseJob) string {
			for _, m := range streamForms(j) {
				if m.channels != nil {
					return "interpolations that look at values, or several, or values of 64 bits"
				}
			}
			return ""
		},
		tunable: tuned.SearchSpace{ItemsPerThread: []int{1, 2, 4, 8}}, heuristic: heuristicAny, configure: configureAny, params: paramsAny,
	}
	fuseAny = &variant{
		name:     "fuse",
		supports: func(*gpu, *backend.FuseJob) string { return "" },
		tunable:  tuned.SearchSpace{ItemsPerThread: []int{1, 2, 4, 8}}, heuristic: heuristicAny, configure: configureAny, params: paramsAny,
	}
)

// streamForm describes how fuse.cu computes a stream: by chunks of neighbouring features, or item by item.
type streamForm struct {
	kind     backend.Interp    // by chunks: the interpolation of all features
	channels []backend.Channel // by items: the channels; nil if by chunks
	dtype    tensor.DType      // the source's dtype
	vector   int               // by chunks: log2 of the elements that are moved together
	items    int               // by items: offset of the items in the plan's table
	affine   int               // offset of the shifts, scales and bounds in the plan's table
}

func streamForms(j *backend.FuseJob) []streamForm {
	list := make([]streamForm, len(j.Parts))
	for i, p := range j.Parts {
		m := &list[i]
		m.dtype, m.channels = tensor.F32, p.Channels
		if p.Src != nil {
			m.dtype = p.Src.DType()
		} else {
			m.channels = []backend.Channel{{Hi: p.D}} // a missing stream is filled, so its interpolations do not matter
		}
		if kind, one := uniform(m.channels); one && m.dtype != tensor.F64 && p.Dst.DType() != tensor.F64 {
			m.kind, m.channels, m.vector = kind, nil, vectorOf(p.ResampleJob, side{p.Src, m.dtype, p.SrcBatch, p.SrcStep})
		}
	}
	return list
}

// storeOf is the log2 of the largest power of two, up to 16 bytes, that divides the stream's address in every dst row.
func storeOf(j *backend.ResampleJob) uint32 {
	size := uint64(j.Dst.DType().Size())
	return uint32(bits.TrailingZeros64(address(j.Dst) | uint64(j.DstBatch)*size | uint64(j.DstStep)*size | chunk))
}

func heuristicAny(b *gpu, j *backend.FuseJob) tuned.Policy {
	chunks := 0
	for i, m := range streamForms(j) {
		if m.channels == nil {
			chunks += j.Parts[i].D >> m.vector
		}
	}
	return tuned.Policy{ItemsPerThread: b.unitsPerThreadFor(j.Rows()*chunks, inputsReady(j)), Check: checkPerBlock}
}

func configureAny(b *gpu, j *backend.FuseJob, c tuned.Policy) (list []shape) {
	for i, m := range streamForms(j) {
		if r := j.Parts[i].ResampleJob; m.channels == nil {
			list = append(list, b.configureChunks(r, c, m.vector, ptx.TargetsPerThread))
		} else {
			list = append(list, b.configureItems(r, m.channels, c.Check, 0, true))
		}
	}
	return list
}

func paramsAny(p *plan, j *backend.FuseJob, shapes []shape) (parameters, error) {
	parts := streamForms(j)
	if err := p.upload(tables(j, parts)); err != nil {
		return nil, err
	}
	return p.fuseParams(j, parts, shapes), nil
}

// tables encodes the streams' data that the kernel reads from device memory: items, shifts, scales and bounds.
func tables(j *backend.FuseJob, parts []streamForm) []byte {
	var data bytes.Buffer
	pad := func() { data.Write(make([]byte, -data.Len()&15)) }
	for i := range parts {
		m, part := &parts[i], &j.Parts[i]
		if m.channels != nil {
			m.items = data.Len()
			data.Write(itemTable(part.ResampleJob, m.channels, j.Clock))
		}
		if !part.Normalised() {
			continue
		}
		m.affine = data.Len()
		shift, scale, least, most := part.Affine()
		for _, list := range [][]float32{shift, scale, least, most} {
			data.Write(packed(list))
			pad()
		}
	}
	return data.Bytes()
}

// fuseParams returns the parameter for the kernels in fuse.cu.
func (p *plan) fuseParams(j *backend.FuseJob, parts []streamForm, shapes []shape) *ptx.FuseParams {
	r := first(j)
	magic, shift := divider(j.T, j.Rows())
	out := &ptx.FuseParams{
		Targets: targetsOf(j.Targets), TargetsBatch: int64(r.TargetBatch), Anchors: address(j.Targets.Anchors), Dst: address(j.Dst), DstBatch: int64(r.DstBatch), DstStep: int64(r.DstStep),
		Valid: address(j.Valid), ValidBatch: int64(r.ValidBatch), ValidStep: int64(r.ValidStep), Age: address(j.Age), AgeBatch: int64(r.AgeBatch), AgeStep: int64(r.AgeStep),
		Pad: address(j.Pad), PadBatch: int64(r.PadBatch), PadStep: int64(r.PadStep),
		DstRows: rows(j.DstLengths, j.DstOffsets), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Start: startBits(j.Targets, j.Clock), Rate: j.Targets.Rate,
		Total: uint64(j.Rows()), T: uint64(j.T), TMagic: magic, B: uint32(j.B), FirstBlock: firstBlocks(shapes),
	}
	column := 0
	for i, m := range parts {
		part, s := &j.Parts[i], shapes[i]
		src := part.ResampleJob
		f := jobFlags(src, j.Clock, m.kind, s)
		f.TShift = shift
		stream := ptx.FuseStream{
			Src: address(src.Src), SrcBatch: int64(src.SrcBatch), SrcStep: int64(src.SrcStep), Times: address(src.SrcTimes), TimesBatch: int64(src.TimesBatch),
			SrcRows: rows(src.SrcLengths, src.SrcOffsets), SrcStarts: address(src.SrcStarts), Offset: lengthBits(part.Offset, j.Clock), Fill: valueBits(src.Fill, j.Dst.DType()),
			MaxGap: limitBits(src.Slack(src.MaxGap), j.Clock), Tolerance: limitBits(src.Slack(src.Tolerance), j.Clock), Snap: limitBits(src.Snap, j.Clock), Shortest: lengthBits(src.WindowFrom(src.ShortestWindow()), j.Clock),
			Timestamps: uint64(src.Timestamps()), TimestampsPerBlock: uint64((src.Timestamps() + s.blocks - 1) / s.blocks), S: uint64(src.S), Column: uint32(column),
			Blocks: uint32(s.blocks), SamplesPerTarget: samplesPerTarget(src), D: uint32(src.D), Tile: uint32(s.tile), Chunks: uint32(s.chunks), ChunkMagic: chunkMagic(s.chunks),
			Flags: f.Word(),
		}
		more := jobMore(src, m.dtype)
		more.Store, more.ByItems, more.Clips, more.TryFastPath = storeOf(src), m.channels != nil, part.Clips(), magic != 0 && usual(src)
		stream.More = more.Word()
		if m.channels != nil {
			categories := countItems(m.channels)
			stream.Items, stream.ItemsOf = uint64(p.table.Ptr())+uint64(m.items), categories.categories(categories.cubicTargets(s.threads, s.tile, float64(samplesPerTarget(src))))
		}
		if p.table != nil && part.Normalised() {
			stream.Affine = uint64(p.table.Ptr()) + uint64(m.affine)
		}
		out.Stream[i] = stream
		column += src.D
	}
	return out
}

// usual reports whether locate_target_fast in locate.cuh may find most targets. It requires rows of fixed length or a selection, and
// targets without row lengths, offsets or limits.
func usual(j *backend.ResampleJob) bool {
	_, gap := j.MaxGap.Get()
	_, tolerance := j.Tolerance.Get()
	_, window := j.ShortestWindow().Get()
	return !gap && !tolerance && !window && j.SrcOffsets == nil && j.DstLengths == nil && j.DstOffsets == nil && j.S > 1
}

func (s shape) count() int         { return s.blocks }
func (s gradientShape) count() int { return s.blocks }
