package cuda

import (
	"math"
	"math/bits"
	"strings"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

const (
	plainThreads = 128     // resample_plain.cu: threads
	mostEach     = 4       // plain.cuh: most_each
	mostTile     = 512     // plain.cuh: most_tile
	mostOwn      = 8       // plain_odd.cuh: most_own
	runEach      = 8       // chunks of a run of rows that a thread moves at most
	runApart     = 5       // and in a launch by itself where no targets share samples: smaller blocks wait for memory at different times
	sharesNone   = 0.9     // samples that a target moves on there
	even         = 8       // targets of a block there, or a multiple
	leastRun     = 17      // elements of such a row: of shorter ones most chunks would cross
	widestRun    = 1 << 14 // elements of such a row: a block divides by them exactly
	runBlocks    = 9       // plain.cuh: resident
	busyBlocks   = 8       // of those, as many as keep a multiprocessor busy
	oddEach      = 16      // chunks of an odd row that a thread moves at most
	oddTurn      = 4       // units that it moves at once: a block of more makes them in turns
	oddBlocks    = 24      // blocks a multiprocessor, from which on a block makes no more than that of units of rows that are far apart
	oddApart     = 3       // samples that a target moves on there
	warp         = 32      // threads that go together
	chunk        = 16      // bytes that a thread moves at once

	aheadEach  = 2       // ahead.cuh: ahead_each, units a thread
	leastAhead = 1.5     // samples that a target moves on there: with fewer, what is guessed is few rows that others need as well
	mostPace   = 2.5     // and with more, rows that a guess was off by are nobody else's
	mostAhead  = 8 << 20 // units of a launch

	mostShared    = 1.4 // samples that a target moves on where rows are prefetched: with more it lost, though all were needed
	leastPrefetch = 4   // targets a block there: blocks of fewer ask for each other's rows again

	directThreads    = plainThreads + warp // direct.cuh: threads, of which the last warp checks
	directBlocks     = 6                   // blocks that a multiprocessor holds
	directFuseBlocks = 4                   // and of a fusion
	leastDirect      = 4                   // samples of a row there

	masked     = 1 << 29 // plain.cuh: the flag of a job that gives valid or age
	prefetched = 1 << 30 // and of one that prefetches
)

// simple reports what plain.cuh asks of a job and of a stream: a regular one of one kind.
func simple(job *ops.ResampleJob) bool {
	_, uniform := uniform(job.Channels)
	return uniform && regular(job)
}

// regular reports whether a job has rows of one length, ends held or filled, values of 16 or 32 bits that keep their dtype, stamps without
// gaps, and numbers of targets and stamps that fit 32 bits.
func regular(job *ops.ResampleJob) bool {
	if job.Src == nil {
		return false
	}
	size := job.Src.DType().Size()
	ragged := job.SrcLengths != nil || job.SrcOffsets != nil || job.DstLengths != nil || job.DstOffsets != nil
	if ragged || job.Edge > ops.FillEdge || job.Src.DType() != job.Dst.DType() || size > 4 {
		return false
	}
	return job.S > 0 && min(job.SrcBatch, job.SrcStep) >= 0 && (job.TimesRows == 1 || job.TimesBatch == job.S) &&
		job.Rows() <= math.MaxInt32 && job.Stamps() <= math.MaxInt32 && (job.B-1)*job.TargetBatch+job.T <= math.MaxUint32
}

// unitsFit reports whether the units of a source, of so many bytes, can be numbered by 32 bits.
func unitsFit(job *ops.ResampleJob, unit int) bool {
	last := (job.B-1)*job.SrcBatch + (job.S-1)*job.SrcStep + job.D
	return last*job.Src.DType().Size()/unit <= math.MaxUint32
}

// plainForm is how the rows of a plain job are made.
type plainForm int

const (
	notPlain  plainForm = iota
	wholeRows           // resample_plain: rows of whole chunks, outputs without gaps; fuse_plain: units
	unitRows            // resample_odd and fuse_odd: units of 8 or 4 bytes
	oddWide             // elements of 2 bytes from anywhere to anywhere, whole chunks of dst first
	oddNarrow           // and a word of dst at a time
	runRows             // resample_run: elements of 2 bytes from anywhere, outputs without gaps, by chunks of which some cross from one row to the next
	oddOwn              // a row by the thread that finds its place, then written together
)

// kernel is what the names of the kernels of resample_plain.cu begin with that make a form.
func (f plainForm) kernel() string {
	switch f {
	case wholeRows:
		return "resample_plain_"
	case runRows:
		return "resample_run_"
	}
	return "resample_odd_"
}

// wideOdd is how many elements an odd row has at least that is made by chunks.
const wideOdd = 32

// oddForm is how a row of elements of 2 bytes is made that is not of units.
func oddForm(d int) plainForm {
	switch {
	case d >= wideOdd:
		return oddWide
	case d <= mostOwn:
		return oddOwn
	}
	return oddNarrow
}

// plainFormOf chooses the kernel of resample_plain.cu for a job, and the log2 of its unit: a simple one whose rows of outputs follow
// each other from one row of the batch to the next.
func plainFormOf(job *ops.ResampleJob) (form plainForm, unit int) {
	if !simple(job) || !denseOutputs(job) {
		return notPlain, 0
	}
	size := job.Src.DType().Size()
	whole := uint64(pointer(job.Src)) | uint64(pointer(job.Dst)) | uint64(size*job.D) | uint64(size*job.SrcBatch) | uint64(size*job.SrcStep) | uint64(size*job.DstStep)
	unit = bits.TrailingZeros64(whole | chunk)
	switch {
	case unit == 4 && job.DstStep == job.D && job.D*size/chunk <= mostEach*plainThreads && unitsFit(job, chunk):
		return wholeRows, unit
	case !oddFits(job):
		return notPlain, 0
	case unit >= 2:
		return unitRows, min(unit, 3)
	case job.DstStep == job.D && job.D >= leastRun && job.D <= widestRun:
		return runRows, unit
	}
	return oddForm(job.D), unit
}

// oddFits reports whether a row is short enough, and its elements few enough, for the kernels of odd rows to number them.
func oddFits(job *ops.ResampleJob) bool {
	const far = math.MaxInt32 / mostTile
	size := job.Src.DType().Size()
	return job.D*size <= far && job.DstStep >= 0 && job.DstStep <= far/size && unitsFit(job, size)
}

// bindPlain fills in the launch of a plain job.
func (p *plan) bindPlain(job *ops.ResampleJob, form plainForm, unit int) error {
	size := job.Src.DType().Size()
	name := form.kernel() + job.Src.DType().String()
	chunks := job.D * size / chunk
	shapes := func(c choice) shape { return p.b.cutWhole(job, c, chunks) }
	switch form {
	case wholeRows:
	case runRows:
		chunks, shapes = runChunks(job.D), func(c choice) shape { return p.b.cutRun(job, c) }
	default:
		odd := p.b.cutOdd(job.D, size, form, unit, job.Rows(), pace(job), job.Launch == ops.LaunchInputsReady)
		chunks, shapes = odd.chunks, func(c choice) shape { return p.b.grid(job, c, c.cap(odd)) }
	}
	cut := p.chooseOne(name, job, chunks, shapes)
	made := func(cut shape) (*cudadrv.Launch, error) {
		return p.plainLaunch(job, form, unit, cut.kernel(name), cut)
	}
	var err error
	if p.kernel, err = made(cut); err == nil && guesses(cut) {
		p.instead = p.chosen.careful()
		p.careful, err = made(shapes(p.instead.choice))
	}
	return err
}

// plainLaunch binds the launch of a plain job as it was cut.
func (p *plan) plainLaunch(job *ops.ResampleJob, form plainForm, unit int, name string, cut shape) (*cudadrv.Launch, error) {
	k, err := p.b.kernel(name)
	if err != nil {
		return nil, err
	}
	kind, _ := uniform(job.Channels)
	size := job.Src.DType().Size()
	magic, shift := divider(job.T, job.Rows())
	flags := plainFlags(job, kind, cut.each, shift)
	if job.Valid != nil || job.Age != nil {
		flags |= masked
	}
	if cut.prefetch {
		flags |= prefetched
	}
	chunks, divides := cut.chunks, chunkMagic(cut.chunks)
	switch form {
	case wholeRows:
	case runRows:
		chunks, divides, flags = job.D, runMagic(job.D), flags|uint32(unit)<<11
	default:
		chunks, divides, flags = job.D, oddMagic(cut), flags|oddFlags(form, unit, job.DstStep == job.D)
	}
	var params packer // in the order of resample_plain.cu
	params.words(uint64(pointer(job.Src)), uint64(pointer(job.SrcTimes)), uint64(pointer(job.Targets.Times)))
	params.halves(flags, uint32(cut.tile), uint32(chunks), divides, uint32(job.Rows()), magic, uint32(job.T), cut.pace(job), uint32(job.S),
		uint32(job.TimesBatch), uint32(job.TargetBatch), uint32(size*job.SrcBatch>>unit), uint32(size*job.SrcStep>>unit),
		uint32(plainShare(job, cut.blocks)), uint32(job.Stamps()), uint32(size*job.DstStep))
	params.words(uint64(pointer(job.Dst)), gapBits(job))
	params.halves(math.Float32bits(rowsAStamp(job)), uint32(valueBits(job.Fill, job.Dst.DType())))
	params.words(uint64(pointer(job.Valid)), uint64(pointer(job.Age)), uint64(p.cell.cell), uint64(p.cell.flag),
		uint64(job.Targets.Start), math.Float64bits(job.Targets.Rate), limitBits(job.Tolerance, job.ClockType()))
	return k.Bind(p.b.config(name, job.Launch, cut.blocks, cut.threads), params.data)
}

// runChunks is how many chunks of dst hold a row's elements of 2 bytes.
func runChunks(d int) int { return (2*d + chunk - 1) / chunk }

// cutRun cuts rows for plain_run.cuh: of blocks of eights of targets, which begin at whole chunks if dst does, those for which the multiprocessor that has
// most of them is done first. A thread finds the place of one target, and moves runEach chunks at most, or runApart.
func (b *backend) cutRun(job *ops.ResampleJob, c choice) shape {
	s := shape{threads: plainThreads, chunks: runChunks(job.D)}
	each := runEach
	if pace(job) >= sharesNone && job.Launch != ops.LaunchInputsReady {
		each = runApart
	}
	most := each * plainThreads * chunk / (2 * job.D)
	least := math.MaxInt
	for tile := min(even, max(1, most/2)); tile <= min(plainThreads, max(even, most)); tile = (tile/even + 1) * even {
		if time := b.runTime(job, tile); time < least {
			s.tile, least = tile, time
		}
	}
	s = c.cap(s)
	s.prefetch = c.Prefetch && s.tile >= leastPrefetch && pace(job) <= mostShared && sideBySide(job)
	return b.grid(job, c, s)
}

// runTime is about how long blocks of so many targets take, in instructions of a multiprocessor's warps. A few blocks take as long as busyBlocks, since a warp waits for
// its own instructions. In launches by themselves memory is waited for each time that the device is full of blocks.
func (b *backend) runTime(job *ops.ResampleJob, tile int) int {
	times := func(n, of int) int { return (n + of - 1) / of }
	warps := func(n int) int { return times(n, warp) }
	chunks := times(2*tile*job.D, chunk)
	block := 480 + 160*warps(tile) + 110*warps(chunks) + 260*warps(tile+1)
	blocks := times(job.Rows(), tile)
	time := max(busyBlocks, times(blocks, b.sms)) * block
	if job.Launch == ops.LaunchInputsReady {
		return time
	}
	return time + times(blocks, b.sms*runBlocks)*(4000+1500*times(chunks, 2*plainThreads))
}

// cutOdd cuts rows of d features that plain_odd.cuh's move_odd makes, of which a launch has `rows` in all, each `pace` samples on: blocks of up to mostTile targets and
// oddEach chunks a thread, of fewer targets where that would not fill the device as often as they should, but of a warp of them if they are not
// too wide.
func (b *backend) cutOdd(d, size int, form plainForm, unit, rows int, pace float32, ready bool) shape {
	full := fills(ready) * b.sms
	s := shape{threads: plainThreads}
	switch form {
	case unitRows:
		s.chunks = size * d >> unit
	case oddWide:
		s.chunks = d / 8
	case oddNarrow, oddOwn:
		s.chunks = d/2 + 1
	}
	s.tile = min(mostTile, max(1, oddEach*plainThreads/s.chunks))
	if once := oddTurn * plainThreads / s.chunks; form == unitRows && pace >= oddApart && once >= warp && rows >= once*b.sms*oddBlocks {
		s.tile = min(mostTile, once)
	}
	if form == oddOwn && d > mostOwn/2 { // what a block keeps of them in shared memory; whole 16 bytes of dst
		s.tile = mostTile / 2
	}
	for s.tile > warp && rows < s.tile*full {
		s.tile /= 2
	}
	for s.tile > 1 && (s.tile*s.chunks > plainThreads && rows < s.tile*full || s.tile*s.chunks*s.chunks >= 1<<20) {
		s.tile = (s.tile + 1) / 2
	}
	return s
}

// oddMagic is the factor with which a block divides by chunks: 0 where it has one target. It is exact for numbers below 2^20 by
// chunks, as cutOdd sees to.
func oddMagic(cut shape) uint32 {
	if cut.tile == 1 {
		return 0
	}
	return chunkMagic(cut.chunks)
}

// runMagic is the factor with which a block of a run divides by d, more than 1: the high half of the product is exact for numbers below 2^32 / d.
func runMagic(d int) uint32 { return uint32((1<<32 + d - 1) / d) }

// oddFlags are the switches of move_odd.
func oddFlags(form plainForm, unit int, runOn bool) uint32 {
	flags := uint32(0)
	if runOn {
		flags = 1 << 9
	}
	switch form {
	case unitRows:
		flags |= uint32(unit) << 11
	case oddWide:
		flags |= 4 << 11
	case oddOwn:
		flags |= 1 << 10
	}
	return flags
}

// plainShare is how many stamps each of the blocks checks: whole 16 bytes.
func plainShare(job *ops.ResampleJob, blocks int) int {
	if !job.Check {
		return 0
	}
	return ((job.Stamps()+blocks-1)/blocks + 3) &^ 3
}

// plainFlags packs the switches of a job as plain.cuh reads them.
func plainFlags(job *ops.ResampleJob, kind ops.Kind, each int, shift uint32) uint32 {
	flags := clockCode[job.ClockType()] | uint32(kind)<<2 | uint32(each)<<4 | shift<<16
	set := func(bit int, on bool) {
		if on {
			flags |= 1 << bit
		}
	}
	_, gap := job.MaxGap.Get()
	_, tolerance := job.Tolerance.Get()
	set(7, job.Check)
	set(8, pointer(job.SrcTimes)%chunk == 0)
	set(24, gap)
	set(25, tolerance)
	set(26, job.FillGaps)
	set(27, job.Edge == ops.FillEdge)
	set(28, kind == ops.Linear && !gap && !tolerance)
	set(inputsReady, job.Launch == ops.LaunchInputsReady)
	return flags
}

// cutWhole cuts a job of whole rows for resample_plain.cu.
func (b *backend) cutWhole(job *ops.ResampleJob, c choice, chunks int) shape {
	c.Prefetch = c.Prefetch && pace(job) <= mostShared
	return b.cutPlain(job, c, chunks)
}

// cutPlain cuts a job for a plain kernel, which a thread moves as many chunks of as it takes for a block to hold a target.
func (b *backend) cutPlain(job *ops.ResampleJob, c choice, chunks int) shape {
	if c.Direct && isDirect(job, chunks) && directChecks(job) <= directBlocks*b.sms {
		return b.cutDirect(job, c, chunks)
	}
	if c.Ahead && isAhead(job, chunks) {
		return b.grid(job, c, shape{threads: plainThreads, chunks: chunks, each: aheadEach, tile: aheadEach * plainThreads / chunks, ahead: true})
	}
	s := shape{threads: plainThreads, chunks: chunks, each: c.Each}
	for s.each < mostEach && chunks > s.each*plainThreads {
		s.each *= 2
	}
	s.tile = s.each * plainThreads / chunks
	s.prefetch = c.Prefetch && s.tile >= leastPrefetch && sideBySide(job)
	return b.grid(job, c, s)
}

// sideBySide reports whether a job's source has no gaps, and rows of samples enough to guess among.
func sideBySide(job *ops.ResampleJob) bool {
	return job.S > 1 && job.T > 1 && job.D == job.SrcStep && (job.B == 1 || job.SrcBatch == job.S*job.SrcStep)
}

// isDirect reports whether direct.cuh takes a plain job, of so many units a target: linear, of rows of four samples or more.
func isDirect(job *ops.ResampleJob, chunks int) bool {
	kind, _ := uniform(job.Channels)
	return kind == ops.Linear && job.S >= leastDirect && job.T > 1 && chunks <= plainThreads && pointer(job.SrcTimes)%chunk == 0
}

// isAhead reports whether ahead.cuh takes a plain job, of so many units a target: linear, of about every other sample.
func isAhead(job *ops.ResampleJob, chunks int) bool {
	kind, _ := uniform(job.Channels)
	pace := pace(job)
	return kind == ops.Linear && job.S >= 2 && pace >= leastAhead && pace <= mostPace && chunks >= aheadEach && chunks <= aheadEach*plainThreads && job.Launch != ops.LaunchInputsReady
}

// cutDirect cuts a job for direct.cuh: a thread makes a unit, or checks at most 16 bytes of stamps.
func (b *backend) cutDirect(job *ops.ResampleJob, c choice, chunks int) shape {
	s := b.grid(job, c, shape{threads: directThreads, chunks: chunks, tile: plainThreads / chunks, direct: true})
	s.blocks = max(s.blocks, directChecks(job))
	return s
}

// directChecks is how many blocks of a direct launch it takes to check a job's stamps: more than the device holds at once are slower than the others' few.
func directChecks(job *ops.ResampleJob) int {
	if !job.Check {
		return 0
	}
	once := warp * chunk / job.ClockType().Size()
	return (job.Stamps() + once - 1) / once
}

// pace is what a kernel guesses by how many samples a target moves on: a float's bits, of a direct one samples / 2^20.
func (s shape) pace(job *ops.ResampleJob) uint32 {
	if s.direct {
		return uint32(min(float64(pace(job))*(1<<20)+.5, math.MaxUint32))
	}
	return math.Float32bits(pace(job))
}

// kernel is the name of the kernel for a shape that was cut for a plain one.
func (s shape) kernel(plain string) string {
	switch {
	case s.direct:
		return strings.Replace(plain, "_plain_", "_direct_", 1)
	case s.ahead:
		return strings.Replace(plain, "_plain_", "_ahead_", 1)
	}
	return plain
}

// gapBits are the bits of the longest bracket in the clock's own type: of the longest there is where none is set.
func gapBits(job *ops.ResampleJob) uint64 {
	clock := job.ClockType()
	_, set := job.MaxGap.Get()
	switch {
	case set:
		return limitBits(job.MaxGap, clock)
	case clock == tensor.I64:
		return math.MaxInt64
	case clock == tensor.F64:
		return math.Float64bits(math.Inf(1))
	}
	return uint64(math.Float32bits(float32(math.Inf(1))))
}

// rowsAStamp is by what plain.cuh guesses a stamp's row.
func rowsAStamp(job *ops.ResampleJob) float32 { return 1 / float32(job.S) }

// pointer is a tensor's address, 0 for one that is not there.
func pointer(t *tensor.Tensor) cudadrv.DevicePtr {
	if t == nil {
		return 0
	}
	addr, _ := t.Addr()
	return cudadrv.DevicePtr(addr)
}
