package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
)

const (
	dealTile      = 8192 // points whose cells a block deals out to buckets
	groupTile     = 4096 // and with their numbers
	binTile       = 1024 // that one takes at once that bins or writes: chunks are multiples of it
	writeThreads  = 256
	addThreads    = 256 // of a block of voxel_best and voxel_add, and points that it takes
	sortThreads   = 512 // of a block that sorts
	mostSort      = 16  // points a thread of it takes
	mostHeads     = 8   // and one that numbers voxels
	mostPasses    = 12  // of a sort
	mostTickets   = 16  // launches that take tiles by number: passes, and two that number voxels
	voxelDigits   = 256
	buckets       = 512   // that cells are dealt out to
	voxelFew      = 16    // points of a voxel that voxel_reduce takes itself
	voxelPiece    = 256   // points of a voxel that a warp of voxel_crowded takes
	tallyPart     = 32768 // cells that a block of voxel_tally counts
	groupPart     = 16384 // and one of voxel_group takes
	groupThreads  = 512
	bucketThreads = 512
	bucketHeld    = 4096 // points that a block of voxel_bucket keeps
	groupBits     = 4    // of neighbouring cells that voxel_deal_points deals out at a time
	tallyBits     = 5    // and voxel_deal
	groupAtOnce   = 128  // of them, that a warp looks at
	stateWords    = 10
)

// The words of the state, as voxel.cuh numbers them.
const (
	stateInRange, stateOutOfRange, stateNotFinite = 0, 1, 2
	stateWritten, stateDropped, stateKept         = 4, 5, 6
)

// voxelPlan is a Voxelize bound to device memory: a chain of launches. One that brings points of a cell together may have another, which takes less
// time where points crowd: a run tells, by the points of the one before, which the next is to take, see tell_crowd in ptx/voxel_bin.cu. Both write
// the same bits.
type voxelPlan struct {
	b       *backend
	job     *ops.VoxelizeJob
	bound   ops.Bound
	chain   []*cudadrv.Launch
	crowded []*cudadrv.Launch // nil if there is no other
	cell    *faultCell
	scratch *cudadrv.DeviceMem
	at      voxelMemory
	awaited atomic.Pointer[stream]
	dirty   atomic.Bool // the table that points are added in may not be 0: no run has used it yet, or one was not launched whole
	closed  atomic.Bool
}

// voxelMemory is where the parts of a plan's scratch memory begin; 0 is a part that is not needed.
type voxelMemory struct {
	state, cellKeys             cudadrv.DevicePtr
	keys                        [2]cudadrv.DevicePtr // sorted keys are in the first or the second, and other things in the other; or what is dealt out, and singles or lists of cells
	order                       [2]cudadrv.DevicePtr
	start, table, rows, crowded cudadrv.DevicePtr
	numbers, looks              cudadrv.DevicePtr
	chunk, blocks, size         int
	each, tiles                 int // points a thread of the sort takes, and blocks of it
	zeroed                      int // bytes that are 0 when the plan is made
	cleared                     int // bytes of the table that are 0 at the beginning of a run
	headEach, headTiles         int // and the same of numbering
	way                         voxelWay
}

