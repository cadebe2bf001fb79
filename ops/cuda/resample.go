package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// plan is an operation bound to device memory: one launch.
type plan struct {
	b       *backend
	bound   ops.Bound
	kernel  *cudadrv.Launch // nil if there is nothing to do
	careful *cudadrv.Launch // of a kernel that guesses: what is launched instead once its guesses have gone astray
	instead *decision       // on that launch's shape
	cell    *faultCell
	explain func(ops.Fault) error // what a fault means
	table   *cudadrv.DeviceMem    // the channels, and what else the kernel reads from device memory
	chosen  *decision             // on the launch's shape; nil if there is nothing to do
	awaited atomic.Pointer[stream]
	closed  atomic.Bool
}

func (b *backend) Resample(job *ops.ResampleJob) (ops.Plan, error) {
	p := &plan{b: b, bound: job.Bound()}
	if job.Idle() {
		return p, nil
	}
	p.explain = func(f ops.Fault) error {
		srcOffsets, err1 := b.download(job.SrcOffsets)
		dstOffsets, err2 := b.download(job.DstOffsets)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return job.FaultError(f, srcOffsets, dstOffsets)
	}
	if job.Empty() {
		return p.ready(func() (err error) {
			p.kernel, err = b.check(job, p.cell)
			return err
		})
	}
	return p.ready(func() error { return p.bindResample(job) })
}

// check binds a launch that only checks a job's rows and stamps.
func (b *backend) check(job *ops.ResampleJob, cell *faultCell) (*cudadrv.Launch, error) {
	job = job.Checked()
	const name = "resample_f32" // which checks as they all do, whatever the values are
	k, err := b.kernel(name)
	if err != nil {
		return nil, err
	}
	cut := shape{threads: 128, tile: 1, chunks: 1, blocks: b.checkers(job, checkShare)}
	return k.Bind(b.config(name, job.Launch, cut.blocks, cut.threads), args(job, ops.Linear, cut, cell, 0)...)
}

// checkers is how many blocks check a job's stamps, and its rows, each so many stamps.
func (b *backend) checkers(job *ops.ResampleJob, share int) int {
	return max(1, min((job.Stamps()+share-1)/share, 8*b.sms))
}

// ready gives the plan its fault cell and its launch.
func (p *plan) ready(bind func() error) (ops.Plan, error) {
	var err error
	if p.cell, err = p.b.faults.get(); err != nil {
		return nil, err
	}
	if err := bind(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *plan) launch(q *cudadrv.Stream, _ bool) error { return p.next().Run(q) }

// next is what the next run launches.
func (p *plan) next() *cudadrv.Launch {
	if p.careful != nil && p.cell.astray() {
		return p.careful
	}
	return p.kernel
}

func (p *plan) idle() bool { return p.kernel == nil }

func (p *plan) home() *backend { return p.b }

// Tensors are those of the plan.
func (p *plan) Tensors() *ops.Bound { return &p.bound }

func (p *plan) awaiting() *atomic.Pointer[stream] { return &p.awaited }

func (p *plan) usable(op string) error {
	if p.closed.Load() {
		return closedError(op, "plan")
	}
	return p.bound.CheckOpen()
}

func (p *plan) Run(s ops.Stream) error {
	st, err := p.b.of(s)
	if err != nil {
		return err
	}
	if err := p.usable("Run"); err != nil || p.kernel == nil {
		return err
	}
	return st.give(p)
}

func (p *plan) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	var err error
	if p.cell != nil {
		err = p.b.faults.put(p.cell)
	}
	if p.table != nil {
		err = errors.Join(err, p.table.Close())
	}
	return err
}

// fault reads what the kernel found. The stream has been synchronised.
func (p *plan) fault() error {
	if p.closed.Load() {
		return nil
	}
	f, err := p.cell.take()
	if err != nil || f == ops.NoFault {
		return err
	}
	return p.explain(f)
}

