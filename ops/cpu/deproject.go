package cpu

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// deprojectPlan is a Deproject bound to host memory. A piece of work is one row of an image.
type deprojectPlan struct {
	steppedPlan
	*backend.DeprojectJob
	depth                     depthImages
	points, intrinsics, poses []float32
	mask, color, colors       []uint8
	counts, offsets           []int64
	begins                    []int64 // compact points: first the number of a row's points, then where they begin
}

// depthImages reads depth images.
type depthImages struct {
	*backend.DepthImages
	image, row int // elements from an image to the next, and from a row to the next
	floats     []float32
	words      []uint8 // depths with 16 bits
}

func depthOf(d *backend.DepthImages, t *tensor.Tensor, errs *[]error) depthImages {
	x := depthImages{DepthImages: d, image: t.Stride(0), row: t.Stride(1)}
	if d.Words {
		x.words = elementsOf[uint8](t, errs)
	} else {
		x.floats = elementsOf[float32](t, errs)
	}
	return x
}

// at returns the depth of a pixel, whose image and row begin at an element, and what it counts as.
func (d *depthImages) at(from, u int) (z float32, kind int) {
	if d.Words {
		z = float32(uint16(d.words[from+2*u]) | uint16(d.words[from+2*u+1])<<8)
	} else {
		z = d.floats[from+u]
	}
	missing := z == 0 || z-z != 0
	z = float32(z * d.Scale)
	switch {
	case missing:
		return z, backend.CountMissing
	case !(z >= d.Near && z <= d.Far):
		return z, backend.CountRange
	}
	return z, backend.CountValid
}

// Deproject plans the points of depth images.
func (b *Backend) Deproject(job *backend.DeprojectJob) (backend.Plan, error) {
	p := &deprojectPlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, DeprojectJob: job}
	p.by = func(do func(*task)) error {
		clear(p.counts)
		clear(p.offsets)
		do(&p.checks)
		all := int64(0)
		for i, n := range p.begins {
			p.begins[i] = all
			all += n
			p.offsets[i/p.H+1] = all
		}
		do(&p.work)
		return nil
	}
	var errs []error
	p.points = elementsOf[float32](job.Points, &errs)
	p.intrinsics, p.poses = elementsOf[float32](job.Intrinsics, &errs), elementsOf[float32](job.Poses, &errs)
	p.mask, p.counts = elementsOf[uint8](job.Mask, &errs), elementsOf[int64](job.Counts, &errs)
	p.color, p.colors = elementsOf[uint8](job.Color, &errs), elementsOf[uint8](job.Colors, &errs)
	p.offsets = elementsOf[int64](job.Offsets, &errs)
	p.depth = depthOf(&job.DepthImages, job.Depth, &errs)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.work = task{pieces: job.B * job.H, do: p.row}
	if job.Offsets != nil {
		p.begins = make([]int64, p.work.pieces)
		p.checks = task{pieces: p.work.pieces, do: p.count}
	}
	return p, nil
}

// count counts the points of a row.
func (p *deprojectPlan) count(piece, _ int) {
	p.begins[piece] = 0
	for u := range p.W {
		if _, kind := p.depth.at(piece/p.H*p.depth.image+piece%p.H*p.depth.row, u); kind == backend.CountValid {
			p.begins[piece]++
		}
	}
}

func (p *deprojectPlan) row(piece, _ int) {
	n, v := piece/p.H, piece%p.H
	k := [4]float32(p.intrinsics[n*p.IntrinsicsStep:])
	var m *[16]float32
	if p.poses != nil {
		m = (*[16]float32)(p.poses[n*p.PoseStep:])
	}
	from := n*p.depth.image + v*p.depth.row
	nan := float32(math.NaN())
	var found [3]int64
	to := piece * p.W // the next point
	if p.begins != nil {
		to = int(p.begins[piece])
	}
	for u := range p.W {
		z, kind := p.depth.at(from, u)
		at := [3]float32{nan, nan, nan}
		if kind == backend.CountValid {
			at = [3]float32{float32((float32(u)-k[2])*z) / k[0], float32((float32(v)-k[3])*z) / k[1], z}
			if m != nil {
				at = posed(m, at)
			}
		}
		found[kind]++
		if p.mask != nil {
			p.mask[piece*p.W+u] = uint8(min(kind, 1) ^ 1)
		}
		if p.begins != nil && (kind != backend.CountValid || 3*to >= len(p.points)) {
			continue
		}
		copy(p.points[3*to:], at[:])
		if p.colors != nil {
			copy(p.colors[3*to:], p.color[n*p.Color.Stride(0)+v*p.Color.Stride(1)+3*u:][:3])
		}
		to++
	}
	if p.counts != nil {
		for i, c := range found {
			atomic.AddInt64(&p.counts[3*n+i], c)
		}
	}
}
