package dataset

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// Cloud is a set of N points, with what was measured at each.
type Cloud struct {
	Points   *tensor.Tensor // [N,3] f32: x, y, z in the file's unit, as a rule metres
	Features *tensor.Tensor // [N,F] f32, also where F is 0
	Columns  []Column       // [F]
	// An organised cloud has Height rows of Width points, as a depth camera's image has; any other has one row.
	Width, Height int
	Viewpoint     Viewpoint // as recorded; no point is moved by it
	NotFinite     int       // points with a coordinate that is NaN or infinite; they are kept
	Inexact       int       // values of the file that f32 could not hold: rounded to nearest even
	LeftOut       []LeftOut // what the file holds that a cloud has no place for
	Trailing      int64     // bytes after the last point that the format does not explain, white space apart
}

// Viewpoint is where a cloud was seen from: a position in the cloud's unit, and a quaternion in the order w, x, y, z.
type Viewpoint struct {
	Position    [3]float64
	Orientation [4]float64
}

// Identity is the viewpoint of a file that names none.
var Identity = Viewpoint{Orientation: [4]float64{1, 0, 0, 0}}

// LeftOut is content that a reader knows and passes over, such as a mesh's faces.
type LeftOut struct {
	Name  string
	Count int
}

// CloudError says why a Cloud is none.
type CloudError struct {
	Arg       string // the field of Cloud
	Got, Want string
}

func (e *CloudError) Error() string {
	return "dataset: cloud: " + e.Arg + ": got " + e.Got + ", want " + e.Want
}

// NewCloud returns a cloud in one row over points, three numbers each, and features, one number a column and point. It keeps
// the slices. Lengths that disagree are a *CloudError.
func NewCloud(points, features []float32, columns []Column) (*Cloud, error) {
	n, f := len(points)/3, len(columns)
	if len(points) != 3*n {
		return nil, &CloudError{"Points", fmt.Sprintf("%d numbers", len(points)), "three a point"}
	}
	if len(features) != n*f {
		return nil, &CloudError{"Features", fmt.Sprintf("%d numbers", len(features)), fmt.Sprintf("%d, for %d points of %d columns", n*f, n, f)}
	}
	c := &Cloud{Columns: columns, Width: n, Height: 1, Viewpoint: Identity}
	var err error
	if c.Points, err = tensor.Of(points, n, 3); err != nil {
		return nil, err
	}
	if c.Features, err = tensor.Of(features, n, f); err != nil {
		return nil, err
	}
	for i := range n {
		if !finite(points[3*i : 3*i+3]) {
			c.NotFinite++
		}
	}
	return c, nil
}

// Len returns the number of points.
func (c *Cloud) Len() int { return c.Points.Dim(0) }

// Column returns the index of a feature, or -1.
func (c *Cloud) Column(name string) int {
	for i, col := range c.Columns {
		if col.Name == name {
			return i
		}
	}
	return -1
}

// Names returns the features' names.
func (c *Cloud) Names() []string {
	names := make([]string, len(c.Columns))
	for i, col := range c.Columns {
		names[i] = col.Name
	}
	return names
}

// Check returns a *CloudError unless the fields go together, as a writer needs them: Points [N,3] and Features [N,F] of f32
// on the host, F columns of different names, and Width*Height = N.
func (c *Cloud) Check() error {
	for _, a := range []struct {
		name string
		t    *tensor.Tensor
	}{{"Points", c.Points}, {"Features", c.Features}} {
		if a.t == nil || a.t.DType() != tensor.F32 || a.t.Rank() != 2 || !a.t.OnHost() {
			return &CloudError{a.name, fmt.Sprint(a.t), "f32 of rank 2 on the host"}
		}
	}
	n := c.Points.Dim(0)
	switch {
	case c.Points.Dim(1) != 3:
		return &CloudError{"Points", fmt.Sprint(c.Points), "[N,3]"}
	case c.Features.Dim(0) != n || c.Features.Dim(1) != len(c.Columns):
		return &CloudError{"Features", fmt.Sprint(c.Features), fmt.Sprintf("[%d,%d], a row a point and a number a column", n, len(c.Columns))}
	case c.Width < 0 || c.Height < 0 || c.Width > 0 && (n%c.Width != 0 || n/c.Width != c.Height) || c.Width == 0 && n > 0:
		return &CloudError{"Width, Height", fmt.Sprintf("%d x %d", c.Width, c.Height), fmt.Sprintf("%d points in all", n)}
	}
	seen := map[string]bool{"x": true, "y": true, "z": true}
	for _, col := range c.Columns {
		if seen[col.Name] {
			return &CloudError{"Columns", fmt.Sprintf("%q twice", col.Name), "each name once, none of them x, y or z"}
		}
		seen[col.Name] = true
	}
	return nil
}

// Bounds returns the least and greatest coordinates of the points that are finite, and false if there are none.
func (c *Cloud) Bounds() (lo, hi [3]float32, ok bool) {
	t, err := c.Points.Contiguous()
	if err != nil {
		return lo, hi, false
	}
	p, err := tensor.Data[float32](t)
	if err != nil {
		return lo, hi, false
	}
	for i := 0; i+3 <= len(p); i += 3 {
		q := p[i : i+3]
		if !finite(q) {
			continue
		}
		if !ok {
			lo, hi, ok = [3]float32(q), [3]float32(q), true
		}
		for k, v := range q {
			lo[k], hi[k] = min(lo[k], v), max(hi[k], v)
		}
	}
	return lo, hi, ok
}

func finite(p []float32) bool {
	for _, v := range p {
		if v-v != 0 { // NaN and infinities
			return false
		}
	}
	return true
}
