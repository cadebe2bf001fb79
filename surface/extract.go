package surface

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"github.com/robocache/robocache/internal/inorder"
)

const (
	voxels = 512        // in a block
	edges  = 3 * voxels // in a block: edge 3*i+axis goes from voxel i to the next along the axis
	side   = 11         // a window's side: the block, one voxel before and two after
)

// strides are the distances between neighbours in a window, by axis.
var strides = [3]int{1, side, side * side}

// window is a block with its neighbouring voxels. The first is (-1,-1,-1), counted from the block's first voxel.
type window struct {
	distance [side * side * side]float64 // NaN if the voxel was never seen
	voxel    [side * side * side]int     // the index in the volume
}

// block is a block with the surface in it.
type block struct {
	key             [3]int
	slot            int // the index in the volume
	points, normals []float32
	colors          []uint8
	cut             [edges / 64]uint64 // a bit for each edge; the edges with a point are in the points' order
	triangles       [][3]uint16        // neighbour*edges + edge, where neighbour's bits are steps to the next block along an axis
	before          int                // the number of points in earlier blocks
}

// point returns the point index for an edge.
func (b *block) point(edge int) int32 {
	n := b.before + bits.OnesCount64(b.cut[edge/64]&(1<<(edge%64)-1))
	for _, word := range b.cut[:edge/64] {
		n += bits.OnesCount64(word)
	}
	return int32(n)
}

// blockIndex is a volume with its blocks by key.
type blockIndex struct {
	Volume
	blocks map[[3]int]*block
}

// near returns the block that is a step away along each axis, or nil.
func (v *blockIndex) near(b *block, x, y, z int) *block {
	return v.blocks[[3]int{b.key[0] + x, b.key[1] + y, b.key[2] + z}]
}

func (v *Volume) surface(mesh bool) (*Surface, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	index := &blockIndex{*v, map[[3]int]*block{}}
	blocks := make([]*block, len(v.Keys))
	for i, k := range v.Keys {
		blocks[i] = &block{key: [3]int{int(k[0]), int(k[1]), int(k[2])}, slot: i}
		if other := index.near(blocks[i], 0, 0, 0); other != nil {
			return nil, &Error{"Keys", ErrOption, fmt.Sprintf("%v in rows %d and %d", k, other.slot, i), "each block once"}
		}
		index.blocks[blocks[i].key] = blocks[i]
	}
	slices.SortFunc(blocks, func(a, b *block) int { return slices.Compare(a.key[:], b.key[:]) })
	out := &Surface{}
	if v.Color != nil {
		out.Colors = []uint8{}
	}
	workers := runtime.GOMAXPROCS(0)
	ahead := func(*block) int { return 64 * workers }
	for _, b := range inorder.Each(context.Background(), len(blocks), workers, ahead(nil), ahead, func(_ context.Context, i int) *block {
		index.extract(blocks[i], mesh)
		return blocks[i]
	}) {
		b.before = len(out.Points) / 3
		out.Points, out.Normals, out.Colors = append(out.Points, b.points...), append(out.Normals, b.normals...), append(out.Colors, b.colors...)
		b.points, b.normals, b.colors = nil, nil, nil
	}
	if got := len(out.Points) / 3; got > math.MaxInt32 {
		return nil, &Error{"Volume", ErrTooLarge, fmt.Sprintf("%d points", got), "at most 2^31-1"}
	}
	for _, b := range blocks {
		for _, edge := range b.triangles {
			var t [3]int32
			for k, e := range edge {
				i := int(e) / edges
				t[k] = index.near(b, i&1, i>>1&1, i>>2).point(int(e) % edges)
			}
			out.Triangles = append(out.Triangles, t)
		}
	}
	return out, nil
}

// window collects the voxels in and around a block.
func (v *blockIndex) window(b *block) *window {
	w := &window{}
	var near [27]*block
	for i := range near {
		near[i] = v.near(b, i%3-1, i/3%3-1, i/9-1)
	}
	for at := range w.distance {
		x, y, z := at%side+7, at/side%side+7, at/(side*side)+7 // from the block before
		w.distance[at] = math.NaN()
		if from := near[z/8*9+y/8*3+x/8]; from != nil {
			i := from.slot*voxels + z%8*64 + y%8*8 + x%8
			if d := v.Distance[i]; v.Weight[i] > 0 && d-d == 0 {
				w.distance[at], w.voxel[at] = float64(d), i
			}
		}
	}
	return w
}

