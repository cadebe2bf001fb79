package cuda

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

const (
	voxelTile   = 2048 // points that a sorting block takes at once: chunks are multiples of it
	voxelDigits = 256
	voxelFew    = 64 // points of a voxel that voxel_reduce takes itself
	stateWords  = 8
)

// The words of the state, as voxel.cuh numbers them.
const (
	stateInRange, stateOutOfRange, stateNotFinite = 0, 1, 2
	stateWritten, stateDropped, stateKept         = 4, 5, 6
)

// voxelPlan is a Voxelize bound to device memory: a chain of launches.
type voxelPlan struct {
	b       *backend
	job     *ops.VoxelizeJob
	bound   ops.Bound
	chain   []*cudadrv.Launch
	cell    *faultCell
	scratch *cudadrv.DeviceMem
	at      voxelMemory
	awaited atomic.Pointer[stream]
	closed  atomic.Bool
}

// voxelMemory is where the parts of a plan's scratch memory begin; 0 is a part that is not needed.
type voxelMemory struct {
	state, cellKeys             cudadrv.DevicePtr
	keys                        [2]cudadrv.DevicePtr // sorted keys are in the first or the second, and other things in the other
	order                       [2]cudadrv.DevicePtr
	start, table, rows, crowded cudadrv.DevicePtr
	numbers                     cudadrv.DevicePtr
	chunk, blocks, size         int
}

