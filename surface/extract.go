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
	task   = 16         // blocks that a goroutine extracts at once
)

// strides are the distances between neighbours in a window, by axis.
var strides = [3]int{1, side, side * side}

// window is a block with its neighbouring voxels. The first is (-1,-1,-1), counted from the block's first voxel.
type window struct {
	distance [side * side * side]float64 // NaN if the voxel was never seen
	voxel    [side * side * side]int     // the index in the volume
	whole    [side * side * side]bool    // the cell from this voxel to the next ones was seen at all corners
}

// part is the surface within a block.
type part struct {
	points, normals []float32
	colors          []uint8
	cut             [edges / 64]uint64 // a bit for each edge; the edges with a point are in the points' order
	triangles       [][3]uint16        // neighbour*edges + edge, where neighbour's bits are steps to the next block along an axis
	before          int                // the number of points in earlier blocks
}

// point returns the point index for an edge.
func (p *part) point(edge int) int32 {
	n := p.before + bits.OnesCount64(p.cut[edge/64]&(1<<(edge%64)-1))
	for _, word := range p.cut[:edge/64] {
		n += bits.OnesCount64(word)
	}
	return int32(n)
}

// sortedVolume is a volume with its sorted keys.
type sortedVolume struct {
	Volume
	keys  [][3]int
	slots map[[3]int]int // the index in the volume
	parts map[[3]int]*part
}

