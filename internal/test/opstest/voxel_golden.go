package opstest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelGoldenJSON is written by scripts/gen_voxel_golden.py.
//
//go:embed testdata/voxel_golden.json
var voxelGoldenJSON []byte

// voxelGolden is a case with the results of another library. Floats are bit patterns.
type voxelGolden struct {
	Oracle               string
	Min, Max, Size       [3]float64
	Cell                 float64
	Cells, Features      int
	MaxPoints, MaxVoxels int
	Reduce               string
	Points, Data, Values []int64
	Coords, Counts       []int64
	Inverse              []int64
}

func (s *suite) voxelGoldens(t *testing.T) {
	var file struct{ Cases []voxelGolden }
	require.NoError(t, json.Unmarshal(voxelGoldenJSON, &file))
	require.NotEmpty(t, file.Cases)
	for i, g := range file.Cases {
		t.Run(fmt.Sprintf("%s-%d", g.Oracle, i), func(t *testing.T) {
			switch g.Oracle {
			case "mmcv":
				s.goldenMMCV(t, &g)
			case "open3d":
				s.goldenOpen3D(t, &g)
			case "torch":
				s.goldenTorch(t, &g)
			default:
				t.Fatalf("unknown oracle %q", g.Oracle)
			}
		})
	}
}

// goldenBits returns bit patterns from JSON, which has them as signed numbers.
func goldenBits(in []int64, dtype tensor.DType) []uint64 {
	out := make([]uint64, len(in))
	for i, b := range in {
		out[i] = uint64(b) << (64 - 8*dtype.Size()) >> (64 - 8*dtype.Size())
	}
	return out
}

func (s *suite) goldenMMCV(t *testing.T, g *voxelGolden) {
	width := 3 + g.Features
	all := packed(tensor.F32, goldenBits(g.Points, tensor.F32), len(g.Points)/width, width)
	c := &voxelizing{Box: ops.VoxelGrid{Min: g.Min, Max: g.Max, Size: g.Size}}
	c.Points = &array{tensor.F32, all.raw, []int{all.shape[0], 3}, all.strides, 0}
	if g.Features > 0 {
		c.Features = &array{tensor.F32, all.raw, []int{all.shape[0], g.Features}, all.strides, 3}
	}
	var err error
	c.Opts, err = ops.VoxelPreset("mmcv")
	require.NoError(t, err)
	assert.Equal(t, [2]int{35, 20000}, [2]int{c.Opts.MaxPoints, c.Opts.MaxVoxels}, "mmcv's defaults")
	c.Opts.MaxPoints, c.Opts.MaxVoxels = g.MaxPoints, g.MaxVoxels
	got := s.voxelized(t, c)
	assert.Equal(t, goldenBits(g.Values, tensor.F32), got.out["Values"].raw)
	assert.Equal(t, goldenBits(g.Coords, tensor.I32), got.out["Coords"].raw)
	assert.Equal(t, goldenBits(g.Counts, tensor.I32), got.out["Counts"].raw)
}

// goldenOpen3D compares with Open3D. It adds point by point in float64, so its means are off by some units in the last place; ours
// are not.
func (s *suite) goldenOpen3D(t *testing.T, g *voxelGolden) {
	points := packed(tensor.F64, goldenBits(g.Points, tensor.F64), len(g.Points)/3, 3)
	most := 0.0
	for _, b := range points.raw {
		most = math.Max(most, math.Abs(decode(tensor.F64, b)))
	}
	c := &voxelizing{Points: points}
	var err error
	c.Box, err = ops.Open3DGrid(points.host(), g.Cell)
	require.NoError(t, err)
	c.Opts, err = ops.VoxelPreset("open3d")
	require.NoError(t, err)
	got := s.voxelized(t, c)
	assert.Equal(t, goldenBits(g.Inverse, tensor.I32), got.out["PointVoxel"].raw)
	want, counts := goldenBits(g.Values, tensor.F64), got.out["Counts"].raw
	require.Len(t, got.out["Values"].raw, len(want))
	for i, b := range got.out["Values"].raw {
		// Each addition has an error of up to half a unit in the last place of the partial sum, which may be as large as the number
		// of points times the largest value. The mean adds another.
		assert.InDelta(t, decode(tensor.F64, want[i]), decode(tensor.F64, b), (float64(counts[i/3])+2)*0x1p-53*most)
	}
}

