package ops

import (
	"math"
	"slices"
)

// together is how many features of a cell are made at once.
const together = 64

// voxelScratch is a worker's memory.
type voxelScratch struct {
	labels  []int32
	row     [together]float32
	top     [together]uint32  // the greatest magnitudes, or values, as ordered integers
	scale   [together]float64 // what makes a value a number of units
	sum     [together]int64
	hi, low [together]int64 // of the sums, hi * 2^32 + low
}

// reduceRuns makes the cells of a dense grid of which the first point is in a piece of the sorted ones.
func (p *cpuVoxelize) reduceRuns(piece, worker int) {
	lo, hi := piece*cpuRunTile, min((piece+1)*cpuRunTile, len(p.order))
	for lo > 0 && lo < hi && p.sort.key(p.order[lo]) == p.sort.key(p.order[lo-1]) {
		lo++
	}
	for lo < hi {
		n := p.sort.sameKey(p.order[lo:])
		key := p.sort.key(p.order[lo])
		p.make(p.order[lo:lo+n], key, int(key), &p.scratch[worker])
		lo += n
	}
}

// reduceCells writes the voxels that a piece of the cells makes.
func (p *cpuVoxelize) reduceCells(piece, worker int) {
	for c := piece * cpuCellTile; c < min((piece+1)*cpuCellTile, p.cells); c++ {
		at := int(p.number[c])
		if at < 0 {
			continue
		}
		key := p.key(c)
		p.describe(c, key, at)
		points := p.order[p.starts[c]:p.starts[c+1]]
		if p.Mode == HardVoxels {
			p.keep(points[:p.kept(c)], at, p.rowOf(key))
		} else {
			p.make(points, key, at, &p.scratch[worker])
		}
	}
}

// make reduces what a cell's points have to the output at `at`.
func (p *cpuVoxelize) make(points []uint64, key int64, at int, s *voxelScratch) {
	switch {
	case p.Reduce == ReduceMajority:
		p.grid32[at] = p.majority(points, s)
	case p.Reduce.OfFeatures():
		out := p.grid.data.([]float32)[at*p.F:][:p.F]
		row := p.rowOf(key)
		for f := 0; f < p.F; f += together {
			some := out[f:min(f+together, p.F)]
			switch {
			case len(points) == 1:
				p.single(points[0], f, row, some, s)
			case p.Reduce == ReduceMax || p.Reduce == ReduceMin:
				p.extreme(points, f, row, some, s)
			default:
				p.add(points, f, row, some, s)
			}
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

// describe writes a voxel's coordinates and count, and its number at its points.
func (p *cpuVoxelize) describe(c int, key int64, voxel int) {
	axes := p.Axes()
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
	p.counts[voxel] = int32(p.kept(c))
	if p.inverse != nil {
		for _, e := range p.order[p.starts[c]:][:p.kept(c)] {
			p.inverse[pointOf(e)] = int32(voxel)
		}
	}
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

// some returns n features of a point from f on, or coordinates where there are no features.
func (p *cpuVoxelize) some(e uint64, f, n, row int, s *voxelScratch) []float32 {
	if p.features.data == nil {
		pos := position(p, pointOf(e), row)
		return s.row[:copy(s.row[:], pos[f:f+n])]
	}
	return p.features.narrow(s.row[:], pointOf(e)*p.step+f, n)
}

// majority returns the commonest label, the smallest of several.
func (p *cpuVoxelize) majority(points []uint64, s *voxelScratch) int32 {
	labels := s.labels[:len(points)]
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
func (p *cpuVoxelize) single(point uint64, f, row int, out []float32, s *voxelScratch) {
	adds := p.Reduce == ReduceSum || p.Reduce == ReduceMean
	for k, x := range p.some(point, f, len(out), row, s) {
		switch {
		case x != x:
			x = nan32
		case adds:
			x += 0 // -0 becomes 0
		}
		out[k] = x
	}
}

// extreme makes the greatest or smallest features of a cell.
func (p *cpuVoxelize) extreme(points []uint64, f, row int, out []float32, s *voxelScratch) {
	down := p.Reduce == ReduceMin
	best := s.top[:len(out)]
	clear(best)
	for _, e := range points {
		for k, x := range p.some(e, f, len(best), row, s) {
			order := orderOf(x, down)
			if x != x {
				order = noNumber
			}
			best[k] = max(best[k], order)
		}
	}
	for k, order := range best {
		if out[k] = nan32; order != noNumber {
			out[k] = valueOf(order, down)
		}
	}
}

// noNumber is beyond the order of all numbers.
const noNumber = math.MaxUint32

// Sums are made of integers: a value x is cut to a multiple of 2^(e-40), toward zero, where 2^e is the power of two at or
// below the greatest finite |x| of the cell and not below 2^-126. What is cut off is below 2^-40 of that value. The integers are
// below 2^41: 2^21 of them are added in 64 bits, and what that makes in 128, as two sums of its halves.
const (
	sumBits  = 40
	sumLot   = 1 << 21
	infinite = 0x7f800000 // the bits of +Inf
)

// add makes the sums or means of features of a cell.
func (p *cpuVoxelize) add(points []uint64, f, row int, out []float32, s *voxelScratch) {
	top, scale, sum, hi, low := s.top[:len(out)], s.scale[:len(out)], s.sum[:len(out)], s.hi[:len(out)], s.low[:len(out)]
	clear(top)
	for _, e := range points {
		for k, x := range p.some(e, f, len(top), row, s) {
			top[k] = max(top[k], math.Float32bits(x)&^(1<<31))
		}
	}
	for k, t := range top {
		hi[k], low[k] = 0, 0
		if scale[k] = 0; t < infinite {
			scale[k] = powerOf2(sumBits - exponentOf(t))
		}
	}
	for lo := 0; lo < len(points); lo += sumLot {
		clear(sum)
		for _, e := range points[lo:min(lo+sumLot, len(points))] {
			for k, x := range p.some(e, f, len(sum), row, s) {
				sum[k] += int64(float64(x) * scale[k])
			}
		}
		for k, n := range sum {
			hi[k] += n >> 32
			low[k] += n & 0xffffffff
		}
	}
	n := 1.0
	if p.Reduce == ReduceMean {
		n = float64(len(points))
	}
	for k, t := range top {
		if t >= infinite {
			out[k] = p.beyond(points, f+k, row, s)
			continue
		}
		all := float64(float64(hi[k]+low[k]>>32)*0x1p32) + float64(low[k]&0xffffffff)
		out[k] = float32(all * powerOf2(exponentOf(t)-sumBits) / n)
	}
}

// exponentOf is that of the power of two at or below a finite magnitude, of which these are the bits, and at least -126.
func exponentOf(magnitude uint32) int { return int(max(magnitude>>23, 1)) - 127 }

func powerOf2(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// beyond is the sum of a feature of a cell of which not all values are finite.
func (p *cpuVoxelize) beyond(points []uint64, f, row int, s *voxelScratch) float32 {
	total := float32(0)
	for _, e := range points {
		if x := p.some(e, f, 1, row, s)[0]; x-x != 0 {
			total += x
		}
	}
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
