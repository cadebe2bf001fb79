package opstest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelLife runs what is about plans, graphs and their ends.
func (s *suite) voxelLife(t *testing.T) {
	t.Run("plans and graphs follow their inputs", s.voxelGraphs)
	t.Run("Run and Launch allocate nothing", s.voxelAllocations)
	t.Run("what is closed says so", s.voxelClosed)
	t.Run("200 calls, every tenth bad, on four goroutines", s.voxelCalls)
	t.Run("calls leave nothing behind", s.voxelGrowth)
}

// voxelRig is a plan on device tensors for a case.
type voxelRig struct {
	c    *voxelizing
	p    *placed
	args ops.VoxelizeArgs
	plan *ops.VoxelizePlan
}

func (s *suite) voxelRig(t *testing.T, c *voxelizing, v int) *voxelRig {
	t.Helper()
	r := &voxelRig{c: c, p: &placed{dev: s.dev}}
	r.args = c.args(r.p.put)
	require.NoError(t, r.p.err)
	to := places(&r.args)
	for name, a := range c.outputs(v) {
		// Outputs are longer than what is written, and are read whole.
		x := s.upload(t, packed(a.dtype, make([]uint64, a.len()), a.shape...))
		r.p.open, *to[name] = append(r.p.open, x), x
	}
	var err error
	r.plan, err = s.dev.PlanVoxelize(r.args, c.Box, c.Opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, r.plan.Close())
		assert.NoError(t, r.p.close())
	})
	return r
}

// check compares the outputs with what the oracle says of the points now there.
func (r *voxelRig) check(t *testing.T, s *suite, v int, what string) {
	t.Helper()
	want := solveVoxels(r.c)
	got := &result{out: map[string]*array{}}
	var err error
	got.found, err = r.plan.Counts()
	require.NoError(t, err)
	for name, x := range places(&r.args) {
		if *x == nil {
			continue
		}
		raw := s.read(t, *x)
		if shape := (*x).Shape(); name != "Grid" && name != "RowSplits" && name != "PointVoxel" { // beyond the voxels is what was there
			width := len(raw) / max(shape[0], 1)
			for i := int(got.found.Voxels) * width; i < len(raw); i++ {
				raw[i] = poison((*x).DType())
			}
		}
		got.out[name] = packed((*x).DType(), raw, (*x).Shape()...)
	}
	assert.Empty(t, want.compare(r.c, got, v), what)
}

func (s *suite) voxelGraphs(t *testing.T) {
	for i, opts := range voxelForms {
		r := rng(uint64(60 + i))
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(r, 900), 300, 3), Offsets: arr([]int64{0, 40, 300}, 3), Box: cube(-8, 4, 4), Opts: opts}
		rig, st := s.voxelRig(t, c, 300), s.stream(t)
		graph, err := st.Capture(func() error { return rig.plan.Run(st) })
		require.NoError(t, err)
		for k := range 4 {
			c.Points = vals(tensor.F32, uniformValues(r, 900), 300, 3)
			require.NoError(t, s.dev.Copy(context.Background(), rig.args.Points, c.Points.host()))
			if k%2 == 0 {
				require.NoError(t, rig.plan.Run(st))
			} else {
				require.NoError(t, graph.Launch(st))
			}
			require.NoError(t, st.Synchronize(background))
			rig.check(t, s, 300, fmt.Sprintf("%+v, run %d", opts, k))
		}
		// Bad offsets surface once, at the next Synchronize.
		require.NoError(t, s.dev.Copy(context.Background(), rig.args.Offsets, arr([]int64{0, 40, 299}, 3).host()))
		require.NoError(t, rig.plan.Run(st))
		wantFault(t, st.Synchronize(background), ops.ErrRows, 1, 0)
		require.NoError(t, st.Synchronize(background))
		require.NoError(t, s.dev.Copy(context.Background(), rig.args.Offsets, c.Offsets.host()))
		require.NoError(t, graph.Launch(st))
		require.NoError(t, st.Synchronize(background))
		rig.check(t, s, 300, fmt.Sprintf("%+v, after a fault", opts))
		require.NoError(t, graph.Close())
	}
}

func (s *suite) voxelAllocations(t *testing.T) {
	for i, opts := range voxelForms {
		r := rng(uint64(70 + i))
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(r, 900), 300, 3), Box: cube(-8, 4, 4), Opts: opts}
		rig, st := s.voxelRig(t, c, 300), s.stream(t)
		graph, err := st.Capture(func() error { return rig.plan.Run(st) })
		require.NoError(t, err)
		assert.Zero(t, fewestAllocations(t, st, func() error { return rig.plan.Run(st) }), "Run, %+v", opts)
		assert.Zero(t, fewestAllocations(t, st, func() error { return graph.Launch(st) }), "Launch, %+v", opts)
		require.NoError(t, graph.Close())
	}
}

func (s *suite) voxelClosed(t *testing.T) {
	c := &voxelizing{Points: diagonal(.5, 1.5), Box: cube(0, 1, 2), Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse}}
	rig, st := s.voxelRig(t, c, 2), s.stream(t)
	require.NoError(t, rig.p.open[0].Close()) // the points, which are put first
	assert.ErrorIs(t, rig.plan.Run(st), ops.ErrClosed)
	require.NoError(t, rig.plan.Close())
	require.NoError(t, rig.plan.Close(), "twice is fine")
	assert.ErrorIs(t, rig.plan.Run(st), ops.ErrClosed)
	_, err := rig.plan.Counts()
	assert.ErrorIs(t, err, ops.ErrClosed)
}

func (s *suite) voxelCalls(t *testing.T) {
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range max(s.times(50), 10) {
				bad := i%10 == 9
				if err := s.wrongVoxels(50*g+i, bad); bad != errors.Is(err, errNone) || !bad && err != nil {
					t.Errorf("call %d: %v", 50*g+i, err)
				}
			}
		})
	}
	all.Wait()
}

func (s *suite) voxelGrowth(t *testing.T) {
	calls := func(n int) {
		for i := range n {
			require.NoError(t, s.wrongVoxels(i%len(voxelForms), false))
		}
	}
	device := func() int64 {
		if s.cfg.MemoryInUse == nil {
			return 0
		}
		return s.cfg.MemoryInUse()
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	calls(20)
	before, hostBefore := device(), heap()
	calls(max(s.times(500), 50))
	assert.LessOrEqual(t, device(), before, "bytes of device memory in use")
	// 800 bytes a call would be as much: a plan's scratch is more.
	assert.Less(t, heap()-hostBefore, int64(400<<10), "bytes of host memory grown")
}
