package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// finite calls use for each finite point.
func (c *cloud) finite(use func(i int, p [3]float64)) error {
	data, err := tensor.Floats(c.points)
	if err != nil {
		return err
	}
	for i := range c.points.Dim(0) {
		if p := [3]float64(data[3*i:]); p[0]-p[0] == 0 && p[1]-p[1] == 0 && p[2]-p[2] == 0 { // false for NaN and infinity
			use(i, p)
		}
	}
	return nil
}

// bounds returns the least and greatest coordinates of the finite points. ok is false if there are none.
func (c *cloud) bounds() (lo, hi [3]float64, ok bool) {
	return (&dataset.Cloud{Points: c.points}).Bounds()
}

// strays has the number and the bounds of points far from the others.
type strays struct {
	count, of int
	farthest  int // index of the farthest stray
	at        [3]float64
	lo, hi    [3]float64 // bounds of the other points
}

// aStray is a stray's least distance from the middle, in median distances.
const aStray = 100

// few reports whether there are strays, but no more than a tenth of the points.
func (s strays) few() bool { return s.count > 0 && s.count <= max(s.of/10, 1) }

func (c *cloud) strays() (s strays, err error) {
	var axes [3][]float64
	err = c.finite(func(_ int, p [3]float64) {
		for k, v := range p {
			axes[k] = append(axes[k], v)
		}
	})
	if err != nil || len(axes[0]) == 0 {
		return s, err
	}
	var middle [3]float64
	for k, values := range axes {
		slices.Sort(values)
		middle[k] = values[(len(values)-1)/2]
	}
	distance := func(p [3]float64) float64 {
		return max(math.Abs(p[0]-middle[0]), math.Abs(p[1]-middle[1]), math.Abs(p[2]-middle[2]))
	}
	distances := axes[0][:0] // reuses the memory
	if err = c.finite(func(_ int, p [3]float64) { distances = append(distances, distance(p)) }); err != nil {
		return s, err
	}
	slices.Sort(distances)
	s.of = len(distances)
	near, far := aStray*distances[len(distances)/2], -1.0
	s.lo, s.hi = middle, middle
	err = c.finite(func(i int, p [3]float64) {
		d := distance(p)
		if d <= near {
			for k, v := range p {
				s.lo[k], s.hi[k] = min(s.lo[k], v), max(s.hi[k], v)
			}
			return
		}
		s.count++
		if d > far {
			far, s.farthest, s.at = d, i, p
		}
	})
	return s, err
}

// err returns the *inputError for a grid that is too large because of strays.
func (s strays) err(path string) error {
	got := fmt.Sprintf("point %d at %s", s.farthest, shortVec(s.at))
	if s.count > 1 {
		got += fmt.Sprintf(", the farthest of %d", s.count)
	}
	want := fmt.Sprintf("--min and --max, or points nearer to the others, which lie from %s to %s", shortVec(s.lo), shortVec(s.hi))
	return &inputError{Path: path, Msg: "a grid around all points is too large", Got: got, Want: want}
}

// forOpen3D converts the points and features to f64 and puts the points before the features.
func (c *cloud) forOpen3D() error {
	n, width := c.points.Dim(0), 3
	columns := []*tensor.Tensor{c.points}
	if c.features != nil {
		columns = append(columns, c.features)
		width += c.features.Dim(1)
	}
	both, at := make([]float64, n*width), 0
	for _, t := range columns {
		data, err := tensor.Floats(t)
		if err != nil {
			return err
		}
		for i := range n {
			copy(both[i*width+at:], data[i*t.Dim(1):][:t.Dim(1)])
		}
		at += t.Dim(1)
	}
	c.names = append([]string{"x", "y", "z"}, c.names...)
	var err error
	if c.features, err = tensor.Of(both, n, width); err != nil {
		return err
	}
	c.points, err = c.features.Slice(1, 0, 3)
	return err
}
