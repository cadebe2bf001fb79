package cpu

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// voxelizePlan is a Voxelize bound to host memory. Points are sorted by cell and then by index, so that each voxel is a range of
// points. For counts and occupancy they are only grouped by ranges of cells. All memory is allocated with the plan.
type voxelizePlan struct {
	boundPlan
	*backend.VoxelizeJob
	backend  *Backend
	points   values
	poses    values // poses in the points' dtype
	narrow   values // float32 poses, if they must be widened
	features values
	step     int  // elements between features of consecutive points
	double   bool // job.Double()
	labels   []int32
	rows     rows

	grid     values // output for features
	grid8    []uint8
	grid32   []int32
	coords   []int32
	counts   []int32
	splits   []int64
	inverse  []int32
	keys     []int64 // a key per point; negative if the point is not counted
	sort     pointSort
	order    []uint64 // points in range, sorted: entries of pointSort
	cells    int      // number of cells with points, if not dense
	starts   []int32  // start of each cell's points in order, and the end of the last
	firsts   []int32  // hard voxels: the cell for which a point is the first, or -1
	ranked   []int32  // each voxel's cell
	strides  [3]int64 // key strides by x, y and z
	binning  task
	filling  task
	reducing task
	scratch  []voxelScratch  // the backend's memory, shared because only one task runs at a time
	majority [][]int32       // labels for each worker
	counters [4]atomic.Int64 // in range, out of range, not finite, kept by voxels
	last     backend.VoxelCounts
}

const (
	keyOutOfRange = -1
	keyNotFinite  = -2
	voxelTile     = 256     // voxels per piece
	runTile       = 2048    // points per piece; it computes the cells that begin among them
	fillTile      = 1 << 17 // grid elements per piece
)