// goldenTorch compares with torch. Its sums are float64 and rounded once. Ours may differ by one unit in the last place, and by 2^-40
// of each value.
func (s *suite) goldenTorch(t *testing.T, g *voxelGolden) {
	n := len(g.Points) / 3
	reduce, err := ops.ParseReduce(g.Reduce)
	require.NoError(t, err)
	c := &voxelizing{Points: packed(tensor.F32, goldenBits(g.Points, tensor.F32), n, 3), Features: packed(tensor.F32, goldenBits(g.Data, tensor.F32), n, g.Features),
		Box: cube(0, 1, g.Cells), Opts: ops.VoxelizeOptions{Reduce: reduce}}
	grid := s.dense(t, c)
	want := goldenBits(g.Values, tensor.F32)
	require.Len(t, grid.raw, len(want))
	for i, b := range grid.raw {
		x, y := decode(tensor.F32, want[i]), decode(tensor.F32, b)
		if reduce == ops.ReduceMax || reduce == ops.ReduceMin {
			assert.Equal(t, x, y)
		} else {
			assert.InDelta(t, x, y, 0x1p-23*math.Abs(x)+float64(n)*0x1p-40*8, "normal numbers stay below 8")
		}
	}
}

// goldenPerAct compares with PerAct's rule by numpy: the occupied cells, their counts, and means within the bound of ops.ReduceMean.
func (s *suite) goldenPerAct(t *testing.T) {
	list := readSpatial(t).PerAct
	require.NotEmpty(t, list)
	for _, g := range list {
		box, err := ops.PerActGrid(g.Min, g.Max)
		require.NoError(t, err)
		opts, err := ops.VoxelPreset("peract")
		require.NoError(t, err)
		points := packed(tensor.F32, g.Points, len(g.Points)/3, 3)
		means := s.called(t, &voxelizing{Points: points, Box: box, Opts: opts})
		opts.Reduce = ops.ReduceCount
		counts := s.called(t, &voxelizing{Points: points, Box: box, Opts: opts})
		require.Equal(t, []int{100, 100, 100}, counts.out["Grid"].shape)
		all := 0
		for i, n := range g.Counts {
			all += n
			require.Equal(t, uint64(n), counts.out["Grid"].raw[g.Cells[i]])
			for a := range 3 {
				require.InEpsilon(t, 1+g.Means[3*i+a], 1+decode(tensor.F32, means.out["Grid"].raw[3*g.Cells[i]+a]), 0x1p-23)
			}
		}
		require.Equal(t, ops.VoxelCounts{Points: int64(points.shape[0]), InRange: int64(all), OutOfRange: int64(points.shape[0] - all)}, counts.found)
		require.Equal(t, counts.found, means.found)
	}
	_, err := ops.PerActGrid([3]float64{1, 0, 0}, [3]float64{0, 1, 1})
	assert.ErrorIs(t, err, ops.ErrOption)
	_, err = (ops.VoxelGrid{Max: [3]float64{2, 2, 2}, Size: [3]float64{1, 1, 1}, Border: 1}).Cells()
	assert.ErrorIs(t, err, ops.ErrOption, "all cells are cut off")
	_, err = (ops.VoxelGrid{Max: [3]float64{2, 2, 2}, Size: [3]float64{1, 1, 1}, Border: -1}).Cells()
	assert.ErrorIs(t, err, ops.ErrOption)
}
