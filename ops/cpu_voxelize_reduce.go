package ops

import (
	"math"
	"slices"
)

const (
	together  = 64   // features of a cell that are made at once
	lotValues = 8192 // features of points next to each other that are brought together, so that most of the waiting for memory is done at once
)

// voxelScratch is a worker's memory.
type voxelScratch struct {
	begin, end int // of the sorted points whose features are in lot
	lot        [lotValues]float32
	top        [together]uint32  // the greatest magnitudes, or values, as ordered integers
	scale      [together]float64 // what makes a value a number of units
	sum        [together]int64
	hi, low    [together]int64 // of the sums, hi * 2^32 + low
}

// cellRun is sorted points lo to hi, which are those of a cell, and where their features from f on go. Of points up to `limit` the features
// are wanted soon.
type cellRun struct {
	lo, hi, limit int
	f             int
	out           []float32
}

// reduceRuns makes the cells of a dense grid of which the first point is in a piece of the sorted ones.
func (p *cpuVoxelize) reduceRuns(piece, worker int) {
	begin, end := piece*cpuRunTile, min((piece+1)*cpuRunTile, len(p.order))
	for begin > 0 && begin < end && p.sort.key(p.order[begin]) == p.sort.key(p.order[begin-1]) {
		begin++
	}
	p.eachFeatures(worker, func(f, n int) {
		for lo := begin; lo < end; {
			hi := lo + p.sort.sameKey(p.order[lo:])
			p.reduce(lo, hi, end, f, n, int(p.sort.key(p.order[lo])), worker)
			lo = hi
		}
	})
}

// reduceVoxels writes a piece of the voxels.
func (p *cpuVoxelize) reduceVoxels(piece, worker int) {
	begin, end := piece*cpuVoxelTile, min((piece+1)*cpuVoxelTile, int(p.last.Voxels))
	kept := 0
	for v := begin; v < end; v++ {
		kept += p.describe(int(p.ranked[v]), v)
	}
	p.counters[3].Add(int64(kept))
	p.eachFeatures(worker, func(f, n int) {
		limit := int(p.starts[p.ranked[end-1]+1])
		for v := begin; v < end; v++ {
			c := p.ranked[v]
			p.reduce(int(p.starts[c]), int(p.starts[c+1]), limit, f, n, v, worker)
		}
	})
}

// eachFeatures gives do the features that are reduced, some at once; those of a majority are its labels.
func (p *cpuVoxelize) eachFeatures(worker int, do func(f, n int)) {
	switch {
	case p.Reduce == ReduceMajority:
		do(0, 1)
	case p.Reduce.OfFeatures():
		for f := 0; f < p.F; f += together {
			s := &p.scratch[worker]
			s.begin, s.end = 0, 0
			do(f, min(together, p.F-f))
		}
	}
}

// reduce makes features f to f+n of a cell, of sorted points lo to hi. They go to cell or voxel number `at`. Features of points up to limit are
// wanted soon.
func (p *cpuVoxelize) reduce(lo, hi, limit, f, n, at, worker int) {
	if p.Reduce == ReduceMajority {
		p.grid32[at] = p.commonest(p.order[lo:hi], p.majority[worker])
		return
	}
	r, s := cellRun{lo, hi, limit, f, p.grid.data.([]float32)[at*p.F+f:][:n]}, &p.scratch[worker]
	switch {
	case hi-lo == 1:
		p.single(&r, s)
	case p.Reduce == ReduceMax || p.Reduce == ReduceMin:
		p.extreme(&r, s)
	default:
		p.add(&r, s)
	}
}

// describe writes a voxel's coordinates and count, its number at its points, and the points of a hard one. It returns how many points it keeps.
func (p *cpuVoxelize) describe(c, voxel int) int {
	points := p.order[p.starts[c]:p.starts[c+1]]
	axes, key := p.Axes(), p.sort.key(points[0])
	if p.Mode == HardVoxels {
		points = points[:min(len(points), p.P)]
		p.keep(points, voxel, p.rowOf(key))
	}
	columns := 3
	if p.Batched {
		columns = 4
	}
	out := p.coords[voxel*columns:][:columns]
	for i := 2; i >= 0; i-- {
		n := int64(p.Cells[axes[i]])
		out[columns-3+i] = int32(key % n)
		key /= n
	}
	if p.Batched {
		out[0] = int32(key)
	}
	p.counts[voxel] = int32(len(points))
	if p.inverse != nil {
		for _, e := range points {
			p.inverse[pointOf(e)] = int32(voxel)
		}
	}
	return len(points)
}

