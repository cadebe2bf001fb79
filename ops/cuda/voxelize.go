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
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
)

// voxelVariant is a way to make voxels: a chain of launches. Each has a file of its own.
type voxelVariant struct {
	name string
	// can says why its kernels cannot do a job, and pays why another way is faster; "" if it can and is.
	can, pays func(b *backend, job *ops.VoxelizeJob) (whyNot string)
	// lay lays its scratch memory out and lists its launches, in order.
	lay func(c *voxelChain)
}

// voxelVariants are tried in this order. Their kernels, which are all called voxel_, are those of ptx/voxel_*.cu, in this order:
//
//	fill    fill
//	tally   fill, deal, tally
//	write   write_fill, write
//	add     fill, best, add (of sums and means), finish
//	bucket  fill, deal_points, bucket, crowded, cut
//	group   fill, deal_points, group, cells, crowded, cut
//	sort    fill, bin, a pass for each 8 bits, number; then keep of hard voxels, and of others reduce, crowded, cut; of doubles keep_f64 or reduce_f64
//
// Of doubles open_f64 comes before the fill, where the poses are of f32 or the grid's empty value is not one word twice.
var voxelVariants = []voxelVariant{voxelNothing, voxelTally, voxelWrite, voxelAdd, voxelBucket, voxelGroup, voxelSort}

// always is for variants that pay wherever they can.
func always(*backend, *ops.VoxelizeJob) string { return "" }

// voxelNothing is a dense grid of no points.
var voxelNothing = voxelVariant{name: "fill", pays: always,
	can: func(_ *backend, job *ops.VoxelizeJob) string {
		switch {
		case job.N > 0:
			return "there are points"
		case job.Mode != ops.DenseVoxels:
			return "not a dense grid"
		}
		return ""
	},
	lay: func(c *voxelChain) { c.fill("voxel_fill", voxelFilling{out: c.job.Grid, value: emptyWord(c.job)}) },
}

// chooseVoxels returns the first variant that takes a job, and which were asked before it. The one of b.voxelWay takes all that it can.
func (b *backend) chooseVoxels(job *ops.VoxelizeJob) (*voxelVariant, []Considered) {
	asked := slices.IndexFunc(voxelVariants, func(v voxelVariant) bool { return v.name == b.voxelWay })
	if asked >= 0 && voxelVariants[asked].can(b, job) == "" {
		return &voxelVariants[asked], []Considered{{Variant: b.voxelWay}}
	}
	var list []Considered
	for i := range voxelVariants {
		v := &voxelVariants[i]
		why := v.can(b, job)
		if why == "" {
			why = v.pays(b, job)
		}
		list = append(list, Considered{v.name, why})
		if why == "" {
			return v, list
		}
	}
	panic("cuda: no way to make voxels")
}

// voxelPlan is a Voxelize bound to device memory.
type voxelPlan struct {
	device.Base
	b       *backend
	job     *ops.VoxelizeJob
	scratch *cudadrv.DeviceMem
	asked   []Considered
	zeroed  int64                 // bytes of scratch memory, from its beginning, that are 0 before the first run
	adds    bool                  // and of which those behind the state are 0 before each
	spoilt  atomic.Pointer[error] // why they may not be: the plan cannot run any more
}

func (b *backend) Voxelize(job *ops.VoxelizeJob) (ops.VoxelizePlan, error) {
	p := &voxelPlan{Base: b.Base(job.Bound()), b: b, job: job}
	err := p.TakeCell()
	if err != nil {
		return nil, err
	}
	var variant *voxelVariant
	variant, p.asked = b.chooseVoxels(job)
	c := layVoxels(job, b.sms, variant, p.Cell, 0)
	p.zeroed, p.adds = int64(c.zeroed), c.zeroed > stateBytes
	if p.scratch, err = b.Malloc(fmt.Sprintf("a plan's scratch memory for %d points", job.N), int64(c.size)); err == nil {
		// Counts may be asked for before the first run.
		err = b.Ctx.Memset8(context.Background(), p.scratch.Ptr(), 0, p.zeroed)
	}
	if err == nil {
		err = p.bind(layVoxels(job, b.sms, variant, p.Cell, p.scratch.Ptr()))
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
		mode := ops.LaunchDependent
		if i == 0 {
			mode = ops.LaunchPlain
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

// Launch clears the table of voxelAdd at once if a run was not launched whole, which else leaves it as it was. What is recorded does not run.
func (p *voxelPlan) Launch(q *cudadrv.Stream, recording bool) error {
	err := p.Base.Launch(q, recording)
	if err != nil && p.adds && !recording {
		if left := q.Memset8(p.scratch.Ptr(), 0, p.zeroed); left != nil {
			p.spoilt.Store(&left)
		}
	}
	return err
}

func (p *voxelPlan) Usable(op string) error {
	if err := p.spoilt.Load(); err != nil {
		return fmt.Errorf("%s: the plan cannot be used any more: a run of it failed half way, and clearing its memory then: %w", op, *err)
	}
	return p.Base.Usable(op)
}

func (p *voxelPlan) Run(s ops.Stream) error { return device.Run(p, s) }

func (p *voxelPlan) Close() error { return p.Release(p.scratch) }

func (p *voxelPlan) Fault() error {
	f, err := p.Take()
	if err != nil || f == ops.NoFault {
		return err
	}
	return p.job.OffsetsError(int(f >> 4))
}

func (p *voxelPlan) Counts() (c ops.VoxelCounts, err error) {
	if err := p.Open("Counts"); err != nil {
		return c, err
	}
	var state [stateBytes]byte
	if err := p.b.Ctx.CopyToHost(context.Background(), state[:], p.scratch.Ptr()); err != nil {
		return c, err
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(state[8*i:])) }
	c = ops.VoxelCounts{InRange: word(ptx.VoxelStateInRange), OutOfRange: word(ptx.VoxelStateOutOfRange), NotFinite: word(ptx.VoxelStateNotFinite)}
	c.Points = c.InRange + c.OutOfRange + c.NotFinite
	if p.job.Mode != ops.DenseVoxels {
		c.Voxels, c.DroppedVoxels, c.DroppedPoints = word(ptx.VoxelStateWritten), word(ptx.VoxelStateDropped), c.InRange-word(ptx.VoxelStateKept)
	}
	return c, nil
}
