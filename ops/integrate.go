package ops

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Sizes of the blocks in a TSDF volume.
const (
	BlockEdge   = backend.BlockEdge   // voxels along an edge of a block
	BlockVoxels = backend.BlockVoxels // voxels in a block
)

// IntegrateArgs has the tensors for [Device.Integrate]. The volume comes first, which a run reads and changes. M is the
// number of blocks that fit it, B the number of images, with H rows and W columns.
//
// The volume is sparse. A block is a cube of 8x8x8 voxels, and the block with the coordinates (0, 0, 0) begins at the
// origin. Voxel (x, y, z) of a block has the index (z*8 + y)*8 + x. Its centre is (8*key + (x, y, z) + 0.5) * Voxel in
// metres.
type IntegrateArgs struct {
	// Keys [M,3] i32 has the coordinates x, y, z of each block in use, from -2^20 to 2^20 - 1.
	Keys *tensor.Tensor
	// Distance [M,512] f32 has the mean signed distance to the surface, in units of the truncation, from -1 (behind it)
	// to 1. It is 0 in a voxel without weight.
	Distance *tensor.Tensor
	// Weight [M,512] f32 has the sum of the weights, 0 if no image has shown the voxel.
	Weight *tensor.Tensor
	// Color [M,512,3] f32, optional, has the mean red, green and blue, from 0 to 255.
	Color *tensor.Tensor
	// State [3] i64 has the number of blocks in use, of images integrated, and of images refused. All three begin with 0.
	State *tensor.Tensor
	// Counts [B,4] i64, optional, is an output. It has for each image the number of pixels that are valid, of those
	// without a depth (0, NaN or infinite) and of those out of range, and the number of new blocks. Out of range means
	// not from Near to Far, or with a block outside the range of Keys. Refused images have no new blocks.
	Counts *tensor.Tensor

	// Depth [B,H,W] f32 or [B,H,W,2] u8 is as in [DeprojectArgs].
	Depth *tensor.Tensor
	// Intrinsics [4] or [B,4] f32 has fx, fy, cx and cy in pixels. Pixel centres are at integers.
	Intrinsics *tensor.Tensor
	// Poses [4,4] or [B,4,4] f32 transforms points from the camera to the world. Each is a rotation and a translation. At
	// 500 km from the origin, float32 has steps of 3 cm, so the world of far poses should have an origin near them.
	Poses *tensor.Tensor
	// Images [B,H,W,3] u8 has red, green and blue for each pixel of Depth. It is required with Color. The first two
	// dimensions may be strided.
	Images *tensor.Tensor
}

// IntegrateOptions are the options of [Device.Integrate]. The zero value of each but Voxel is its default.
type IntegrateOptions struct {
	// Voxel is the edge length of a voxel in metres.
	Voxel float64
	// Truncation is the greatest distance to the surface that a voxel records, in metres: from Voxel to 64 * Voxel. 0
	// means 4 * Voxel.
	Truncation float64
	// Scale, Near and Far are as in [DeprojectOptions].
	Scale, Near, Far float64
	// DepthWeight gives a depth z the weight 1/z^2, with z in metres, instead of 1.
	DepthWeight bool
	// MaxWeight limits the sum of the weights, so that a voxel can still change. 0 means no limit.
	MaxWeight float64
}

