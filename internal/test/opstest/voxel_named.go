package opstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// cube returns a grid with n cells along each axis, from lo on.
func cube(lo, size float64, n int) ops.VoxelGrid {
	hi := lo + size*float64(n)
	return ops.VoxelGrid{Min: [3]float64{lo, lo, lo}, Max: [3]float64{hi, hi, hi}, Size: [3]float64{size, size, size}}
}

// cloud returns f32 points [N,3].
func cloud(xyz ...float64) *array { return vals(tensor.F32, xyz, len(xyz)/3, 3) }

// diagonal returns points with three equal coordinates each.
func diagonal(xs ...float64) *array {
	var out []float64
	for _, x := range xs {
		out = append(out, x, x, x)
	}
	return cloud(out...)
}

var countGrid = ops.VoxelizeOptions{Reduce: ops.ReduceCount}

// dense checks a case and returns its grid.
func (s *suite) dense(t *testing.T, c *voxelizing) *array {
	t.Helper()
	return s.voxelized(t, c).out["Grid"]
}

func (s *suite) threeInOne(t *testing.T) {
	grid := s.dense(t, &voxelizing{Points: diagonal(0, .01, .02), Box: cube(-10, .5, 64), Opts: countGrid})
	assert.EqualValues(t, 3, grid.raw[grid.at(20, 20, 20)])
}

func (s *suite) outside(t *testing.T) {
	got := s.voxelized(t, &voxelizing{Points: diagonal(100, -100), Box: cube(-10, .5, 64), Opts: countGrid})
	assert.Equal(t, ops.VoxelCounts{Points: 2, OutOfRange: 2}, got.found)
	for _, n := range got.out["Grid"].raw {
		assert.Zero(t, n)
	}
}

func (s *suite) halfWay(t *testing.T) {
	grid := s.dense(t, &voxelizing{Points: diagonal(0), Box: ops.VoxelGrid{Min: [3]float64{-5, -5, -5}, Max: [3]float64{5, 5, 5}, Size: [3]float64{.1, .1, .1}}})
	assert.Equal(t, []int{100, 100, 100}, grid.shape)
	assert.EqualValues(t, 1, grid.raw[grid.at(50, 50, 50)])
}

func (s *suite) axes(t *testing.T) {
	box := ops.VoxelGrid{Max: [3]float64{2, 3, 4}, Size: [3]float64{1, 1, 1}}
	for order, want := range map[ops.AxisOrder][3]int{ops.AxisZYX: {0, 0, 1}, ops.AxisXYZ: {1, 0, 0}} {
		grid := s.dense(t, &voxelizing{Points: cloud(1.5, .5, .5), Box: box, Opts: ops.VoxelizeOptions{Order: order}})
		assert.EqualValues(t, 1, grid.raw[grid.at(want[:]...)], "%v", order)
		got := s.voxelized(t, &voxelizing{Points: cloud(1.5, .5, .5), Box: box, Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse, Order: order}})
		assert.Equal(t, []uint64{uint64(want[0]), uint64(want[1]), uint64(want[2])}, got.out["Coords"].raw, "%v", order)
	}
}

func (s *suite) negativeMax(t *testing.T) {
	for _, empty := range []float64{0, -7.5, math.NaN(), math.Copysign(0, -1)} { // the sign of zero is kept too
		grid := s.dense(t, &voxelizing{Points: diagonal(.5, .5, .5), Features: vals(tensor.F32, []float64{-3, -1, -2}, 3, 1), Box: cube(0, 1, 3), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMax, Empty: empty}})
		assert.EqualValues(t, -1, decode(tensor.F32, grid.raw[0]))
		want := encode(tensor.F32, empty)
		assert.True(t, bothNaN(tensor.F32, grid.raw[1], want) || grid.raw[1] == want)
	}
}

func (s *suite) meanCell(t *testing.T) {
	for _, order := range [][]float64{{1, 2, 6}, {6, 1, 2}, {2, 6, 1}} {
		grid := s.dense(t, &voxelizing{Points: diagonal(.5, .5, .5), Features: vals(tensor.F32, order, 3, 1), Box: cube(0, 1, 2), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}})
		assert.Equal(t, encode(tensor.F32, 3), grid.raw[0])
	}
}

