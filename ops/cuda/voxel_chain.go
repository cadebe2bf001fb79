package cuda

import (
	"math"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// stateBytes is the first part of every chain's scratch memory: counters.
const stateBytes = 8 * ptx.VoxelStateStateWords

// voxelChain is a plan's scratch memory and launches. It is laid out twice: from address 0, to see how large the memory is, and where that then lies. The
// job, the number of multiprocessors and addresses decide all of it.
type voxelChain struct {
	job      *backend.VoxelizeJob
	sms      int
	base     cudadrv.DevicePtr
	size     int // bytes
	zeroed   int // of them, from the beginning, that are 0 before the first run
	cell     *device.Cell
	state    uint64
	poses    uint64 // of the points' type
	launches []voxelLaunch
}

// voxelLaunch is one launch. Its parameter is a struct of package ptx.
type voxelLaunch struct {
	kernel                  string
	blocks, threads, shared int // shared: bytes of dynamic shared memory
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

// part lays out so many bytes and returns where they are.
func (c *voxelChain) part(bytes int) uint64 {
	at := uint64(c.base) + uint64(c.size)
	c.size += (bytes + 255) &^ 255
	return at
}

func (c *voxelChain) add(kernel string, blocks, threads int, params parameters) *voxelLaunch {
	c.launches = append(c.launches, voxelLaunch{kernel: kernel, blocks: blocks, threads: threads, params: params})
	return &c.launches[len(c.launches)-1]
}

// walk is how many blocks take n things, `each` of them at a time, and no more than some that run at once.
func (c *voxelChain) walk(n, each int) int { return min((n+each-1)/each, 16*c.sms) }

// voxelFillArgs is what a chain begins with: an output to fill with four bytes, or eight if it is of f64, and a table to clear; either may be
// nothing.
type voxelFillArgs struct {
	out        *tensor.Tensor
	value      uint32
	table      uint64
	tableBytes int
}

const largeFill = 32 << 20 // bytes

// open comes before fill where there are poses to widen, or a grid of doubles to fill with what is not one word twice. It returns what is left to
// fill. What comes behind fill may read the poses at once: fill waits before it lets that begin.
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

// fill opens a chain: it clears the counters and checks the offsets, and fills.
func (c *voxelChain) fill(kernel string, f voxelFillArgs) *voxelLaunch {
	f = c.open(f)
	bytes := 0
	if f.out != nil {
		bytes = f.out.Len() * f.out.DType().Size()
	}
	// One block a multiprocessor, or two of large grids, leave room for the next kernel's, which begin meanwhile.
	most := c.sms
	if bytes > largeFill {
		most *= 2
	}
	const each = 64 * ptx.FillThreads // bytes, four times 16 a thread
	return c.add(kernel, min(max((bytes+f.tableBytes)/each, c.job.B/ptx.FillThreads, 1)+1, most), ptx.FillThreads, &ptx.VoxelFillParams{
		State: c.state, Out: uint64(pointer(f.out)), OutBytes: uint64(bytes), Table: f.table, TableBytes: uint64(f.tableBytes), Value: f.value,
		N: uint32(c.job.N), B: uint32(c.job.B), Offsets: uint64(pointer(c.job.Offsets)), Fault: c.cell.At, FaultFlag: c.cell.Flag,
	})
}

// chunk is how many points a block takes where as many run at once as there are: each adds what it counted to everybody's.
func (c *voxelChain) chunk() int {
	const tile = ptx.WriteThreads * ptx.PointGroup
	each := (c.job.N + 4*c.sms - 1) / (4 * c.sms)
	return max((each+tile-1)/tile, 1) * tile
}

// cloud is the points, of which a block takes a chunk.
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
		MinX: box.Min[0], MinY: box.Min[1], MinZ: box.Min[2], SizeX: box.Size[0], SizeY: box.Size[1], SizeZ: box.Size[2],
	}
	if job.Order == backend.AxisXYZ {
		g.Xyz = 1
	}
	return g
}

// inverse is 1 / size, or NaN where a product with it would not be near the quotient.
func inverse(size float64) float32 {
	x := float32(size)
	if !(x > 0x1p-100 && x < 0x1p100) {
		return float32(math.NaN())
	}
	return 1 / x
}

// values is what voxels are made from, and the output of it.
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

// fours reports whether features can be taken four at a time.
func fours(job *backend.VoxelizeJob) bool {
	if !job.Reduce.OfFeatures() || job.Features == nil || job.Mode == backend.VoxelHard || job.Double() {
		return false
	}
	return job.Features.DType() == tensor.F32 && job.F%4 == 0 && job.FeatureStep%4 == 0 && (pointer(job.Features)|pointer(job.Out()))%16 == 0
}

// lanesOf is how many lanes take a voxel, a feature or four each.
func lanesOf(job *backend.VoxelizeJob) int {
	switch {
	case !job.Reduce.OfFeatures():
		return 1
	case fours(job):
		return job.F / 4
	}
	return job.F
}

// emptyWord is four bytes of what an empty cell of the dense grid holds; of doubles the lower ones.
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

// gridWords is how many words of 4 bytes a cell has.
func gridWords(job *backend.VoxelizeJob) int {
	if job.Reduce.OfFeatures() {
		return job.F
	}
	return 1
}

// notReduced says that a job is not a dense grid of sums, means, extremes or counts of points, made in float32.
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

// largeList lays out the list of large voxels, those of more than FewPoints points: entries of 32 bytes for the pieces that the points can make, and a slot for each piece of voxels of more
// than one.
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

// largePieces is the most pieces of large voxels that n points can make.
func largePieces(n int) int { return n/(ptx.FewPoints+1) + n/ptx.PiecePoints + 1 }

// reduceLarge reduces the voxels that are listed.
func (c *voxelChain) reduceLarge(values ptx.VoxelValues, order uint64, largeList ptx.VoxelLargeList) {
	job := c.job
	if !job.Reduce.OfFeatures() || job.N <= ptx.FewPoints {
		return
	}
	const warps = ptx.ReduceThreads / ptx.WarpSize
	params := &ptx.VoxelReduceLargeParams{Values: values, Order: order, LargePieces: largeList}
	pieces := largePieces(job.N)
	// Twice what runs at once: a warp takes one piece after the other, which take different times.
	c.add("voxel_reduce_large", min(c.walk(pieces, warps), 6*c.sms), ptx.ReduceThreads, params)
	if job.N > ptx.PiecePoints && job.Reduce < backend.ReduceMax {
		c.add("voxel_reduce_truncated", min(c.walk(pieces, warps), 3*c.sms), ptx.ReduceThreads, params) // which seldom has anything to do
	}
}

// voxelVariant is an algorithm of Voxelize: a chain of launches. Each has a file of its own.
type voxelVariant struct {
	name string
	// supports says why its kernels cannot do a job, and prefers why another algorithm is faster; "" if they can and none is.
	supports, prefers func(b *gpu, job *backend.VoxelizeJob) (whyNot string)
	// layout lays its scratch memory out and lists its launches, in order.
	layout func(c *voxelChain)
}

// always is for variants that are preferred wherever they are supported.
func always(*gpu, *backend.VoxelizeJob) string { return "" }
