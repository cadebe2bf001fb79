package dataset

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// Cloud is a set of N points with F features per point.
type Cloud struct {
	Points   *tensor.Tensor // [N,3] f32, or f64 if the file has a coordinate as double; in the file's unit, usually metres
	Features *tensor.Tensor // [N,F] f32, or f64 if the file has a feature as double; not nil even if F is 0
	Columns  []Column       // [F]
	// An organised cloud, such as a depth image, has Height rows of Width points. Any other cloud has one row.
	Width, Height int
	Viewpoint     Viewpoint // as recorded; the points are not moved by it
	NotFinite     int       // points with a NaN or infinite coordinate; they are kept
	Inexact       int       // values that the tensors cannot hold exactly; they are rounded to nearest even
	Notes         Notes     // content that is not points, and points lost to damage
	Trailing      int64     // unexplained bytes after the last point, without white space
}

// Viewpoint is the sensor's pose: a position in the cloud's unit, and a quaternion in the order w, x, y, z.
type Viewpoint struct {
	Position    [3]float64
	Orientation [4]float64
}

// Identity is the viewpoint in files without one.
var Identity = Viewpoint{Orientation: [4]float64{1, 0, 0, 0}}

// CloudError reports an invalid Cloud.
type CloudError struct {
	Arg       string // the field of Cloud
	Kind      error  // one of this package's Err values
	Got, Want string
}

func (e *CloudError) Error() string {
	return "dataset: cloud: " + e.Arg + ": got " + e.Got + ", want " + e.Want
}

// Unwrap returns the kind.
func (e *CloudError) Unwrap() error { return e.Kind }

// NewCloud returns a cloud with one row from points, three numbers each, and features, one number per point and column. It keeps
// the slices. If the lengths disagree, the error is a *CloudError.
func NewCloud(points, features []float32, columns []Column) (*Cloud, error) {
	n, f := len(points)/3, len(columns)
	if len(points) != 3*n {
		return nil, &CloudError{"Points", ErrShape, fmt.Sprintf("%d numbers", len(points)), "three a point"}
	}
	if len(features) != n*f {
		return nil, &CloudError{"Features", ErrShape, fmt.Sprintf("%d numbers", len(features)), fmt.Sprintf("%d, for %d points of %d columns", n*f, n, f)}
	}
	p, err := tensor.Of(points, n, 3)
	if err != nil {
		return nil, err
	}
	q, err := tensor.Of(features, n, f)
	if err != nil {
		return nil, err
	}
	return CloudOf(p, q, columns)
}

// CloudOf returns a cloud with one row from points [N,3] and features [N,F], f32 or f64 on the host. It keeps the tensors. If the
// shapes disagree, the error is a *CloudError.
func CloudOf(points, features *tensor.Tensor, columns []Column) (*Cloud, error) {
	c := &Cloud{Points: points, Features: features, Columns: columns, Height: 1, Viewpoint: Identity}
	if points != nil && points.Rank() == 2 {
		c.Width = points.Dim(0)
	}
	if err := c.tensors(); err != nil {
		return nil, err
	}
	_, err := c.finite(func([3]float64) {})
	return c, err
}

// Len returns the number of points.
func (c *Cloud) Len() int { return c.Points.Dim(0) }

// Column returns the index of a feature, or -1.
func (c *Cloud) Column(name string) int { return columnNamed(c.Columns, name) }

// Names returns the features' names.
func (c *Cloud) Names() []string { return columnNames(c.Columns) }

// Check returns a *CloudError unless the fields fit each other: Points [N,3] and Features [N,F], each f32 or f64 on the host, F
// columns with different names, and Width*Height = N. Writers require this.
func (c *Cloud) Check() error {
	if err := c.tensors(); err != nil {
		return err
	}
	if n := c.Points.Dim(0); c.Width < 0 || c.Height < 0 || c.Width > 0 && (n%c.Width != 0 || n/c.Width != c.Height) || c.Width == 0 && n > 0 {
		return &CloudError{"Width, Height", ErrShape, fmt.Sprintf("%d x %d", c.Width, c.Height), fmt.Sprintf("%d points in all", n)}
	}
	seen := map[string]bool{"x": true, "y": true, "z": true}
	for _, col := range c.Columns {
		if seen[col.Name] {
			return &CloudError{"Columns", ErrOption, fmt.Sprintf("%q twice", col.Name), "each name once, none of them x, y or z"}
		}
		seen[col.Name] = true
	}
	return nil
}

// tensors checks Points and Features, and the number of columns.
func (c *Cloud) tensors() error {
	for _, a := range []struct {
		name string
		t    *tensor.Tensor
	}{{"Points", c.Points}, {"Features", c.Features}} {
		var kind error
		switch {
		case a.t == nil:
			kind = ErrMissing
		case a.t.DType() != tensor.F32 && a.t.DType() != tensor.F64:
			kind = ErrDType
		case a.t.Rank() != 2:
			kind = ErrShape
		case !a.t.OnHost():
			kind = ErrWrongDevice
		default:
			continue
		}
		return &CloudError{a.name, kind, fmt.Sprint(a.t), "f32 or f64 of rank 2 on the host"}
	}
	n := c.Points.Dim(0)
	switch {
	case c.Points.Dim(1) != 3:
		return &CloudError{"Points", ErrShape, fmt.Sprint(c.Points), "[N,3]"}
	case c.Features.Dim(0) != n || c.Features.Dim(1) != len(c.Columns):
		return &CloudError{"Features", ErrShape, fmt.Sprint(c.Features), fmt.Sprintf("[%d,%d], a row a point and a number a column", n, len(c.Columns))}
	}
	return nil
}

// Bounds returns the smallest and largest coordinates over finite points, and false if no point is finite.
func (c *Cloud) Bounds() (lo, hi [3]float64, ok bool) {
	n, err := c.finite(func(p [3]float64) {
		if !ok {
			lo, hi, ok = p, p, true
		}
		for k, v := range p {
			lo[k], hi[k] = min(lo[k], v), max(hi[k], v)
		}
	})
	return lo, hi, n > 0 && err == nil
}

// finite calls use for each finite point, sets NotFinite, and returns the number of finite points.
func (c *Cloud) finite(use func(p [3]float64)) (n int, err error) {
	if c.Points.DType() == tensor.F64 {
		n, err = finite[float64](c.Points, use)
	} else {
		n, err = finite[float32](c.Points, use)
	}
	c.NotFinite = c.Len() - n
	return n, err
}

func finite[T float32 | float64](points *tensor.Tensor, use func(p [3]float64)) (n int, err error) {
	data, err := tensor.Elements[T](points)
	if err != nil {
		return 0, err
	}
	for i := range points.Dim(0) {
		at := i * points.Stride(0)
		p := [3]float64{float64(data[at]), float64(data[at+points.Stride(1)]), float64(data[at+2*points.Stride(1)])}
		if p[0]-p[0] == 0 && p[1]-p[1] == 0 && p[2]-p[2] == 0 { // neither NaN nor infinite
			n++
			use(p)
		}
	}
	return n, nil
}