// inside returns the corners inside the cell that begins at a voxel, as in cases. whole is false if a corner was never seen.
func (w *window) inside(at int) (inside int, whole bool) {
	sum := 0.0
	for c := range 8 {
		d := w.distance[at+c&1*strides[0]+c>>1&1*strides[1]+c>>2*strides[2]]
		if sum += d; d < 0 {
			inside |= 1 << c
		}
	}
	return inside, sum == sum
}

// extract finds a block's points and, for a mesh, its triangles.
func (v *blockIndex) extract(b *block, mesh bool) {
	w := v.window(b)
	for i := range voxels {
		x, y, z := i%8, i/8%8, i/64
		at := (z+1)*strides[2] + (y+1)*strides[1] + x + 1
		for axis, step := range strides {
			from, to := w.distance[at], w.distance[at+step]
			if (from < 0) != (to < 0) && from == from && to == to && (!mesh || w.inCell(at, axis)) {
				b.cut[(3*i+axis)/64] |= 1 << ((3*i + axis) % 64)
				v.point(b, w, [3]int{x, y, z}, at, axis)
			}
		}
		if inside, whole := w.inside(at); mesh && whole {
			b.cell(inside, [3]int{x, y, z})
		}
	}
}

// inCell reports whether at least one cell around an edge is whole.
func (w *window) inCell(at, axis int) bool {
	b, c := strides[(axis+1)%3], strides[(axis+2)%3]
	for _, first := range [4]int{at, at - b, at - c, at - b - c} {
		if _, whole := w.inside(first); whole {
			return true
		}
	}
	return false
}

// point appends the point at which the distance between two voxels is 0. Products are rounded before sums, because the result
// must be the same on processors with a fused multiply-add.
func (v *blockIndex) point(b *block, w *window, voxel [3]int, at, axis int) {
	to := at + strides[axis]
	step := w.distance[to] - w.distance[at]
	t := -w.distance[at] / step
	between := func(p, q float64) float64 { return float64(p*(1-t)) + float64(q*t) }
	var normal [3]float64
	length := 0.0
	for k := range normal {
		centre := float64(8*b.key[k]+voxel[k]) + 0.5
		if k == axis {
			centre += t
		}
		b.points = append(b.points, float32(centre*v.Size))
		normal[k] = between(w.slope(at, k), w.slope(to, k))
		length += float64(normal[k] * normal[k])
	}
	if length == 0 {
		normal[axis], length = step, float64(step*step)
	}
	for _, n := range normal {
		b.normals = append(b.normals, float32(n/math.Sqrt(length)))
	}
	if v.Color != nil {
		for k := range 3 {
			c := between(float64(v.Color[3*w.voxel[at]+k]), float64(v.Color[3*w.voxel[to]+k]))
			b.colors = append(b.colors, uint8(min(max(c+0.5, 0), 255)))
		}
	}
}

// slope returns how the distance changes along an axis: the mean step to both neighbours, or one step if the other
// neighbour was never seen.
func (w *window) slope(at, axis int) float64 {
	sum, n := 0.0, 0.0
	for _, from := range [2]int{at - strides[axis], at} {
		if step := w.distance[from+strides[axis]] - w.distance[from]; step == step {
			sum, n = sum+step, n+1
		}
	}
	return sum / max(n, 1)
}

// cell appends the triangles for the cell that begins at a voxel.
func (b *block) cell(inside int, voxel [3]int) {
	list := cases[inside]
	for i := 0; i < len(list); i += 3 {
		var triangle [3]uint16
		for k, e := range list[i : i+3] {
			near, index := 0, 0
			for axis := range 3 {
				v := voxel[axis] + int(e)/3>>axis&1
				near |= v / 8 << axis
				index |= v % 8 << (3 * axis)
			}
			triangle[k] = uint16(near*edges + 3*index + int(e)%3)
		}
		b.triangles = append(b.triangles, triangle)
	}
}
