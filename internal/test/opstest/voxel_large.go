package opstest

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// cellsOf returns a grid with x, y and z cells in the cube from -9 to 9.
func cellsOf(x, y, z int) ops.VoxelGrid {
	return ops.VoxelGrid{Min: [3]float64{-9, -9, -9}, Max: [3]float64{9, 9, 9}, Size: [3]float64{18 / float64(x), 18 / float64(y), 18 / float64(z)}}
}

// large checks a case against the CPU, with outputs for v voxels. On a simulated device its plan runs once.
func (s *suite) large(t *testing.T, name string, c *voxelizing, v int, ls ...layout) {
	t.Helper()
	c.Name, c.Large, c.Once, c.V = name, true, c.Once || s.simulated, v
	s.check(t, c, ls...)
}

// counted are the cases of largeVoxels that run no line of a kernel that the others leave out. They are a part of the suite.
var counted = []string{"counts", "rows", "least coordinates", "far tiles"}

// largeVoxels compares with the CPU for clouds and grids so large that a backend may use another algorithm. A simulated device gets
// fewer points, because with one multiprocessor it changes the algorithm earlier. The cases are those in counted, or the others.
func (s *suite) largeVoxels(t *testing.T, named bool) {
	if s.isCPU() {
		t.Skip("needs a GPU, or a simulated one: it is compared with the CPU")
	}
	points := func(n int) *array { return packed(tensor.F32, largeCloud(n), n, 3) }
	n, tiles := 33_003, 50_003 // more than 2^15, above which one multiprocessor distributes the points; six tiles
	if !s.simulated {
		n = 1<<22 + 1<<18 + 3
		tiles = n
	}
	many := points(n)
	poses := vals(tensor.F32, []float64{
		0, -1, 0, .5, 1, 0, 0, 0, 0, 0, 1, -.25, 0, 0, 0, 1,
		.6, 0, .8, -.75, 0, 1, 0, 1, -.8, 0, .6, 2, 0, 0, 0, 1,
		1, 0, 0, 1e-3, 0, 1, 0, -1e-3, 0, 0, 1, 0, 0, 0, 0, 1}, 3, 4, 4)
	rows := arr([]int64{0, 8197, int64(n) - 5, int64(n)}, 4)
	wide := vals(tensor.F64, many.floats(), n, 3)
	some, great := 20_000, cellsOf(256, 300, 128)
	if s.simulated {
		some, great = 9_000, cellsOf(64, 75, 64)
	}
	few := points(some)
	unlike := packed(tensor.F32, unlikeTiles(largeCloud(tiles), 47), tiles, 3)
	forms := map[string]*voxelizing{
		"counts":                  {Points: many, Box: cellsOf(61, 33, 129), Opts: countGrid},
		"counts of a large grid":  {Points: many, Box: great, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceCount, Order: ops.AxisXYZ}},
		"counts of unlike tiles":  {Points: unlike, Offsets: arr([]int64{0, 8197, int64(tiles) - 5, int64(tiles)}, 4), Box: cellsOf(47, 40, 31), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceCount, Order: ops.AxisXYZ}},
		"counts of rows of a few": {Points: few, Offsets: arr([]int64{0, int64(some) - 4_999, int64(some)}, 3), Box: cellsOf(40, 30, 20), Opts: countGrid},
		"cells of a few":          {Points: few, Box: cellsOf(40, 30, 20), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceOccupancy}},
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		if slices.Contains(counted, name) != named {
			continue
		}
		ls := layouts
		if s.simulated {
			ls = layouts[len(name)%2:][:1]
		}
		s.large(t, name, forms[name], 0, ls...)
	}
	two := slices.Clone(many.raw) // whole tiles of points in one cell of the second part
	copy(two, slices.Repeat([]uint64{0, 0, uint64(math.Float32bits(8.99))}, 2*8192))
	counts := map[string]*voxelizing{
		"tiles unlike others": {Points: unlike, Box: cellsOf(47, 47, 47)},
		"one cell":            {Points: packed(tensor.F32, make([]uint64, 3*n), n, 3), Box: cellsOf(60, 64, 61)},
		"none":                {Points: many, Box: cube(20, 1, 32)},
		"a long grid":         {Points: many, Box: cellsOf(1<<20, 2, 1)},
		"two parts":           {Points: packed(tensor.F32, two, n, 3), Box: cellsOf(256, 256, 257)}, // of the cells in a bucket, one block each
		"f64":                 {Points: wide, Box: cellsOf(61, 33, 129)},
		"points apart":        {Points: many.restride([]int{5, 1}, 2, 1, poison(tensor.F32)), Box: cellsOf(61, 33, 129)},
		"beside 16 bytes":     {Points: many.restride([]int{3, 1}, 1, 1, poison(tensor.F32)), Box: cellsOf(61, 33, 129)},
		"rows":                {Points: many, Offsets: rows, Box: cellsOf(40, 30, 20)},
		"posed rows":          {Points: many, Offsets: rows, Poses: poses, Box: cellsOf(40, 30, 20)},
		"f64 rows":            {Points: wide, Offsets: rows, Poses: vals(tensor.F64, poses.floats(), 3, 4, 4), Box: cellsOf(40, 30, 20), Opts: ops.VoxelizeOptions{Order: ops.AxisXYZ}},
		"posed f64":           {Points: wide, Poses: vals(tensor.F64, poses.floats()[16:32], 4, 4), Box: cellsOf(40, 30, 20)},
	}
	ends := make([]int64, 513) // as many rows as one multiprocessor's threads check together
	for i := range ends {
		ends[i] = int64(i * some / 512)
	}
	counts["512 rows"] = &voxelizing{Points: few, Offsets: arr(ends, 513), Box: cellsOf(2, 3, 2)}
	if !s.simulated { // more tiles than voxel_count has threads
		counts["most"] = &voxelizing{Points: points(9_000_001), Box: cellsOf(128, 128, 128)}
	}
	least := leastPoints(n)
	counts["least coordinates"] = &voxelizing{Points: least, Box: leastBox(61, 33, 129)}
	counts["least coordinates, apart"] = &voxelizing{Points: least.restride([]int{5, 1}, 2, 1, poison(tensor.F32)), Box: leastBox(61, 33, 129)}
	counts["far tiles"] = &voxelizing{Points: farTiles(), Box: cellsOf(61, 33, 129)}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if slices.Contains(counted, name) != named {
			continue
		}
		c := counts[name]
		c.Opts.Reduce = ops.ReduceCount
		s.large(t, "counts, "+name, c, 0, layouts[0])
	}
}