func (v *Volume) surface(mesh bool) (*Surface, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	n := len(v.Keys)
	s := &sortedVolume{Volume: *v, slots: make(map[[3]int]int, n), parts: make(map[[3]int]*part, n)}
	for i, k := range v.Keys {
		key := [3]int{int(k[0]), int(k[1]), int(k[2])}
		if other, twice := s.slots[key]; twice {
			return nil, &Error{"Keys", ErrOption, fmt.Sprintf("%v in rows %d and %d", key, other, i), "each block once"}
		}
		s.slots[key] = i
		s.keys = append(s.keys, key)
	}
	slices.SortFunc(s.keys, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
	out := &Surface{}
	if v.Color != nil {
		out.Colors = []uint8{}
	}
	for i, p := range inParallel(s.keys, func(key [3]int) *part { return s.extract(key, mesh) }) {
		p.before = len(out.Points) / 3
		out.Points, out.Normals, out.Colors = append(out.Points, p.points...), append(out.Normals, p.normals...), append(out.Colors, p.colors...)
		p.points, p.normals, p.colors = nil, nil, nil
		s.parts[s.keys[i]] = p
	}
	if got := len(out.Points) / 3; got > math.MaxInt32 {
		return nil, &Error{"Volume", ErrTooLarge, fmt.Sprintf("%d points", got), "at most 2^31-1"}
	}
	if !mesh {
		return out, nil
	}
	for _, list := range inParallel(s.keys, s.triangles) {
		out.Triangles = append(out.Triangles, list...)
	}
	return out, nil
}

// inParallel yields do's results in key order.
func inParallel[T any](keys [][3]int, do func(key [3]int) T) func(yield func(int, T) bool) {
	return func(yield func(int, T) bool) {
		workers := runtime.GOMAXPROCS(0)
		room := func([]T) int { return 4 * workers }
		for i, list := range inorder.Each(context.Background(), (len(keys)+task-1)/task, workers, room(nil), room, func(_ context.Context, i int) []T {
			var list []T
			for _, key := range keys[i*task : min((i+1)*task, len(keys))] {
				list = append(list, do(key))
			}
			return list
		}) {
			for k, t := range list {
				if !yield(i*task+k, t) {
					return
				}
			}
		}
	}
}

// window collects the voxels in and around a block.
func (s *sortedVolume) window(key [3]int) *window {
	w := &window{}
	var slots [27]int
	for i := range slots {
		slot, ok := s.slots[[3]int{key[0] + i%3 - 1, key[1] + i/3%3 - 1, key[2] + i/9 - 1}]
		if slots[i] = slot; !ok {
			slots[i] = -1
		}
	}
	for at := range w.distance {
		x, y, z := at%side+7, at/side%side+7, at/(side*side)+7 // from the block before
		w.distance[at] = math.NaN()
		if slot := slots[z/8*9+y/8*3+x/8]; slot >= 0 {
			i := slot*voxels + z%8*64 + y%8*8 + x%8
			if d := s.Distance[i]; s.Weight[i] > 0 && d-d == 0 {
				w.distance[at], w.voxel[at] = float64(d), i
			}
		}
	}
	for at := range len(w.whole) - strides[0] - strides[1] - strides[2] {
		sum := 0.0
		for c := range 8 {
			sum += w.distance[at+cornerOffset(c)]
		}
		w.whole[at] = sum == sum
	}
	return w
}

// cornerOffset returns the distance from a cell's first corner to corner c in a window.
func cornerOffset(c int) int { return c&1*strides[0] + c>>1&1*strides[1] + c>>2*strides[2] }

// extract returns a block's points and, for a mesh, its triangles.
func (s *sortedVolume) extract(key [3]int, mesh bool) *part {
	w, p := s.window(key), &part{}
	for i := range voxels {
		x, y, z := i%8, i/8%8, i/64
		at := (z+1)*strides[2] + (y+1)*strides[1] + x + 1
		for axis, step := range strides {
			a, b := w.distance[at], w.distance[at+step]
			if (a < 0) == (b < 0) || a != a || b != b || mesh && !w.inCell(at, axis) {
				continue
			}
			p.cut[(3*i+axis)/64] |= 1 << ((3*i + axis) % 64)
			s.point(p, w, key, [3]int{x, y, z}, at, axis)
		}
		if mesh && w.whole[at] {
			p.cell(w, at, [3]int{x, y, z})
		}
	}
	return p
}

// inCell reports whether at least one cell around an edge is whole.
func (w *window) inCell(at, axis int) bool {
	b, c := strides[(axis+1)%3], strides[(axis+2)%3]
	return w.whole[at] || w.whole[at-b] || w.whole[at-c] || w.whole[at-b-c]
}

// point appends the point at which the distance between two voxels is 0. Products are rounded before sums, because the result
// must be the same on processors with a fused multiply-add.
func (s *sortedVolume) point(p *part, w *window, key, voxel [3]int, at, axis int) {
	to := at + strides[axis]
	a, b := w.distance[at], w.distance[to]
	t := a / (a - b)
	between := func(u, v float64) float64 { return float64(u*(1-t)) + float64(v*t) }
	var normal [3]float64
	length := 0.0
	for k := range normal {
		centre := float64(8*key[k]+voxel[k]) + 0.5
		if k == axis {
			centre += t
		}
		p.points = append(p.points, float32(centre*s.Size))
		normal[k] = between(w.slope(at, k), w.slope(to, k))
		length += float64(normal[k] * normal[k])
	}
	if length == 0 {
		normal[axis], length = b-a, float64((b-a)*(b-a))
	}
	for _, n := range normal {
		p.normals = append(p.normals, float32(n/math.Sqrt(length)))
	}
	if s.Color != nil {
		for k := range 3 {
			c := between(float64(s.Color[3*w.voxel[at]+k]), float64(s.Color[3*w.voxel[to]+k]))
			p.colors = append(p.colors, uint8(min(max(c+0.5, 0), 255)))
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
func (p *part) cell(w *window, at int, voxel [3]int) {
	inside := 0
	for c := range 8 {
		if w.distance[at+cornerOffset(c)] < 0 {
			inside |= 1 << c
		}
	}
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
		p.triangles = append(p.triangles, triangle)
	}
}

// triangles returns a block's triangles as point indices.
func (s *sortedVolume) triangles(key [3]int) [][3]int32 {
	var near [8]*part
	for i := range near {
		near[i] = s.parts[[3]int{key[0] + i&1, key[1] + i>>1&1, key[2] + i>>2}]
	}
	list := make([][3]int32, len(near[0].triangles))
	for i, t := range near[0].triangles {
		for k, e := range t {
			list[i][k] = near[e/edges].point(int(e) % edges)
		}
	}
	return list
}
