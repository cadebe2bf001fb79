package cuda

import (
	"math"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// stateBytes is the size in bytes of the counters at the start of every chain's scratch memory.
const stateBytes = 8 * ptx.VoxelStateStateWords

// voxelChain is a plan's scratch memory and launches. The layout runs twice: from address 0 to compute the memory's size, and then from
// the allocated address. It depends only on the job, the multiprocessor count, and addresses.
type voxelChain struct {
	job      *backend.VoxelizeJob
	sms      int
	base     cudadrv.DevicePtr
	size     int // bytes
	zeroed   int // bytes at the start that must be 0 before the first run
	cell     *device.Cell
	state    uint64
	poses    uint64 // address of the poses in the points' dtype
	launches []voxelLaunch
}

// voxelLaunch is one launch. params is a struct from package ptx.
type voxelLaunch struct {
	kernel                  string
	blocks, threads, shared int // shared: dynamic shared memory bytes
	prefersShared           bool
	params                  parameters
}

func layoutVoxels(job *backend.VoxelizeJob, sms int, v *voxelVariant, cell *device.Cell, base cudadrv.DevicePtr) *voxelChain {
	c := &voxelChain{job: job, sms: sms, base: base, cell: cell}
	c.state, c.zeroed = c.part(stateBytes), stateBytes
	if c.poses = uint64(pointer(job.Poses)); job.WidePoses() {
		c.poses = c.part(8 * job.Poses.Len())
	}
	v.layout(c)
	return c
}

// part reserves scratch memory and returns its address.
func (c *voxelChain) part(bytes int) uint64 {
	at := uint64(c.base) + uint64(c.size)
	c.size += (bytes + 255) &^ 255
	return at
}

func (c *voxelChain) add(kernel string, blocks, threads int, params parameters) *voxelLaunch {
	c.launches = append(c.launches, voxelLaunch{kernel: kernel, blocks: blocks, threads: threads, params: params})
	return &c.launches[len(c.launches)-1]
}

// walk counts the blocks for n items, if a block takes `each` items at a time. It is limited to 16 per multiprocessor.
func (c *voxelChain) walk(n, each int) int { return min((n+each-1)/each, 16*c.sms) }

// voxelFillArgs is the input for a chain's first launch: an output to fill with a 4-byte value (8 bytes for float64), and a table to
// clear. Each may be absent.
type voxelFillArgs struct {
	out        *tensor.Tensor
	value      uint32
	table      uint64
	tableBytes int
}

const largeFill = 32 << 20 // bytes

// open adds a launch before fill if poses must be widened, or if a float64 grid must be filled with a value of two different words. It
// returns the work that remains for fill. Launches after fill may read the poses, because fill waits for this launch before it lets
// them begin.
func (c *voxelChain) open(f voxelFillArgs) voxelFillArgs {
	p := ptx.VoxelPrepareParams{}
	if c.job.WidePoses() {
		p.Narrow, p.Poses, p.Numbers = uint64(pointer(c.job.Poses)), c.poses, uint64(c.job.Poses.Len())
	}
	if value := math.Float64bits(c.job.Empty); f.out != nil && f.out.DType() == tensor.F64 && uint32(value>>32) != uint32(value) {
		p.Out, p.Count, p.Value = uint64(pointer(f.out)), uint64(f.out.Len()), value
		f.out = nil
	}
	if n := max(p.Numbers, p.Count); n > 0 {
		c.add("voxel_prepare_f64", c.walk(int(n), ptx.PrepareThreads), ptx.PrepareThreads, &p)
	}
	return f
}

// fill starts a chain. It clears the counters, checks the offsets, and fills the output.
func (c *voxelChain) fill(kernel string, f voxelFillArgs) *voxelLaunch {
	f = c.open(f)
	bytes := 0
	if f.out != nil {
		bytes = f.out.Len() * f.out.DType().Size()
	}
	// One block per multiprocessor, or two for large grids, leaves room for the next kernel's blocks, which begin early.
	most := c.sms
	if bytes > largeFill {
		most *= 2
	}
	const each = 64 * ptx.FillThreads // bytes per block: four times 16 for each thread
	return c.add(kernel, min(max((bytes+f.tableBytes)/each, c.job.B/ptx.FillThreads, 1)+1, most), ptx.FillThreads, &ptx.VoxelFillParams{
		State: c.state, Out: uint64(pointer(f.out)), OutBytes: uint64(bytes), Table: f.table, TableBytes: uint64(f.tableBytes), Value: f.value,
		N: uint32(c.job.N), B: uint32(c.job.B), Offsets: uint64(pointer(c.job.Offsets)), Fault: c.cell.At, FaultFlag: c.cell.Flag,
	})
}

// chunk returns the points per block if all blocks run at once. Few blocks are better, because each block adds its counts to shared
// totals.
func (c *voxelChain) chunk() int {
	const tile = ptx.WriteThreads * ptx.PointGroup
	each := (c.job.N + 4*c.sms - 1) / (4 * c.sms)
	return max((each+tile-1)/tile, 1) * tile
}

// cloud returns the points in kernel form. A block takes a chunk of them.
func (c *voxelChain) cloud(chunk int) ptx.VoxelCloud {
	job := c.job
	return ptx.VoxelCloud{
		Points: uint64(pointer(job.Points)), Poses: c.poses, Offsets: uint64(pointer(job.Offsets)),
		N: uint32(job.N), B: uint32(job.B), Chunk: uint32(chunk), PointStep: int64(job.PointStep), PoseBatch: uint64(job.PoseBatch),
		Flags: ptx.VoxelCloudFlags{Wide: job.Wide(), ByFour: !job.Wide() && job.PointStep == 3 && pointer(job.Points)%16 == 0}.Word(),
	}
}

func (c *voxelChain) grid() ptx.VoxelGrid {
	job, box := c.job, &c.job.Box
	g := ptx.VoxelGrid{
		Keys: uint64(job.Keys()), NX: uint32(job.Cells[0]), NY: uint32(job.Cells[1]), NZ: uint32(job.Cells[2]),
		InverseX: inverse(box.Size[0]), InverseY: inverse(box.Size[1]), InverseZ: inverse(box.Size[2]),
		MinX: box.Min[0], MinY: box.Min[1], MinZ: box.Min[2], SizeX: box.Size[0], SizeY: box.Size[1], SizeZ: box.Size[2], Border: uint32(box.Border),
	}
	if job.Order == backend.AxisXYZ {
		g.Xyz = 1
	}
	return g
}

// inverse returns 1 / size, or NaN if a product with it would be far from the quotient.
func inverse(size float64) float32 {
	x := float32(size)
	if !(x > 0x1p-100 && x < 0x1p100) {
		return float32(math.NaN())
	}
	return 1 / x
}

// values returns the reduction's inputs and output in kernel form.
func (c *voxelChain) values(chunk int) ptx.VoxelValues {
	job := c.job
	out := job.Out()
	flags := ptx.VoxelValuesFlags{Reduce: uint32(job.Reduce), Fours: fours(job), DoubleOut: out != nil && out.DType() == tensor.F64}
	if job.Features != nil {
		flags.FeatureType = dtypeCode[job.Features.DType()]
	}
	return ptx.VoxelValues{
		Flags: flags.Word(), F: uint32(job.F), Features: uint64(pointer(job.Features)), FeatureStep: int64(job.FeatureStep),
		Out: uint64(pointer(out)), Cells: uint64(job.CellsARow()), Cloud: c.cloud(chunk),
	}
}

// fours reports whether features can be processed four at a time.
func fours(job *backend.VoxelizeJob) bool {
	if !job.Reduce.OfFeatures() || job.Features == nil || job.Mode == backend.VoxelHard || job.Double() {
		return false
	}
	return job.Features.DType() == tensor.F32 && job.F%4 == 0 && job.FeatureStep%4 == 0 && (pointer(job.Features)|pointer(job.Out()))%16 == 0
}

// lanesOf returns the lanes per voxel. A lane processes one feature, or four if fours is true.
func lanesOf(job *backend.VoxelizeJob) int {
	switch {
	case !job.Reduce.OfFeatures():
		return 1
	case fours(job):
		return job.F / 4
	}
	return job.F
}

// emptyWord returns four bytes of an empty cell in the dense grid; for float64, the lower four.
func emptyWord(job *backend.VoxelizeJob) uint32 {
	switch job.Grid.DType() {
	case tensor.U8:
		return uint32(uint8(job.Empty)) * 0x01010101
	case tensor.I32:
		return uint32(int32(job.Empty))
	case tensor.F64:
		return uint32(math.Float64bits(job.Empty))
	}
	return math.Float32bits(float32(job.Empty))
}

// gridWords returns the 4-byte words per cell.
func gridWords(job *backend.VoxelizeJob) int {
	if job.Reduce.OfFeatures() {
		return job.F
	}
	return 1
}

// notReduced returns a reason unless a job is a dense grid of sums, means, extremes or counts, computed in float32.
func notReduced(job *backend.VoxelizeJob) string {
	switch {
	case job.N == 0:
		return "no points"
	case job.Mode != backend.VoxelDense:
		return "not a dense grid"
	case !job.Reduce.OfFeatures() && job.Reduce != backend.ReduceCount:
		return "neither counts nor features are reduced"
	case job.Double():
		return "doubles, which are sorted"
	}
	return ""
}

// largeList reserves the list of voxels with more than FewPoints points. It has a 32-byte entry for each piece that the points can
// make, and a slot for each piece in voxels with several pieces.
func (c *voxelChain) largeList() ptx.VoxelLargeList {
	if !c.job.Reduce.OfFeatures() {
		return ptx.VoxelLargeList{State: c.state}
	}
	return ptx.VoxelLargeList{Pieces: c.part(largeBytes(c.job.N, c.job.F)), State: c.state}
}

func largeBytes(n, features int) int {
	const piece = ptx.PiecePoints
	return 32*largePieces(n) + 16*(1+features+(features+1)/2)*(n/piece+n/(piece+1)+1)
}

// largePieces returns an upper bound for the pieces in large voxels for n points.
func largePieces(n int) int { return n/(ptx.FewPoints+1) + n/ptx.PiecePoints + 1 }

// reduceLarge adds the launches that reduce the listed voxels.
func (c *voxelChain) reduceLarge(values ptx.VoxelValues, order uint64, largeList ptx.VoxelLargeList) {
	job := c.job
	if !job.Reduce.OfFeatures() || job.N <= ptx.FewPoints {
		return
	}
	const warps = ptx.ReduceThreads / ptx.WarpSize
	params := &ptx.VoxelReduceLargeParams{Values: values, Order: order, LargePieces: largeList}
	pieces := largePieces(job.N)
	// Twice as many blocks as run at once, because a warp takes pieces in turn and pieces take different times.
	c.add("voxel_reduce_large", min(c.walk(pieces, warps), 6*c.sms), ptx.ReduceThreads, params)
	if job.N > ptx.PiecePoints && job.Reduce < backend.ReduceMax {
		c.add("voxel_reduce_truncated", min(c.walk(pieces, warps), 3*c.sms), ptx.ReduceThreads, params) // it seldom has work
	}
}

// voxelVariant is an algorithm for Voxelize: a chain of launches. Each algorithm has its own file.
type voxelVariant struct {
	name string
	// supports returns a reason if the kernels cannot run a job; prefers returns a reason if another algorithm is faster. Both return
	// "" otherwise.
	supports, prefers func(b *gpu, job *backend.VoxelizeJob) (whyNot string)
	// layout reserves scratch memory and lists the launches in order.
	layout func(c *voxelChain)
}

// always is the prefers function for variants that are always preferred if they support the job.
func always(*gpu, *backend.VoxelizeJob) string { return "" }
