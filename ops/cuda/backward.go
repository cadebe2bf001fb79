package cuda

import (
	"bytes"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// Each thread of fuse_backward.cuh sums the gradients for up to samplesPerThread consecutive samples. About targetsPerThread targets
// contribute to them.
const (
	samplesPerThread = 64
	targetsPerThread = 128
	minCheckPerBlock = 256 // timestamps or targets per block, if blocks can be added
)

func (b *gpu) Backward(job *backend.BackwardJob) (backend.Plan, error) {
	return b.prepared(job, func(p *plan) error {
		switch f := job.Forward; {
		case job.Empty() && job.Alone:
			return p.bindCheck(f.Parts[0].ResampleJob)
		case job.Empty():
			return p.bindFuseCheck(f.Checked())
		}
		return p.bindBackward(job)
	})
}

// gradientShape is the launch configuration for one stream's gradient.
type gradientShape struct {
	number         int // the stream's index in the job
	vector, chunks int
	groups, parts  int // sample groups in a block, and blocks that share the same samples
	tile, tiles    int // samples per block, and blocks per padded row or packed stream
	blocks         int
	kinds, scale   int // byte offsets into the plan's table
}

// bindBackward adds one launch of fuse_backward for all streams with gradients summed in float32, and one of fuse_backward_f64 for the
// others. Missing streams go to the first of these launches, because their rows are checked.
func (p *plan) bindBackward(job *backend.BackwardJob) error {
	var lists [2][]gradientShape
	var missing []gradientShape
	for m, part := range job.Forward.Parts {
		switch s := p.b.gradientShapeOf(job, m); {
		case part.Src == nil:
			missing = append(missing, s)
		case part.Src.DType() == tensor.F64:
			lists[1] = append(lists[1], s)
		default:
			lists[0] = append(lists[0], s)
		}
	}
	if len(lists[0]) > 0 {
		lists[0] = append(lists[0], missing...)
	} else {
		lists[1] = append(lists[1], missing...)
	}
	if err := p.upload(backwardTable(job, lists[0], lists[1])); err != nil {
		return err
	}
	for i, list := range lists {
		blocks := 0
		for _, s := range list {
			blocks += s.blocks
		}
		if blocks > math.MaxInt32 {
			return &backend.ArgError{Op: job.Op(), Arg: "SrcGrad", Kind: ops.ErrTooLarge, Got: fmt.Sprintf("%d blocks", blocks), Want: fmt.Sprintf("at most %d", math.MaxInt32)}
		}
		if blocks == 0 {
			continue
		}
		kernel := []string{"fuse_backward", "fuse_backward_f64"}[i]
		if err := p.Add(p.b.bind(kernel, job.Forward.Launch, blocks, ptx.BackwardThreads, 0, p.backwardParams(job, list))); err != nil {
			return err
		}
	}
	return nil
}

// gradientShapeOf divides stream m's samples into blocks. If there are few samples and many timestamps or targets, it adds blocks that
// only check.
func (b *gpu) gradientShapeOf(job *backend.BackwardJob, m int) gradientShape {
	j := job.Forward.Parts[m].ResampleJob
	s := gradientShape{number: m, chunks: 1, groups: ptx.BackwardThreads, parts: 1, tile: 1, tiles: 1}
	if j.Src != nil && j.Src.Len() > 0 {
		s.vector = backwardVector(j)
		s.chunks = j.D >> s.vector
		s.groups = max(ptx.BackwardThreads/s.chunks, 1)
		s.parts = (s.chunks + ptx.BackwardThreads - 1) / ptx.BackwardThreads
		rows := j.B
		if j.SrcOffsets != nil {
			rows = 1
		}
		most := max(min(samplesPerThread, targetsPerThread*rows*j.S/max(j.Rows(), 1)), 1) * s.groups
		s.tile, s.tiles = b.inWaves(j.S, rows*s.parts, s.groups, most)
		s.blocks = rows * s.tiles * s.parts
	}
	if j.Check || j.Edge == backend.EdgeError {
		s.blocks = max(s.blocks, 1, min((max(j.Timestamps(), j.Rows())+minCheckPerBlock-1)/minCheckPerBlock, 8*b.sms))
	}
	return s
}

// inWaves divides each row of n samples into tiles between `least` and `most` samples. It chooses the tile size so that the blocks fill
// the device a whole number of times, because a partial last wave leaves multiprocessors idle. Example: 64 x 1000 x 512 took 48.4 us
// with tiles of 64 samples, which made one and a half waves.
func (b *gpu) inWaves(n, rows, least, most int) (tile, tiles int) {
	for waves := 1; ; waves++ {
		tiles = max(waves*ptx.BackwardBlocks*b.sms/rows, 1)
		if tile = max((n+tiles-1)/tiles, min(least, n)); tile <= most || tiles >= n {
			return tile, (n + tile - 1) / tile
		}
	}
}

// backwardVector is the log2 of the number of features that a thread computes together. All of them have the same interpolation.
func backwardVector(j *backend.ResampleJob) int {
	v := vectorOf(j, side{j.Dst, j.Dst.DType(), j.DstBatch, j.DstStep}, side{j.Src, j.Src.DType(), j.SrcBatch, j.SrcStep})
	if j.Src.DType() == tensor.F64 {
		v = min(v, 1)
	}
	if _, one := uniform(j.Channels); one {
		return v
	}
	for _, c := range j.Channels {
		for c.Lo%(1<<v) != 0 {
			v--
		}
	}
	return v
}

// backwardTable encodes the part of the streams that the kernels read from device memory: the interpolation of each chunk if a stream
// has several, and the scales. It sets the offsets kinds and scale in the lists.
func backwardTable(job *backend.BackwardJob, lists ...[]gradientShape) []byte {
	var data bytes.Buffer
	for _, list := range lists {
		for i := range list {
			s, part := &list[i], &job.Forward.Parts[list[i].number]
			if _, one := uniform(part.Channels); !one {
				var kinds []uint32
				for _, c := range part.Channels {
					for range (c.Hi - c.Lo) >> s.vector {
						kinds = append(kinds, uint32(c.Interp))
					}
				}
				s.kinds = data.Len()
				data.Write(packed(kinds))
			}
			s.scale = data.Len()
			data.Write(packed(part.Scale))
		}
	}
	return data.Bytes()
}

// backwardParams returns the parameter for fuse_backward.cuh for the streams in list.
func (p *plan) backwardParams(job *backend.BackwardJob, list []gradientShape) *ptx.BackwardParams {
	f := job.Forward
	lead := first(f)
	magic, shift := divider(f.T, f.Rows())
	out := &ptx.BackwardParams{
		Targets: address(f.Targets.Times), TargetsBatch: int64(lead.TargetBatch), Dst: address(f.Dst), DstBatch: int64(lead.DstBatch), DstStep: int64(lead.DstStep),
		DstRows: rows(f.DstLengths, f.DstOffsets), Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Start: startBits(f.Targets, f.Clock), Rate: f.Targets.Rate,
		Total: uint64(f.Rows()), T: uint64(f.T), TMagic: magic, B: uint32(f.B), FirstBlock: firstBlocks(list),
	}
	if job.Alone {
		out.SingleStream = 1
	}
	for i, s := range list {
		part := &f.Parts[s.number]
		j := part.ResampleJob
		kind, one := uniform(j.Channels)
		flags := jobFlags(j, f.Clock, kind, shape{vector: s.vector})
		flags.TShift = shift
		share := func(n int) uint64 { return uint64((n + s.blocks - 1) / max(s.blocks, 1)) }
		in := tensor.F32
		if j.Src != nil {
			in = j.Src.DType()
		}
		stream := ptx.BackwardStream{
			Src: address(j.Src), SrcBatch: int64(j.SrcBatch), SrcStep: int64(j.SrcStep), Times: address(j.SrcTimes), TimesBatch: int64(j.TimesBatch), SrcRows: rows(j.SrcLengths, j.SrcOffsets),
			Offset: lengthBits(part.Offset, f.Clock), MaxGap: limitBits(j.Slack(j.MaxGap), f.Clock), Tolerance: limitBits(j.Slack(j.Tolerance), f.Clock), Snap: limitBits(j.Snap, f.Clock),
			Timestamps: uint64(j.Timestamps()), TimestampsPerBlock: share(j.Timestamps()), S: uint64(j.S), TargetsPerBlock: share(j.Rows()), SamplesPerTarget: samplesPerTarget(j), Column: uint32(columnOf(f, s.number)),
			Blocks: uint32(s.blocks), D: uint32(j.D), Number: uint32(s.number), Tile: uint32(s.tile), Tiles: uint32(s.tiles), Parts: uint32(s.parts),
			Groups: uint32(s.groups), Chunks: uint32(s.chunks), ChunkMagic: chunkMagic(s.chunks), Flags: flags.Word(), More: jobMore(j, in).Word(),
		}
		if !one {
			stream.Interpolations = uint64(p.table.Ptr()) + uint64(s.kinds)
		}
		if part.Scale != nil {
			stream.Scale = uint64(p.table.Ptr()) + uint64(s.scale)
		}
		out.Stream[i] = stream
	}
	return out
}

// columnOf returns the first column of a stream's features in dst.
func columnOf(f *backend.FuseJob, number int) (column int) {
	for _, part := range f.Parts[:number] {
		column += part.D
	}
	return column
}