func (b *backend) download(t *tensor.Tensor) ([]int64, error) {
	if t == nil {
		return nil, nil
	}
	host, err := tensor.New(t.DType(), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := b.Copy(host, t); err != nil {
		return nil, err
	}
	return tensor.Data[int64](host)
}

// dtypeCode numbers the value dtypes, and the clocks' dtypes, as the kernels do.
var (
	dtypeCode = map[tensor.DType]uint32{tensor.F32: 0, tensor.F64: 1, tensor.F16: 2, tensor.BF16: 3}
	clockCode = map[tensor.DType]uint32{tensor.I64: 0, tensor.F64: 1, tensor.F32: 2}
)

// shape is how a job is cut into blocks.
type shape struct {
	threads, tile, blocks int
	chunks                int  // pieces that a target's features are moved in
	vector                int  // log2 of the elements a thread moves at once
	each                  int  // of the plain kernels: chunks that a thread is compiled to move
	direct, ahead         bool // of those: by direct.cuh, by ahead.cuh
	prefetch              bool // of those: see plain.cuh, prefetch_rows
}

// guesses reports whether a launch reads before it knows what it needs.
func guesses(s shape) bool { return s.ahead || s.prefetch }

const (
	maxTile         = 256  // resample.cu: max_tile
	maxChannelsTile = 128  // resample_channels.cu: max_tile
	maxStaged       = 8192 // resample_channels.cu: max_staged
	leastStaged     = 8    // targets a block for which rows are made short enough for that
	mostItems       = 8    // items a thread makes, where features are made one by one
	mostCubics      = 64   // where some are cubics
	mostItemTile    = 64   // targets a block by the model there
	movedAtOnce     = 4    // channels.cuh: moved_at_once
	itemBlocks      = 8    // blocks that a multiprocessor holds there
	pieces          = 4    // chunks a thread moves by the model, if there are enough
	checkShare      = 1024 // stamps a block checks, if there are blocks to spare; by the model see oneTurn
)

// uniform returns the kind that all features have, if the plain kernel knows it.
func uniform(channels []ops.Channel) (ops.Kind, bool) {
	kind := channels[0].Kind
	for _, c := range channels {
		if c.Kind != kind || c.Kind > ops.Nearest {
			return 0, false
		}
	}
	return kind, true
}

// bindResample fills in the launch.
func (p *plan) bindResample(job *ops.ResampleJob) error {
	pieces := posePieces(job)
	form, unit := plainFormOf(job)
	if form != notPlain && (pieces == nil || !p.b.asPoses(job, form, unit)) {
		return p.bindPlain(job, form, unit)
	}
	if pieces != nil {
		if err := p.bindPoses(job, pieces); err != nil || form == notPlain {
			return err
		}
		// For when its rows lie elsewhere than even stamps say; the cell is what tells.
		other := &plan{b: p.b, cell: p.cell}
		if err := other.bindPlain(job, form, unit); err != nil {
			return err
		}
		if p.careful, p.instead = other.careful, other.instead; p.careful == nil {
			p.careful, p.instead = other.kernel, other.chosen
		}
		return nil
	}
	kind, plain := uniform(job.Channels)
	name, vector := "resample_"+job.Src.DType().String(), vectorOf(job)
	number, shapes := job.D>>vector, func(c choice) shape { return p.b.cutChunks(job, c, vector) }
	var table []byte
	var sorts itemSorts
	if !plain {
		name = channelsKernel(job)
		table, sorts = itemTable(job.Channels, job.ClockType())
		number, shapes = sorts.items(), func(c choice) shape { return p.b.cutItems(job, c, sorts) }
	}
	cut := p.chooseOne(name, job, number, shapes)
	if cut.blocks > math.MaxInt32 {
		return &ops.ArgError{Op: "Resample", Arg: "Dst", Kind: ops.ErrTooLarge, Got: fmt.Sprintf("%d targets of %d features", job.Rows(), job.D), Want: fmt.Sprintf("at most %d blocks of %d", math.MaxInt32, cut.tile)}
	}
	k, err := p.b.kernel(name)
	if err != nil {
		return err
	}
	args := args(job, kind, cut, p.cell, job.Rows())
	if !plain {
		if err := p.upload(table); err != nil {
			return err
		}
		args = append(args, limitBits(job.ShortestWindow(), job.ClockType()), p.table.Ptr())
		for _, n := range sorts.halves(sorts.run(cut.threads, cut.tile, float64(pace(job)))) {
			args = append(args, n)
		}
	}
	p.kernel, err = k.Bind(p.b.config(name, job.Launch, cut.blocks, cut.threads), args...)
	return err
}

// chooseOne decides on a job of one stream, of so many chunks or items a target.
func (p *plan) chooseOne(kernel string, job *ops.ResampleJob, number int, cut func(choice) shape) shape {
	return p.chooseFrom(p.b.model(kernel, job.Rows()*number, job.Launch == ops.LaunchInputsReady), kernel, job, number, cut)
}

// chooseFrom is chooseOne with another model's choice.
func (p *plan) chooseFrom(model choice, kernel string, job *ops.ResampleJob, number int, cut func(choice) shape) shape {
	ready := job.Launch == ops.LaunchInputsReady
	model.Check = oneTurn(model.Threads, job.ClockType())
	class := tuned.Class{Variant: kernel, Bytes: log2(job.D * job.Dst.DType().Size()), Pieces: log2(number), Targets: log2(job.Rows()), Stamps: -1, Ready: ready}
	if job.Check {
		class.Stamps = log2(job.Stamps())
	}
	return p.choose(class, model, func(c choice) []shape { return []shape{cut(c)} })[0]
}

// cutChunks cuts a job whose features are moved by chunks.
func (b *backend) cutChunks(job *ops.ResampleJob, c choice, vector int) shape {
	s := shape{threads: c.Threads, vector: vector, chunks: job.D >> vector}
	s.tile = min(max(c.Each*s.threads/s.chunks, 1), maxTile)
	return b.grid(job, c, s)
}

// cutItems cuts a job whose features are made item by item: tiles are powers of two. Where dst's rows follow each other, vector is 1.
func (b *backend) cutItems(job *ops.ResampleJob, c choice, sorts itemSorts) shape {
	items := sorts.items()
	s := shape{threads: c.Threads, chunks: items}
	most := min(c.Items*s.threads/items, maxChannelsTile)
	if c.Items == 0 {
		most = c.Tile
		if most == mostTile {
			most = b.itemTile(job.Rows(), s.threads, sorts)
		}
		each := mostItems
		if sorts.of[cubics] > 0 {
			each = mostCubics
		}
		most = min(most, max(each*s.threads/items, movedAtOnce))
		row := job.D * job.Dst.DType().Size()
		if job.DstStep == job.D && (job.DstOffsets != nil || job.B == 1 || job.DstBatch == job.T*job.D) {
			s.vector = 1
		}
		if most*row > maxStaged && leastStaged*row <= maxStaged {
			most = maxStaged / row
		}
	}
	s.tile = 1 << log2(max(most, 1))
	return b.grid(job, c, s)
}

// itemTile is how many targets a block has by the model: the fewest for which the device holds all blocks at once. Where all is moved
// or turned, which takes each target by itself, they are no fewer than a warp if each multiprocessor has a block.
func (b *backend) itemTile(rows, threads int, sorts itemSorts) int {
	tile, most := leastStaged, mostItemTile
	if sorts.of[cubics] > 0 {
		most = maxChannelsTile // they have a bracket's slopes in common
		if sorts.items()*tile/2 >= threads {
			tile /= 2
		}
	}
	if sorts.of[cubics]+sorts.of[others] == 0 {
		for ; tile < warp && rows > tile*b.sms; tile *= 2 {
		}
	}
	for ; tile < most && rows > tile*itemBlocks*b.sms; tile *= 2 {
	}
	return tile
}

// grid adds blocks that only check stamps, where the targets are few and the stamps many.
func (b *backend) grid(job *ops.ResampleJob, c choice, s shape) shape {
	s.blocks = (job.Rows() + s.tile - 1) / s.tile
	if job.Check {
		s.blocks = max(s.blocks, b.checkers(job, c.Check))
	}
	return s
}

// vectorOf is the log2 of the most elements, up to 16 bytes of source, that can be moved at once: features, strides and
// addresses are multiples of them on both sides.
func vectorOf(job *ops.ResampleJob) int {
	fits := func(t *tensor.Tensor, n, widest int, strides ...int) bool {
		addr, _ := t.Addr()
		ok := addr%uint64(min(n*t.DType().Size(), widest)) == 0
		for _, s := range strides {
			ok = ok && s%n == 0
		}
		return ok
	}
	for v := 3; v > 0; v-- {
		n := 1 << v
		if n*job.Src.DType().Size() <= 16 && job.D%n == 0 && fits(job.Src, n, 16, job.SrcBatch, job.SrcStep) && fits(job.Dst, n, 16, job.DstBatch, job.DstStep) {
			return v
		}
	}
	return 0
}

// args lists the parameters of every resampling kernel, in the order of resample_job.cuh, for so many targets.
func args(job *ops.ResampleJob, kind ops.Kind, cut shape, cell *faultCell, targets int) []any {
	magic, shift := divider(job.T, targets)
	return []any{
		pointer(job.Src), int64(job.SrcBatch), int64(job.SrcStep),
		pointer(job.SrcTimes), int64(job.TimesBatch),
		pointer(job.Targets.Times), int64(job.TargetBatch),
		pointer(job.Dst), int64(job.DstBatch), int64(job.DstStep),
		pointer(job.Valid), int64(job.ValidBatch),
		pointer(job.Age), int64(job.AgeBatch),
		rows(job.SrcLengths, job.SrcOffsets), rows(job.DstLengths, job.DstOffsets),
		cell.cell, cell.flag,
		job.Targets.Start, job.Targets.Rate,
		valueBits(job.Fill, job.Dst.DType()), limitBits(job.MaxGap, job.ClockType()), limitBits(job.Tolerance, job.ClockType()),
		uint64(targets), uint64(job.Stamps()), uint64((job.Stamps() + cut.blocks - 1) / cut.blocks), uint64(job.S), uint64(job.T),
		magic, pace(job), uint32(job.B), uint32(job.D), uint32(cut.tile), uint32(cut.chunks), chunkMagic(cut.chunks),
		flags(job, job.ClockType(), kind, cut) | shift<<24,
	}
}

// rows is the address of the rows' lengths or offsets, 0 for none.
func rows(lengths, offsets *tensor.Tensor) cudadrv.DevicePtr {
	if lengths != nil {
		return pointer(lengths)
	}
	return pointer(offsets)
}

// chunkMagic is the factor with which chunk_of of resample.cuh divides.
func chunkMagic(chunks int) uint32 { return uint32((1<<20 + chunks - 1) / chunks) }

// divider returns the factor and shift with which resample.cuh divides numbers below n by t, 0 where it has to divide. Where there are
// no numbers t may be 0.
func divider(t, n int) (magic, shift uint32) {
	if n == 0 {
		return 1, 0
	}
	if t < 2 || n > math.MaxInt32 {
		return 0, 0
	}
	l := bits.Len(uint(t - 1))
	return uint32((1<<(31+l) + uint64(t) - 1) / uint64(t)), uint32(l - 1)
}

// pace is how many samples a target moves on, if targets and samples run from one end of a row to the other in step.
func pace(job *ops.ResampleJob) float32 {
	if job.SrcOffsets != nil || job.DstOffsets != nil || job.T < 2 || job.S == 0 {
		return 0
	}
	return float32(job.S-1) / float32(job.T-1)
}

// flags packs the switches of a job as resample_job.cuh reads them.
func flags(job *ops.ResampleJob, clock tensor.DType, kind ops.Kind, cut shape) uint32 {
	f := clockCode[clock] | dtypeCode[job.Dst.DType()]<<2 | uint32(kind)<<4 | uint32(job.Edge)<<7 | uint32(cut.vector)<<9
	set := func(bit int, on bool) {
		if on {
			f |= 1 << bit
		}
	}
	_, gap := job.MaxGap.Get()
	_, tolerance := job.Tolerance.Get()
	_, window := job.ShortestWindow().Get()
	set(12, job.SrcLengths != nil)
	set(13, job.SrcOffsets != nil)
	set(14, job.DstLengths != nil)
	set(15, job.DstOffsets != nil)
	set(16, gap)
	set(17, tolerance)
	set(18, job.FillGaps)
	set(19, job.Check)
	for _, c := range job.Channels {
		set(20, c.Kind == ops.Previous)
		set(21, c.Kind == ops.Next)
		set(22, c.Kind == ops.Nearest)
	}
	flat := job.TimesRows == 1 || job.TimesBatch == job.S
	ragged := job.SrcLengths != nil || job.SrcOffsets != nil || job.DstLengths != nil || job.DstOffsets != nil
	set(23, flat)
	set(30, window)
	set(inputsReady, job.Launch == ops.LaunchInputsReady)
	set(29, flat && !ragged && !gap && !tolerance && !window && job.Edge == ops.Clamp && job.Rows() <= math.MaxInt32)
	return f
}

// valueBits are the bits of x rounded to a dtype.
func valueBits(x float64, dtype tensor.DType) uint64 {
	switch dtype {
	case tensor.F32:
		return uint64(math.Float32bits(float32(x)))
	case tensor.F64:
		return math.Float64bits(x)
	case tensor.F16:
		return uint64(tensor.F16FromF64(x))
	}
	return uint64(tensor.BF16FromF64(x))
}

// limitBits are the bits of a limit in the clock's own type.
func limitBits(l ops.Limit, clock tensor.DType) uint64 {
	d, _ := l.Get()
	return lengthBits(d, clock)
}

// lengthBits are the bits of a length of time in the clock's own type.
func lengthBits(d time.Duration, clock tensor.DType) uint64 {
	seconds := float64(int64(d)) / 1e9
	switch clock {
	case tensor.I64:
		return uint64(d)
	case tensor.F64:
		return math.Float64bits(seconds)
	}
	return uint64(math.Float32bits(float32(seconds)))
}

// upload makes the plan's table.
func (p *plan) upload(data []byte) (err error) {
	if p.table, err = p.b.malloc("a plan's table", int64(len(data))); err != nil {
		return err
	}
	return p.b.ctx.CopyToDevice(p.table.Ptr(), data)
}
