package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"math"
	"slices"
)

const (
	together  = 64   // cell features that are reduced together
	lotValues = 8192 // feature values gathered together from sorted points, so that most memory waits overlap
)

// voxelScratch is a worker's memory.
type voxelScratch struct {
	narrow  lots[float32]
	wide    lots[float64]
	made    [together]float64 // results for a cell, before rounding
	top     [together]uint32  // the greatest magnitudes
	scale   [together]float64 // factors that convert values to integer units
	sum     [together]int64
	hi, low [together]int64 // the sums, hi * 2^32 + low
	tops    [together]uint64
	sums    [together]wideSum
}

// lots holds gathered features of the sorted points begin to end-1.
type lots[T float32 | float64] struct {
	begin, end int
	lot        [lotValues]T
}

// cellRun is a cell's range lo to hi of sorted points, for features from f on. The features of later points up to limit will be needed
// soon.
type cellRun[T float32 | float64] struct {
	p             *voxelizePlan
	lots          *lots[T]
	lo, hi, limit int
	f             int
	out           []T
}

// reduceRuns reduces each cell of a dense grid that has its first point in a piece of the sorted points.
func (p *voxelizePlan) reduceRuns(piece, worker int) {
	begin, end := piece*runTile, min((piece+1)*runTile, len(p.order))
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
func (p *voxelizePlan) reduceVoxels(piece, worker int) {
	begin, end := piece*voxelTile, min((piece+1)*voxelTile, int(p.last.Voxels))
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

// eachFeatures calls do for groups of features that are reduced together. For a majority, the only feature is the label.
func (p *voxelizePlan) eachFeatures(worker int, do func(f, n int)) {
	switch {
	case p.Reduce == backend.ReduceMajority:
		do(0, 1)
	case p.Reduce.OfFeatures():
		for f := 0; f < p.F; f += together {
			s := &p.scratch[worker]
			s.narrow.end, s.wide.end = 0, 0
			do(f, min(together, p.F-f))
		}
	}
}

// reduce reduces features f to f+n-1 of a cell with sorted points lo to hi-1, and writes them to cell or voxel number `at`. The
// features of later points up to limit will be needed soon.
func (p *voxelizePlan) reduce(lo, hi, limit, f, n, at, worker int) {
	if p.Reduce == backend.ReduceMajority {
		p.grid32[at] = p.commonest(p.order[lo:hi], p.majority[worker])
		return
	}
	s := &p.scratch[worker]
	if p.double {
		r := cellRun[float64]{p, &s.wide, lo, hi, limit, f, s.made[:n]}
		if !r.simple() {
			addWide(&r, s)
		}
		p.grid.put64(at*p.F+f, r.out)
		return
	}
	r := cellRun[float32]{p, &s.narrow, lo, hi, limit, f, p.grid.data.([]float32)[at*p.F+f:][:n]}
	if !r.simple() {
		add(&r, s)
	}
}

// simple handles reductions that need no sum, and reports whether it did.
func (r *cellRun[T]) simple() bool {
	switch {
	case r.hi-r.lo == 1:
		r.single()
	case r.p.Reduce == backend.ReduceMax || r.p.Reduce == backend.ReduceMin:
		r.extreme()
	default:
		return false
	}
	return true
}

// describe writes a voxel's coordinates and count, the voxel's number for each of its points, and the points in a hard voxel. It
// returns how many points the voxel keeps.
func (p *voxelizePlan) describe(c, voxel int) int {
	points := p.order[p.starts[c]:p.starts[c+1]]
	axes, key := p.Axes(), p.sort.key(points[0])
	if p.Mode == backend.VoxelHard {
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

// keep writes the points in a hard voxel.
func (p *voxelizePlan) keep(points []uint64, voxel, row int) {
	width := 3 + p.F
	from, to := voxel*p.P*width, (voxel+1)*p.P*width
	switch out := p.grid.data.(type) {
	case []float32:
		clear(out[from+len(points)*width : to])
	case []float64:
		clear(out[from+len(points)*width : to])
	}
	var some [together]float64
	for k, e := range points {
		i, at := pointOf(e), from+k*width
		if !p.double {
			out := p.grid.data.([]float32)[at:][:width]
			pos := position[float32](p, i, row)
			copy(out, pos[:])
			if p.F > 0 {
				copy(out[3:], p.features.narrow(out[3:], i*p.step, p.F))
			}
			continue
		}
		coordinates(p, some[:3], i, row, 0)
		p.grid.put64(at, some[:3])
		for f := 0; f < p.F; f += together {
			n := min(together, p.F-f)
			p.features.floats(some[:n], i*p.step+f)
			p.grid.put64(at+3+f, some[:n])
		}
	}
}

// coordinates writes a posed point's coordinates, starting with axis from.
func coordinates[T float32 | float64](p *voxelizePlan, out []T, i, row, from int) {
	if p.Wide() {
		pos := position[float64](p, i, row)
		for k := range out {
			out[k] = T(pos[from+k])
		}
		return
	}
	pos := position[float32](p, i, row)
	for k := range out {
		out[k] = T(pos[from+k])
	}
}

// rowOf returns a cell's batch row.
func (p *voxelizePlan) rowOf(key int64) int {
	if p.B == 1 {
		return 0
	}
	return int(key / int64(p.CellsARow()))
}

// each calls do with the run's features in order, as many points at once as fit in a lot.
func (r *cellRun[T]) each(do func(rows []T)) {
	most := lotValues / len(r.out)
	for lo := r.lo; lo < r.hi; lo += most {
		do(r.lot(lo, min(lo+most, r.hi)))
	}
}

// lot returns the features of sorted points lo to hi-1.
func (r *cellRun[T]) lot(lo, hi int) []T {
	n, s := len(r.out), r.lots
	if lo < s.begin || hi > s.end {
		r.gather(lo, max(hi, min(lo+lotValues/n, r.limit)))
	}
	return s.lot[(lo-s.begin)*n : (hi-s.begin)*n]
}

// gather copies the features of sorted points lo to hi-1 to the lot, or their coordinates if there are no features.
func (r *cellRun[T]) gather(lo, hi int) {
	p, s, n := r.p, r.lots, len(r.out)
	s.begin, s.end = lo, hi
	lot, points := s.lot[:(hi-lo)*n], p.order[lo:hi]
	if p.features.data == nil {
		for i, e := range points {
			coordinates(p, lot[i*n:][:n], pointOf(e), p.rowOf(p.sort.key(e)), r.f)
		}
		return
	}
	if d, ok := p.features.data.([]T); ok {
		if n == 1 {
			for i, e := range points {
				lot[i] = d[pointOf(e)*p.step+r.f]
			}
			return
		}
		for i, e := range points {
			copy(lot[i*n:][:n], d[pointOf(e)*p.step+r.f:])
		}
		return
	}
	switch lot := any(lot).(type) {
	case []float32:
		for i, e := range points {
			p.features.narrow(lot[i*n:], pointOf(e)*p.step+r.f, n)
		}
	case []float64:
		for i, e := range points {
			p.features.floats(lot[i*n:][:n], pointOf(e)*p.step+r.f)
		}
	}
}

// commonest returns the most frequent label of the points, the smallest if several tie. labels is scratch memory for as many labels.
func (p *voxelizePlan) commonest(points []uint64, labels []int32) int32 {
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

// single computes the features of a cell with one point.
func (r *cellRun[T]) single() {
	row := r.lot(r.lo, r.hi)
	out := r.out[:len(row)]
	if r.p.Reduce == backend.ReduceMax || r.p.Reduce == backend.ReduceMin {
		for k, x := range row {
			if x != x {
				x = T(math.NaN())
			}
			out[k] = x
		}
		return
	}
	for k, x := range row {
		if x += 0; x != x { // -0 becomes 0
			x = T(math.NaN())
		}
		out[k] = x
	}
}

// extreme computes the greatest or smallest features of a cell.
func (r *cellRun[T]) extreme() {
	best, down := r.out, r.p.Reduce == backend.ReduceMin
	copy(best, r.lot(r.lo, r.lo+1))
	r.each(func(rows []T) {
		for ; len(rows) >= len(best); rows = rows[len(best):] {
			row := rows[:len(best)]
			if down {
				for k, x := range row {
					best[k] = min(best[k], x) // min and max handle NaN and -0
				}
				continue
			}
			for k, x := range row {
				best[k] = max(best[k], x)
			}
		}
	})
	for k, x := range best {
		if x != x {
			best[k] = T(math.NaN())
		}
	}
}

// Sums use integers. A value x is truncated toward zero to a multiple of 2^(e-40), where 2^e is the power of two at or below the cell's
// greatest finite |x|, and at least 2^-126. The truncated part is below 2^-40 of that value. The integers are below 2^41. A lot is
// added in 64 bits, and lots in 128 bits, as two sums of halves.
const (
	sumBits  = 40
	infinite = 0x7f800000 // the bits of +Inf
)

// add computes the sums or means of a cell's features.
func add(r *cellRun[float32], s *voxelScratch) {
	w := len(r.out)
	top, scale, sum, hi, low := s.top[:w], s.scale[:w], s.sum[:w], s.hi[:w], s.low[:w]
	clear(top)
	r.each(func(rows []float32) {
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
	r.each(func(rows []float32) {
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
	if r.p.Reduce == backend.ReduceMean {
		n = float64(r.hi - r.lo)
	}
	for k, t := range top {
		if t >= infinite {
			r.out[k] = r.beyond(k)
			continue
		}
		all := float64(float64(hi[k]+low[k]>>32)*0x1p32) + float64(low[k]&0xffffffff)
		r.out[k] = float32(all * powerOf2(exponentOf(t)-sumBits) / n)
	}
}

// exponentOf returns the exponent of the power of two at or below a finite magnitude, at least -126. magnitude is given by its float32
// bits.
func exponentOf(magnitude uint32) int { return int(max(magnitude>>23, 1)) - 127 }

func powerOf2(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// beyond returns the sum for feature k of a cell if some values are not finite.
func (r *cellRun[T]) beyond(k int) T {
	total := T(0)
	r.each(func(rows []T) {
		for ; k < len(rows); rows = rows[len(r.out):] {
			if x := rows[k]; x-x != 0 {
				total += x
			}
		}
	})
	if total != total {
		total = T(math.NaN())
	}
	return total
}
