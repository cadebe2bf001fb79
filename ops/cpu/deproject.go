package cpu

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
)

// deprojectPlan is a Deproject bound to host memory. A piece of work is one row of an image.
type deprojectPlan struct {
	steppedPlan
	*backend.DeprojectJob
	points, depth, intrinsics, poses []float32
	mask, bytes                      []uint8 // bytes are depths with 16 bits
	counts                           []int64
}

// Deproject plans the points of depth images.
func (b *Backend) Deproject(job *backend.DeprojectJob) (backend.Plan, error) {
	p := &deprojectPlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, DeprojectJob: job}
	p.by = func(do func(*task)) error {
		clear(p.counts)
		do(&p.work)
		return nil
	}
	var errs []error
	p.points = elementsOf[float32](job.Points, &errs)
	p.intrinsics, p.poses = elementsOf[float32](job.Intrinsics, &errs), elementsOf[float32](job.Poses, &errs)
	p.mask, p.counts = elementsOf[uint8](job.Mask, &errs), elementsOf[int64](job.Counts, &errs)
	if job.Words {
		p.bytes = elementsOf[uint8](job.Depth, &errs)
	} else {
		p.depth = elementsOf[float32](job.Depth, &errs)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.work = task{pieces: job.B * job.H, do: p.row}
	return p, nil
}

func (p *deprojectPlan) row(piece, _ int) {
	n, v := piece/p.H, piece%p.H
	k := [4]float32(p.intrinsics[n*p.IntrinsicsStep:])
	var m *[16]float32
	if p.poses != nil {
		m = (*[16]float32)(p.poses[n*p.PoseStep:])
	}
	from := n*p.Depth.Stride(0) + v*p.Depth.Stride(1)
	nan := float32(math.NaN())
	var found [3]int64
	for u := range p.W {
		var z float32
		if p.Words {
			z = float32(uint16(p.bytes[from+2*u]) | uint16(p.bytes[from+2*u+1])<<8)
		} else {
			z = p.depth[from+u]
		}
		missing := z == 0 || z-z != 0
		z = float32(z * p.Scale)
		kind, at := 0, [3]float32{nan, nan, nan}
		switch {
		case missing:
			kind = 1
		case !(z >= p.Near && z <= p.Far):
			kind = 2
		default:
			at = [3]float32{float32((float32(u)-k[2])*z) / k[0], float32((float32(v)-k[3])*z) / k[1], z}
			if m != nil {
				at = posed(m, at)
			}
		}
		found[kind]++
		i := piece*p.W + u
		copy(p.points[3*i:], at[:])
		if p.mask != nil {
			p.mask[i] = uint8(min(kind, 1) ^ 1)
		}
	}
	if p.counts != nil {
		for i, c := range found {
			atomic.AddInt64(&p.counts[3*n+i], c)
		}
	}
}
