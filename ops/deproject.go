package ops

import (
	"context"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// DeprojectArgs has the tensors for [Device.Deproject]. The outputs come first. B is the number of images, with H rows
// and W columns.
//
// With Offsets the points are compact: those of valid pixels alone, in row-major order, one image after the other.
// Points and Colors are then [N,3], where N is the number of points that fit. What follows the last point is not
// written. Example: points.Slice(0, 0, offsets[B]) can be the points of [VoxelizeArgs], with the same Offsets.
type DeprojectArgs struct {
	// Points [B,H,W,3] f32 has x, y and z for each pixel in metres: NaN if the depth is invalid. With Offsets it is
	// [N,3].
	Points *tensor.Tensor
	// Offsets [B+1] i64, optional, has the index of each image's first point, and last the number of all points. If that
	// is more than N, the points from N on are missing.
	Offsets *tensor.Tensor
	// Colors [N,3] u8, optional, has the color of each point. It requires Offsets.
	Colors *tensor.Tensor
	// Mask [B,H,W] u8, optional, is 1 if the depth is valid, else 0.
	Mask *tensor.Tensor
	// Counts [B,3] i64, optional, has the number of pixels for each image: valid; without a depth (0, NaN or infinite);
	// out of range, which means not from Near to Far.
	Counts *tensor.Tensor
	// Depth [B,H,W] f32 is the depth along the camera's axis. [B,H,W,2] u8 has 16-bit numbers, low byte first, such as
	// millimetres. The first two dimensions may be strided.
	Depth *tensor.Tensor
	// Intrinsics [4] or [B,4] f32 has fx, fy, cx and cy in pixels. Pixel centres are at integers, as in OpenCV and ROS.
	Intrinsics *tensor.Tensor
	// Poses [4,4] or [B,4,4] f32, optional, transforms points as [VoxelizeArgs].Poses does, for example from the camera
	// to the world.
	Poses *tensor.Tensor
	// Color [B,H,W,3] u8 has red, green and blue for each pixel of Depth. It is required with Colors. The first two
	// dimensions may be strided.
	Color *tensor.Tensor
}

// DeprojectOptions are the options of [Device.Deproject]. The zero value takes 16-bit depths as millimetres, f32 depths
// as metres, and all distances.
type DeprojectOptions struct {
	// Scale is the number of metres per unit of Depth. 0 means 0.001 for 16-bit depths and 1 for f32.
	Scale float64
	// Near and Far are the smallest and the greatest valid depths in metres. If Far is 0, there is no greatest.
	Near, Far float64
}

// Deproject turns depth images into points, and returns when they are ready. For column u and row v, in float32 and
// each step rounded:
//
//	z = depth * Scale, x = ((u - cx) * z) / fx, y = ((v - cy) * z) / fy
//
// Tensors may be on the host or on the device; host tensors are copied to a GPU and back. Every backend gives the same
// bits. The error is an [*ArgError] for a wrong argument. Its kind is [ErrFull] if Points has no place for all compact
// points: those that fit are written, and Offsets[B] is the number that is needed.
func (d *Device) Deproject(ctx context.Context, args DeprojectArgs, opts DeprojectOptions) error {
	if err := d.begin(ctx, "Deproject"); err != nil {
		return err
	}
	s := staging{ctx: ctx, d: d}
	if err := s.end(s.deproject(args, opts), nil, nil); err != nil || args.Offsets == nil {
		return err
	}
	b, found := args.Offsets.Dim(0)-1, []int64{0}
	end, err := args.Offsets.Slice(0, b, b+1)
	if err == nil {
		err = d.Copy(ctx, tensor.Must(tensor.Of(found, 1)), end)
	}
	if n := args.Points.Dim(0); err == nil && found[0] > int64(n) {
		err = &ArgError{Op: "Deproject", Arg: "Points", Kind: ErrFull, Got: fmt.Sprintf("%d points", n), Want: fmt.Sprint(found[0])}
	}
	return err
}

func (s *staging) deproject(a DeprojectArgs, o DeprojectOptions) error {
	if _, err := newDeprojectJob(&checker{op: "Deproject", device: s.d.home(), mixed: true}, a, o); err != nil {
		return err
	}
	points := s.out
	if a.Offsets != nil {
		points = s.keep
	}
	a = DeprojectArgs{
		Points: points(a.Points), Offsets: s.out(a.Offsets), Colors: points(a.Colors), Mask: s.out(a.Mask), Counts: s.out(a.Counts),
		Depth: s.in(a.Depth), Intrinsics: s.in(a.Intrinsics), Poses: s.in(a.Poses), Color: s.in(a.Color),
	}
	if s.err != nil {
		return nil // close returns s.err
	}
	plan, err := s.d.PlanDeproject(a, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}

// PlanDeproject binds Deproject to tensors on the device ("host" tensors for the CPU). Each run reads the inputs anew,
// also in a captured graph. It reports points that do not fit only in Offsets. A plan for compact points holds an eighth
// of a byte for each pixel on a GPU, and 8 bytes for each row of an image on the CPU, until it is closed. The plan keeps
// references to the tensors, so they must stay open as long as it is run.
func (d *Device) PlanDeproject(args DeprojectArgs, opts DeprojectOptions) (*Plan, error) {
	job := func(c *checker) (*backend.DeprojectJob, error) { return newDeprojectJob(c, args, opts) }
	return bound(d, &checker{op: "Deproject"}, job, backend.Deprojector.Deproject)
}

// newDeprojectJob validates the arguments against tensors on the given device.
func newDeprojectJob(c *checker, a DeprojectArgs, o DeprojectOptions) (*backend.DeprojectJob, error) {
	j := &backend.DeprojectJob{DeprojectTensors: backend.DeprojectTensors(a)}
	if !c.depth(&j.DepthImages, a.Depth, o.Scale, o.Near, o.Far) {
		return nil, c.err
	}
	c.cameras(&j.DepthImages, a.Intrinsics, a.Poses)
	c.colors("Colors", a.Colors, "Color", a.Color, &j.DepthImages)
	others := []*tensor.Tensor{a.Depth, a.Intrinsics, a.Poses, a.Color}
	if a.Offsets == nil {
		c.absent("Colors", a.Colors, "nil without Offsets")
		c.result("Points", a.Points, tensor.F32, &others, j.B, j.H, j.W, 3)
	} else {
		n := c.length("Points", a.Points, "N")
		c.result("Points", a.Points, tensor.F32, &others, n, 3)
		c.result("Offsets", a.Offsets, tensor.I64, &others, j.B+1)
		if a.Colors != nil {
			c.result("Colors", a.Colors, tensor.U8, &others, n, 3)
		}
	}
	if a.Mask != nil {
		c.result("Mask", a.Mask, tensor.U8, &others, j.B, j.H, j.W)
	}
	if a.Counts != nil {
		c.result("Counts", a.Counts, tensor.I64, &others, j.B, 3)
	}
	return j, c.err
}

// depth checks depth images with their options, and sets their description. It returns true if there is no error so far.
func (c *checker) depth(j *backend.DepthImages, t *tensor.Tensor, scale, near, far float64) bool {
	if !c.tensor("Depth", t) {
		return false
	}
	c.dtype("Depth", t, tensor.F32, tensor.U8)
	j.Words = t.DType() == tensor.U8
	if shape := t.Shape(); c.err == nil {
		switch {
		case j.Words && (len(shape) != 4 || shape[3] != 2):
			c.set("Depth", ErrShape, tensor.FormatShape(shape), "[B,H,W,2], the bytes of 16-bit numbers")
		case !j.Words && len(shape) != 3:
			c.set("Depth", ErrShape, tensor.FormatShape(shape), "[B,H,W]")
		case j.Words && t.Stride(2) != 2 && shape[2] > 1:
			c.set("Depth", ErrStride, fmt.Sprintf("stride %d from a pixel to the next", t.Stride(2)), "2")
		}
	}
	c.lastContiguous("Depth", t)
	if c.err != nil {
		return false
	}
	j.B, j.H, j.W = t.Dim(0), t.Dim(1), t.Dim(2)
	c.limit("Depth", j.H*j.W)
	if scale == 0 && j.Words {
		scale = 0.001
	} else if scale == 0 {
		scale = 1
	}
	if far == 0 {
		far = math.MaxFloat32
	}
	j.Scale, j.Near, j.Far = float32(scale), float32(near), float32(min(far, math.MaxFloat32))
	switch {
	case !(j.Scale > 0 && j.Scale <= math.MaxFloat32):
		c.set("Options.Scale", ErrOption, fmt.Sprint(scale), "a positive float32")
	case !(near >= 0):
		c.set("Options.Near", ErrOption, fmt.Sprint(near), "0 or more")
	case !(far >= near):
		c.set("Options.Far", ErrOption, fmt.Sprint(far), fmt.Sprintf("at least Near, %v", near))
	}
	return c.err == nil
}

// cameras checks the intrinsics and the poses, which may be nil, of depth images.
func (c *checker) cameras(j *backend.DepthImages, intrinsics, poses *tensor.Tensor) {
	if c.tensor("Intrinsics", intrinsics) {
		c.dtype("Intrinsics", intrinsics, tensor.F32)
		j.IntrinsicsStep = c.perRow("Intrinsics", intrinsics, j.B, 4)
	}
	if poses != nil && c.tensor("Poses", poses) {
		c.dtype("Poses", poses, tensor.F32)
		j.PoseStep = c.perRow("Poses", poses, j.B, 4, 4)
	}
}

// colors checks the colors of depth images, which are required exactly if an output of colors is given.
func (c *checker) colors(out string, to *tensor.Tensor, in string, t *tensor.Tensor, j *backend.DepthImages) {
	if to == nil {
		c.absent(in, t, "nil without "+out)
	} else if c.tensor(in, t) {
		c.dtype(in, t, tensor.U8)
		c.shape(in, t, j.B, j.H, j.W, 3)
		c.lastContiguous(in, t)
		if c.err == nil && j.W > 1 && t.Stride(2) != 3 {
			c.set(in, ErrStride, fmt.Sprintf("stride %d from a pixel to the next", t.Stride(2)), "3")
		}
	}
}
