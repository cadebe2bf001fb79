package opstest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// sizesOfVoxels has lists of point counts for a cloud's voxels. The counts are around the limits at which a backend changes the
// algorithm, with many or few neighbours of one kind.
var sizesOfVoxels = [][]int{
	{1},
	{2, 3, 4},
	{0, 1, 2, 3, 7},
	{2, 15, 16},
	{1, 1, 1, 2},
	{1, 2, 15, 16, 17, 18},
	{1, 31, 32, 33, 63, 64, 65},
	{1, 1, 1, 1, 2, 3, 255, 256, 257, 258},
	{3, 511, 512, 513, 700},
}

// reducedVoxels returns a case with voxels of known sizes, so many that a device with few multiprocessors needs several rounds. It
// covers each step of a reduction for each kind, width, dtype and alignment, with truncated and empty rows.
func reducedVoxels(r *rand.Rand) *voxelizing {
	sizes := sizesOfVoxels[r.IntN(len(sizesOfVoxels))]
	c := &voxelizing{Name: "reduced", Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceSum + ops.Reduce(r.IntN(5))}}
	if r.IntN(2) == 0 {
		c.Opts.Mode, c.Opts.Empty = ops.VoxelDense, float64(r.IntN(2))
	}
	if r.IntN(2) == 0 {
		c.Opts.Order = ops.AxisXYZ
	}
	f := []int{1, 2, 3, 4, 4, 5, 8, 16, 16, 20}[r.IntN(10)]
	items := []int{70, 700, 2000, 4500}[r.IntN(4)] // voxels times features
	voxels := max(items*[]int{1, 4}[r.IntN(2)]/f, 3)
	rows := []int{1, 1, 2, 4}[r.IntN(4)]

	// The box may have any proportions. of lists a voxel for each point.
	cells := (voxels + rows - 1) / rows
	n := [3]int{cells, 1, 1}
	switch r.IntN(3) {
	case 0:
		n = [3]int{3, 5, cells/15 + 1}
	case 1:
		n = [3]int{1, cells/4 + 1, 4}
	}
	for a := range n {
		c.Box.Min[a], c.Box.Max[a], c.Box.Size[a] = -2, float64(n[a])-2, 1
	}
	var of []int
	for _, v := range r.Perm(voxels) {
		if len(of) > 1100 || len(of)*f > 7000 {
			break
		}
		for range sizes[r.IntN(len(sizes))] {
			of = append(of, v)
		}
	}
	if len(of) == 0 {
		of = []int{0}
	}
	r.Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
	slices.SortStableFunc(of, func(a, b int) int { return a/cells - b/cells })
	points := len(of)
	xyz := make([]float64, 3*points)
	offsets := make([]int64, rows+1)
	for i, v := range of {
		cell := v % cells
		for a, k := range []int{cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]} {
			xyz[3*i+a] = float64(k) - 2 + .125 + .75*r.Float64()
		}
		offsets[v/cells+1] = int64(i + 1)
	}
	for b := range rows {
		offsets[b+1] = max(offsets[b+1], offsets[b])
	}
	offsets[rows] = int64(points)
	c.Points = vals(tensor.F32, xyz, points, 3)
	if rows > 1 || r.IntN(4) == 0 {
		c.Offsets = arr(offsets, rows+1)
	}
	if c.Opts.Mode == ops.VoxelSparse {
		if r.IntN(3) == 0 {
			c.Opts.MaxVoxels = 1 + r.IntN(cells)
		}
		if r.IntN(3) == 0 {
			c.V = 1 + r.IntN(voxels)
		}
	}
	if c.reduction() == ops.ReduceMajority {
		labels := make([]int32, points)
		for i := range labels {
			labels[i] = int32(r.IntN(4)) - 2
		}
		c.Labels = arr(labels, points)
		return c
	}
	if r.IntN(8) == 0 { // reduce the coordinates
		return c
	}
	c.Features = reducedFeatures(r, points, f)
	return c
}

// reducedFeatures returns features of one magnitude or of many, with some special values, such as numbers that are far larger.
func reducedFeatures(r *rand.Rand, points, f int) *array {
	special := [][]float64{{0, math.Copysign(0, -1)}, {math.Inf(1)}, {math.Inf(-1)}, {math.Inf(1), math.Inf(-1)}, {math.NaN()}, {1e-40, -0x1p-149, math.Copysign(0, -1)}, {0x1p100, -0x1p100}}[r.IntN(7)]
	rare, wide := []int{3, 40, 1000}[r.IntN(3)], r.IntN(2) == 0
	v := make([]float64, points*f)
	for i := range v {
		v[i] = r.NormFloat64()
		if wide {
			v[i] = math.Ldexp(v[i], r.IntN(120)-90)
		}
		if r.IntN(rare) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
	}
	dtype := []tensor.DType{tensor.F32, tensor.F32, tensor.F16, tensor.BF16}[r.IntN(4)]
	out := vals(dtype, v, points, f)
	switch r.IntN(4) {
	case 0: // keeps the alignment to 16 bytes
		return out.restride([]int{f + 4, 1}, 4, 0, poison(dtype))
	case 1:
		return out.restride([]int{f + r.IntN(3), 1}, r.IntN(3), 0, poison(dtype))
	}
	return out
}
