package surface

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/errs"
	"github.com/robocache/robocache/tensor"
)

// The kinds of *Error, for errors.Is. Other packages' errors with the same meaning have the same values.
var (
	ErrShape    error = errs.Shape
	ErrOption   error = errs.Option
	ErrTooLarge error = errs.TooLarge
)

// Error reports an invalid field in a Volume.
type Error struct {
	Arg       string // the field
	Kind      error  // one Err value from this package
	Got, Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("surface: %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Volume is a truncated signed distance field: M blocks with 512 voxels each. In a block, voxel i = (z*8+y)*8+x has its centre
// at (8*key + (x,y,z) + 0.5) * Size.
type Volume struct {
	Keys     [][3]int32 // [M]: the block's coordinates x, y and z; each block once
	Distance []float32  // [M,512] in units of the truncation; a voxel whose distance is NaN or infinite was never seen
	Weight   []float32  // [M,512]; 0 if the voxel was never seen
	Color    []float32  // [M,512,3], optional: red, green and blue, 0 to 255
	Size     float64    // a voxel's edge in metres
}

// Surface is points on a surface, and the triangles between them. The points are ordered by block (x, then y, then z), voxel
// and axis. A voxel with the distance 0 is one point, which comes after those on its axes. Where the surface touches itself in such
// points, more than two triangles may share a side.
type Surface struct {
	Points    []float32  // [V,3] in metres
	Normals   []float32  // [V,3] unit vectors along the slope of the distance; on a part thinner than two voxels they may differ from the triangles
	Colors    []uint8    // [V,3]: red, green and blue; nil if the volume has no colours
	Triangles [][3]int32 // point indices, anticlockwise if seen from the side with positive distances; nil from Points
}

// Cloud returns the points with the features nx, ny, nz and, if there are colours, red, green and blue.
func (s *Surface) Cloud() (*dataset.Cloud, error) {
	columns := []dataset.Column{{Name: "nx"}, {Name: "ny"}, {Name: "nz"}}
	if s.Colors != nil {
		for _, name := range []string{"red", "green", "blue"} {
			columns = append(columns, dataset.Column{Name: name, Type: "uchar", Integer: true})
		}
	}
	features := make([]float32, 0, len(s.Points)/3*len(columns))
	for i := 0; i < len(s.Points); i += 3 {
		features = append(features, s.Normals[i:i+3]...)
		if s.Colors != nil {
			features = append(features, tensor.Cast[float32](s.Colors[i:i+3])...)
		}
	}
	return dataset.NewCloud(s.Points, features, columns)
}

// check returns the first invalid field.
func (v *Volume) check() error {
	m := len(v.Keys)
	for _, a := range []struct {
		name      string
		got, want int
	}{{"Distance", len(v.Distance), voxels * m}, {"Weight", len(v.Weight), voxels * m}, {"Color", len(v.Color), 3 * voxels * m}} {
		if a.got != a.want && !(a.name == "Color" && v.Color == nil) {
			return &Error{a.name, ErrShape, fmt.Sprintf("%d numbers", a.got), fmt.Sprintf("%d, for %d blocks", a.want, m)}
		}
	}
	if !(v.Size > 0 && v.Size <= 1<<20) { // so that all points are float32
		return &Error{"Size", ErrOption, fmt.Sprint(v.Size), "above 0 and at most 2^20"}
	}
	return nil
}

// Mesh returns the surface as triangles. Each point belongs to a triangle. The error is an *Error if a field is invalid.
func (v Volume) Mesh() (*Surface, error) { return v.surface(true) }

// Points returns one point for each two neighbouring voxels that were seen, if one distance is negative and one is not. The error is an *Error if a field is invalid.
func (v Volume) Points() (*Surface, error) { return v.surface(false) }