func (s *suite) notFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, opts := range voxelForms {
		got := s.voxelized(t, &voxelizing{Points: cloud(nan, 0, 0, 0, inf, 0, 0, 0, -inf, .5, .5, .5, nan, inf, 1e30, 1e30, 0, nan), Box: cube(0, 1, 2), Opts: opts})
		assert.Equal(t, [4]int64{6, 1, 0, 5}, [4]int64{got.found.Points, got.found.InRange, got.found.OutOfRange, got.found.NotFinite}, "%+v", opts)
	}
}

// voxelForms has one option for each form of result, for points without features.
var voxelForms = []ops.VoxelizeOptions{
	{}, {Reduce: ops.ReduceCount}, {Reduce: ops.ReduceSum}, {Reduce: ops.ReduceMean, Order: ops.AxisXYZ, Empty: -1}, {Reduce: ops.ReduceMax}, {Reduce: ops.ReduceMin},
	{Mode: ops.VoxelHard, MaxPoints: 2}, {Mode: ops.VoxelSparse}, {Mode: ops.VoxelSparse, Reduce: ops.ReduceCount, Order: ops.AxisXYZ},
}

func (s *suite) belowMin(t *testing.T) {
	got := s.voxelized(t, &voxelizing{Points: cloud(-.25, .1, .1, .1, -.25, .1, .1, .1, -.25), Box: cube(0, .5, 4), Opts: countGrid})
	assert.Equal(t, ops.VoxelCounts{Points: 3, OutOfRange: 3}, got.found)
}

// lattice tests points on the borders of cells, where a product with a reciprocal gives another cell than a division.
func (s *suite) lattice(t *testing.T) {
	reciprocal := 0
	for _, size := range []float64{.02, .05, .0625, .1} {
		var xyz []float64
		var want []uint64
		for k := 1; k < 400; k++ {
			x := float32(k) * float32(size)
			xyz = append(xyz, float64(x), 0, 0)
			quotient := float32(float64(x) / float64(float32(size))) // the double rounding is exact, because 53 bits are more than twice 24
			want = append(want, uint64(math.Floor(float64(quotient))))
			if math.Floor(float64(x*float32(1/float32(size)))) != math.Floor(float64(quotient)) {
				reciprocal++
			}
		}
		box := ops.VoxelGrid{Max: [3]float64{401 * size, size, size}, Size: [3]float64{size, size, size}}
		got := s.voxelized(t, &voxelizing{Name: fmt.Sprint(size), Points: cloud(xyz...), Box: box, Opts: ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 400}})
		coords, inverse := got.out["Coords"], got.out["PointVoxel"]
		for i, w := range want {
			assert.Equal(t, w, coords.raw[coords.at(int(inverse.raw[i]), 2)], "size %v, %d", size, i+1)
		}
	}
	assert.Positive(t, reciprocal, "the cases tell no division from a reciprocal")
}

func (s *suite) upperBound(t *testing.T) {
	grid := s.dense(t, &voxelizing{Points: diagonal(-1.2), Box: ops.VoxelGrid{Min: [3]float64{-2, -2, -2}, Max: [3]float64{-1.2, -1.2, -1.2}, Size: [3]float64{.1, .1, .1}}})
	assert.EqualValues(t, 1, grid.raw[grid.at(7, 7, 7)])
	got := s.voxelized(t, &voxelizing{Points: diagonal(4), Box: cube(0, 1, 4)})
	assert.EqualValues(t, 1, got.found.OutOfRange, "a point on Max")
}

