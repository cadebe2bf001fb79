package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// looking returns a pose at a position, whose z axis is an axis of the world in a direction, 1 or -1.
func looking(axis int, direction float64, at [3]float64) []float64 {
	m := make([]float64, 16)
	m[4*((axis+1)%3)], m[4*((axis+2)%3)+1], m[4*axis+2], m[15] = direction, 1, direction, 1
	for a, x := range at {
		m[4*a+3] = x
	}
	return m
}

// integrateEdges tests blocks at both ends of their range along each axis, and numbers for which one rounding or the result of a comparison
// of equal numbers decides.
func (s *suite) integrateEdges(t *testing.T) {
	const voxel, around = 2e-7, 11
	limit := float64(float32(8*voxel)) * (1 << 20) // the blocks end about there
	var depths, poses []float64
	for axis := range 3 {
		for _, side := range []float64{-1, 1} {
			for _, direction := range []float64{-1, 1} {
				var at [3]float64
				at[axis] = side*limit - direction*0.5
				poses = append(poses, looking(axis, direction, at)...)
				for i := range around {
					depths = append(depths, 0.5+float64(i-around/2)*2e-6)
				}
			}
		}
	}
	const images = 12
	ends := &integrating{title: "the range's ends", depth: vals(tensor.F32, depths, images, 1, around), m: 200, poses: vals(tensor.F32, poses, images, 4, 4),
		intrinsics: vals(tensor.F32, []float64{1e6, 1e6, around / 2, 0}, 4), opts: ops.IntegrateOptions{Voxel: voxel, Truncation: 16 * voxel}}
	s.run(t, ends, layouts[0])
	want := ends.after(1)
	for n := range images {
		require.Greater(t, want["Counts"].raw[4*n], uint64(2), "pixels in range, image %d", n)
		require.Greater(t, want["Counts"].raw[4*n+2], uint64(2), "pixels out of range, image %d", n)
	}

	// The last sample is at 0.25-2^-26 + 0.25, which rounds to the beginning of a block.
	identity := looking(2, 1, [3]float64{})
	rounded := &integrating{title: "a sample that rounds to a block", depth: vals(tensor.F32, []float64{0.25 - math.Pow(2, -26)}, 1, 1, 1), m: 9, poses: vals(tensor.F32, identity, 4, 4),
		intrinsics: vals(tensor.F32, []float64{4, 4, 0, 0}, 4), opts: ops.IntegrateOptions{Voxel: 1. / 16}}
	s.run(t, rounded, layouts[0])
	require.Equal(t, uint64(2), rounded.after(1)["State"].raw[0], "blocks before and behind z = 0.5")

	// The depths are those of voxels' centres, so some voxels are exactly a truncation behind the surface or before it.
	var centres []float64
	for i := range 64 {
		centres = append(centres, (float64(i)+0.5)/16)
	}
	exact := &integrating{title: "exact truncations", depth: vals(tensor.F32, centres, 1, 8, 8), m: 99, poses: vals(tensor.F32, identity, 4, 4),
		intrinsics: vals(tensor.F32, []float64{8, 8, 3.5, 3.5}, 4), opts: ops.IntegrateOptions{Voxel: 1. / 16}}
	s.run(t, exact, layouts[0])

	// The camera is so little aside of the voxels' centres that these are on a pixel's edge after rounding.
	for _, aside := range []float64{-1, 1} {
		at := [3]float64{1./128 + aside*math.Pow(2, -30), 1./128 + aside*math.Pow(2, -30), 0}
		edge := &integrating{title: fmt.Sprintf("pixels' edges, %v", aside), depth: vals(tensor.F32, []float64{0.125, 0.25, 0.125, 0.25, 0.125, 0.25, 0.125, 0.25, 0.125}, 1, 3, 3), m: 99,
			poses: vals(tensor.F32, looking(2, 1, at), 4, 4), intrinsics: vals(tensor.F32, []float64{16, 16, 1.5, 1.5}, 4), opts: ops.IntegrateOptions{Voxel: 1. / 64}}
		s.run(t, edge, layouts[0])
	}
}

// integrateLarge tests a new block whose key is also in the first unused place, in a volume with as many blocks as threads pass through it at
// once on a device with one multiprocessor.
func (s *suite) integrateLarge(t *testing.T) {
	c := &integrating{title: "a key in an unused place", depth: vals(tensor.F32, []float64{0.75}, 1, 1, 1), known: 1024, m: 1030, intrinsics: vals(tensor.F32, []float64{4, 4, 0, 0}, 4),
		poses: vals(tensor.F32, looking(2, 1, [3]float64{3.75, 3.75, 3}), 4, 4), opts: ops.IntegrateOptions{Voxel: 1. / 16, Truncation: 1. / 16}}
	s.run(t, c, layouts[0])
	after := c.after(1)
	require.Equal(t, []uint64{1025, 1, 0}, after["State"].raw)
	require.Equal(t, []uint64{begun, begun, begun}, after["Keys"].raw[3*1024:3*1025])
}