// Integrate fuses depth images into a volume of truncated signed distances (TSDF; Curless and Levoy 1996), and returns
// when it is done. Each step below is in float32 and rounded. m is the pose.
//
// First, blocks near the surface are added to the volume. A valid pixel (u, v) with the depth z has the direction
// d = (m0*rx + m1*ry) + m2 in each row of m, where rx = (u - cx) / fx and ry = (v - cy) / fy. Its ray has n + 1 samples,
// where n is the truncation in voxels, rounded up: for i from 0 to n, t = max((z - Truncation) + i * (2 * Truncation /
// n), 0), and the point is d*t + m3. The block of a point is floor(point * (1 / (8 * Voxel))). New blocks take the next
// places in the volume: those of the first image first, and those of one image in the order of x, y, z.
//
// Then each voxel of the volume is updated by each image, in order. An image does not change a block that a later image
// adds. With w for the voxel's centre minus the camera's position, the voxel's point in the camera is p = (m1*wy +
// m2*wz) + m0*wx in each column of m. If p.z is positive, its pixel is floor((fx*p.x)*(1/p.z) + cx + 0.5), likewise in
// y. If that has a valid depth z, the signed distance is s = z - p.z. If s is at least -Truncation, then with a the
// weight of z, at most MaxWeight:
//
//	r = a / (Weight + a)
//	Distance += (clamp(s * (1 / Truncation), -1, 1) - Distance) * r
//	Color += (image - Color) * r
//	Weight = min(Weight + a, MaxWeight)
//
// If the volume has too few blocks for all new blocks of a call, all images of the call are refused: the volume stays
// as it is, and State counts them. A volume with refused images refuses all others, so that none is integrated out of
// order. So a program that runs a plan many times can look at State later, set its third number to 0, and go on with the
// first refused image.
// Integrate returns an [*ArgError] with the kind [ErrFull]. [Volume] grows instead.
//
// Tensors may be on the host or on the device; host tensors are copied to a GPU and back. Every backend gives the same
// bits, and a call with several images those of a call for each. The error is an [*ArgError] for a wrong argument, or
// that of ctx if it has ended before the call; later the images are integrated as a whole.
func (d *Device) Integrate(ctx context.Context, args IntegrateArgs, opts IntegrateOptions) error {
	if err := d.begin(ctx, "Integrate"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	s := staging{ctx: ctx, d: d}
	if err := s.end(s.integrate(args, opts), nil, nil); err != nil {
		return err
	}
	var state [backend.VolumeWords]int64
	if err := d.Copy(ctx, tensor.Must(tensor.Of(state[:], len(state))), args.State); err != nil {
		return err
	}
	return refusal(args.Keys, state)
}

// refusal returns an error if State counts refused images.
func refusal(keys *tensor.Tensor, state [backend.VolumeWords]int64) error {
	if state[backend.VolumeRefused] == 0 {
		return nil
	}
	got := fmt.Sprintf("%d blocks, %d in use", keys.Dim(0), state[backend.VolumeBlocks])
	return &ArgError{Op: "Integrate", Arg: "Keys", Kind: ErrFull, Got: got, Want: "place for all new blocks"}
}

// images returns Counts and the images.
func (a *IntegrateArgs) images() [5]**tensor.Tensor {
	return [...]**tensor.Tensor{&a.Counts, &a.Depth, &a.Intrinsics, &a.Poses, &a.Images}
}

// close closes the tensors that are not nil.
func (a *IntegrateArgs) close() (err error) {
	for _, t := range []*tensor.Tensor{a.Keys, a.Distance, a.Weight, a.Color, a.State, a.Counts, a.Depth, a.Intrinsics, a.Poses, a.Images} {
		if t != nil {
			err = errors.Join(err, t.Close())
		}
	}
	return err
}

func (s *staging) integrate(a IntegrateArgs, o IntegrateOptions) error {
	if _, err := newIntegrateJob(&checker{op: "Integrate", device: s.d.home(), mixed: true}, a, o); err != nil {
		return err
	}
	a = IntegrateArgs{
		Keys: s.keep(a.Keys), Distance: s.keep(a.Distance), Weight: s.keep(a.Weight), Color: s.keep(a.Color), State: s.keep(a.State),
		Counts: s.out(a.Counts), Depth: s.in(a.Depth), Intrinsics: s.in(a.Intrinsics), Poses: s.in(a.Poses), Images: s.in(a.Images),
	}
	if s.err != nil {
		return nil // close returns s.err
	}
	plan, err := s.d.PlanIntegrate(a, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}

// PlanIntegrate binds Integrate to tensors on the device ("host" tensors for the CPU). Each run reads the images,
// intrinsics and poses anew, also in a captured graph, and continues from the volume. It reports refused images only in
// State. Each plan holds up to 60 bytes per block in the volume, at least 776, and 4 bytes per pixel until it is
// closed. A GPU compares each new block with all others in a run, so its time grows with their square. The plan keeps
// references to the tensors, so they must stay open as long as it is run.
func (d *Device) PlanIntegrate(args IntegrateArgs, opts IntegrateOptions) (*Plan, error) {
	job := func(c *checker) (*backend.IntegrateJob, error) { return newIntegrateJob(c, args, opts) }
	return bound(d, &checker{op: "Integrate"}, job, backend.Integrator.Integrate)
}

// newIntegrateJob validates the arguments against tensors on the given device.
func newIntegrateJob(c *checker, a IntegrateArgs, o IntegrateOptions) (*backend.IntegrateJob, error) {
	j := &backend.IntegrateJob{IntegrateTensors: backend.IntegrateTensors(a), DepthWeight: o.DepthWeight}
	if !c.depth(&j.DepthImages, a.Depth, o.Scale, o.Near, o.Far) {
		return nil, c.err
	}
	band, most := o.Truncation, o.MaxWeight
	if band == 0 {
		band = 4 * o.Voxel
	}
	if most == 0 {
		most = math.MaxFloat32
	}
	j.Voxel, j.Truncation, j.MaxWeight = float32(o.Voxel), float32(band), float32(min(most, math.MaxFloat32))
	switch {
	case !(o.Voxel >= 1e-9 && o.Voxel <= 1<<20): // a block's size and its inverse are float32 too
		c.set("Options.Voxel", ErrOption, fmt.Sprint(o.Voxel), "from 1e-9 to 2^20 metres")
	case !(band >= o.Voxel && band <= backend.MaxRaySteps*o.Voxel):
		c.set("Options.Truncation", ErrOption, fmt.Sprint(o.Truncation), fmt.Sprintf("from 1 to %d voxels of %v m", backend.MaxRaySteps, o.Voxel))
	case !(j.MaxWeight > 0):
		c.set("Options.MaxWeight", ErrOption, fmt.Sprint(o.MaxWeight), "a positive float32")
	}
	c.cameras(&j.DepthImages, a.Intrinsics, a.Poses)
	c.tensor("Poses", a.Poses)
	c.colors("Color", a.Color, "Images", a.Images, &j.DepthImages)
	j.M = c.length("Keys", a.Keys, "M")
	c.limit("Keys", j.M)
	others := []*tensor.Tensor{a.Depth, a.Intrinsics, a.Poses, a.Images}
	c.result("Keys", a.Keys, tensor.I32, &others, j.M, 3)
	c.result("Distance", a.Distance, tensor.F32, &others, j.M, BlockVoxels)
	c.result("Weight", a.Weight, tensor.F32, &others, j.M, BlockVoxels)
	if a.Color != nil {
		c.result("Color", a.Color, tensor.F32, &others, j.M, BlockVoxels, 3)
	}
	c.result("State", a.State, tensor.I64, &others, backend.VolumeWords)
	if a.Counts != nil {
		c.result("Counts", a.Counts, tensor.I64, &others, j.B, backend.CountWords)
	}
	if c.err == nil {
		j.Derive()
	}
	return j, c.err
}