func (b *backend) Voxelize(job *ops.VoxelizeJob) (ops.VoxelizePlan, error) {
	p := &voxelPlan{b: b, job: job, bound: job.Bound()}
	var err error
	if p.cell, err = b.faults.get(); err != nil {
		return nil, err
	}
	p.at = layVoxels(job, b.sms)
	if p.scratch, err = b.ctx.Malloc(int64(p.at.size)); err == nil {
		p.at.move(p.scratch.Ptr())
		// Counts may be asked for before the first run.
		err = b.ctx.Memset8(p.scratch.Ptr(), 0, 8*stateWords)
	}
	if err == nil {
		err = p.bind()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// sorts reports whether a job needs the points of each cell together. Occupancy and counts are written point by point, unless
// empty cells hold something that counts cannot begin from.
func sorts(job *ops.VoxelizeJob) bool {
	if job.Mode != ops.DenseVoxels || job.Reduce.OfFeatures() || job.Reduce == ops.ReduceMajority {
		return true
	}
	return job.Reduce == ops.ReduceCount && job.Empty != 0
}

// layVoxels lays the scratch memory out from address 0.
func layVoxels(job *ops.VoxelizeJob, sms int) voxelMemory {
	var m voxelMemory
	// Eight blocks a multiprocessor keep it busy, and tables of counts small.
	m.chunk = max((job.N+8*sms-1)/(8*sms), 1)
	m.chunk = (m.chunk + voxelTile - 1) / voxelTile * voxelTile
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
	if !sorts(job) || job.N == 0 {
		return m
	}
	n := job.N
	voxels := min(n, job.Keys())
	m.keys = [2]cudadrv.DevicePtr{part(8 * n), part(8 * n)}
	m.order = [2]cudadrv.DevicePtr{part(4 * n), part(4 * n)}
	m.start = part(4 * (voxels + 1))
	m.table = part(4 * voxelDigits * (m.blocks + 1))
	m.crowded = part(4 * (n/(voxelFew+1) + 1))
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
	for _, p := range []*cudadrv.DevicePtr{&m.cellKeys, &m.keys[0], &m.keys[1], &m.order[0], &m.order[1], &m.start, &m.table, &m.rows, &m.crowded, &m.numbers} {
		if *p != 0 {
			*p += to
		}
	}
	m.state += to
}

func (p *voxelPlan) idle() bool { return len(p.chain) == 0 }

func (p *voxelPlan) home() *backend { return p.b }

// Tensors are those of the plan.
func (p *voxelPlan) Tensors() *ops.Bound { return &p.bound }

func (p *voxelPlan) launch(q *cudadrv.Stream, _ bool) error {
	for _, l := range p.chain {
		if err := l.Run(q); err != nil {
			return err
		}
	}
	return nil
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

// bind makes the chain of launches.
func (p *voxelPlan) bind() error {
	job := p.job
	c := voxelChain{p: p}
	c.fill()
	if job.N > 0 {
		c.sort()
	}
	walk := func(n, each int) int { return min((n+each-1)/each, 16*p.b.sms) }
	switch {
	case job.Mode == ops.DenseVoxels && (!sorts(job) || job.N == 0):
		return c.err
	case job.Mode != ops.DenseVoxels:
		c.add("voxel_rows", 1, 512, 0)
	}
	if job.N == 0 {
		return c.err
	}
	voxels := min(job.N, job.Keys())
	if job.Mode == ops.HardVoxels {
		c.add("voxel_keep", walk(voxels, 8), 256, 0)
	} else {
		width := 1
		if job.Reduce.OfFeatures() {
			width = job.F
		}
		c.add("voxel_reduce", walk(voxels*width, 256), 256, 0)
		if job.Reduce.OfFeatures() && job.N > voxelFew {
			c.add("voxel_crowded", min(job.N/(voxelFew+1)+1, 8*p.b.sms), 256, 0)
		}
	}
	if job.PointVoxel != nil {
		c.add("voxel_inverse", walk(job.N, 256), 256, 0)
	}
	return c.err
}

// voxelChain adds launches to a plan.
type voxelChain struct {
	p               *voxelPlan
	from, fromOrder cudadrv.DevicePtr
	to, toOrder     cudadrv.DevicePtr
	voxelAt, marks  cudadrv.DevicePtr
	side            int // of the pairs of buffers that holds what is sorted so far
	err             error
}

// fill clears the counters, checks the offsets, and fills the dense grid or each point's voxel.
func (c *voxelChain) fill() {
	job := c.p.job
	out, value := job.Grid, uint32(0)
	switch {
	case out == nil:
		out, value = job.PointVoxel, math.MaxUint32
	case out.DType() == tensor.U8:
		value = uint32(uint8(job.Empty)) * 0x01010101
	case out.DType() == tensor.I32:
		value = uint32(int32(job.Empty))
	default:
		value = math.Float32bits(float32(job.Empty))
	}
	bytes := 0
	if out != nil {
		bytes = out.Len() * out.DType().Size()
	}
	c.to, c.fromOrder = addressOf(out), cudadrv.DevicePtr(value)
	c.add("voxel_fill", min(max(bytes/(256*64), job.B/256, 1)+1, 16*c.p.b.sms), 256, uint64(bytes))
	c.to, c.fromOrder = 0, 0
}

// sort gives the points their keys and brings those of each cell together.
func (c *voxelChain) sort() {
	job, m := c.p.job, &c.p.at
	if !sorts(job) {
		c.add("voxel_bin", m.blocks, 256, 0)
		return
	}
	c.to = m.keys[0]
	c.add("voxel_bin", m.blocks, 256, 0)
	c.to = 0
	counted := true // voxel_bin counts the first digits
	if job.Labels != nil {
		c.passes(32, counted, false)
		counted = false
	}
	c.passes(bits.Len64(uint64(job.Keys())), counted, job.Labels != nil)
	c.from, c.fromOrder = m.keys[c.side], m.order[c.side]
	if job.PointVoxel != nil {
		c.voxelAt = m.order[1-c.side]
	}
	if job.Mode == ops.HardVoxels {
		c.marks = m.keys[1-c.side]
	}
	for again := range uint64(2) {
		if again == 1 && c.marks == 0 {
			break
		}
		c.add("voxel_heads", m.blocks, 256, again)
		c.offsets(1)
		c.add("voxel_number", m.blocks, 256, again)
	}
}

// passes sorts by the keys' lowest bits. through says that the first pass reads keys by the order so far.
func (c *voxelChain) passes(bits int, counted, through bool) {
	m := &c.p.at
	for shift := 0; shift < bits; shift += 8 {
		c.from = m.keys[c.side]
		extra := uint64(shift)
		if through && shift == 0 {
			extra |= 1 << 8
		}
		if !counted {
			c.add("voxel_digits", m.blocks, 256, extra)
		}
		counted = false
		c.offsets(voxelDigits)
		c.side = 1 - c.side
		c.to, c.toOrder = m.keys[c.side], m.order[c.side]
		c.add("voxel_scatter", m.blocks, 256, extra)
		c.fromOrder, c.to, c.toOrder = m.order[c.side], 0, 0
	}
}

// offsets scans the rows of the table, a block for each, no larger than a row needs.
func (c *voxelChain) offsets(rows int) {
	words := c.p.at.blocks
	c.add("voxel_offsets", rows, min((words+31)/32*32, 256), uint64(words)|uint64(rows)<<32)
}

// add binds one launch.
func (c *voxelChain) add(name string, blocks, threads int, extra uint64) {
	if c.err != nil {
		return
	}
	k, err := c.p.b.kernel(name)
	if err == nil {
		var l *cudadrv.Launch
		l, err = k.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{uint32(max(blocks, 1))}, Block: [3]uint32{uint32(threads)}}, c.args(extra)...)
		c.p.chain = append(c.p.chain, l)
	}
	c.err = err
}

func addressOf(t *tensor.Tensor) cudadrv.DevicePtr {
	if t == nil {
		return 0
	}
	addr, _ := t.Addr()
	return cudadrv.DevicePtr(addr)
}

// args lists the parameters of every voxel kernel, in the order of voxel.cuh.
func (c *voxelChain) args(extra uint64) []any {
	job, m := c.p.job, &c.p.at
	out := job.Grid
	if out == nil {
		out = job.Values
	}
	lo, size := job.Box.Min, job.Box.Size
	return []any{
		addressOf(job.Points), int64(job.PointStep), addressOf(job.Features), int64(job.FeatureStep), addressOf(job.Labels),
		addressOf(job.Offsets), addressOf(job.Poses), uint64(job.PoseBatch), addressOf(out), addressOf(job.Coords),
		addressOf(job.Counts), addressOf(job.RowSplits), addressOf(job.PointVoxel), c.p.cell.cell, c.p.cell.flag,
		m.state, m.cellKeys, m.start, c.voxelAt,
		m.table, m.rows, m.crowded, c.marks, m.numbers,
		lo[0], lo[1], lo[2], size[0], size[1], size[2], uint32(job.Cells[0]), uint32(job.Cells[1]), uint32(job.Cells[2]), uint32(job.N),
		uint64(m.chunk), uint64(job.CellsARow()), uint64(job.Keys()), uint32(job.B), uint32(job.F), uint32(job.P), uint32(job.V),
		uint32(job.RowVoxels), c.p.flags(), c.from,
		c.fromOrder, c.to, c.toOrder, extra,
	}
}

// flags packs the switches of a job as voxel.cuh reads them.
func (p *voxelPlan) flags() uint32 {
	job := p.job
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
	set(10, !job.Wide() && job.PointStep == 3 && addressOf(job.Points)%16 == 0)
	return f
}
