package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"math"
	"sort"
)

// bin computes the keys for a piece of the points, and counts their digits for the sort's first pass.
func (p *voxelizePlan) bin(piece, _ int) {
	lo, hi := p.sort.piece(piece, p.N)
	row := 0
	if p.Offsets != nil {
		row = sort.Search(p.B, func(b int) bool { return p.rows.offsets[b+1] > int64(lo) })
	}
	var found [3]int64
	for lo < hi {
		end := hi
		for p.Offsets != nil && p.rows.offsets[row+1] <= int64(lo) {
			row++
		}
		if p.Offsets != nil {
			end = min(hi, int(p.rows.offsets[row+1]))
		}
		if p.Wide() {
			binRow[float64](p, lo, end, row, piece, &found)
		} else {
			binRow[float32](p, lo, end, row, piece, &found)
		}
		lo = end
	}
	for i, n := range found {
		p.counters[i].Add(n)
	}
}

// binRow does this for points lo to end-1 in one batch row. A coordinate divided by the cell size is inside a grid with n cells if it
// is at least 0 and below n, each plus the border. Truncation then gives the cell index, like floor.
func binRow[T float32 | float64](p *voxelizePlan, lo, end, row, piece int, found *[3]int64) {
	var from, size [3]T
	var n [3]float64 // the end of each axis
	cut := float64(p.Box.Border)
	for a := range from {
		from[a], size[a], n[a] = T(p.Box.Min[a]), T(p.Box.Size[a]), float64(p.Cells[a])+cut
	}
	first := int64(row) * int64(p.CellsARow())
	counts, shift, mask := p.sort.digits(piece)
	keys := p.keys[lo:end]
	data := p.points.data.([]T)[lo*p.PointStep:]
	m := poseOf[T](p, row)
	for i := range keys {
		pos := [3]T(data[i*p.PointStep:][:3])
		if m != nil {
			pos = posed(m, pos)
		}
		x, y, z := float64((pos[0]-from[0])/size[0]), float64((pos[1]-from[1])/size[1]), float64((pos[2]-from[2])/size[2])
		if x >= cut && x < n[0] && y >= cut && y < n[1] && z >= cut && z < n[2] {
			key := first + int64(x-cut)*p.strides[0] + int64(y-cut)*p.strides[1] + int64(z-cut)*p.strides[2]
			keys[i] = key
			counts[uint64(key)>>shift&mask]++
			found[0]++
		} else if pos[0]-pos[0] == 0 && pos[1]-pos[1] == 0 && pos[2]-pos[2] == 0 {
			keys[i] = keyOutOfRange
			found[1]++
		} else {
			keys[i] = keyNotFinite
			found[2]++
		}
	}
}

// poseOf returns a batch row's pose, nil if there is none.
func poseOf[T float32 | float64](p *voxelizePlan, row int) *[16]T {
	if p.Poses == nil {
		return nil
	}
	return (*[16]T)(p.poses.data.([]T)[row*p.PoseBatch:])
}

// posed applies a pose to a position. Each step rounds separately.
func posed[T float32 | float64](m *[16]T, p [3]T) (pos [3]T) {
	for a := range pos {
		r := m[4*a:][:4]
		pos[a] = T(T(T(r[0]*p[0])+T(r[1]*p[1]))+T(r[2]*p[2])) + r[3]
	}
	return pos
}

// position returns a point in type T with its row's pose applied.
func position[T float32 | float64](p *voxelizePlan, i, row int) [3]T {
	pos := [3]T(p.points.data.([]T)[i*p.PointStep:])
	if m := poseOf[T](p, row); m != nil {
		pos = posed(m, pos)
	}
	return pos
}

// fillCounts writes a range of cells in a dense grid of occupancy or counts.
func (p *voxelizePlan) fillCounts(bucket, _ int) {
	lo, hi, points := p.sort.bucket(bucket, p.Keys())
	if lo >= hi {
		return
	}
	if p.Reduce == backend.ReduceOccupancy {
		grid := p.grid8[lo:hi]
		empty(p, grid)
		for _, e := range points {
			grid[uint32(e>>32)-uint32(lo)] = 1
		}
		return
	}
	grid := p.grid32[lo:hi]
	clear(grid)
	for _, e := range points {
		grid[uint32(e>>32)-uint32(lo)]++
	}
	if p.Empty != 0 {
		for i, n := range grid {
			if n == 0 {
				grid[i] = int32(p.Empty)
			}
		}
	}
}

// fillEmpty writes the value of empty cells to a piece of a dense grid.
func (p *voxelizePlan) fillEmpty(piece, _ int) {
	switch d := p.grid.data.(type) {
	case nil:
		empty(p, pieceOf(p.grid32, piece))
	case []float32:
		empty(p, pieceOf(d, piece))
	case []float64:
		empty(p, pieceOf(d, piece))
	}
}

func empty[T uint8 | int32 | float32 | float64](p *voxelizePlan, cells []T) {
	if math.Float64bits(p.Empty) == 0 { // excludes -0
		clear(cells)
		return
	}
	fill(cells, T(p.Empty))
}

func pieceOf[T any](s []T, piece int) []T {
	lo := piece * fillTile
	return s[lo:min(lo+fillTile, len(s))]
}

// fill sets all elements to x. It copies an initial block over the rest, which is faster than one element at a time.
func fill[T any](s []T, x T) {
	first := s[:min(len(s), 1024)]
	for i := range first {
		first[i] = x
	}
	for rest := s[len(first):]; len(rest) > 0; rest = rest[copy(rest, first):] {
	}
}
