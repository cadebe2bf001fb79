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

// voxelVariants lists the algorithms in the order in which they are tried. Each runs these kernels from ptx/voxel_*.cu in order (names
// without the prefix voxel_):
//
//	fill    fill
//	count   fill, partition_cells, count
//	write   write_fill, write
//	atomic  fill, atomic_max, atomic_sum (of sums and means), atomic_finish
//	bucket  fill, partition_points, bucket, reduce_large, reduce_truncated
//	group   fill, partition_points, group, cells, reduce_large, reduce_truncated
//	sort    fill, histogram, a sort_pass for each 8 bits, number; then hard for hard voxels, and for others reduce, reduce_large,
//	        reduce_truncated; for float64 hard_f64 or reduce_f64
//
// For float64 jobs prepare_f64 comes before the fill if poses are float32, or if the words of the grid's empty value differ.
var voxelVariants = []voxelVariant{voxelFill, voxelCount, voxelWrite, voxelAtomic, voxelBucket, voxelGroup, voxelSort}

// voxelFill handles a dense grid without points.
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

// chooseVoxels returns the first algorithm that supports a job and is preferred for it, and the list of considered algorithms. If
// b.voxelAlgorithm is set and supports the job, it is chosen.
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
	zeroed   int64                 // bytes at the start of the scratch memory that must be 0 before the first run
	hasTable bool                  // whether they include a table, which must be 0 before every run
	broken   atomic.Pointer[error] // set if the table could not be cleared: the plan is unusable
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
		// Counts may be called before the first run.
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

// bind adds a chain's launches. Each launch after the first may begin before the previous one ends, and waits for it where needed, if
// the kernel image is for sm_90.
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

// Launch clears the table of voxelAtomic after a partly failed launch, because only a complete run leaves the table zero. During a
// recording nothing runs, so nothing is cleared.
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
