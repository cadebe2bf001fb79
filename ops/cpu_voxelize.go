package ops

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"sync/atomic"

	"github.com/robocache/robocache/tensor"
)

// cpuVoxelize is a Voxelize bound to host memory. Points are sorted by cell and then by number, so that a voxel is a range of
// them; all memory is made with the plan.
type cpuVoxelize struct {
	cpuBound
	*VoxelizeJob
	backend  *cpuBackend
	points   values
	poses    values
	features values
	step     int // of features
	labels   []int32
	rows     rows

	grid     values // f32 outputs
	grid8    []uint8
	grid32   []int32
	coords   []int32
	counts   []int32
	splits   []int64
	inverse  []int32
	keys     []int64 // of each point, or negative
	order    []int32 // points in range, sorted
	cells    int     // that hold points
	starts   []int32 // of each cell's points in order, and the end of the last
	ranked   []int32 // cells in the order of their voxels; before that, a buffer for sorting
	firsts   []int32 // hard voxels: the cell of which each point is the first, or -1
	number   []int32 // each cell's voxel, or -1
	binning  cpuTask
	reducing cpuTask
	scratch  []voxelScratch
	counters [3]atomic.Int64 // in range, out of range, not finite
	last     VoxelCounts
}

const (
	keyOutOfRange = -1
	keyNotFinite  = -2
	cpuBinTile    = 4096 // points a piece of work
	cpuCellTile   = 64   // cells a piece of work
)

