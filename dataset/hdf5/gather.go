package hdf5

import "github.com/robocache/robocache/internal/memory"

// shortRun is the contiguous byte count below which it is faster to gather rows first.
const shortRun = 64

// short reports whether a chunk's contiguous runs are so short that rows are gathered before they are used.
func (d *chunked) short(v *Values) bool {
	last := len(d.dims) - 1
	run := v.stored
	for last > 0 && d.dims[last] == v.space.shape[last] {
		run *= d.dims[last]
		last--
	}
	return last > 0 && run*d.dims[last] < shortRun && v.stored == v.typ.Size
}

// gathered holds rows of the array, assembled from all chunks that contain them.
type gathered struct {
	data     []byte // nil if no rows are being gathered
	buf      []byte
	from, to int // row range
}

// begin starts with the requested rows in a row of chunks.
func (g *gathered) begin(v *Values, d *chunked, row, lo, hi int) {
	g.from, g.to = max(row, lo), min(row+d.dims[0], v.space.shape[0], hi)
	n := (g.to - g.from) * v.perRow() * v.stored
	if cap(g.buf) < n {
		g.buf = memory.Must[byte](v.name, n)
	}
	g.data = g.buf[:n]
}

// take copies a chunk's elements to their position in the rows. place is the chunk's position. data begins with the chunk's row first.
func (g *gathered) take(v *Values, d *chunked, place []int, data []byte, first int) {
	rank := len(d.dims)
	var count, skip, step [maxRank]int // elements to copy; bytes to the next element in the array and in the chunk, by dimension
	skip[rank-1], step[rank-1] = v.stored, v.stored
	for i := rank - 1; i > 0; i-- {
		skip[i-1], step[i-1] = skip[i]*v.space.shape[i], step[i]*d.dims[i]
	}
	target, source := 0, 0
	for i := 1; i < rank; i++ {
		count[i] = min(d.dims[i], v.space.shape[i]-place[i])
		target += place[i] * skip[i]
	}
	count[0] = g.to - g.from
	source = (g.from - place[0] - first) * step[0]
	g.nest(0, rank, &count, &skip, &step, target, data[source:], v.stored)
}

// nest copies the elements from dimension i on.
func (g *gathered) nest(i, rank int, count, skip, step *[maxRank]int, target int, data []byte, size int) {
	last := rank - 1
	if i == last { // contiguous elements
		copy(g.data[target:target+count[last]*size], data)
		return
	}
	if i == last-1 && count[last] == 1 {
		strided(g.data[target:], skip[i], data, step[i], count[i], size)
		return
	}
	for k := range count[i] {
		g.nest(i+1, rank, count, skip, step, target+k*skip[i], data[k*step[i]:], size)
	}
}

// strided copies count elements, each step bytes after the previous one.
func strided(to []byte, skip int, from []byte, step, count, size int) {
	switch size {
	case 1:
		for k := range count {
			to[k*skip] = from[k*step]
		}
	case 2:
		for k := range count {
			*(*[2]byte)(to[k*skip:]) = *(*[2]byte)(from[k*step:])
		}
	case 4:
		for k := range count {
			*(*[4]byte)(to[k*skip:]) = *(*[4]byte)(from[k*step:])
		}
	case 8:
		for k := range count {
			*(*[8]byte)(to[k*skip:]) = *(*[8]byte)(from[k*step:])
		}
	default:
		for k := range count {
			copy(to[k*skip:k*skip+size], from[k*step:])
		}
	}
}