func (s *suite) emptyVoxels(t *testing.T) {
	for _, opts := range voxelForms {
		got := s.voxelized(t, &voxelizing{Points: cloud(), Box: cube(0, 1, 3), Opts: opts})
		assert.Equal(t, ops.VoxelCounts{}, got.found)
		s.voxelCheck(t, &voxelizing{Points: cloud(), Offsets: arr([]int64{0}, 1), Box: cube(0, 1, 3), Opts: opts})
		s.voxelCheck(t, &voxelizing{Points: cloud(), Offsets: arr([]int64{0, 0, 0}, 3), Box: cube(0, 1, 3), Opts: opts})
	}
	// The value for empty cells must not change cells with points.
	r := rng(55)
	for _, empty := range []float64{0, 6, 255, math.Copysign(0, -1)} {
		for _, reduce := range []ops.Reduce{ops.ReduceOccupancy, ops.ReduceCount, ops.ReduceMax} {
			s.voxelCheck(t, &voxelizing{Points: vals(tensor.F32, uniformValues(r, 600), 200, 3), Box: cube(-8, 2, 7), Opts: ops.VoxelizeOptions{Reduce: reduce, Empty: empty}})
		}
	}
}

func (s *suite) badGrids(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*ops.VoxelGrid)
		kind error
	}{
		{"a cell size of 0", func(g *ops.VoxelGrid) { g.Size[1] = 0 }, ops.ErrOption},
		{"a negative cell size", func(g *ops.VoxelGrid) { g.Size[1] = -1 }, ops.ErrOption},
		{"a cell size that is 0 in float32", func(g *ops.VoxelGrid) { g.Size[2], g.Max[2] = 1e-60, 1e-59 }, ops.ErrOption},
		{"a NaN cell size", func(g *ops.VoxelGrid) { g.Size[0] = math.NaN() }, ops.ErrOption},
		{"an infinite cell size", func(g *ops.VoxelGrid) { g.Size[0] = math.Inf(1) }, ops.ErrOption},
		{"a range of 0", func(g *ops.VoxelGrid) { g.Max[0] = g.Min[0] }, ops.ErrOption},
		{"a range backwards", func(g *ops.VoxelGrid) { g.Max[0] = -5 }, ops.ErrOption},
		{"a NaN bound", func(g *ops.VoxelGrid) { g.Min[0] = math.NaN() }, ops.ErrOption},
		{"an infinite bound", func(g *ops.VoxelGrid) { g.Max[0] = math.Inf(1) }, ops.ErrOption},
		{"more than 2^40 cells", func(g *ops.VoxelGrid) { g.Max = [3]float64{1 << 14, 1 << 14, 1<<12 + 1} }, ops.ErrTooLarge},
		{"more than 2^31-1 cells along an axis", func(g *ops.VoxelGrid) { g.Max = [3]float64{1, 1, 1 << 31} }, ops.ErrTooLarge},
		{"cells beyond 64 bits", func(g *ops.VoxelGrid) { g.Max = [3]float64{1 << 30, 1 << 30, 1 << 30} }, ops.ErrTooLarge},
	} {
		box := cube(0, 1, 2)
		c.edit(&box)
		for _, opts := range voxelForms {
			_, err := s.dev.Voxelize(context.Background(), ops.VoxelizeArgs{Points: diagonal(.5).host()}, box, opts)
			var e *ops.ArgError
			require.True(t, errors.As(err, &e), "%s: %v", c.name, err)
			assert.ErrorIs(t, err, c.kind, c.name)
			assert.Contains(t, e.Arg, "Grid", c.name)
		}
	}
}

// firstPoints tests mmcv's rules on a few points: voxels in the order of their first points, and points above the limit dropped.
func (s *suite) firstPoints(t *testing.T) {
	got := s.voxelized(t, &voxelizing{Points: diagonal(3.5, .5, 3.6, .6, 1.5, 3.7, 9, .7), Box: cube(0, 1, 4), Opts: ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 2, MaxVoxels: 2}})
	minus := uint64(math.MaxUint32)
	assert.Equal(t, []uint64{0, 1, 0, 1, minus, minus, minus, minus}, got.out["PointVoxel"].raw)
	assert.Equal(t, []uint64{3, 3, 3, 0, 0, 0}, got.out["Coords"].raw)
	assert.Equal(t, []uint64{2, 2}, got.out["Counts"].raw)
	assert.Equal(t, ops.VoxelCounts{Points: 8, InRange: 7, OutOfRange: 1, Voxels: 2, DroppedVoxels: 1, DroppedPoints: 3}, got.found)
}

