package cuda

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// somewhere is memory with an address and nothing else.
type somewhere struct{}

func (somewhere) Addr() uint64   { return 1 << 40 }
func (somewhere) Size() int64    { return 1 << 20 }
func (somewhere) Device() string { return "somewhere:0" }
func (somewhere) Close() error   { return nil }

// fuseTestJob has streams of the given widths and kinds, 3 rows of 10 samples onto 3 rows of 5 targets.
func fuseTestJob(out tensor.DType, streams ...ops.FusePart) *ops.FuseJob {
	j := &ops.FuseJob{Parts: streams, B: 3, T: 5, Clock: tensor.I64, Check: true, FuseArgs: ops.FuseArgs{Targets: ops.Uniform(0, 1, 5)}}
	for m := range streams {
		j.D += streams[m].D
	}
	dst := tensor.Must(tensor.OnDevice(somewhere{}, out, 3, 5, j.D))
	lo := 0
	for _, p := range streams {
		p.Dst = tensor.Must(dst.Slice(2, lo, lo+p.D))
		p.DstBatch, p.DstStep = dst.Stride(0), dst.Stride(1)
		lo += p.D
	}
	j.Dst = dst
	return j
}

func fuseTestPart(dtype tensor.DType, d int, channels ...ops.Channel) ops.FusePart {
	p := ops.FusePart{ResampleJob: &ops.ResampleJob{B: 3, T: 5, D: d, TimesRows: 1, Check: true, Channels: channels}}
	if channels == nil {
		p.Channels = []ops.Channel{{Lo: 0, Hi: d}}
	}
	p.Src, p.SrcTimes = tensor.Must(tensor.New(dtype, 3, 10, d)), tensor.Must(tensor.New(tensor.I64, 10))
	p.S, p.SrcBatch, p.SrcStep = 10, 10*d, d
	return p
}

func TestParameterOfFuseFitsTheKernels(t *testing.T) {
	b := &backend{sms: 132}
	for _, n := range []int{1, 2, ops.MaxStreams} {
		var parts []ops.FusePart
		for m := range n {
			parts = append(parts, fuseTestPart(tensor.F32, m+1))
		}
		job := fuseTestJob(tensor.F32, parts...)
		made := fuseParts(job)
		for m, cut := range b.cutParts(made, b.model("fuse", 1000, false)) {
			made[m].cut = cut
		}
		data := (&plan{cell: &faultCell{}}).fuseParams(job, made)
		for _, name := range []string{"fuse", "fuse_chunks"} {
			_, entry, ok := ptx.Lookup(name)
			require.True(t, ok, name)
			require.Len(t, entry.Params, 1)
			assert.Len(t, data, entry.Params[0].Size, name)
			assert.LessOrEqual(t, len(data), 4096, "what drivers before CUDA 12.1 take")
		}
		// first_block of each stream, which the kernel looks for its own in, follows 16 words and a column.
		at := len(data) - fuseStreamBytes*ops.MaxStreams
		blocks := uint32(0)
		for m, p := range made {
			stream := data[at+m*fuseStreamBytes:]
			assert.Equal(t, blocks, binary.LittleEndian.Uint32(stream[16*8+4:]), "stream %d of %d", m, n)
			assert.Equal(t, uint32(p.cut.blocks), binary.LittleEndian.Uint32(stream[16*8+8:]), "stream %d of %d", m, n)
			blocks += uint32(p.cut.blocks)
		}
	}
}

func TestParameterOfPlainFuseFitsTheKernels(t *testing.T) {
	b := &backend{sms: 132}
	var parts []ops.FusePart
	for m := range ops.MaxStreams {
		parts = append(parts, fuseTestPart(tensor.F32, m+1))
		job := fuseTestJob(tensor.F32, parts...)
		made, ok := b.plainParts(job)
		require.True(t, ok)
		for m, cut := range b.cutPlainParts(made, b.model("fuse_plain_f32", 1000, false)) {
			made[m].cut = cut
		}
		data := (&plan{b: b, cell: &faultCell{}}).plainParams(job, made)
		for _, name := range []string{"fuse_plain_f32", "fuse_plain_f16", "fuse_plain_bf16"} {
			if len(parts) > fewStreams {
				name += "_many"
			}
			_, entry, ok := ptx.Lookup(name)
			require.True(t, ok, name)
			require.Len(t, entry.Params, 1)
			assert.Len(t, data, entry.Params[0].Size, name)
		}
		// The first block of each stream, which the kernel looks for its own in, follows 2 words and 4 halves.
		blocks := uint32(0)
		for m, p := range made {
			assert.Equal(t, blocks, binary.LittleEndian.Uint32(data[2*8+4*4+4*m:]), "stream %d", m)
			assert.LessOrEqual(t, p.cut.tile*p.cut.chunks, mostEach*plainThreads)
			blocks += uint32(p.cut.blocks)
		}
	}
}

