package cuda

import (
	"math"
	"math/bits"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// bind makes the chain of launches on scratch memory that is laid out.
func (p *voxelPlan) bind(at *voxelMemory) ([]*cudadrv.Launch, error) {
	c := voxelChain{p: p, at: at}
	c.make()
	return c.made, c.err
}

func (c *voxelChain) make() {
	p, job := c.p, c.p.job
	c.fill()
	if job.B == 0 && c.err == nil {
		c.checkNoRows()
	}
	switch c.at.way {
	case bySort:
		c.sort()
	case byGroup:
		c.group()
	case byBucket:
		c.bucket()
	case byTally:
		c.deal()
	case byAdding:
		c.adding()
	case byWriting:
		counts := uint64(0)
		if job.Reduce == ops.ReduceCount {
			counts = 1
		}
		c.add("voxel_write_"+job.Points.DType().String(), p.at.blocks, writeThreads, counts)
	}
	if job.Mode != ops.DenseVoxels {
		c.add("voxel_rows", 1, 512, 0)
	}
	if !c.at.way.gathers() {
		return
	}
	walk := func(n, each int) int { return min((n+each-1)/each, 16*p.b.sms) }
	voxels := min(job.N, job.Keys())
	if job.Mode == ops.HardVoxels {
		c.toOrder = c.marks // which are done with: the voxels that are kept
		c.add("voxel_choose", walk(voxels, 256), 256, 0)
		c.add("voxel_keep", walk(min(voxels, job.V), 8), 256, 0)
	} else {
		width := 1
		if job.Reduce.OfFeatures() {
			width = job.F
			if c.fours() {
				width /= 4
			}
		}
		// As many blocks as run at once: each warp goes on with what is left in its queue.
		switch {
		case c.at.way == byBucket: // wrote them
		case c.at.way == byGroup:
			// At least two, one for each kind of cell.
			c.add("voxel_cells", min(max((voxels*width+255)/256, 2), 3*p.b.sms), 256, 0)
		case job.Mode == ops.DenseVoxels:
			c.add("voxel_grid", min(walk(voxels*width, 3*256), 2*p.b.sms), 256, 0)
			c.to, c.toOrder = 0, 0
		default:
			c.add("voxel_reduce", min(walk(voxels*width, 3*256), 2*p.b.sms), 256, 0)
		}
		if job.Reduce.OfFeatures() && job.N > voxelFew {
			pieces := job.N/(voxelFew+1) + job.N/voxelPiece + 1
			// Twice what runs at once: a warp takes one piece after the other, which take different times.
			c.add("voxel_crowded", min(walk(pieces, 8), 6*p.b.sms), 256, 0)
			if job.N > voxelPiece && job.Reduce < ops.ReduceMax {
				c.add("voxel_cut", min(walk(pieces, 8), 3*p.b.sms), 256, 0) // which seldom has anything to do
			}
		}
	}
	if job.PointVoxel != nil {
		c.add("voxel_inverse", walk(job.N, 256), 256, 0)
	}
}

// checkNoRows adds a launch that checks the one offset of no rows, which must be 0. voxel_fill looks at two offsets a row; to the
// check of Resample's rows it is as the length of a row without samples.
func (c *voxelChain) checkNoRows() {
	none := c.p.job.Points
	rows := ops.ResampleArgs{Dst: none, Src: none, SrcTimes: none, SrcOffsets: c.p.job.Offsets}
	var l *cudadrv.Launch
	l, c.err = (&planBase{b: c.p.b, cell: c.p.cell}).bindCheck(&ops.ResampleJob{ResampleArgs: rows, Check: true, Launch: ops.LaunchDependent})
	c.made = append(c.made, l)
}

// voxelChain makes launches of a plan.
type voxelChain struct {
	p               *voxelPlan
	at              *voxelMemory
	made            []*cudadrv.Launch
	from, fromOrder cudadrv.DevicePtr
	to, toOrder     cudadrv.DevicePtr
	voxelAt, marks  cudadrv.DevicePtr
	side            int // of the pairs of buffers that holds what is sorted so far
	pass            int // of the sort
	shared          int // bytes of dynamic shared memory of the next launch
	err             error
}

const largeFill = 32 << 20 // bytes

// fill clears the counters and the sort's table, checks the offsets, and fills the dense grid or each point's voxel. A grid that
// voxel_tally writes is not filled, and voxel_group and voxel_bucket fill their own.
func (c *voxelChain) fill() {
	job, m := c.p.job, c.at
	out, value := job.Grid, c.empty()
	if out == nil {
		out, value = job.PointVoxel, math.MaxUint32
	}
	bytes := 0
	if out != nil && m.way != byTally && m.way != byGroup && m.way != byBucket {
		bytes = out.Len() * out.DType().Size()
	}
	c.to, c.fromOrder = pointer(out), cudadrv.DevicePtr(value)
	if m.cleared > 0 {
		c.from = m.table + cudadrv.DevicePtr(m.cleared)
	}
	// One block a multiprocessor, or two of large grids, leave room for the next kernel's, which begin meanwhile.
	most := c.p.b.sms
	if bytes > largeFill {
		most *= 2
	}
	c.add("voxel_fill", min(max((bytes+m.cleared)/(256*64), job.B/256, 1)+1, most), 256, uint64(bytes)|c.tells())
	c.from, c.to, c.fromOrder = 0, 0, 0
}

// tells is what voxel_fill needs to tell whether points crowd: how many a cell has, and whether the chain is the one for them, which ends with half as
// many, so that both seldom take turns. 0 if there is no other chain.
func (c *voxelChain) tells() uint64 {
	switch {
	case c.at != &c.p.at:
		return 1<<63 | uint64(max(c.p.b.crowd+1, 0)/2)<<48
	case c.p.crowded != nil:
		return uint64(max(c.p.b.crowd, 0)) << 48
	}
	return 0
}

// empty is four bytes of what an empty cell of the dense grid holds.
func (c *voxelChain) empty() uint32 {
	job := c.p.job
	switch {
	case job.Grid == nil:
		return 0
	case job.Grid.DType() == tensor.U8:
		return uint32(uint8(job.Empty)) * 0x01010101
	case job.Grid.DType() == tensor.I32:
		return uint32(int32(job.Empty))
	}
	return math.Float32bits(float32(job.Empty))
}

// adding adds by atomics. A block takes 256 points; of voxel_finish one takes what 256 threads have, a feature each.
func (c *voxelChain) adding() {
	job, m := c.p.job, c.at
	c.voxelAt = m.keys[0]
	c.add("voxel_best", m.blocks, addThreads, 0)
	if adds(job) {
		c.add("voxel_add", m.blocks, addThreads, 0)
	}
	width := 1
	if job.Reduce.OfFeatures() {
		width = job.F
	}
	each := addThreads / width
	c.add("voxel_finish", min((min(job.N, job.Keys())+each-1)/each, 16*c.p.b.sms), addThreads, 0)
}

// deal counts in shared memory. A block of voxel_deal takes a tile of points, one of voxel_tally part of a bucket's cells.
func (c *voxelChain) deal() {
	job, m := c.p.job, c.at
	c.to, c.shared = m.keys[0], dealShared
	c.add("voxel_deal", m.blocks, buckets, 0)
	cells := cellsOfBucket(job, tallyBits)
	c.from, c.to, c.shared = m.keys[0], 0, tallyShared
	c.add("voxel_tally", buckets*((cells+tallyPart-1)/tallyPart), 1024, uint64(m.blocks))
	c.shared = 0
}

// group brings the points of each cell together without an order. A block of voxel_deal_points takes a tile of points, one of
// voxel_group part of a bucket's cells.
func (c *voxelChain) group() {
	job, m := c.p.job, c.at
	c.to, c.shared = m.keys[0], dealPointsShared
	c.add("voxel_deal_points", m.blocks, buckets, 0)
	cells := cellsOfBucket(job, groupBits)
	c.from, c.to, c.toOrder = m.keys[0], m.keys[1], m.order[0]
	c.shared = 4 * ((min(cells, groupPart)+groupAtOnce-1)/groupAtOnce*groupAtOnce + 32)
	// Of a grid with fewer cells than are dealt out at once for each bucket the last ones have none.
	c.add("voxel_group", min(buckets, (job.Keys()+1<<groupBits-1)>>groupBits)*((cells+groupPart-1)/groupPart), groupThreads, uint64(m.blocks)|uint64(c.empty())<<32)
	c.shared = 0
	c.from, c.fromOrder, c.to, c.toOrder = m.keys[1], m.order[0], 0, 0
}

// bucket does the same with one kernel, of which a block takes a bucket.
func (c *voxelChain) bucket() {
	job, m := c.p.job, c.at
	c.to, c.shared = m.keys[0], dealPointsShared
	c.add("voxel_deal_points", m.blocks, buckets, 0)
	c.from, c.fromOrder, c.to, c.toOrder = m.keys[0], cudadrv.DevicePtr(c.empty()), m.keys[1], m.order[0]
	c.shared = 4*(cellsOfBucket(job, groupBits)+32) + 6*bucketHeld
	c.add("voxel_bucket", min(buckets, (job.Keys()+1<<groupBits-1)>>groupBits), bucketThreads, uint64(m.blocks))
	c.shared = 0
	c.from, c.fromOrder, c.to, c.toOrder = 0, m.order[0], 0, 0
}

// cellsOfBucket is how many cells a bucket may have, where 2^bits neighbouring ones are dealt out at a time.
func cellsOfBucket(job *ops.VoxelizeJob, bits int) int {
	all := buckets << bits
	return (job.Keys() + all - 1) / all << bits
}

// sort gives the points their keys, brings those of each cell together, and numbers the voxels.
func (c *voxelChain) sort() {
	job, m := c.p.job, c.at
	keyBits := bits.Len64(uint64(job.Keys()))
	c.to = m.keys[0]
	c.add("voxel_bin", m.blocks, 256, uint64((keyBits+7)/8)<<8)
	c.to = 0
	if job.Labels != nil {
		c.passes(32, false)
	}
	c.passes(keyBits, job.Labels != nil)
	c.from, c.fromOrder = m.keys[c.side], m.order[c.side]
	if job.PointVoxel != nil {
		c.voxelAt = m.order[1-c.side]
	}
	if job.Mode == ops.DenseVoxels { // the voxels' keys and first points
		c.to, c.toOrder = m.keys[1-c.side], m.order[1-c.side]
	}
	launches := uint64(1)
	if job.Mode == ops.HardVoxels {
		c.marks = m.keys[1-c.side]
		launches = 2
	}
	for which := range launches {
		c.add("voxel_number", m.headTiles, sortThreads, which|(mostPasses+which)<<16|uint64(m.headEach)<<24)
	}
}

// passes sorts by the keys' lowest bits. through says that the first pass reads keys by the order so far.
func (c *voxelChain) passes(bits int, through bool) {
	m := c.at
	for shift := 0; shift < bits; shift += 8 {
		c.from = m.keys[c.side]
		extra := uint64(shift) | uint64(c.pass)<<16 | uint64(m.each)<<24
		if through && shift == 0 {
			extra |= 1 << 8
		}
		c.pass++
		c.side = 1 - c.side
		c.to, c.toOrder = m.keys[c.side], m.order[c.side]
		c.shared, c.marks = sortShared, m.looks
		c.add("voxel_pass", m.tiles, sortThreads, extra)
		c.shared, c.marks = 0, 0
		c.fromOrder, c.to, c.toOrder = m.order[c.side], 0, 0
	}
}

// add binds one launch. All but the first begin before the one in front has ended, and wait for it where they must: the kernels of
// images for sm_90 do.
func (c *voxelChain) add(name string, blocks, threads int, extra uint64) {
	if c.err != nil {
		return
	}
	// voxel_write begins beside voxel_fill, and both must ask for the same. Elsewhere voxel_fill must not: what comes behind it would keep little cache.
	apart := c.at.way == byWriting
	k, err := c.p.b.kernelOf(name, apart)
	if err == nil && c.shared > 0 {
		err = k.SetMaxDynamicShared(c.shared)
	}
	if err == nil && apart {
		err = k.PreferShared(100)
	}
	if err == nil {
		mode := ops.LaunchDependent
		if len(c.made) == 0 {
			mode = ops.LaunchPlain
		}
		config := c.p.b.config(name, mode, max(blocks, 1), threads)
		config.Shared = uint32(c.shared)
		var l *cudadrv.Launch
		l, err = k.Bind(config, c.params(extra))
		c.made = append(c.made, l)
	}
	c.err = err
}

// params packs the parameter of every voxel kernel as voxel.cuh lays it out.
func (c *voxelChain) params(extra uint64) []byte {
	job, m := c.p.job, c.at
	grid := job.Grid
	if grid == nil {
		grid = job.Values
	}
	var out packer
	out.words(uint64(c.to), extra, uint64(c.from), uint64(c.fromOrder), uint64(m.state))
	out.halves(c.flags(), uint32(job.B))
	out.words(uint64(pointer(job.Points)), uint64(pointer(grid)), uint64(job.Keys()), uint64(pointer(job.Poses)))
	out.halves(uint32(job.N), uint32(m.chunk), uint32(job.Cells[0]), uint32(job.Cells[1]), uint32(job.Cells[2]))
	for _, size := range job.Box.Size {
		out.halves(math.Float32bits(inverse(size)))
	}
	for _, x := range append(job.Box.Min[:], job.Box.Size[:]...) {
		out.words(math.Float64bits(x))
	}
	out.words(uint64(m.table), uint64(pointer(job.Offsets)))
	out.words(uint64(pointer(job.Features)), uint64(job.FeatureStep), uint64(job.PointStep), uint64(c.toOrder), uint64(m.crowded), uint64(job.CellsARow()))
	out.halves(uint32(job.F), uint32(job.P), uint32(job.V), uint32(job.RowVoxels))
	out.words(uint64(pointer(job.Labels)), uint64(job.PoseBatch), uint64(pointer(job.Coords)), uint64(pointer(job.Counts)), uint64(pointer(job.RowSplits)), uint64(pointer(job.PointVoxel)),
		uint64(c.p.cell.cell), uint64(c.p.cell.flag))
	out.words(uint64(m.cellKeys), uint64(m.start), uint64(c.voxelAt), uint64(m.rows), uint64(c.marks), uint64(m.numbers))
	return out.data
}

// inverse is 1 / size, or NaN where a product with it would not be near the quotient.
func inverse(size float64) float32 {
	x := float32(size)
	if !(x > 0x1p-100 && x < 0x1p100) {
		return float32(math.NaN())
	}
	return 1 / x
}

// fours reports whether features can be taken four at a time.
func (c *voxelChain) fours() bool {
	job := c.p.job
	out := job.Grid
	if out == nil {
		out = job.Values
	}
	if !job.Reduce.OfFeatures() || job.Features == nil || job.Mode == ops.HardVoxels {
		return false
	}
	return job.Features.DType() == tensor.F32 && job.F%4 == 0 && job.FeatureStep%4 == 0 && (pointer(job.Features)|pointer(out))%16 == 0
}

// flags packs the switches of a job as voxel.cuh reads them.
func (c *voxelChain) flags() uint32 {
	job := c.p.job
	f := uint32(job.Mode) | uint32(job.Reduce)<<2
	if job.Features != nil {
		f |= dtypeCode[job.Features.DType()] << 5
	}
	set := func(bit int, on bool) {
		if on {
			f |= 1 << bit
		}
	}
	set(7, job.Wide())
	set(8, job.Batched)
	set(9, job.Order == ops.XYZ)
	set(11, job.Offsets != nil)
	set(12, c.fours())
	set(13, uint8(job.Empty) == 0 && pointer(job.Grid)%8 == 0)
	set(10, !job.Wide() && job.PointStep == 3 && pointer(job.Points)%16 == 0)
	return f
}
