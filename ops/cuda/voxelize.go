package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// voxelVariants are tried in this order. Their kernels, which are all called voxel_, are those of ptx/voxel_*.cu, in this order:
//
//	fill    fill
//	count   fill, partition_cells, count
//	write   write_fill, write
//	atomic  fill, atomic_max, atomic_sum (of sums and means), atomic_finish
//	bucket  fill, partition_points, bucket, reduce_large, reduce_truncated
//	group   fill, partition_points, group, cells, reduce_large, reduce_truncated
//	sort    fill, histogram, a sort_pass for each 8 bits, number; then hard for hard voxels, and for others reduce, reduce_large,
//	        reduce_truncated; of doubles hard_f64 or reduce_f64
//
// Of doubles prepare_f64 comes before the fill, where the poses are of f32 or the grid's empty value is not one word twice.
var voxelVariants = []voxelVariant{voxelFill, voxelCount, voxelWrite, voxelAtomic, voxelBucket, voxelGroup, voxelSort}

// voxelFill is a dense grid of no points.
var voxelFill = voxelVariant{name: "fill", prefers: always,
	supports: func(_ *gpu, job *backend.VoxelizeJob) string {
		switch {
		case job.N > 0:
			return "there are points"
		case job.Mode != backend.VoxelDense:
			return "not a dense grid"
		}
		return ""
	},
	layout: func(c *voxelChain) { c.fill("voxel_fill", voxelFillArgs{out: c.job.Grid, value: emptyWord(c.job)}) },
}

// chooseVoxels returns the first variant that takes a job, and which were asked before it. The one of b.voxelAlgorithm takes all that it can.
func (b *gpu) chooseVoxels(job *backend.VoxelizeJob) (*voxelVariant, []Considered) {
	asked := slices.IndexFunc(voxelVariants, func(v voxelVariant) bool { return v.name == b.voxelAlgorithm })
	if asked >= 0 && voxelVariants[asked].supports(b, job) == "" {
		return &voxelVariants[asked], []Considered{{Variant: b.voxelAlgorithm}}
	}
	var list []Considered
	for i := range voxelVariants {
		v := &voxelVariants[i]
		why := v.supports(b, job)
		if why == "" {
			why = v.prefers(b, job)
		}
		list = append(list, Considered{v.name, why})
		if why == "" {
			return v, list
		}
	}
	panic("cuda: no algorithm supports the job")
}

// voxelPlan is a Voxelize bound to device memory.
type voxelPlan struct {
	device.Base
	b        *gpu
	job      *backend.VoxelizeJob
	scratch  *cudadrv.DeviceMem
	asked    []Considered
	zeroed   int64                 // bytes of scratch memory, from its beginning, that are 0 before the first run
	hasTable bool                  // and of which those behind the state are 0 before each
	broken   atomic.Pointer[error] // why they may not be: the plan cannot run any more
}

func (b *gpu) Voxelize(job *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	p := &voxelPlan{Base: b.Base(job.Bound()), b: b, job: job}
	err := p.TakeCell()
	if err != nil {
		return nil, err
	}
	var variant *voxelVariant
	variant, p.asked = b.chooseVoxels(job)
	c := layoutVoxels(job, b.sms, variant, p.Cell, 0)
	p.zeroed, p.hasTable = int64(c.zeroed), c.zeroed > stateBytes
	if p.scratch, err = b.Malloc(fmt.Sprintf("a plan's scratch memory for %d points", job.N), int64(c.size)); err == nil {
		// Counts may be asked for before the first run.
		err = b.Ctx.Memset8(context.Background(), p.scratch.Ptr(), 0, p.zeroed)
	}
	if err == nil {
		err = p.bind(layoutVoxels(job, b.sms, variant, p.Cell, p.scratch.Ptr()))
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// bind makes the launches of a chain. All but the first begin before the one in front has ended, and wait for it where they must: the
// kernels of images for sm_90 do.
func (p *voxelPlan) bind(c *voxelChain) error {
	for i, l := range c.launches {
		mode := backend.LaunchDependent
		if i == 0 {
			mode = backend.LaunchDefault
		}
		bound, err := p.b.bind(l.kernel, mode, max(l.blocks, 1), l.threads, l.shared, l.params)
		if err == nil && l.prefersShared {
			err = bound.Kernel().PreferShared(100)
		}
		if err := p.Add(bound, err); err != nil {
			return err
		}
	}
	return nil
}

// Launch clears the table of voxelAtomic at once if a run was not launched whole, which else leaves it as it was. What is recorded does not run.
func (p *voxelPlan) Launch(q *cudadrv.Stream, recording bool) error {
	err := p.Base.Launch(q, recording)
	if err != nil && p.hasTable && !recording {
		if left := q.Memset8(p.scratch.Ptr(), 0, p.zeroed); left != nil {
			p.broken.Store(&left)
		}
	}
	return err
}

func (p *voxelPlan) Usable(op string) error {
	if err := p.broken.Load(); err != nil {
		return fmt.Errorf("%s: the plan cannot be used any more: a run of it failed half way, and clearing its memory then: %w", op, *err)
	}
	return p.Base.Usable(op)
}

func (p *voxelPlan) Run(s backend.Queue) error { return device.Run(p, s) }

func (p *voxelPlan) Close() error { return p.Release(p.scratch) }

func (p *voxelPlan) Fault() error {
	f, err := p.Take()
	if err != nil || f == backend.NoFault {
		return err
	}
	return p.job.OffsetsError(int(f >> 4))
}

func (p *voxelPlan) Counts() (c backend.VoxelCounts, err error) {
	if err := p.Open("Counts"); err != nil {
		return c, err
	}
	var state [stateBytes]byte
	if err := p.b.Ctx.CopyToHost(context.Background(), state[:], p.scratch.Ptr()); err != nil {
		return c, err
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(state[8*i:])) }
	c = backend.VoxelCounts{InRange: word(ptx.VoxelStateInRange), OutOfRange: word(ptx.VoxelStateOutOfRange), NotFinite: word(ptx.VoxelStateNotFinite)}
	c.Points = c.InRange + c.OutOfRange + c.NotFinite
	if p.job.Mode != backend.VoxelDense {
		c.Voxels, c.DroppedVoxels, c.DroppedPoints = word(ptx.VoxelStateWritten), word(ptx.VoxelStateDropped), c.InRange-word(ptx.VoxelStateKept)
	}
	return c, nil
}