// keep writes the points of a hard voxel.
func (p *cpuVoxelize) keep(points []uint64, voxel, row int) {
	width := 3 + p.F
	out := p.grid.data.([]float32)[voxel*p.P*width:][:p.P*width]
	clear(out[len(points)*width:])
	for k, e := range points {
		to := out[k*width:][:width]
		pos := position(p, pointOf(e), row)
		copy(to, pos[:])
		if p.F > 0 {
			copy(to[3:], p.features.narrow(to[3:], pointOf(e)*p.step, p.F))
		}
	}
}

// rowOf is the row of a cell.
func (p *cpuVoxelize) rowOf(key int64) int {
	if p.B == 1 {
		return 0
	}
	return int(key / int64(p.CellsARow()))
}

// each gives do the run's features, as many points at once as a lot has, one after the other.
func (p *cpuVoxelize) each(r *cellRun, s *voxelScratch, do func(rows []float32)) {
	most := lotValues / len(r.out)
	for lo := r.lo; lo < r.hi; lo += most {
		do(p.lot(r, lo, min(lo+most, r.hi), s))
	}
}

// lot returns the features of sorted points lo to hi of the run.
func (p *cpuVoxelize) lot(r *cellRun, lo, hi int, s *voxelScratch) []float32 {
	n := len(r.out)
	if lo < s.begin || hi > s.end {
		p.gather(r, lo, max(hi, min(lo+lotValues/n, r.limit)), s)
	}
	return s.lot[(lo-s.begin)*n : (hi-s.begin)*n]
}

// gather brings the features of sorted points lo to hi together, or their coordinates where there are no features.
func (p *cpuVoxelize) gather(r *cellRun, lo, hi int, s *voxelScratch) {
	n := len(r.out)
	s.begin, s.end = lo, hi
	lot, points := s.lot[:(hi-lo)*n], p.order[lo:hi]
	switch d := p.features.data.(type) {
	case nil:
		for i, e := range points {
			pos := position(p, pointOf(e), p.rowOf(p.sort.key(e)))
			copy(lot[i*n:][:n], pos[r.f:])
		}
	case []float32:
		if n == 1 {
			for i, e := range points {
				lot[i] = d[pointOf(e)*p.step+r.f]
			}
			return
		}
		for i, e := range points {
			copy(lot[i*n:][:n], d[pointOf(e)*p.step+r.f:])
		}
	default:
		for i, e := range points {
			p.features.narrow(lot[i*n:], pointOf(e)*p.step+r.f, n)
		}
	}
}

// commonest returns the commonest label of points, the smallest of several. It uses memory for as many labels.
func (p *cpuVoxelize) commonest(points []uint64, labels []int32) int32 {
	labels = labels[:len(points)]
	for k, e := range points {
		labels[k] = p.labels[pointOf(e)]
	}
	slices.Sort(labels)
	best, most := int32(0), 0
	for lo := 0; lo < len(labels); {
		hi := lo
		for hi < len(labels) && labels[hi] == labels[lo] {
			hi++
		}
		if hi-lo > most {
			best, most = labels[lo], hi-lo
		}
		lo = hi
	}
	return best
}

var nan32 = float32(math.NaN())

// single makes features of a cell of one point.
func (p *cpuVoxelize) single(r *cellRun, s *voxelScratch) {
	row := p.lot(r, r.lo, r.hi, s)
	out := r.out[:len(row)]
	if p.Reduce == ReduceMax || p.Reduce == ReduceMin {
		for k, x := range row {
			if x != x {
				x = nan32
			}
			out[k] = x
		}
		return
	}
	for k, x := range row {
		if x += 0; x != x { // -0 becomes 0
			x = nan32
		}
		out[k] = x
	}
}

