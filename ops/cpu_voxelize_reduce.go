package ops

import (
	"math"
	"slices"
)

// voxelScratch is a worker's memory.
type voxelScratch struct{ labels []int32 }

// reduce writes what a piece of the cells makes.
func (p *cpuVoxelize) reduce(piece, worker int) {
	for c := piece * cpuCellTile; c < min((piece+1)*cpuCellTile, p.cells); c++ {
		key := p.key(c)
		at := key
		points := p.order[p.starts[c]:p.starts[c+1]]
		if p.Mode != DenseVoxels {
			at = int64(p.number[c])
			if at < 0 {
				continue
			}
			p.describe(c, key, int(at))
		}
		switch {
		case p.Mode == HardVoxels:
			p.keep(points[:p.kept(c)], int(at), int(key/int64(p.CellsARow())))
		case p.Reduce == ReduceMajority:
			p.grid32[at] = p.majority(points, &p.scratch[worker])
		case p.Reduce.OfFeatures():
			out := p.grid.data.([]float32)[int(at)*p.F:][:p.F]
			row := int(key / int64(p.CellsARow()))
			for f := range out {
				out[f] = p.feature(points, f, row)
			}
		}
	}
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
		for _, i := range p.order[p.starts[c]:][:p.kept(c)] {
			p.inverse[i] = int32(voxel)
		}
	}
}

// keep writes the points of a hard voxel.
func (p *cpuVoxelize) keep(points []int32, voxel, row int) {
	width := 3 + p.F
	out := p.grid.data.([]float32)[voxel*p.P*width:][:p.P*width]
	clear(out)
	for k, i := range points {
		to := out[k*width:][:width]
		pos := position[float32](p, int(i), row)
		copy(to, pos[:])
		for f := range p.F {
			to[3+f] = float32(p.features.float(int(i)*p.step + f))
		}
	}
}

// value returns a feature of a point, or a coordinate where there are no features.
func (p *cpuVoxelize) value(i, f, row int) float32 {
	switch d := p.features.data.(type) {
	case nil:
		pos := position[float32](p, i, row)
		return pos[f]
	case []float32:
		return d[i*p.step+f]
	}
	return float32(p.features.float(i*p.step + f))
}

// majority returns the commonest label, the smallest of several.
func (p *cpuVoxelize) majority(points []int32, s *voxelScratch) int32 {
	labels := s.labels[:len(points)]
	for k, i := range points {
		labels[k] = p.labels[i]
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

// Sums are made of integers: a value x is cut to a multiple of 2^(e-40), toward zero, where 2^e is the power of two at or
// below the greatest finite |x| of the cell and not below 2^-126. What is cut off is below 2^-40 of that value. The integers are
// below 2^41 and are added in 128 bits, as two sums of their halves.
const sumShift = 17 // 40 bits less the 23 of a significand

// fixedSum is a cell's sum of one feature.
type fixedSum struct {
	exponent      uint32 // the greatest, biased, at least 1
	hi, lo        int64  // the sum is hi * 2^32 + lo
	nan, inf, neg bool   // there is a NaN, +Inf, -Inf
}

// see looks at a value before the exponent is known.
func (s *fixedSum) see(x float32) {
	b := math.Float32bits(x)
	e := b >> 23 & 0xff
	switch {
	case e < 255:
		s.exponent = max(s.exponent, e, 1)
	case b<<9 != 0:
		s.nan = true
	case b>>31 == 0:
		s.inf = true
	default:
		s.neg = true
	}
}

// add adds a value.
func (s *fixedSum) add(x float32) {
	b := math.Float32bits(x)
	e := b >> 23 & 0xff
	if e == 255 {
		return
	}
	m := uint64(b & 0x7fffff)
	if e > 0 {
		m |= 0x800000
	}
	n := int64(m << sumShift >> (s.exponent - max(e, 1))) // a shift of 64 or more gives 0
	if b>>31 != 0 {
		n = -n
	}
	s.hi += n >> 32
	s.lo += n & 0xffffffff
}

// value returns the sum divided by n, rounded.
func (s *fixedSum) value(n int) float32 {
	switch {
	case s.nan || s.inf && s.neg:
		return float32(math.NaN())
	case s.inf:
		return float32(math.Inf(1))
	case s.neg:
		return float32(math.Inf(-1))
	}
	hi, lo := s.hi+s.lo>>32, s.lo&0xffffffff
	sum := float64(float64(hi)*0x1p32) + float64(lo)
	sum *= math.Float64frombits(uint64(int(s.exponent)-127-40+1023) << 52)
	return float32(sum / float64(n))
}

// feature reduces one feature of a cell.
func (p *cpuVoxelize) feature(points []int32, f, row int) float32 {
	if p.Reduce == ReduceMax || p.Reduce == ReduceMin {
		best, nan := uint32(0), false
		for _, i := range points {
			x := p.value(int(i), f, row)
			nan = nan || x != x
			best = max(best, orderOf(x, p.Reduce == ReduceMin))
		}
		if nan {
			return float32(math.NaN())
		}
		return valueOf(best, p.Reduce == ReduceMin)
	}
	var s fixedSum
	for _, i := range points {
		s.see(p.value(int(i), f, row))
	}
	for _, i := range points {
		s.add(p.value(int(i), f, row))
	}
	n := 1
	if p.Reduce == ReduceMean {
		n = len(points)
	}
	return s.value(n)
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
