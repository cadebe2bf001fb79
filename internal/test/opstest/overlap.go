package opstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// overlap runs every form of Voxelize and four of Fuse at once, each on a stream of its own and many times over without a
// wait between: plans that shared scratch memory, or kernels that counted on being alone, would give something else.
func (s *suite) overlap(t *testing.T) {
	n, rounds := s.times(40_000), 2+s.times(20)
	if s.isCPU() { // whose queues are threads, of which few points are enough
		n = thorough.Of(n/4, n)
	}
	type job struct {
		plan  *ops.Plan
		on    *ops.Queue
		check func()
	}
	var jobs []job
	for i, opts := range voxelForms {
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(rng(uint64(90+i)), 3*n), n, 3), Box: cube(-8, 4, 4), Opts: opts}
		rig := s.voxelRig(t, c, n)
		jobs = append(jobs, job{&rig.plan.Plan, s.stream(t), func() { rig.check(t, s, n, fmt.Sprintf("%+v", opts)) }})
	}
	for i := range 4 {
		p := &placed{dev: s.dev}
		c := &fuseCall{}
		newFuseCall(maker{p.put}, c)
		steps := 1 + n/8
		targets, r := make([]float64, 2*steps), rng(uint64(i))
		for k := range targets {
			targets[k] = 4 * r.Float64()
		}
		c.args.Targets = ops.At(c.put(vals(tensor.F64, targets, 2, steps)))
		c.args.DstLengths, c.args.Valid, c.args.Age = nil, nil, nil
		c.args.Dst = c.new(tensor.F32, 2, steps, 11)
		for m, row := range [][]float64{{0, 1, 2, 0, 2, 3}, {0, 1, 2, 3, 4}} {
			x := &c.args.Streams[m]
			require.NoError(t, s.dev.Copy(context.Background(), x.SrcTimes, vals(tensor.F64, row, x.SrcTimes.Shape()...).host()))
			count := x.Src.Len()
			require.NoError(t, s.dev.Copy(context.Background(), x.Src, vals(x.Src.DType(), uniformValues(rng(uint64(10*i+m)), count), x.Src.Shape()...).host()))
		}
		c.args.Streams[1].Scale = []float32{1, 2, 3}
		require.NoError(t, p.err)
		plan, err := s.dev.PlanFuse(c.args, c.opts)
		require.NoError(t, err)
		st := s.stream(t)
		require.NoError(t, plan.Run(st))
		require.NoError(t, st.Synchronize(background))
		alone := s.read(t, c.args.Dst)
		require.NoError(t, s.dev.Copy(context.Background(), c.args.Dst, tensor.Must(tensor.New(tensor.F32, 2, steps, 11))))
		jobs = append(jobs, job{plan, st, func() { assert.Equal(t, alone, s.read(t, c.args.Dst), "Fuse %d", i) }})
		t.Cleanup(func() {
			assert.NoError(t, plan.Close())
			assert.NoError(t, p.close())
		})
	}
	for range rounds {
		for _, j := range jobs {
			require.NoError(t, j.plan.Run(j.on))
		}
	}
	for _, j := range jobs {
		require.NoError(t, j.on.Synchronize(background))
	}
	for _, j := range jobs {
		j.check()
	}
}