// Which fuses go the plain way, and how many bytes of each stream at once; by elements if a place in dst may be odd.
func TestPlainStreams(t *testing.T) {
	pchip := ops.Channel{Hi: 8, Kind: ops.Pchip}
	scaled := fuseTestPart(tensor.F32, 8)
	scaled.Scale = make([]float32, 8)
	missing := ops.FusePart{ResampleJob: &ops.ResampleJob{B: 3, T: 5, D: 4, TimesRows: 1, Channels: []ops.Channel{{Hi: 4}}}}
	far, farther := fuseTestPart(tensor.F32, 8), fuseTestPart(tensor.F32, 8)
	far.SrcBatch, farther.SrcBatch = 1<<32, 1<<33 // the third row begins 2^31 and 2^32 units on
	for name, c := range map[string]struct {
		out         tensor.DType
		part        ops.FusePart
		takes       bool
		unit, store uint32
	}{
		"f32":         {tensor.F32, fuseTestPart(tensor.F32, 8), true, 4, 4},
		"f32 of 6":    {tensor.F32, fuseTestPart(tensor.F32, 6), true, 3, 3},
		"f32 of 7":    {tensor.F32, fuseTestPart(tensor.F32, 7), true, 2, 2},
		"f32 of 31":   {tensor.F32, fuseTestPart(tensor.F32, 31), true, 2, 2},
		"f32 of 33":   {tensor.F32, fuseTestPart(tensor.F32, 33), true, 2, 0}, // as odd rows: more than mostUnits
		"f32 of 62":   {tensor.F32, fuseTestPart(tensor.F32, 62), true, 3, 3},
		"f32 of 66":   {tensor.F32, fuseTestPart(tensor.F32, 66), true, 3, 0},
		"f32 of 132":  {tensor.F32, fuseTestPart(tensor.F32, 132), true, 4, 4}, // whole chunks are never too many
		"bf16 of 66":  {tensor.BF16, fuseTestPart(tensor.BF16, 66), true, 2, 0},
		"far apart":   {tensor.F32, far, true, 4, 4},
		"too far":     {tensor.F32, farther, false, 0, 0},
		"bf16 of 8":   {tensor.BF16, fuseTestPart(tensor.BF16, 8), true, 4, 3},
		"bf16 of 7":   {tensor.BF16, fuseTestPart(tensor.BF16, 7), true, 1, 0},
		"f64":         {tensor.F64, fuseTestPart(tensor.F64, 8), false, 0, 0},
		"other dtype": {tensor.F32, fuseTestPart(tensor.F16, 8), false, 0, 0},
		"pchip":       {tensor.F32, fuseTestPart(tensor.F32, 8, pchip), false, 0, 0},
		"normalised":  {tensor.F32, scaled, false, 0, 0},
		"missing":     {tensor.F32, missing, false, 0, 0},
	} {
		parts, ok := (&backend{sms: 132}).plainParts(fuseTestJob(c.out, c.part, fuseTestPart(c.out, 4)))
		require.Equal(t, c.takes, ok, name)
		if ok {
			assert.Equal(t, [2]uint32{c.unit, c.store}, [2]uint32{parts[0].unit, parts[0].store}, name)
		}
	}
}

// A stream beside a wider one has smaller blocks if it would have few of them.
func TestNarrowStreamsHaveEnoughBlocks(t *testing.T) {
	b := &backend{sms: 132}
	choice := choice{Each: 4, Threads: plainThreads, Check: 512}
	for rows, want := range map[int]int{132 * 8: 4, 132*16 - 1: 4, 132 * 16: 2, 132*32 - 1: 2, 132 * 32: 1, 1 << 20: 1} { // times which its blocks are smaller
		part := func(chunks int) plainPart {
			p := fuseTestPart(tensor.F32, 4*chunks)
			p.B, p.T = 1, rows
			return plainPart{FusePart: &p, form: wholeRows, unit: 4, store: 4, chunks: chunks}
		}
		alone := b.cutPlainParts([]plainPart{part(8)}, choice)[0]
		beside := b.cutPlainParts([]plainPart{part(8), part(64)}, choice)
		assert.Equal(t, alone.tile, want*beside[0].tile, "%d rows", rows)
		assert.Equal(t, b.cutPlainParts([]plainPart{part(64)}, choice)[0].tile, beside[1].tile, "the widest, %d rows", rows)
	}
}