// extreme makes the greatest or smallest features of a cell.
func (p *cpuVoxelize) extreme(r *cellRun, s *voxelScratch) {
	down := p.Reduce == ReduceMin
	best := s.top[:len(r.out)]
	clear(best)
	p.each(r, s, func(rows []float32) {
		for ; len(rows) >= len(best); rows = rows[len(best):] {
			for k, x := range rows[:len(best)] {
				order := orderOf(x, down)
				if x != x {
					order = noNumber
				}
				best[k] = max(best[k], order)
			}
		}
	})
	for k, order := range best {
		if r.out[k] = nan32; order != noNumber {
			r.out[k] = valueOf(order, down)
		}
	}
}

// noNumber is beyond the order of all numbers.
const noNumber = math.MaxUint32

// Sums are made of integers: a value x is cut to a multiple of 2^(e-40), toward zero, where 2^e is the power of two at or
// below the greatest finite |x| of the cell and not below 2^-126. What is cut off is below 2^-40 of that value. The integers are
// below 2^41: those of a lot are added in 64 bits, and what lots make in 128, as two sums of its halves.
const (
	sumBits  = 40
	infinite = 0x7f800000 // the bits of +Inf
)

// add makes the sums or means of features of a cell.
func (p *cpuVoxelize) add(r *cellRun, s *voxelScratch) {
	w := len(r.out)
	top, scale, sum, hi, low := s.top[:w], s.scale[:w], s.sum[:w], s.hi[:w], s.low[:w]
	clear(top)
	p.each(r, s, func(rows []float32) {
		for ; len(rows) >= w; rows = rows[w:] {
			for k, x := range rows[:len(top)] {
				top[k] = max(top[k], math.Float32bits(x)&^(1<<31))
			}
		}
	})
	for k, t := range top {
		hi[k], low[k], scale[k] = 0, 0, 0
		if t < infinite {
			scale[k] = powerOf2(sumBits - exponentOf(t))
		}
	}
	p.each(r, s, func(rows []float32) {
		clear(sum)
		for ; len(rows) >= w; rows = rows[w:] {
			scale, sum := scale[:len(top)], sum[:len(top)]
			for k, x := range rows[:len(top)] {
				sum[k] += int64(float64(x) * scale[k])
			}
		}
		for k, n := range sum {
			hi[k] += n >> 32
			low[k] += n & 0xffffffff
		}
	})
	n := 1.0
	if p.Reduce == ReduceMean {
		n = float64(r.hi - r.lo)
	}
	for k, t := range top {
		if t >= infinite {
			r.out[k] = p.beyond(r, k, s)
			continue
		}
		all := float64(float64(hi[k]+low[k]>>32)*0x1p32) + float64(low[k]&0xffffffff)
		r.out[k] = float32(all * powerOf2(exponentOf(t)-sumBits) / n)
	}
}

// exponentOf is that of the power of two at or below a finite magnitude, of which these are the bits, and at least -126.
func exponentOf(magnitude uint32) int { return int(max(magnitude>>23, 1)) - 127 }

func powerOf2(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// beyond is the sum of a feature of a cell of which not all values are finite.
func (p *cpuVoxelize) beyond(r *cellRun, k int, s *voxelScratch) float32 {
	total := float32(0)
	p.each(r, s, func(rows []float32) {
		for ; k < len(rows); rows = rows[len(r.out):] {
			if x := rows[k]; x-x != 0 {
				total += x
			}
		}
	})
	if total != total {
		total = nan32
	}
	return total
}

// orderOf maps values to integers in ascending order, -0 below +0, or in descending order.
func orderOf(x float32, down bool) uint32 {
	b := math.Float32bits(x)
	if b>>31 != 0 {
		b = ^b
	} else {
		b |= 1 << 31
	}
	if down {
		b = ^b
	}
	return b
}

func valueOf(order uint32, down bool) float32 {
	if down {
		order = ^order
	}
	if order>>31 != 0 {
		return math.Float32frombits(order &^ (1 << 31))
	}
	return math.Float32frombits(^order)
}
