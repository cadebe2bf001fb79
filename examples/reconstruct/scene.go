package main

import (
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

type vector [3]float64

func (a vector) plus(b vector, times float64) vector {
	return vector{a[0] + float64(times*b[0]), a[1] + float64(times*b[1]), a[2] + float64(times*b[2])}
}

func (a vector) length() float64 {
	return math.Sqrt(float64(a[0]*a[0]) + float64(a[1]*a[1]) + float64(a[2]*a[2]))
}

func (a vector) unit() vector { return vector{}.plus(a, 1/a.length()) }

func (a vector) cross(b vector) vector {
	return vector{float64(a[1]*b[2]) - float64(a[2]*b[1]), float64(a[2]*b[0]) - float64(a[0]*b[2]), float64(a[0]*b[1]) - float64(a[1]*b[0])}
}

// distance returns the signed distance to the scene in metres. z is up.
func distance(p vector) float64 {
	sphere := p.plus(vector{0, 0, 0.3}, -1).length() - 0.3
	q := vector{math.Abs(p[0]) - 0.6, math.Abs(p[1]-0.6) - 0.15, math.Abs(p[2]-0.35) - 0.35}
	box := vector{max(q[0], 0), max(q[1], 0), max(q[2], 0)}.length() + min(max(q[0], q[1], q[2]), 0)
	return min(p[2], sphere, box)
}

// millimetres returns the points' distances to the scene: the mean, the one that 95 % are below, and the largest.
func millimetres(points []float32) (mean, most, largest float64) {
	var list []float64
	sum := 0.0
	for p := range slices.Chunk(points, 3) {
		d := 1000 * math.Abs(distance(vector{float64(p[0]), float64(p[1]), float64(p[2])}))
		list, sum = append(list, d), sum+d
	}
	slices.Sort(list)
	n := len(list)
	return sum / float64(n), list[n*95/100], list[n-1]
}

// camera returns the pose of a camera that looks from eye to the sphere: x is right, y down and z forward.
func camera(eye vector) (pose [16]float32) {
	forward := vector{0, 0, 0.3}.plus(eye, -1).unit()
	right := forward.cross(vector{0, 0, 1}).unit()
	down := forward.cross(right)
	for i := range 3 {
		for k, axis := range []vector{right, down, forward, eye} {
			pose[4*i+k] = float32(axis[i])
		}
	}
	pose[15] = 1
	return pose
}

// intrinsics are fx, fy, cx and cy for images of width x height pixels.
var intrinsics = []float32{280, 280, 159.5, 119.5}

const width, height = 320, 240

// render returns the depth image [1,H,W] from a pose: 0 where nothing is nearer than 4 m.
func render(pose [16]float32) (*tensor.Tensor, error) {
	image := make([]float32, width*height)
	column := func(k int) vector { return vector{float64(pose[k]), float64(pose[4+k]), float64(pose[8+k])} }
	for i := range image {
		x, y := (float64(i%width)-159.5)/280, (float64(i/width)-119.5)/280
		ray := column(2).plus(column(0), x).plus(column(1), y)
		for z := 0.1; z < 4; { // sphere tracing
			d := distance(column(3).plus(ray, z))
			if d < 1e-6 {
				image[i] = float32(z)
				break
			}
			z += d / ray.length()
		}
	}
	return tensor.Of(image, 1, height, width)
}