func (b *cpuBackend) Voxelize(job *VoxelizeJob) (VoxelizePlan, error) {
	p := &cpuVoxelize{cpuBound: cpuBound{bound: job.Bound()}, VoxelizeJob: job, backend: b, step: job.FeatureStep}
	var errs []error
	p.points = valuesOf(job.Points, &errs)
	p.poses = valuesOf(job.Poses, &errs)
	p.features = valuesOf(job.Features, &errs)
	p.labels = elementsOf[int32](job.Labels, &errs)
	p.coords = elementsOf[int32](job.Coords, &errs)
	p.counts = elementsOf[int32](job.Counts, &errs)
	p.splits = elementsOf[int64](job.RowSplits, &errs)
	p.inverse = elementsOf[int32](job.PointVoxel, &errs)
	out := job.Grid
	if out == nil {
		out = job.Values
	}
	switch {
	case out == nil:
	case out.DType() == tensor.F32:
		p.grid = valuesOf(out, &errs)
	case out.DType() == tensor.U8:
		p.grid8 = elementsOf[uint8](out, &errs)
	default:
		p.grid32 = elementsOf[int32](out, &errs)
	}
	var err error
	p.rows, err = newRows(job.B, job.N, nil, job.Offsets)
	if job.B == 0 { // its one offset is checked as the length of a row
		p.rows, err = newRows(1, job.N, job.Offsets, nil)
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if err := p.roomForScratch(); err != nil {
		return nil, err
	}
	p.keys = make([]int64, job.N)
	p.binning = cpuTask{pieces: (job.N + cpuBinTile - 1) / cpuBinTile, do: p.bin}
	if p.sorts() {
		p.order, p.starts = make([]int32, job.N), make([]int32, job.N+1)
		p.number, p.ranked = make([]int32, job.N), make([]int32, job.N)
		p.reducing.do = p.reduce
		if job.Mode == HardVoxels {
			p.firsts = make([]int32, job.N)
		}
		p.scratch = make([]voxelScratch, b.workers)
		for i := range p.scratch {
			p.scratch[i].labels = make([]int32, job.N)
			if job.Reduce != ReduceMajority {
				p.scratch[i].labels = nil
			}
		}
	}
	return p, nil
}

// roomForScratch returns an error if there is not the memory that a plan keeps: points without strides may be many and take little.
func (p *cpuVoxelize) roomForScratch() error {
	bytes := 8 * int64(p.N)
	if p.sorts() {
		bytes += 5 * 4 * int64(p.N)
		if p.Reduce == ReduceMajority {
			bytes += 4 * int64(p.N) * int64(p.backend.workers)
		}
	}
	if bytes < 1<<28 || bytes <= tensor.Available() {
		return nil
	}
	return &MemoryError{Device: "host", What: fmt.Sprintf("a plan's scratch memory for %d points", p.N), Bytes: bytes, Err: tensor.ErrNoMemory}
}

// sorts reports whether the result needs the points of each cell together.
func (p *cpuVoxelize) sorts() bool {
	return p.Mode != DenseVoxels || p.Reduce.OfFeatures() || p.Reduce == ReduceMajority
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

func (p *cpuVoxelize) Run(s Stream) error {
	st, err := p.usable(s)
	if err != nil {
		return err
	}
	return st.give(p)
}

func (p *cpuVoxelize) Counts() (VoxelCounts, error) {
	if p.closed.Load() {
		return VoxelCounts{}, &ArgError{Op: "Counts", Arg: "plan", Kind: ErrClosed}
	}
	return p.last, nil
}

func (p *cpuVoxelize) execute() error {
	p.last = VoxelCounts{}
	for b := range p.rows.n {
		if !p.rows.fits(b) {
			return p.OffsetsError(b)
		}
	}
	for i := range p.counters {
		p.counters[i].Store(0)
	}
	p.backend.parallel(&p.binning)
	p.last = VoxelCounts{Points: int64(p.N), InRange: p.counters[0].Load(), OutOfRange: p.counters[1].Load(), NotFinite: p.counters[2].Load()}
	if !p.sorts() {
		p.fillCounts()
		return nil
	}
	p.sortPoints()
	if p.Mode == DenseVoxels {
		p.fillEmpty()
	} else {
		p.enumerate()
	}
	p.reducing.pieces = (p.cells + cpuCellTile - 1) / cpuCellTile
	p.backend.parallel(&p.reducing)
	if p.Mode != DenseVoxels {
		p.last.DroppedPoints = p.last.InRange
		for c := range p.cells {
			if p.number[c] >= 0 {
				p.last.DroppedPoints -= int64(p.kept(c))
			}
		}
	}
	return nil
}

// bin finds the keys of a piece of the points.
func (p *cpuVoxelize) bin(piece, _ int) {
	lo := piece * cpuBinTile
	row := 0
	if p.Offsets != nil {
		row = sort.Search(p.B, func(b int) bool { return p.rows.offsets[b+1] > int64(lo) })
	}
	var found [3]int64
	for i := lo; i < min(lo+cpuBinTile, p.N); i++ {
		for p.Offsets != nil && p.rows.offsets[row+1] <= int64(i) {
			row++
		}
		key := int64(keyNotFinite)
		var cell [3]int
		var finite, in bool
		if p.Wide() {
			pos := position[float64](p, i, row)
			cell, finite, in = cellOf(pos, &p.Box.Min, &p.Box.Size, &p.Cells)
		} else {
			pos := position[float32](p, i, row)
			cell, finite, in = cellOf(pos, &p.Box.Min, &p.Box.Size, &p.Cells)
		}
		switch {
		case in:
			a := p.Axes()
			key = ((int64(row)*int64(p.Cells[a[0]])+int64(cell[a[0]]))*int64(p.Cells[a[1]])+int64(cell[a[1]]))*int64(p.Cells[a[2]]) + int64(cell[a[2]])
			found[0]++
		case finite:
			key = keyOutOfRange
			found[1]++
		default:
			found[2]++
		}
		p.keys[i] = key
	}
	for i, n := range found {
		p.counters[i].Add(n)
	}
}

// position returns a point after its row's pose. Each step rounds on its own.
func position[T float32 | float64](p *cpuVoxelize, i, row int) (pos [3]T) {
	at := p.points.data.([]T)[i*p.PointStep:][:3]
	x, y, z := at[0], at[1], at[2]
	if p.Poses == nil {
		return [3]T{x, y, z}
	}
	m := p.poses.data.([]T)[row*p.PoseBatch:][:16]
	for a := range pos {
		r := m[4*a:][:4]
		pos[a] = T(T(T(r[0]*x)+T(r[1]*y))+T(r[2]*z)) + r[3]
	}
	return pos
}

// cellOf returns the indices x, y, z of a position, whether it is finite, and whether it is in the grid.
func cellOf[T float32 | float64](pos [3]T, lo, size *[3]float64, n *[3]int) (cell [3]int, finite, in bool) {
	finite, in = true, true
	for a, x := range pos {
		if x-x != 0 {
			return cell, false, false
		}
		q := math.Floor(float64(T(x-T(lo[a])) / T(size[a])))
		if !(q >= 0 && q < float64(n[a])) {
			in = false
			continue
		}
		cell[a] = int(q)
	}
	return cell, finite, in
}

// fillCounts makes dense grids of occupancy and counts, which need no order.
func (p *cpuVoxelize) fillCounts() {
	if p.Reduce == ReduceOccupancy {
		p.fillEmpty()
		for _, k := range p.keys {
			if k >= 0 {
				p.grid8[k] = 1
			}
		}
		return
	}
	clear(p.grid32)
	for _, k := range p.keys {
		if k >= 0 {
			p.grid32[k]++
		}
	}
	if empty := int32(p.Empty); empty != 0 {
		for i, n := range p.grid32 {
			if n == 0 {
				p.grid32[i] = empty
			}
		}
	}
}

func (p *cpuVoxelize) fillEmpty() {
	switch {
	case p.grid8 != nil:
		fill(p.grid8, uint8(p.Empty))
	case p.grid32 != nil:
		fill(p.grid32, int32(p.Empty))
	default:
		fill(p.grid.data.([]float32), float32(p.Empty))
	}
}

func fill[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}

// sortPoints puts the points in range in the order of their keys, those of a cell in their own.
func (p *cpuVoxelize) sortPoints() {
	order := p.order[:0]
	for i, k := range p.keys {
		if k >= 0 {
			order = append(order, int32(i))
		}
	}
	// A stable sort by eight bits of the key at a time, between two buffers.
	from, to := order, p.ranked[:len(order)]
	for shift := 0; (p.Keys()-1)>>shift > 0; shift += 8 {
		var begin [257]int
		for _, i := range from {
			begin[p.keys[i]>>shift&255+1]++
		}
		for d := range 256 {
			begin[d+1] += begin[d]
		}
		for _, i := range from {
			at := &begin[p.keys[i]>>shift&255]
			to[*at] = i
			*at++
		}
		from, to = to, from
	}
	copy(order, from)
	p.cells = 0
	for i, at := range order {
		if i == 0 || p.keys[at] != p.keys[order[i-1]] {
			p.starts[p.cells] = int32(i)
			p.cells++
		}
	}
	p.starts[p.cells] = int32(len(order))
}

// enumerate gives cells their voxels, in the order of the keys or of the first points.
func (p *cpuVoxelize) enumerate() {
	ranked := p.ranked[:p.cells]
	for c := range ranked {
		ranked[c] = int32(c)
	}
	if p.Mode == HardVoxels {
		fill(p.firsts, -1)
		for c := range ranked {
			p.firsts[p.order[p.starts[c]]] = int32(c)
		}
		ranked = ranked[:0]
		for _, c := range p.firsts {
			if c >= 0 {
				ranked = append(ranked, c)
			}
		}
	}
	// Rows follow one another in both orders.
	voxel, row, inRow := 0, 0, 0
	if p.splits != nil {
		clear(p.splits)
	}
	for _, c := range ranked {
		r := int(p.key(int(c)) / int64(p.CellsARow()))
		if r != row {
			row, inRow = r, 0
		}
		p.number[c] = -1
		if inRow < p.RowVoxels && voxel < p.V {
			p.number[c] = int32(voxel)
			voxel++
			if p.splits != nil {
				p.splits[r+1]++
			}
		} else {
			p.last.DroppedVoxels++
		}
		inRow++
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

// key returns a cell's key.
func (p *cpuVoxelize) key(cell int) int64 { return p.keys[p.order[p.starts[cell]]] }

// kept returns how many points a cell's voxel keeps, if it is written.
func (p *cpuVoxelize) kept(cell int) int {
	n := int(p.starts[cell+1] - p.starts[cell])
	if p.Mode == HardVoxels {
		n = min(n, p.P)
	}
	return n
}
