package viz

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// Voxels are the occupied cells in a grid. There must be at least one.
type Voxels struct {
	Coords *tensor.Tensor // [V,3] i32: z, y, x, counted from Min
	Values *tensor.Tensor // [V], shown as colours; if nil, the cell centre's height
	// Label is the text beside the colours. If Values is nil, it is "height (m)".
	Label string
	// Counts is set if Values are numbers of points. If they differ much, the colours then follow their logarithms.
	Counts    bool
	Min, Size [3]float64 // x, y, z in metres: the grid's origin, and the size of a cell
}

// maxCells is the largest number of cells that are drawn separately along an axis. More would be smaller than a pixel.
const maxCells = 512

// WriteVoxelsPNG draws voxels as cubes and writes a PNG image. One view is oblique, from greater x and smaller y. The other is
// from above and shows the highest voxel at each place. The order of the voxels does not change the bytes. The picture shows the
// range of the voxels, not the whole grid. If this is more than 512 cells along an axis, cells are joined into blocks with the
// mean of their values.
func WriteVoxelsPNG(w io.Writer, v Voxels, opt Options) error {
	b, err := newBlocks(&v)
	if err != nil {
		return err
	}
	return newVoxelSheet(&v, b, opt).write(w)
}

// blocks are the cells to draw, sorted by z, y and x, with a bit for each occupied block.
type blocks struct {
	join   int // the number of cells along a block's side
	n      [3]int
	at     [][3]int32 // x, y, z, from 0
	value  []float64
	filled []uint64
	min    [3]float64 // the corner of block 0, metres
	size   [3]float64
}

func newBlocks(v *Voxels) (*blocks, error) {
	const wantCoords = "i32 [V,3], V at least 1"
	switch x := v.Coords; {
	case x == nil:
		return nil, refused(ErrMissing, "Coords", "nil", wantCoords)
	case x.DType() != tensor.I32:
		return nil, refused(ErrDType, "Coords", fmt.Sprint(x), wantCoords)
	case x.Rank() != 2 || x.Dim(1) != 3 || x.Dim(0) == 0:
		return nil, refused(ErrShape, "Coords", fmt.Sprint(x), wantCoords)
	}
	c, err := tensor.Packed[int32](v.Coords)
	if err != nil {
		return nil, refused(err, "Coords", err.Error(), "a host tensor")
	}
	for i := range 3 {
		if !(v.Size[i] > 0) || !finite(v.Size[i]) || !finite(v.Min[i]) {
			return nil, refused(ErrOption, "Min, Size", fmt.Sprint(v.Min, v.Size), "finite numbers, sizes above 0")
		}
	}
	n := v.Coords.Dim(0)
	var values []float64
	if v.Values != nil {
		if v.Values.Rank() != 1 || v.Values.Dim(0) != n {
			return nil, refused(ErrShape, "Values", fmt.Sprint(v.Values), fmt.Sprintf("[%d], one a voxel", n))
		}
		if values, err = tensor.Floats(v.Values); err != nil {
			return nil, refused(err, "Values", err.Error(), "a host tensor")
		}
	}
	lo, hi := [3]int32{c[2], c[1], c[0]}, [3]int32{c[2], c[1], c[0]}
	for i := 0; i < len(c); i += 3 {
		for k := range 3 {
			lo[k], hi[k] = min(lo[k], c[i+2-k]), max(hi[k], c[i+2-k])
		}
	}
	b := &blocks{join: 1}
	for k := range 3 {
		b.join = max(b.join, (int(hi[k])-int(lo[k])+maxCells)/maxCells)
	}
	for k := range 3 {
		b.n[k] = (int(hi[k])-int(lo[k]))/b.join + 1
		b.size[k] = v.Size[k] * float64(b.join)
		b.min[k] = v.Min[k] + float64(float64(lo[k])*v.Size[k])
	}
	first, last, end := b.corner(0, 0, 0), b.corner(b.n[0]-1, b.n[1]-1, b.n[2]-1), b.corner(b.n[0], b.n[1], b.n[2])
	for k := range 3 {
		if !(first[k]+b.size[k] > first[k] && end[k] > last[k]) || !finite(end[k]-first[k]) {
			return nil, refused(ErrOption, "Min, Size", fmt.Sprint(v.Min, v.Size), "cells that float64 can separate")
		}
	}
	b.collect(c, values, lo)
	return b, nil
}

// collect joins cells into blocks.
func (b *blocks) collect(c []int32, values []float64, lo [3]int32) {
	type cell struct {
		key   int
		value float64
	}
	list := make([]cell, len(c)/3)
	for i := range list {
		var at [3]int
		for k := range 3 {
			at[k] = (int(c[3*i+2-k]) - int(lo[k])) / b.join
		}
		list[i].key = (at[2]*b.n[1]+at[1])*b.n[0] + at[0]
		if values != nil {
			list[i].value = values[i]
		} else {
			list[i].value = b.min[2] + float64((float64(at[2])+0.5)*b.size[2])
		}
	}
	slices.SortFunc(list, func(p, q cell) int {
		return cmp.Or(p.key-q.key, cmp.Compare(p.value, q.value))
	})
	b.filled = make([]uint64, (b.n[0]*b.n[1]*b.n[2]+63)/64)
	for i := 0; i < len(list); {
		key, sum, n := list[i].key, 0.0, 0
		for ; i < len(list) && list[i].key == key; i++ {
			sum += list[i].value
			n++
		}
		b.at = append(b.at, [3]int32{int32(key % b.n[0]), int32(key / b.n[0] % b.n[1]), int32(key / b.n[0] / b.n[1])})
		b.value = append(b.value, sum/float64(n))
		b.filled[key/64] |= 1 << (key % 64)
	}
}

// has reports whether there is a block at a position.
func (b *blocks) has(x, y, z int) bool {
	if x < 0 || y < 0 || z < 0 || x >= b.n[0] || y >= b.n[1] || z >= b.n[2] {
		return false
	}
	key := (z*b.n[1]+y)*b.n[0] + x
	return b.filled[key/64]>>(key%64)&1 == 1
}

// corner returns a corner of a block in metres; x, y and z may be one past the last.
func (b *blocks) corner(x, y, z int) [3]float64 {
	return [3]float64{b.min[0] + float64(float64(x)*b.size[0]), b.min[1] + float64(float64(y)*b.size[1]), b.min[2] + float64(float64(z)*b.size[2])}
}

// scale fits the colours to the finite values.
func (b *blocks) scale(counts bool) scale {
	sorted := slices.DeleteFunc(slices.Clone(b.value), func(v float64) bool { return !finite(v) })
	slices.Sort(sorted)
	return scaleOf(sorted, counts)
}