// Voxelize plans the voxels for a point cloud.
func (b *Backend) Voxelize(job *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	p := &voxelizePlan{boundPlan: boundPlan{bound: job.Bound()}, VoxelizeJob: job, backend: b, step: job.FeatureStep, double: job.Double()}
	var errs []error
	p.points = valuesOf(job.Points, &errs)
	p.poses = valuesOf(job.Poses, &errs)
	if job.WidePoses() {
		p.narrow, p.poses = p.poses, values{data: make([]float64, job.Poses.Len()), wide: true}
	}
	p.features = valuesOf(job.Features, &errs)
	p.labels = elementsOf[int32](job.Labels, &errs)
	p.coords = elementsOf[int32](job.Coords, &errs)
	p.counts = elementsOf[int32](job.Counts, &errs)
	p.splits = elementsOf[int64](job.RowSplits, &errs)
	p.inverse = elementsOf[int32](job.PointVoxel, &errs)
	switch out := job.Out(); {
	case out == nil:
	case out.DType().IsFloat():
		p.grid = valuesOf(out, &errs)
	case out.DType() == tensor.U8:
		p.grid8 = elementsOf[uint8](out, &errs)
	default:
		p.grid32 = elementsOf[int32](out, &errs)
	}
	var err error
	p.rows, err = newRows(job.B, job.N, nil, job.Offsets)
	if job.B == 0 { // the only offset is checked like a row's length
		p.rows, err = newRows(1, job.N, job.Offsets, nil)
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if err := p.roomForScratch(); err != nil {
		return nil, err
	}
	axes := job.Axes()
	stride := int64(1)
	for i := 2; i >= 0; i-- {
		p.strides[axes[i]] = stride
		stride *= int64(job.Cells[axes[i]])
	}
	p.keys = make([]int64, job.N)
	if p.sorts() {
		p.sort.init(b, p.keys, sortPasses(job.Keys(), pointsAPiece(job.N, b.workers)))
	} else {
		p.sort.init(b, p.keys, []sortPass{countPass(job.Keys(), job.Reduce.DType().Size(), b.workers)})
	}
	p.binning = task{pieces: p.sort.pieces(job.N), do: p.bin}
	switch {
	case !p.sorts():
		p.reducing = task{pieces: 1 << p.sort.passes[0].width, do: p.fillCounts}
	case job.Mode == backend.VoxelDense:
		elements := job.Keys() * max(job.F, 1)
		p.filling = task{pieces: (elements + fillTile - 1) / fillTile, do: p.fillEmpty}
		p.reducing.do = p.reduceRuns
	default:
		p.starts, p.ranked = make([]int32, job.N+1), make([]int32, min(job.N, job.V))
		if job.Mode == backend.VoxelHard {
			p.firsts = make([]int32, job.N)
		}
		p.reducing.do = p.reduceVoxels
	}
	switch {
	case job.Reduce == backend.ReduceMajority:
		for range b.workers {
			p.majority = append(p.majority, make([]int32, job.N))
		}
	case job.Reduce.OfFeatures():
		p.scratch = b.voxels()
	}
	return p, nil
}

// roomForScratch returns an error if memory for the plan would not fit. A tensor with stride 0 can have many points in little memory.
func (p *voxelizePlan) roomForScratch() error {
	each := 8 + 8 // a key and an entry
	if p.sorts() {
		each += 8 // a second entry for sorting
	}
	if p.Mode != backend.VoxelDense {
		each += 8
	}
	if p.Mode == backend.VoxelHard {
		each += 4
	}
	if p.Reduce == backend.ReduceMajority {
		each += 4 * p.backend.workers
	}
	bytes := int64(each) * int64(p.N)
	if bytes < 1<<28 || bytes <= tensor.Available() {
		return nil
	}
	return &backend.MemoryError{Device: "host", What: fmt.Sprintf("a plan's scratch memory for %d points", p.N), Bytes: bytes, Err: tensor.ErrOutOfMemory}
}

// sorts reports whether the result needs each cell's points together.
func (p *voxelizePlan) sorts() bool {
	return p.Mode != backend.VoxelDense || p.Reduce.OfFeatures() || p.Reduce == backend.ReduceMajority
}

func valuesOf(t *tensor.Tensor, errs *[]error) (v values) {
	if t != nil {
		var err error
		v, err = newValues(t)
		*errs = append(*errs, err)
	}
	return v
}

func elementsOf[T tensor.Element](t *tensor.Tensor, errs *[]error) (data []T) {
	if t != nil {
		var err error
		data, err = tensor.Elements[T](t)
		*errs = append(*errs, err)
	}
	return data
}

func (p *voxelizePlan) Run(s backend.Queue) error { return p.run(s, p) }

func (p *voxelizePlan) Counts() (backend.VoxelCounts, error) {
	if p.closed.Load() {
		return backend.VoxelCounts{}, &backend.ArgError{Op: "Counts", Arg: "plan", Kind: backend.ErrClosed}
	}
	return p.last, nil
}

func (p *voxelizePlan) execute() error {
	p.last = backend.VoxelCounts{}
	for b := range p.rows.n {
		if !p.rows.fits(b) {
			return p.OffsetsError(b)
		}
	}
	for i := range p.counters {
		p.counters[i].Store(0)
	}
	if p.WidePoses() {
		p.narrow.floats(p.poses.data.([]float64), 0)
	}
	p.sort.begin()
	p.backend.parallel(&p.binning)
	p.last = backend.VoxelCounts{Points: int64(p.N), InRange: p.counters[0].Load(), OutOfRange: p.counters[1].Load(), NotFinite: p.counters[2].Load()}
	p.order = p.sort.rest(int(p.last.InRange))
	switch {
	case !p.sorts():
	case p.Mode == backend.VoxelDense:
		p.backend.parallel(&p.filling)
		p.reducing.pieces = (len(p.order) + runTile - 1) / runTile
	default:
		p.findCells()
		p.enumerate()
		p.reducing.pieces = (int(p.last.Voxels) + voxelTile - 1) / voxelTile
	}
	p.backend.parallel(&p.reducing)
	if p.Mode != backend.VoxelDense {
		p.last.DroppedPoints = p.last.InRange - p.counters[3].Load()
	}
	return nil
}

// findCells finds the start of each cell's points.
func (p *voxelizePlan) findCells() {
	p.cells = 0
	last := int64(-1)
	for i, e := range p.order {
		if k := p.sort.key(e); k != last {
			p.starts[p.cells], last = int32(i), k
			p.cells++
		}
	}
	p.starts[p.cells] = int32(len(p.order))
}

// enumerate assigns voxels to cells, in key order or in the order of the cells' first points.
func (p *voxelizePlan) enumerate() {
	// Batch rows are consecutive in both orders.
	voxel, row, inRow := 0, 0, 0
	rowBegin, rowCells := int64(0), int64(p.CellsARow())
	if p.splits != nil {
		clear(p.splits)
	}
	give := func(c int) {
		if p.B > 1 {
			if key := p.sort.key(p.order[p.starts[c]]); key-rowBegin >= rowCells {
				row, inRow = int(key/rowCells), 0
				rowBegin = int64(row) * rowCells
			}
		}
		if inRow < p.RowVoxels && voxel < p.V {
			p.ranked[voxel] = int32(c)
			voxel++
			if p.splits != nil {
				p.splits[row+1]++
			}
		} else {
			p.last.DroppedVoxels++
		}
		inRow++
	}
	if p.Mode == backend.VoxelHard {
		fill(p.firsts, -1)
		for c := range p.cells {
			p.firsts[pointOf(p.order[p.starts[c]])] = int32(c)
		}
		for _, c := range p.firsts {
			if c >= 0 {
				give(int(c))
			}
		}
	} else {
		for c := range p.cells {
			give(c)
		}
	}
	for b := range p.B {
		if p.splits != nil {
			p.splits[b+1] += p.splits[b]
		}
	}
	p.last.Voxels = int64(voxel)
	if p.inverse != nil {
		fill(p.inverse, -1)
	}
}