func TestStreamsAreMadeByChunksWhereTheyCanBe(t *testing.T) {
	pchip := ops.Channel{Hi: 8, Kind: ops.Pchip}
	missing := ops.FusePart{ResampleJob: &ops.ResampleJob{B: 3, T: 5, D: 4, TimesRows: 1, Channels: []ops.Channel{{Hi: 4, Kind: ops.Slerp}}}}
	for name, c := range map[string]struct {
		out    tensor.DType
		part   ops.FusePart
		chunks bool
		vector int
	}{
		"f32":                   {tensor.F32, fuseTestPart(tensor.F32, 8), true, 2},
		"bf16":                  {tensor.F32, fuseTestPart(tensor.BF16, 8), true, 3},
		"bf16 of 12":            {tensor.BF16, fuseTestPart(tensor.BF16, 12), true, 2},
		"f16 of 14":             {tensor.F32, fuseTestPart(tensor.F16, 14), true, 1},
		"f32 of 7":              {tensor.F16, fuseTestPart(tensor.F32, 7), true, 0},
		"f64":                   {tensor.F32, fuseTestPart(tensor.F64, 8), false, 0},
		"to f64":                {tensor.F64, fuseTestPart(tensor.F32, 8), false, 0},
		"pchip":                 {tensor.F32, fuseTestPart(tensor.F32, 8, pchip), false, 0},
		"two kinds":             {tensor.F32, fuseTestPart(tensor.F32, 8, ops.Channel{Hi: 4}, ops.Channel{Lo: 4, Hi: 8, Kind: ops.Next}), false, 0},
		"nearest":               {tensor.F32, fuseTestPart(tensor.F32, 8, ops.Channel{Hi: 8, Kind: ops.Nearest}), true, 2},
		"missing":               {tensor.F16, missing, true, 2},
		"missing, dst of f64":   {tensor.F64, missing, false, 0},
		"one feature of 8 in 9": {tensor.F32, fuseTestPart(tensor.F32, 1), true, 0},
	} {
		b := &backend{sms: 132}
		job := fuseTestJob(c.out, c.part, fuseTestPart(tensor.F32, 3))
		p := fuseParts(job)[0]
		p.cut = b.cutParts([]fusePart{p}, b.model("fuse", 1000, false))[0]
		assert.Equal(t, c.chunks, p.channels == nil, name)
		assert.Equal(t, c.vector, p.vector, name)
		assert.Positive(t, p.cut.blocks, name)
		limit := maxTile
		if p.channels != nil {
			limit = maxChannelsTile
		}
		assert.LessOrEqual(t, p.cut.tile, limit, name)
		assert.GreaterOrEqual(t, p.cut.tile*p.cut.blocks, job.Rows(), name)
	}
}

func TestTablesOfFuseAreAligned(t *testing.T) {
	one, two := fuseTestPart(tensor.F64, 3), fuseTestPart(tensor.F32, 5)
	one.Shift, two.Scale = []float32{1, 2, 3}, []float32{4, 5, 6, 7, 8}
	job := fuseTestJob(tensor.F32, one, two, fuseTestPart(tensor.F64, 1))
	parts := fuseParts(job)
	data := tables(job, parts)
	for i, p := range parts {
		assert.Zero(t, p.items%16, "stream %d: items", i)
		assert.Zero(t, p.affine%16, "stream %d: shifts", i)
	}
	read := func(at uint64) string { return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(data[at:])) }
	assert.Equal(t, "40400000", read(parts[0].affine+8), "shift 2 of the first stream, 3")
	assert.Equal(t, "3f800000", read(parts[0].affine+16), "its scales begin 16 bytes aligned, and are 1")
	assert.Equal(t, "00000000", read(parts[1].affine), "a shift of 0 where none was given")
	assert.Equal(t, "41000000", read(parts[1].affine+32+16), "scale 4 of the second stream, 8")
}

// A chunk is written in pieces that its place is a multiple of.
func TestStoresAreAligned(t *testing.T) {
	job := fuseTestJob(tensor.BF16, fuseTestPart(tensor.BF16, 8), fuseTestPart(tensor.BF16, 4), fuseTestPart(tensor.BF16, 8))
	parts := fuseParts(job)
	for i, want := range []uint32{3, 3, 3} { // rows of 20 elements are 40 bytes apart
		assert.Equal(t, want, parts[i].storeOf(), "stream %d", i)
	}
	job = fuseTestJob(tensor.F32, fuseTestPart(tensor.F32, 1), fuseTestPart(tensor.F32, 8), fuseTestPart(tensor.F32, 7))
	parts = fuseParts(job)
	for i, want := range []uint32{4, 2, 2} {
		assert.Equal(t, want, parts[i].storeOf(), "stream %d", i)
	}
}
