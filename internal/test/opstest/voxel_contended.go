package opstest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// contendedVoxels returns a case with few cells and many points in each. The features are numbers of all magnitudes with some
// infinities and NaNs, or the coordinates are reduced with a pose for each row.
func contendedVoxels(r *rand.Rand) *voxelizing {
	n := []int{64, 65, 66, 129, 257, 300, 513, 1025, 1500}[r.IntN(9)]
	c := &voxelizing{Name: "contended", Box: cube(-2, 2, 1+r.IntN(2)), Opts: ops.VoxelizeOptions{Mode: []ops.VoxelMode{ops.VoxelDense, ops.VoxelSparse}[r.IntN(2)], Reduce: ops.ReduceSum + ops.Reduce(r.IntN(4))}}
	if r.IntN(2) == 0 {
		c.Opts.Order = ops.AxisXYZ
	}
	xyz := make([]float64, 3*n)
	for i := range xyz {
		xyz[i] = r.Float64()*1.9 - 1.9*float64(i%3/2) // along one axis, both sides
	}
	c.Points = vals(tensor.F32, xyz, n, 3)
	if r.IntN(2) == 0 {
		b := 1 + r.IntN(3)
		offsets := make([]int64, b+1)
		for i := 1; i < b; i++ {
			offsets[i] = int64(n * i / b)
		}
		offsets[b] = int64(n)
		c.Offsets = arr(offsets, b+1)
	}
	if r.IntN(2) == 0 {
		poses := make([]float64, 16*c.rows())
		for i := range poses {
			poses[i] = r.NormFloat64() * .1
			if i%16%5 == 0 {
				poses[i] = 1
			}
		}
		c.Poses = vals(tensor.F32, poses, c.rows(), 4, 4)
	}
	if r.IntN(3) == 0 {
		return c
	}
	f := []int{1, 2, 3, 17, 100, 257, 300}[r.IntN(7)]
	if f > 17 {
		n = min(n, 300)
		c.Points = vals(tensor.F32, xyz[:3*n], n, 3)
		c.Offsets, c.Poses = nil, nil
	}
	special := [][]float64{{0}, {math.Inf(1)}, {math.Inf(-1)}, {math.Inf(1), math.Inf(-1)}, {math.NaN()}, {1e-40, math.Copysign(0, -1)}}[r.IntN(6)]
	v := make([]float64, n*f)
	wide := r.IntN(2) == 0
	for i := range v {
		v[i] = r.NormFloat64()
		if wide {
			v[i] = math.Ldexp(v[i], r.IntN(90)-60)
		}
		if r.IntN(100) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
	}
	c.Features = vals([]tensor.DType{tensor.F32, tensor.F16, tensor.BF16}[r.IntN(3)], v, n, f)
	return c
}

// manyVoxelRows tests more rows than a block has threads.
func (s *suite) manyVoxelRows(t *testing.T) {
	r := rng(55)
	const n, b = 1200, 700
	offsets := make([]int64, b+1)
	for i := range b {
		offsets[i+1] = min(offsets[i]+int64(r.IntN(4)), n)
	}
	offsets[b] = n
	for _, opts := range voxelForms {
		s.voxelCheck(t, &voxelizing{Name: "many rows", Points: vals(tensor.F32, uniformValues(r, 3*n), n, 3), Offsets: arr(offsets, b+1), Box: cube(-8, 8, 2), Opts: opts})
	}
}

// posedBorders tests points that a pose moves close to a border between cells, so that each rounding in the computation decides the
// side.
func (s *suite) posedBorders(t *testing.T) {
	r := rng(56)
	const n, size = 400, .7
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F64} {
		poses := make([]float64, 32)
		for i := range poses {
			poses[i] = decode(dtype, encode(dtype, r.NormFloat64()))
		}
		for k := range 6 {
			axis := k % 3
			xyz := make([]float64, 3*n)
			for i := range n {
				m := poses[i/(n/2)*16+axis*4:][:4]
				p := xyz[3*i:][:3]
				last := i % 3 // the coordinate that moves to the border
				rest := size*float64(1+r.IntN(7)) - m[3]
				for a := range p {
					if a != last {
						p[a] = decode(dtype, encode(dtype, r.Float64()*4-2))
						rest -= m[a] * p[a]
					}
				}
				p[last] = rest / m[last]
			}
			c := &voxelizing{Name: "posed borders", Points: vals(dtype, xyz, n, 3), Poses: vals(dtype, poses, 2, 4, 4), Offsets: arr([]int64{0, n / 2, n}, 3),
				Box: cube(-1000, 2000, 1)}
			// The grid begins at 0 along the axis, and the subtraction from the coordinate is exact.
			c.Box.Min[axis], c.Box.Max[axis], c.Box.Size[axis] = 0, 10*size, size
			if k >= 3 { // read one by one instead of in fours
				c.Points = c.Points.restride([]int{4, 1}, 0, 0, poison(dtype))
			}
			for _, c.Opts = range []ops.VoxelizeOptions{{}, {Mode: ops.VoxelSparse}, {Mode: ops.VoxelHard, MaxPoints: 3}} {
				s.voxelCheck(t, c)
			}
		}
	}
}