// caps tests outputs shorter than the voxels found, and MaxVoxels for each row.
func (s *suite) caps(t *testing.T) {
	r := rng(50)
	for _, mode := range []ops.VoxelMode{ops.VoxelHard, ops.VoxelSparse} {
		for _, v := range []int{0, 1, 5, 30, 1000} {
			for _, most := range []int{0, 1, 7} {
				c := &voxelizing{Points: vals(tensor.F32, uniformValues(r, 600), 200, 3), Offsets: arr([]int64{0, 50, 50, 120, 200}, 5), Box: cube(-10, 4, 5), V: v,
					Opts: ops.VoxelizeOptions{Mode: mode, MaxVoxels: most}}
				if mode == ops.VoxelHard {
					c.Opts.MaxPoints = 2
				}
				s.voxelCheck(t, c)
			}
		}
	}
	c := &voxelizing{Points: diagonal(.5, 1.5), Box: cube(0, 1, 2), Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse}}
	c.V = -1
	assert.Equal(t, ops.VoxelCounts{Points: 2, InRange: 2, DroppedVoxels: 2, DroppedPoints: 2}, s.once(t, s.dev, c, layouts[1]).found)
}

func (s *suite) majority(t *testing.T) {
	labels := []int32{7, 3, 3, 7, -1, math.MinInt32, math.MaxInt32, math.MaxInt32, 0, -5, 0, -5}
	points := diagonal(.5, .5, .5, .5, .5, 1.5, 1.5, 1.5, 2.5, 2.5, 2.5, 2.5)
	for _, mode := range []ops.VoxelMode{ops.VoxelDense, ops.VoxelSparse} {
		got := s.voxelized(t, &voxelizing{Points: points, Labels: arr(labels, len(labels)), Box: cube(0, 1, 3), Opts: ops.VoxelizeOptions{Mode: mode, Reduce: ops.ReduceMajority}})
		if mode == ops.VoxelSparse {
			minus5 := int32(-5)
			assert.Equal(t, []uint64{3, math.MaxInt32, uint64(uint32(minus5))}, got.out["Values"].raw, "ties take the smaller label")
		}
	}
	r := rng(51)
	many := make([]int32, 3000)
	for i := range many {
		many[i] = int32(r.IntN(9)) - 4
	}
	s.voxelCheck(t, &voxelizing{Points: vals(tensor.F32, uniformValues(r, 9000), 3000, 3), Labels: arr(many, 3000), Box: cube(-10, 5, 4), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMajority, Empty: -9}})
}

// cellValues returns a row of cells with points that have the given values. The results are the points, each value and its negative,
// and the grid.
func cellValues(cells [][]float64) (xyz, v []float64, box ops.VoxelGrid) {
	for i, cell := range cells {
		for _, x := range cell {
			xyz = append(xyz, float64(i)+.5, .5, .5)
			v = append(v, x, -x)
		}
	}
	return xyz, v, ops.VoxelGrid{Max: [3]float64{float64(len(cells)), 1, 1}, Size: [3]float64{1, 1, 1}}
}

// specialValues tests sums and extremes of NaN, infinities, zeros, subnormals and numbers of very different magnitude.
func (s *suite) specialValues(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	tiny, huge := math.SmallestNonzeroFloat32, math.MaxFloat32
	cells := [][]float64{
		{1, nan}, {nan, inf}, {inf, -inf}, {inf, 1}, {-inf, 1}, {-inf, -inf, 3}, {0, zero}, {zero, zero}, {zero, 0}, {tiny, tiny, -tiny}, {-tiny}, {tiny, zero},
		{huge, huge}, {-huge, -huge}, {huge, -huge, 1}, {huge, tiny, -huge}, {1, 0x1p-40, -1}, {1, 0x1p-41, -1}, {1e30, 1, -1e30}, {0x1p-126, 0x1p-149}, {0x1.fffffep-1, 0x1p-24},
		{3, 3, 3}, {16777216, 1, 1, 1}, {1.1, 2.2, 3.3}, {-1.1, -2.2, -3.4}, {0},
	}
	xyz, v, box := cellValues(cells)
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		for reduce := ops.ReduceSum; reduce <= ops.ReduceMin; reduce++ {
			for _, mode := range []ops.VoxelMode{ops.VoxelDense, ops.VoxelSparse} {
				s.voxelCheck(t, &voxelizing{Name: fmt.Sprint(dtype), Points: cloud(xyz...), Features: vals(dtype, v, len(v)/2, 2), Box: box, Opts: ops.VoxelizeOptions{Mode: mode, Reduce: reduce}})
			}
		}
	}
}

