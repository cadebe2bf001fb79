package opstest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// farVoxels tests a grid with more than 2^32 cells. Points are in the first and last cells and on both sides of cell 2^32; some are
// duplicates, one is outside the grid and one is not finite. It checks the cells around them, and the cells with the same numbers
// modulo 2^32.
func (s *suite) farVoxels(t *testing.T) {
	if s.isCPU() {
		t.Skip("needs a GPU with 5 GB of free memory")
	}
	const side, deep = 2048, 1025
	grid, err := s.dev.Alloc(tensor.U8, deep, side, side)
	if err != nil {
		t.Skipf("needs a GPU with 5 GB of free memory: %v", err)
	}
	defer grid.Close()
	box := ops.VoxelGrid{Max: [3]float64{side, side, deep}, Size: [3]float64{1, 1, 1}}
	cells := [][3]int{{0, 0, 0}, {5, 3, 1}, {side - 1, side - 1, 1023}, {0, 0, 1024}, {9, 7, 1024}, {9, 7, 1024}, {side - 1, side - 1, 1024}} // x, y, z
	xyz := []float64{side, .5, .5, math.NaN(), .5, .5}
	set := map[int]bool{}
	for _, c := range cells {
		xyz = append(xyz, float64(c[0])+.5, float64(c[1])+.5, float64(c[2])+.5)
		set[(c[2]*side+c[1])*side+c[0]] = true
	}
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F64} {
		p := &placed{dev: s.dev}
		points := p.put(vals(dtype, xyz, len(xyz)/3, 3))
		require.NoError(t, p.err)
		plan, err := s.dev.PlanVoxelize(ops.VoxelizeArgs{Grid: grid, Points: points}, box, ops.VoxelizeOptions{})
		require.NoError(t, err)
		require.NoError(t, plan.Run(s.dev.Queue()))
		require.NoError(t, s.dev.Synchronize(context.Background()))
		found, err := plan.Counts()
		require.NoError(t, err)
		assert.Equal(t, ops.VoxelCounts{Points: 9, InRange: 7, OutOfRange: 1, NotFinite: 1}, found, "%v", dtype)
		const all, near = deep * side * side, 64
		for at := range set {
			for _, from := range []int{at, at % (1 << 32), at % (1 << 31)} {
				first := min(max(from-near/2, 0), all-near)
				part, err := grid.AsStrided([]int{near}, []int{1}, first)
				require.NoError(t, err)
				host := tensor.Must(tensor.New(tensor.U8, near))
				require.NoError(t, s.dev.Copy(context.Background(), host, part))
				want := make([]uint64, near)
				for i := range want {
					if set[first+i] {
						want[i] = 1
					}
				}
				assert.Equal(t, want, bitsOf(host), "%v: cells from %d on", dtype, first)
			}
		}
		require.NoError(t, plan.Close())
		p.close()
	}
}
