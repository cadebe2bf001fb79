package ops

import (
	"context"
	"slices"

	"github.com/robocache/robocache/ops/backend"
)

// Frames turns decoded pictures into a batch of images, in one launch for pictures of any sizes: the colour rule, a
// crop, resizing, a window, flips, jitter and normalisation, as [FramesOptions] describes. It returns when the batch is
// ready. Tensors may be on the host or on the device; host tensors are copied to a GPU and back. Every backend gives the
// same bits.
//
// The error is an [*ArgError] for a wrong argument, and a [*ValueError] if Select has a number that is no picture
// and Valid is nil. Dst is then unspecified.
func (d *Device) Frames(ctx context.Context, args FramesArgs, opts FramesOptions) error {
	if err := d.begin(ctx, "Frames"); err != nil {
		return err
	}
	s := staging{ctx: ctx, d: d}
	return s.end(s.frames(args, opts), nil, nil)
}

func (s *staging) frames(a FramesArgs, o FramesOptions) error {
	if _, err := newFramesJob(&checker{op: "Frames", device: s.d.home(), mixed: true}, a, o); err != nil {
		return err
	}
	a.Dst, a.Select, a.Valid, a.Keys, a.Surfaces = s.out(a.Dst), s.in(a.Select), s.keep(a.Valid), s.in(a.Keys), slices.Clone(a.Surfaces)
	for i := range a.Surfaces {
		for p, t := range a.Surfaces[i].Planes {
			a.Surfaces[i].Planes[p] = s.in(t)
		}
	}
	if s.err != nil {
		return nil // close returns s.err
	}
	plan, err := s.d.PlanFrames(a, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}

// PlanFrames binds Frames to tensors on the device ("host" tensors for the CPU). It checks all arguments, and makes the
// tables for resizing. Each run reads the pictures, Select and Keys anew, also in a captured graph. The plan keeps
// references to the tensors, so they must stay open as long as it is run.
func (d *Device) PlanFrames(args FramesArgs, opts FramesOptions) (*Plan, error) {
	job := func(c *checker) (*backend.FramesJob, error) { return newFramesJob(c, args, opts) }
	return bound(d, &checker{op: "Frames"}, job, backend.Framer.Frames)
}
