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
	g := &generator{Rand: rng(7), c: &resampling{}}
	units := func(n, unit int) float64 { return float64(min(n, 1)*(g.IntN(15)-7)) * math.Pow(2, float64(unit)) }

	// The blocks end at 1 m and -1 m. The first image of each camera has samples exactly there, or on both sides. In the others the first or the
	// last sample is some units in the last place away, so that each rounding decides.
	const around, images = 41, 72 // with more counts than a block of threads clears
	for _, voxels := range []float64{4, 5.3} {
		band := voxels * math.Pow(2, -23)
		var depths, poses []float64
		for i := range images {
			axis, side, direction, n := i/24, float64(i/12%2*2-1), float64(i/6%2*2-1), i%6
			var at [3]float64
			at[axis] = side - direction*0.25
			pose := looking(axis, direction, at)
			pose[4*axis+2] += units(n, -24)
			poses = append(poses, pose...)
			for k := range around {
				off := float64(k-around/2) * math.Pow(2, -23)
				if n > 0 {
					off = float64(k%2*2-1) * band
				}
				depths = append(depths, 0.25+off+units(n, -26))
			}
		}
		ends := &integrating{title: fmt.Sprintf("the range's ends, %v", voxels), depth: vals(tensor.F32, depths, images, 1, around), m: 150, poses: vals(tensor.F32, poses, images, 4, 4),
			intrinsics: vals(tensor.F32, []float64{1e8, 1e8, around / 2, 0}, 4), opts: ops.IntegrateOptions{Voxel: math.Pow(2, -23), Truncation: band}}
		s.run(t, ends, layouts[0])
		want := ends.after(1)
		require.Equal(t, uint64(images), want["State"].raw[1])
		for n := 0; n < images; n += 6 {
			require.Greater(t, want["Counts"].raw[4*n], uint64(2), "pixels in range, image %d", n)
			require.Greater(t, want["Counts"].raw[4*n+2], uint64(2), "pixels out of range, image %d", n)
		}
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

	// Relative to the camera, the voxels' centres are at multiples of 1/16 m but for some units in the last place. So most are about on a
	// pixel's edge, and each rounding decides for some of them. The first image along each axis has no such units.
	var near, cameras, poses []float64
	const b = 24
	for i := range b {
		n := i / 3
		for range 64 {
			near = append(near, 0.25+float64(g.IntN(5))/16)
		}
		pose := looking(i%3, 1, [3]float64{1. / 32, 1. / 32, 1. / 32})
		for k := range pose[:12] {
			pose[k] += units(n, []int{-24, -29}[k%4/3])
		}
		poses = append(poses, pose...)
		cameras = append(cameras, 8+units(n, -20), 8+units(n, -20), -0.5+units(n, -25), -0.5+units(n, -25))
	}
	s.run(t, &integrating{title: "pixels' edges", depth: vals(tensor.F32, near, b, 8, 8), m: 99, poses: vals(tensor.F32, poses, b, 4, 4),
		intrinsics: vals(tensor.F32, cameras, b, 4), opts: ops.IntegrateOptions{Voxel: 1. / 16}}, layouts[1])
}

// integrateLarge tests volumes with as many blocks as threads pass through at once on a device with one multiprocessor, or more: a new block
// that has its key in the first unused place too, and a last block that is not new.
func (s *suite) integrateLarge(t *testing.T) {
	c := &integrating{title: "a key in an unused place", depth: vals(tensor.F32, []float64{0.75}, 1, 1, 1), m: 1300, intrinsics: vals(tensor.F32, []float64{4, 4, 0, 0}, 4),
		poses: vals(tensor.F32, looking(2, 1, [3]float64{3.75, 3.75, 3}), 4, 4), opts: ops.IntegrateOptions{Voxel: 1. / 16, Truncation: 1. / 16}}
	for i := range 1024 {
		c.known = append(c.known, [3]int{i, 0, 1 << 19}) // in no image
	}
	s.run(t, c, layouts[0])
	after := c.after(1)
	require.Equal(t, []uint64{1025, 1, 0}, after["State"].raw)
	require.Equal(t, []uint64{begun, begun, begun}, after["Keys"].raw[3*1024:3*1025])
	last := *c
	last.title = "a block that is known"
	for i := range 200 {
		last.known = append(last.known, [3]int{i, 1, 1 << 19})
	}
	last.known = append(last.known, [3]int{begun, begun, begun})
	s.run(t, &last, layouts[0])
	require.Equal(t, []uint64{1225, 1, 0}, last.after(1)["State"].raw)
}
