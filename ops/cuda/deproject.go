package cuda

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

func (b *gpu) Deproject(job *backend.DeprojectJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	if job.B == 0 && job.Offsets == nil {
		return p, nil
	}
	blocks := max(blocksOfRows(job.H*job.W, ptx.DeprojectThreads*ptx.DeprojectEach), 1)
	if job.B > math.MaxInt32/blocks {
		return nil, &backend.ArgError{Op: "Deproject", Arg: "Depth", Kind: backend.ErrTooLarge,
			Got: fmt.Sprintf("%d images with %d blocks each", job.B, blocks), Want: fmt.Sprintf("at most %d blocks", math.MaxInt32)}
	}
	params := &ptx.DeprojectParams{
		Points: address(job.Points), Mask: address(job.Mask), Counts: address(job.Counts), Images: depthImages(&job.DepthImages, job.Depth),
		Intrinsics: address(job.Intrinsics), IntrinsicsStep: uint64(job.IntrinsicsStep),
		Poses: address(job.Poses), PoseStep: uint64(job.PoseStep),
		Offsets: address(job.Offsets), Colors: address(job.Colors), Color: address(job.Color), B: uint32(job.B), Blocks: uint32(blocks),
	}
	if job.Colors != nil {
		params.ColorImage, params.ColorRow = uint64(job.Color.Stride(0)), uint64(job.Color.Stride(1))
	}
	const word, marks = 8, 4 * 32 // bytes
	sums, begins := word*ptx.DeprojectSums*job.B, word*job.B*blocks
	switch {
	case job.Offsets != nil:
		if err := p.scratch(word+sums+begins+marks*job.B*blocks, make([]byte, word+sums)); err != nil {
			return p.checked(err)
		}
		params.Done, params.Capacity = uint64(p.table.Ptr()), uint64(job.Points.Dim(0))
		params.Sums = params.Done + word
		params.Begins = params.Sums + uint64(sums)
		params.Marks = params.Begins + uint64(begins)
		err := p.Add(b.bind("deproject_count", backend.LaunchDependent, max(job.B*blocks, 1), ptx.DeprojectThreads, 0, params))
		if err != nil || job.B == 0 {
			return p.checked(err)
		}
	case job.Counts != nil:
		if err := p.upload(make([]byte, sums)); err != nil {
			return p.checked(err)
		}
		params.Sums = uint64(p.table.Ptr())
	}
	return p.checked(p.Add(b.bind("deproject", backend.LaunchDependent, job.B*blocks, ptx.DeprojectThreads, 0, params)))
}

func depthImages(d *backend.DepthImages, t *tensor.Tensor) ptx.DepthImages {
	p := ptx.DepthImages{Depth: address(t), Image: uint64(t.Stride(0)), Row: uint64(t.Stride(1)), H: uint32(d.H), W: uint32(d.W), Scale: d.Scale, Near: d.Near, Far: d.Far}
	if d.Words {
		p.Words = 1
	}
	return p
}