// hugeGrid tests cell keys above 32 bits.
func (s *suite) hugeGrid(t *testing.T) {
	r := rng(52)
	xyz := make([]float64, 0, 900)
	for range 100 {
		x, y, z := r.Float64()*1e3, r.Float64()*1e3, r.Float64()*1e3
		for range 3 {
			xyz = append(xyz, x, y, z)
		}
	}
	xyz = append(xyz, 0, 0, 0, 1023.99, 1023.99, 1023.9)
	box := cube(0, .1, 10240) // 2^40 * 0.976
	for _, opts := range []ops.VoxelizeOptions{{Mode: ops.VoxelSparse}, {Mode: ops.VoxelSparse, Reduce: ops.ReduceCount, Order: ops.AxisXYZ}, {Mode: ops.VoxelHard, MaxPoints: 3}} {
		s.voxelCheck(t, &voxelizing{Points: cloud(xyz...), Box: box, Opts: opts})
		s.voxelCheck(t, &voxelizing{Points: cloud(xyz...), Offsets: arr([]int64{0, 100, int64(len(xyz) / 3)}, 3), Box: box, Opts: opts})
	}
}

// contended tests many points in few cells: more than a block has threads, in one launch.
func (s *suite) contended(t *testing.T) {
	r := rng(53)
	for _, size := range [][2]int{{1000, 5}, {1000, 8}, {600, 33}, {600, 132}, {9000, 4}} {
		n, f := size[0], size[1]
		xyz := make([]float64, 3*n)
		for i := range xyz {
			xyz[i] = math.Abs(r.NormFloat64()) * .4
		}
		v := uniformValues(r, n*f)
		for i := range v {
			v[i] = math.Ldexp(v[i], r.IntN(60)-30)
		}
		for reduce := ops.ReduceCount; reduce <= ops.ReduceMin; reduce++ {
			c := &voxelizing{Points: cloud(xyz...), Box: cube(0, 1, 2), Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: reduce}}
			if reduce.OfFeatures() {
				c.Features = vals(tensor.F32, v, n, f)
			}
			s.voxelCheck(t, c)
		}
		s.voxelCheck(t, &voxelizing{Points: cloud(xyz...), Box: cube(0, 1, 2), Opts: ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 35}})
	}
}

func (s *suite) voxelBatches(t *testing.T) {
	r := rng(54)
	points := vals(tensor.F32, uniformValues(r, 900), 300, 3)
	poses := vals(tensor.F32, uniformValues(r, 5*16), 5, 4, 4)
	for _, offsets := range [][]int64{{0, 100, 100, 170, 300, 300}, {0, 0, 0, 0, 0, 300}, {0, 300, 300, 300, 300, 300}} {
		for _, opts := range voxelForms {
			c := &voxelizing{Points: points, Offsets: arr(offsets, 6), Box: cube(-20, 4, 10), Opts: opts}
			s.voxelCheck(t, c)
			c.Poses = poses
			s.voxelCheck(t, c)
			c.Poses = packed(tensor.F32, poses.raw[:16], 4, 4)
			s.voxelCheck(t, c)
		}
	}
}

func (s *suite) badOffsets(t *testing.T) {
	for _, bad := range [][][]int64{{{1, 5, 10}, {0, -1, 10}, {0, 11, 10}, {0, math.MaxInt64, 10}, {math.MinInt64, 5, 10}}, {{0, 5, 9}, {0, 5, 11}, {0, 5, 4}, {0, 5, math.MinInt64}}} {
		for _, offsets := range bad {
			clear(s.seen)
			for _, opts := range voxelForms {
				c := &voxelizing{Points: vals(tensor.F32, count(1, 30), 10, 3), Offsets: arr(offsets, 3), Box: cube(0, 8, 4), Opts: opts}
				s.check(t, c, layouts[1])
			}
		}
	}
}
