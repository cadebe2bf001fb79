package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func (b *backend) Fuse(job *ops.FuseJob) (ops.Plan, error) {
	p := &plan{b: b, bound: job.Bound()}
	if job.Idle() {
		return p, nil
	}
	p.explain = func(f ops.Fault) error {
		srcOffsets, err1 := b.download(job.Parts[f.Stream()].SrcOffsets)
		dstOffsets, err2 := b.download(job.DstOffsets)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return job.FaultError(f, srcOffsets, dstOffsets)
	}
	if job.Empty() {
		return p.ready(func() error { return p.checkFuse(job) })
	}
	return p.ready(func() error { return p.bindFuse(job) })
}

// checkFuse binds a launch that only checks the streams' rows and stamps.
func (p *plan) checkFuse(job *ops.FuseJob) error {
	job = job.Checked()
	k, err := p.b.kernel("fuse_chunks")
	if err != nil {
		return err
	}
	parts, blocks := make([]fusePart, len(job.Parts)), 0
	for m := range parts {
		j := job.Parts[m].ResampleJob
		cut := shape{threads: 128, tile: 1, chunks: 1, blocks: p.b.checkers(j, checkShare)}
		parts[m] = fusePart{FusePart: &ops.FusePart{ResampleJob: j}, dtype: tensor.F32, cut: cut}
		blocks += cut.blocks
	}
	p.kernel, err = k.Bind(p.b.config("fuse_chunks", job.Launch, blocks, 128), p.fuseParams(job, parts))
	return err
}

// fusePart is how the kernel makes a stream.
type fusePart struct {
	*ops.FusePart
	kind     ops.Kind      // by chunks: the kind of all features
	channels []ops.Channel // by items: what each feature is; else nil
	dtype    tensor.DType  // Src's
	vector   int           // by chunks: log2 of the elements moved at once
	cut      shape
	items    uint64 // where its items begin in the plan's table
	sorts    itemSorts
	affine   uint64 // where its shifts begin there, then its scales
}

// fuseParts chooses how each stream is made.
func fuseParts(job *ops.FuseJob) []fusePart {
	parts := make([]fusePart, len(job.Parts))
	for m := range parts {
		p := &parts[m]
		p.FusePart, p.dtype = &job.Parts[m], tensor.F32
		p.channels = p.Channels
		if p.Src != nil {
			p.dtype = p.Src.DType()
		} else {
			p.channels = []ops.Channel{{Hi: p.D}} // it is filled, whatever its kinds are
		}
		if kind, same := uniform(p.channels); same && p.dtype != tensor.F64 && p.Dst.DType() != tensor.F64 {
			p.kind, p.channels, p.vector = kind, nil, p.chunkOf()
		}
	}
	return parts
}

// numbers are how many chunks, and how many items, a target has in all streams.
func numbers(parts []fusePart) (chunks, made int) {
	for _, p := range parts {
		if p.channels == nil {
			chunks += p.D >> p.vector
		} else {
			sorts := countItems(p.channels)
			made += sorts.items()
		}
	}
	return chunks, made
}

// cutParts cuts each stream into blocks.
func (b *backend) cutParts(parts []fusePart, c choice) (list []shape) {
	for _, p := range parts {
		if p.channels == nil {
			list = append(list, b.cutChunks(p.ResampleJob, c, p.vector))
		} else {
			list = append(list, b.cutItems(p.ResampleJob, c, countItems(p.channels)))
		}
	}
	return list
}

// chooseFuse decides on a job of several streams, of which so many chunks are moved, and so many chunks and items made, a target.
func (p *plan) chooseFuse(kernel string, job *ops.FuseJob, chunks, all int, cut func(choice) []shape) []shape {
	stamps := 0
	for _, part := range job.Parts {
		if job.Check && part.SrcTimes != nil {
			stamps += part.Stamps()
		}
	}
	ready := job.Launch == ops.LaunchInputsReady
	class := tuned.Class{Variant: kernel, Bytes: log2(job.D * job.Dst.DType().Size()), Pieces: log2(all), Targets: log2(job.Rows()), Stamps: log2(stamps), Ready: ready}
	return p.choose(class, p.b.model(kernel, job.Rows()*chunks, ready), cut)
}

// chunkOf is the log2 of the most elements, up to 16 bytes of source, that can be read at once. What is written of them at once is
// storeOf's.
func (p *fusePart) chunkOf() int {
	size := p.dtype.Size()
	for v := 3; v > 0; v-- {
		if n := 1 << v; n*size <= 16 && p.D%n == 0 && uint64(pointer(p.Src))%uint64(n*size) == 0 && p.SrcBatch%n == 0 && p.SrcStep%n == 0 {
			return v
		}
	}
	return 0
}

// storeOf is the log2 of the bytes, up to 16, of which the stream's place in every row of dst is a multiple.
func (p *fusePart) storeOf() uint32 {
	size := uint64(p.Dst.DType().Size())
	together := uint64(pointer(p.Dst)) | uint64(p.DstBatch)*size | uint64(p.DstStep)*size | 16
	return uint32(bits.TrailingZeros64(together))
}

