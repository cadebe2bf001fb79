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
	spots  = 4 * voxels // in a block: a point at spot 4*i+axis is between voxel i and the next along the axis, at 4*i+3 in voxel i
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
	used            [spots / 64]uint64 // a bit for each spot with a point, in the points' order
	triangles       [][3]uint16        // neighbour*spots + spot, where neighbour's bits are steps to the next block along an axis
	before          int                // the number of points in earlier blocks
}

// point returns the point index for a spot.
func (b *block) point(spot int) int32 {
	n := b.before + bits.OnesCount64(b.used[spot/64]&(1<<(spot%64)-1))
	for _, word := range b.used[:spot/64] {
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
		for _, corners := range b.triangles {
			var t [3]int32
			for k, c := range corners {
				i := int(c) / spots
				t[k] = index.near(b, i&1, i>>1&1, i>>2).point(int(c) % spots)
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

// extract finds a block's points and, for a mesh, its triangles. The cells with points in the block begin up to one voxel before it.
func (v *blockIndex) extract(b *block, mesh bool) {
	w := v.window(b)
	for i := range 9 * 9 * 9 {
		at := i%9*strides[0] + i/9%9*strides[1] + i/81*strides[2]
		if inside, whole := w.inside(at); mesh && whole {
			b.cell(w, inside, at, min(i%9, i/9%9, i/81) > 0)
		}
		for axis, step := range strides {
			if from, to := w.distance[at], w.distance[at+step]; !mesh && (from < 0) != (to < 0) && from == from && to == to {
				b.use(w.spot(at, axis))
			}
		}
	}
	for spot := range spots {
		if b.used[spot/64]>>(spot%64)&1 == 1 {
			v.point(b, w, spot)
		}
	}
}

// spot returns the place of the point on an edge of the cell that begins at a voxel, as 4*voxel+axis: the edge, or the end with the distance
// 0, which all edges from there share.
func (w *window) spot(at, edge int) int {
	c, axis := edge/3, edge%3
	at += c&1*strides[0] + c>>1&1*strides[1] + c>>2*strides[2]
	switch to := at + strides[axis]; {
	case w.distance[at] == 0:
		return 4*at + 3
	case w.distance[to] == 0:
		return 4*to + 3
	}
	return 4*at + axis
}

// use returns the number of a window's spot as in triangles, or a negative one before the block. It marks a spot in the block.
func (b *block) use(spot int) int {
	near, i := 0, spot%4
	for k, stride := range strides {
		voxel := spot/4/stride%side - 1
		near |= voxel >> 3 << k
		i += voxel & 7 << (3*k + 2)
	}
	if near == 0 {
		b.used[i/64] |= 1 << (i % 64)
	}
	return near*spots + i
}

// cell uses the spots of the triangles for the cell that begins at a voxel, and appends the triangles if the cell begins in the block.
// Triangles without area, because two corners are one point, are left out.
func (b *block) cell(w *window, inside, at int, own bool) {
	list := cases[inside]
	for ; len(list) > 0; list = list[3:] {
		t := [3]int{w.spot(at, int(list[0])), w.spot(at, int(list[1])), w.spot(at, int(list[2]))}
		if t[0] == t[1] || t[1] == t[2] || t[2] == t[0] {
			continue
		}
		triangle := [3]uint16{uint16(b.use(t[0])), uint16(b.use(t[1])), uint16(b.use(t[2]))}
		if own {
			b.triangles = append(b.triangles, triangle)
		}
	}
}

// point appends the point at a spot: where the distance between two voxels is 0, or a voxel. Products are rounded before sums, because the
// result must be the same on processors with a fused multiply-add.
func (v *blockIndex) point(b *block, w *window, spot int) {
	voxel, axis, at := [3]int{spot / 4 % 8, spot / 32 % 8, spot / 256}, spot%4, 0
	for k, i := range voxel {
		at += (i + 1) * strides[k]
	}
	to, step, t := at, 1.0, 0.0
	if axis < 3 {
		to += strides[axis]
		step = w.distance[to] - w.distance[at]
		t = -w.distance[at] / step
	}
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
		normal[axis%3], length = step, float64(step*step)
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
