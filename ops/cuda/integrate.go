package cuda

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

const (
	integrateBlocks = 4  // the most blocks per multiprocessor that pass through the table and the new blocks
	updateBlocks    = 16 // that pass through the volume: as many as run at once
)

func (b *gpu) Integrate(job *backend.IntegrateJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	if job.B == 0 {
		return p, nil
	}
	blocks := max(blocksOfRows(job.H*job.W, ptx.IntegrateThreads), 1)
	if job.B > math.MaxInt32/blocks {
		return nil, &backend.ArgError{Op: "Integrate", Arg: "Depth", Kind: backend.ErrTooLarge,
			Got: fmt.Sprintf("%d images with %d blocks each", job.B, blocks), Want: fmt.Sprintf("at most %d blocks", math.MaxInt32)}
	}
	return p.checked(p.integrate(job, blocks))
}

func (p *plan) integrate(job *backend.IntegrateJob, blocks int) error {
	places := 1 << job.TableBits()
	bytes := 0
	part := func(n int) (at uint64) {
		at = uint64(bytes)
		bytes += n
		return at
	}
	keys, first, begin, fresh := part(8*places), part(4*places), part(4*job.M), part(4*job.M)
	control, metric := part(4*ptx.IntegrateWords), part(4*job.B*job.H*job.W)
	if err := p.scratch(bytes, nil); err != nil {
		return err
	}
	at := uint64(p.table.Ptr())
	params := &ptx.IntegrateParams{
		Blocks: address(job.Keys), Distance: address(job.Distance), Weight: address(job.Weight), Color: address(job.Color),
		State: address(job.State), Counts: address(job.Counts), Images: depthImages(&job.DepthImages, job.Depth),
		Intrinsics: address(job.Intrinsics), IntrinsicsStep: uint64(job.IntrinsicsStep),
		Poses: address(job.Poses), PoseStep: uint64(job.PoseStep), Colors: address(job.Images),
		Keys: at + keys, First: at + first, Begin: at + begin, Fresh: at + fresh, Control: at + control, Metric: at + metric,
		B: uint32(job.B), M: uint32(job.M), TableBits: uint32(job.TableBits()), Steps: uint32(job.Steps), Grid: uint32(blocks), Voxel: job.Voxel,
		Truncation: job.Truncation, MaxWeight: job.MaxWeight, Step: job.Step, PerBlock: job.PerBlock, PerDistance: job.PerDistance,
	}
	if job.Images != nil {
		params.ColorImage, params.ColorRow = uint64(job.Images.Stride(0)), uint64(job.Images.Stride(1))
	}
	if job.DepthWeight {
		params.DepthWeight = 1
	}
	through := func(n int) int { return max(min(blocksOfRows(n, ptx.IntegrateThreads), integrateBlocks*p.b.sms), 1) }
	for _, l := range []struct {
		kernel          string
		blocks, threads int
	}{
		{"integrate_clear", through(max(places, backend.CountWords*job.B)), ptx.IntegrateThreads},
		{"integrate_known", through(job.M), ptx.IntegrateThreads},
		{"integrate_mark", job.B * blocks, ptx.IntegrateThreads}, {"integrate_sort", through(job.M), ptx.IntegrateThreads},
		{"integrate_update", max(min(job.M, updateBlocks*p.b.sms), 1), ptx.UpdateThreads},
	} {
		if err := p.Add(p.b.bind(l.kernel, backend.LaunchDependent, l.blocks, l.threads, 0, params)); err != nil {
			return err
		}
	}
	return nil
}