func (b *backend) Voxelize(job *ops.VoxelizeJob) (ops.VoxelizePlan, error) {
	p := &voxelPlan{b: b, job: job, bound: job.Bound()}
	var err error
	if p.cell, err = b.faults.get(); err != nil {
		return nil, err
	}
	way := b.way(job)
	p.at = layVoxels(job, b.sms, way)
	zeroed := p.at.zeroed
	var other voxelMemory
	if b.mayCrowd(job, way) {
		other = layVoxels(job, b.sms, byAdding)
		p.at.behind(&other)
		p.dirty.Store(true) // a plan that runs once never uses its table
	}
	if p.scratch, err = b.malloc(fmt.Sprintf("a plan's scratch memory for %d points", job.N), int64(p.at.size)); err == nil {
		p.at.move(p.scratch.Ptr())
		// Counts may be asked for before the first run, and the table of byAdding is 0 between runs.
		err = b.ctx.Memset8(p.scratch.Ptr(), 0, int64(zeroed))
	}
	if err == nil && other.size > 0 {
		other.move(p.scratch.Ptr())
		p.crowded, err = p.bind(&other)
	}
	if err == nil {
		p.chain, err = p.bind(&p.at)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// voxelWay is how cells get what their points make.
type voxelWay int

const (
	noPoints  voxelWay = iota
	byWriting          // occupancy and counts, by an atomic for each point
	byTally            // large counts, in shared memory, of cells dealt out to buckets
	byAdding           // dense sums, means, extremes and counts beside an empty value, of few points, by atomics on a table as large as the grid
	byBucket           // the same of about as many points as cells, dealt out to buckets
	byGroup            // and of fewer points, or more
	bySort             // everything else
)

// adds reports whether values are added up.
func adds(job *ops.VoxelizeJob) bool {
	return job.Reduce == ops.ReduceSum || job.Reduce == ops.ReduceMean
}

// recordWords is how many words voxel_add.cu's table has for a cell.
func recordWords(job *ops.VoxelizeJob) int {
	even := (job.F + 2) &^ 1
	switch {
	case !job.Reduce.OfFeatures():
		return 1
	case adds(job):
		return (even + 2*job.F + 3) &^ 3
	}
	return even
}

// addTurns is how often a block goes over its points, four features at a time: once for the best of each cell, and once more for sums.
func addTurns(job *ops.VoxelizeJob) int {
	turns := (job.F + 3) / 4
	if adds(job) {
		return 2 * turns
	}
	return turns
}

// values is how many points there are, and features of them. For the least and the greatest a point has one word each, and three are worth four.
func values(job *ops.VoxelizeJob) int {
	n := job.N * (1 + job.F)
	if job.Reduce == ops.ReduceMin || job.Reduce == ops.ReduceMax {
		return (3*n + 3) / 4
	}
	return n
}

// gathers reports whether points of a cell are brought together.
func (w voxelWay) gathers() bool { return w == byBucket || w == byGroup || w == bySort }

func (b *backend) way(job *ops.VoxelizeJob) voxelWay {
	count := job.Reduce == ops.ReduceCount
	switch {
	case job.N == 0:
		return noPoints
	case job.Mode != ops.DenseVoxels || job.Reduce == ops.ReduceMajority: // which need an order
		return bySort
	case job.Reduce == ops.ReduceOccupancy || count && job.Empty == 0:
		// Where the grid is large, and so are the points, atomics on it would wait for its memory. voxel_tally writes 16 bytes at once, and takes
		// more shared memory than voxel_deal does.
		if count && job.N >= dealPoints*b.sms && job.Keys() <= dealKeys && pointer(job.Grid)%16 == 0 && b.shared >= tallyShared {
			return byTally
		}
		return byWriting
	}
	if !b.gather && values(job) <= b.sms*addValues && addTurns(job) <= mostTurns && job.Keys()*recordWords(job) <= addTable {
		return byAdding
	}
	// Of a grid of few cells, where a sort has one or two passes, many points may be left to few blocks: if they crowd as a LiDAR's do.
	spread := job.Keys() >= groupCells || job.N <= sortPoints
	if spread && job.Keys() <= dealKeys && b.shared >= groupShared+6*bucketHeld+groupStatic {
		// A block that does all of a bucket reads and writes less, and looks at each cell three times: where few have points that costs more.
		if job.Keys() <= 4*job.N && job.N <= 4*job.Keys() && job.N <= bucketPoints && job.F <= bucketFeatures {
			return byBucket
		}
		return byGroup
	}
	return bySort
}

// mayCrowd reports whether a plan has another chain for points that crowd.
func (b *backend) mayCrowd(job *ops.VoxelizeJob, way voxelWay) bool {
	return b.crowd != 0 && way.gathers() && job.Mode == ops.DenseVoxels && job.Reduce.OfFeatures() &&
		(b.gather || values(job) <= b.sms*crowdValues) && addTurns(job) <= mostTurns && job.Keys()*recordWords(job) <= crowdTable
}

const (
	addValues   = 3 << 10 // points and features of them for each multiprocessor, for which atomics take less than bringing points together
	crowdValues = 8 << 10 // and where points crowd
	crowdPoints = 8       // points of a cell that has any, on average: so many are a crowd
	crowdTable  = 1 << 24 // words of the table of a plan's other chain
	addTable    = 1 << 25 // words of the table
	mostTurns   = 6       // of a block: of more, bringing points together takes less if they do not crowd

	dealPoints = 1 << 15 // for each multiprocessor
	groupCells = 1 << 13
	sortPoints = 1 << 16 // up to which few cells are no matter
	// As many as voxel_bucket's blocks keep; a grid has at most four times as many cells, 1 << 14 for each.
	bucketPoints   = buckets * bucketHeld
	bucketFeatures = 1 << 10 // so that its items can be counted in 32 bits
	dealKeys       = 1 << 25 // of which each bucket has 1 << 16: a cell's number in its bucket takes two bytes

	dealShared  = 51408 // bytes, what voxel_deal lays out
	sortShared  = 75848 // and voxel_pass
	tallyShared = 4 * (tallyPart + 32)

	dealPointsShared = 35024                // of voxel_deal_points
	groupShared      = 4 * (groupPart + 32) // of voxel_group, and of voxel_bucket, which has its points besides
	groupStatic      = 4 << 10              // at most, what voxel_group has besides
)

// crowdedBytes is the size of voxel_values.cuh's lists: entries of 32 bytes for the pieces that n points can make, and a slot for each
// piece of voxels of more than one.
func crowdedBytes(n, features int) int {
	return 32*(n/(voxelFew+1)+n/voxelPiece+1) + 16*(1+features+(features+1)/2)*(n/voxelPiece+n/(voxelPiece+1)+1)
}

// layVoxels lays the scratch memory out from address 0.
func layVoxels(job *ops.VoxelizeJob, sms int, way voxelWay) voxelMemory {
	m := voxelMemory{way: way}
	// As many blocks as run at once: each adds what it counted to everybody's.
	blocks := 4 * sms
	m.chunk = max((job.N+blocks-1)/blocks, 1)
	m.chunk = (m.chunk + binTile - 1) / binTile * binTile
	switch way {
	case byTally:
		m.chunk = dealTile
	case byGroup, byBucket:
		m.chunk = groupTile
	case byAdding:
		m.chunk = addThreads
	}
	m.blocks = (job.N + m.chunk - 1) / m.chunk
	part := func(bytes int) cudadrv.DevicePtr {
		at := m.size
		m.size += (bytes + 255) &^ 255
		return cudadrv.DevicePtr(at)
	}
	m.state = part(8 * stateWords)
	if job.Mode != ops.DenseVoxels {
		m.rows = part(8 * (job.B + 1))
	}
	n := job.N
	m.zeroed = m.size
	if way == byAdding {
		m.table = part(4 * job.Keys() * recordWords(job))
		m.zeroed = m.size
		m.keys[0], m.numbers = part(4*n), part(4*min(n, job.Keys()))
		return m
	}
	if way == byTally {
		m.keys[0] = part(2 * m.chunk * m.blocks)
		m.table = part(4 * buckets * m.blocks)
	}
	if !way.gathers() {
		return m
	}
	voxels := min(n, job.Keys())
	if job.Reduce.OfFeatures() && job.Mode != ops.HardVoxels {
		m.crowded = part(crowdedBytes(n, job.F))
	}
	if way == byBucket {
		m.keys = [2]cudadrv.DevicePtr{part(4 * m.chunk * m.blocks), part(2 * n)}
		m.table = part(4 * buckets * m.blocks)
		m.order[0] = part(4 * n)
		return m
	}
	if way == byGroup {
		m.keys = [2]cudadrv.DevicePtr{part(4 * m.chunk * m.blocks), part(8 * n)}
		m.table = part(4 * buckets * m.blocks)
		m.order[0] = part(4 * n)
		m.cellKeys = part(16 * min(n/2+1, job.Keys()))
		return m
	}
	m.keys = [2]cudadrv.DevicePtr{part(8 * n), part(8 * n)}
	m.order = [2]cudadrv.DevicePtr{part(4 * n), part(4 * n)}
	m.start = part(4 * (voxels + 1))
	// Fewer points a thread where there would not be a block for each multiprocessor. Fewer blocks look back at fewer others.
	cut := func(blocks, most int) (each, tiles int) {
		each = min(max((n+blocks*sortThreads-1)/(blocks*sortThreads), 1), most)
		return each, (n + each*sortThreads - 1) / (each * sortThreads)
	}
	m.each, m.tiles = cut(sms, mostSort)
	m.headEach, m.headTiles = cut(2*sms, mostHeads)
	books, looks := 4*(mostPasses*voxelDigits+mostTickets)+8*2*m.headTiles, 8*m.tiles*voxelDigits
	m.cleared = books + looks // looks has the half that the first pass begins with
	m.table = part(books + 2*looks)
	m.looks = m.table + cudadrv.DevicePtr(books)
	if job.Labels != nil {
		m.cellKeys = part(8 * n)
	}
	if job.Mode == ops.HardVoxels {
		m.numbers = part(4 * voxels)
	}
	return m
}

// move puts the layout at an address. Parts that are not needed were not laid, and stay at 0: the state is the first.
func (m *voxelMemory) move(to cudadrv.DevicePtr) {
	for _, p := range []*cudadrv.DevicePtr{&m.cellKeys, &m.keys[0], &m.keys[1], &m.order[0], &m.order[1], &m.start, &m.table, &m.rows, &m.crowded, &m.numbers, &m.looks} {
		if *p != 0 {
			*p += to
		}
	}
	m.state += to
}

// behind puts the layout of a dense grid behind another, but for the state, which they share.
func (m *voxelMemory) behind(other *voxelMemory) {
	m.move(cudadrv.DevicePtr(other.size))
	m.state, m.size, m.zeroed = 0, m.size+other.size, other.zeroed
}

func (p *voxelPlan) idle() bool { return len(p.chain) == 0 }

func (p *voxelPlan) home() *backend { return p.b }

// Tensors are those of the plan.
func (p *voxelPlan) Tensors() *ops.Bound { return &p.bound }

// launch clears a dirty table before it is used. What is recorded does so in each replay, but not now: the table is as dirty as it was.
func (p *voxelPlan) launch(q *cudadrv.Stream, recording bool) error {
	chain, adds := p.next(recording)
	if adds && p.dirty.Load() {
		if err := q.Memset8(p.at.state, 0, int64(p.at.zeroed)); err != nil {
			return err
		}
		p.dirty.Store(recording)
	}
	for _, l := range chain {
		if err := l.Run(q); err != nil {
			if adds && !recording { // a graph that was recorded before may come next
				p.dirty.Store(q.Memset8(p.at.state, 0, int64(p.at.zeroed)) != nil)
			}
			return err
		}
	}
	return nil
}

// next is the chain that the next run launches, and whether it adds in the table. A recording does not begin with a table that would have to be cleared in
// each replay if there is another chain.
func (p *voxelPlan) next(recording bool) (chain []*cudadrv.Launch, adds bool) {
	if p.crowded != nil && (p.b.crowd < 0) && !(recording && p.dirty.Load()) {
		return p.crowded, true
	}
	return p.chain, p.at.way == byAdding
}

func (p *voxelPlan) awaiting() *atomic.Pointer[stream] { return &p.awaited }

func (p *voxelPlan) usable(op string) error {
	if p.closed.Load() {
		return closedError(op, "plan")
	}
	return p.bound.CheckOpen()
}

func (p *voxelPlan) Run(s ops.Stream) error {
	st, err := p.b.of(s)
	if err != nil {
		return err
	}
	if err := p.usable("Run"); err != nil {
		return err
	}
	return st.give(p)
}

func (p *voxelPlan) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	err := p.b.faults.put(p.cell)
	if p.scratch != nil {
		err = errors.Join(err, p.scratch.Close())
	}
	return err
}

func (p *voxelPlan) fault() error {
	if p.closed.Load() {
		return nil
	}
	f, err := p.cell.take()
	if err != nil || f == ops.NoFault {
		return err
	}
	return p.job.OffsetsError(int(f >> 4))
}

func (p *voxelPlan) Counts() (c ops.VoxelCounts, err error) {
	if p.closed.Load() {
		return c, closedError("Counts", "plan")
	}
	var state [8 * stateWords]byte
	if err := p.b.ctx.CopyToHost(state[:], p.at.state); err != nil {
		return c, err
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(state[8*i:])) }
	c = ops.VoxelCounts{InRange: word(stateInRange), OutOfRange: word(stateOutOfRange), NotFinite: word(stateNotFinite)}
	c.Points = c.InRange + c.OutOfRange + c.NotFinite
	if p.job.Mode != ops.DenseVoxels {
		c.Voxels, c.DroppedVoxels, c.DroppedPoints = word(stateWritten), word(stateDropped), c.InRange-word(stateKept)
	}
	return c, nil
}
