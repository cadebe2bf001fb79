package cuda

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

func (b *gpu) Deproject(job *backend.DeprojectJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	if job.B == 0 {
		return p, nil
	}
	blocks := max(blocksOfRows(job.H*job.W, ptx.DeprojectThreads*ptx.DeprojectEach), 1)
	if job.B > math.MaxInt32/blocks {
		return nil, &backend.ArgError{Op: "Deproject", Arg: "Depth", Kind: backend.ErrTooLarge,
			Got: fmt.Sprintf("%d images with %d blocks each", job.B, blocks), Want: fmt.Sprintf("at most %d blocks", math.MaxInt32)}
	}
	params := &ptx.DeprojectParams{
		Points: address(job.Points), Mask: address(job.Mask), Counts: address(job.Counts),
		Depth: address(job.Depth), Image: uint64(job.Depth.Stride(0)), Row: uint64(job.Depth.Stride(1)),
		Intrinsics: address(job.Intrinsics), IntrinsicsStep: uint64(job.IntrinsicsStep), Poses: address(job.Poses), PoseStep: uint64(job.PoseStep),
		H: uint32(job.H), W: uint32(job.W), Blocks: uint32(blocks), Scale: job.Scale, Near: job.Near, Far: job.Far,
	}
	if job.Words {
		params.Words = 1
	}
	if job.Counts != nil {
		if err := p.upload(make([]byte, 8*ptx.DeprojectSums*job.B)); err != nil {
			return p.checked(err)
		}
		params.Sums = uint64(p.table.Ptr())
	}
	return p.checked(p.Add(b.bind("deproject", backend.LaunchDependent, job.B*blocks, ptx.DeprojectThreads, 0, params)))
}