// largeCloud returns the bits of n points. Half of them are moved toward the middle.
func largeCloud(n int) []uint64 {
	r := rng(uint64(n))
	xyz := make([]uint64, 3*n)
	for i := range xyz {
		x := r.Float32()*20 - 10
		if i/3%2 == 0 {
			x *= x * x * .001
		}
		xyz[i] = uint64(math.Float32bits(x))
	}
	return xyz
}

// unlikeTiles returns the points with some tiles of 8192 replaced: all in one cell, in no cell, not finite, on the borders of cells
// or near them, far away, or a mixture. The box has `cells` cells along each axis. For 47 the rounded 1/size is so far below the
// exact one that many products with it are less than the rounded quotient, and fall into the cell before.
func unlikeTiles(xyz []uint64, cells int) []uint64 {
	xyz = slices.Clone(xyz)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	strange := []float32{nan, inf, -inf, 1e30, -1e30, math.MaxFloat32, -math.MaxFloat32, 1 << 22, -1 << 22, 3e7, -3e7, 3.7e6, -3.7e6, 9, -9,
		math.Nextafter32(9, 0), math.Nextafter32(-9, 0), math.Nextafter32(-9, -10), 0, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32}
	r := rng(61)
	border := func() float32 {
		x := float32(-9 + 18*float64(r.IntN(cells+2)-1)/float64(cells))
		for range r.IntN(4) {
			x = math.Nextafter32(x, float32(r.IntN(2)*100-50))
		}
		return x
	}
	kinds := []func() float32{
		func() float32 { return .01 },
		func() float32 { return 9.01 },
		func() float32 { return nan },
		border,
		func() float32 { return strange[r.IntN(len(strange))] },
	}
	for i := range 6 * 3 * 8192 {
		draw := i / (3 * 8192)
		if draw == 5 { // a mixture, with some original points
			draw = i / 3 * 7 % 11
		}
		if draw < len(kinds) {
			xyz[i] = uint64(math.Float32bits(kinds[draw]()))
		}
	}
	return xyz
}

// farTiles returns points in one cell, in the first tiles of 8192 and in tile 257. One warp of voxel_count handles both, and has more
// chunks of 16 bytes in each than it can handle together.
func farTiles() *array {
	const tile, tiles = 8192, 257
	xyz := slices.Repeat([]uint64{uint64(math.Float32bits(100)), 0, 0}, tiles*tile)
	for _, t := range []int{0, 1, tiles - 1} {
		for i := range 2000 {
			xyz[3*(t*tile+i)] = 0
		}
	}
	return packed(tensor.F32, xyz, tiles*tile, 3)
}