// tables are what the kernel reads of all streams from device memory: items, shifts and scales.
func tables(job *ops.FuseJob, parts []fusePart) (data []byte) {
	for m := range parts {
		p := &parts[m]
		if p.channels != nil {
			var items []byte
			items, p.sorts = itemTable(p.channels, job.Clock)
			p.items = uint64(len(data))
			data = append(data, items...)
		}
		for len(data)%16 > 0 {
			data = append(data, 0)
		}
		if p.Shift == nil && p.Scale == nil {
			continue
		}
		p.affine = uint64(len(data))
		shift, scale := p.Affine()
		for _, list := range [][]float32{shift, scale} {
			for _, x := range list {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
			}
			for len(data)%16 > 0 {
				data = append(data, 0)
			}
		}
	}
	return data
}

// bindFuse fills in the launch.
func (p *plan) bindFuse(job *ops.FuseJob) error {
	if parts, ok := p.b.plainParts(job); ok {
		return p.bindPlainFuse(job, parts)
	}
	parts, name := fuseParts(job), "fuse_chunks"
	chunks, made := numbers(parts)
	if made > 0 {
		name = "fuse"
	}
	shapes := p.chooseFuse(name, job, chunks, chunks+made, func(c choice) []shape { return p.b.cutParts(parts, c) })
	for m := range parts {
		parts[m].cut = shapes[m]
	}
	blocks := blocksOf(shapes)
	if blocks > math.MaxInt32 {
		return &ops.ArgError{Op: "Fuse", Arg: "Dst", Kind: ops.ErrTooLarge, Got: fmt.Sprintf("%d blocks for %d targets of %d features", blocks, job.Rows(), job.D), Want: fmt.Sprintf("at most %d", math.MaxInt32)}
	}
	k, err := p.b.kernel(name)
	if err != nil {
		return err
	}
	if data := tables(job, parts); len(data) > 0 {
		if err := p.upload(data); err != nil {
			return err
		}
	}
	p.kernel, err = k.Bind(p.b.config(name, job.Launch, blocks, shapes[0].threads), p.fuseParams(job, parts))
	return err
}

// fuseParams packs the kernels' parameter in the order of fuse_job.cuh.
func (p *plan) fuseParams(job *ops.FuseJob, parts []fusePart) []byte {
	var out packer
	first := parts[0]
	magic, shift := divider(job.T, job.Rows())
	out.words(uint64(pointer(job.Targets.Times)), uint64(first.TargetBatch),
		uint64(pointer(job.Dst)), uint64(first.DstBatch), uint64(first.DstStep),
		uint64(pointer(job.Valid)), uint64(first.ValidBatch), uint64(first.ValidStep),
		uint64(pointer(job.Age)), uint64(first.AgeBatch), uint64(first.AgeStep),
		uint64(rows(job.DstLengths, job.DstOffsets)),
		uint64(p.cell.cell), uint64(p.cell.flag),
		uint64(job.Targets.Start), math.Float64bits(job.Targets.Rate),
		uint64(job.Rows()), uint64(job.T))
	out.halves(magic, uint32(job.B), uint32(len(parts)), 0)
	column, block := 0, 0
	table := func(here bool, offset uint64) uint64 {
		if !here {
			return 0
		}
		return uint64(p.table.Ptr()) + offset
	}
	for i := range parts {
		s := &parts[i]
		j := s.ResampleJob
		byItems := s.channels != nil
		out.words(uint64(pointer(j.Src)), uint64(j.SrcBatch), uint64(j.SrcStep),
			uint64(pointer(j.SrcTimes)), uint64(j.TimesBatch), uint64(rows(j.SrcLengths, j.SrcOffsets)),
			table(byItems, s.items), table(s.Shift != nil || s.Scale != nil, s.affine),
			lengthBits(s.Offset, job.Clock), valueBits(j.Fill, job.Dst.DType()),
			limitBits(j.MaxGap, job.Clock), limitBits(j.Tolerance, job.Clock), limitBits(j.ShortestWindow(), job.Clock),
			uint64(j.Stamps()), uint64((j.Stamps()+s.cut.blocks-1)/s.cut.blocks), uint64(j.S))
		more := dtypeCode[s.dtype] | s.storeOf()<<2
		if byItems {
			more |= 1 << 5
		}
		out.halves(uint32(column), uint32(block), uint32(s.cut.blocks), math.Float32bits(pace(j)),
			uint32(j.D), uint32(s.cut.tile), uint32(s.cut.chunks), chunkMagic(s.cut.chunks),
			flags(j, job.Clock, s.kind, s.cut)|shift<<24, more)
		out.halves(s.sorts.halves(s.sorts.run(s.cut.threads, s.cut.tile, float64(pace(j))))...)
		column += j.D
		block += s.cut.blocks
	}
	return append(out.data, make([]byte, fuseStreamBytes*(ops.MaxStreams-len(parts)))...)
}

// fuseStreamBytes is the size of fuse_job.cuh's fuse_stream.
const fuseStreamBytes = 208
