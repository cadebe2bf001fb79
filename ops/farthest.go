package ops

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// MaxFarthest is the largest number of points that [Device.FarthestPoints] chooses in a row.
const MaxFarthest = backend.MaxFarthest

// FarthestArgs has the tensors for [Device.FarthestPoints]. The output comes first. B is the number of rows, N of points
// in a row, and K of points to choose.
type FarthestArgs struct {
	// Indices [B,K] i64 has the index of each chosen point in its row, in the order of choice.
	Indices *tensor.Tensor
	// Points [B,N,3] f32, with N at least K. The first two dimensions may be strided, so Points can be columns of a
	// tensor [B,N,3+F].
	Points *tensor.Tensor
}

// FarthestOptions are the options of [Device.FarthestPoints]. The zero value begins with point 0.
type FarthestOptions struct {
	// Seed, if it is not 0, chooses each row's first point: floor(u * N / 2^32), where u is the row's round key 0 of
	// Seed on lane 2^34 + row, from [DrawOptions.Window].
	Seed uint64
}

// FarthestPoints chooses points that are far apart, and returns when the indices are ready: after the first point,
// always the one with the greatest distance to its nearest chosen point; of several, the one with the lowest index. The
// choice is exact. Distances are squares in float32, (dx*dx + dy*dy) + dz*dz, each step rounded.
//
// A point that is not finite is never chosen. If it is the first, the next finite one is, and after the last point
// comes point 0. If all finite points are chosen, the lowest of them is chosen again. The indices of a row without
// finite points are -1.
//
// Tensors may be on the host or on the device; host tensors are copied to a GPU and back. Every backend gives the same
// indices. The error is an [*ArgError] for a wrong argument.
func (d *Device) FarthestPoints(ctx context.Context, args FarthestArgs, opts FarthestOptions) error {
	if err := d.begin(ctx, "FarthestPoints"); err != nil {
		return err
	}
	s := staging{ctx: ctx, d: d}
	return s.end(s.farthest(args, opts), nil, nil)
}

func (s *staging) farthest(a FarthestArgs, o FarthestOptions) error {
	if _, err := newFarthestJob(&checker{op: "FarthestPoints", device: s.d.home(), mixed: true}, a, o); err != nil {
		return err
	}
	a = FarthestArgs{Indices: s.out(a.Indices), Points: s.in(a.Points)}
	if s.err != nil {
		return nil // close returns s.err
	}
	plan, err := s.d.PlanFarthestPoints(a, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}

// PlanFarthestPoints binds FarthestPoints to tensors on the device ("host" tensors for the CPU). Each run reads Points
// anew, also in a captured graph. On a GPU a plan of few large rows has K+1 launches. Each plan holds 4 bytes per point
// until it is closed. It keeps references to the tensors, so they must stay open as long as it is run.
func (d *Device) PlanFarthestPoints(args FarthestArgs, opts FarthestOptions) (*Plan, error) {
	job := func(c *checker) (*backend.FarthestJob, error) { return newFarthestJob(c, args, opts) }
	return bound(d, &checker{op: "FarthestPoints"}, job, backend.FarthestChooser.FarthestPoints)
}

// newFarthestJob validates the arguments against tensors on the given device.
func newFarthestJob(c *checker, a FarthestArgs, o FarthestOptions) (*backend.FarthestJob, error) {
	j := &backend.FarthestJob{FarthestTensors: backend.FarthestTensors(a), Seed: o.Seed}
	if c.tensor("Points", a.Points) {
		c.dtype("Points", a.Points, tensor.F32)
		if shape := a.Points.Shape(); c.err == nil && (len(shape) != 3 || shape[2] != 3) {
			c.set("Points", ErrShape, tensor.FormatShape(shape), "[B,N,3]")
		}
		c.lastContiguous("Points", a.Points)
	}
	if c.err == nil {
		j.B, j.N = a.Points.Dim(0), a.Points.Dim(1)
		c.limit("Points", j.N)
	}
	if c.tensor("Indices", a.Indices) {
		switch shape := a.Indices.Shape(); {
		case len(shape) != 2 || shape[0] != j.B || shape[1] > j.N:
			c.set("Indices", ErrShape, tensor.FormatShape(shape), fmt.Sprintf("[%d,K], K at most %d", j.B, j.N))
		case shape[1] > MaxFarthest:
			c.set("Indices", ErrTooLarge, fmt.Sprint(shape[1]), fmt.Sprintf("at most %d points", MaxFarthest))
		default:
			j.K = shape[1]
			c.result("Indices", a.Indices, tensor.I64, &[]*tensor.Tensor{a.Points}, shape...)
		}
	}
	return j, c.err
}
