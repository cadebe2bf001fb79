package opstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// request is a small job of its own shape, kind and clock: a Resample, or every fourth a Fuse.
type request struct {
	plan          *ops.Plan
	dst, src, tms *tensor.Tensor
}

// requests makes n of them. Of those in bad the timestamps go backwards at index 1; of those in idle there are no targets.
func (s *suite) requests(t *testing.T, n int, bad, idle map[int]bool) []*request {
	t.Helper()
	p := &placed{dev: s.dev}
	t.Cleanup(func() { assert.NoError(t, p.close()) })
	var out []*request
	for i := range n {
		r := rng(uint64(100 + i))
		b, samples, targets, d := 1+i%3, 2+7*(i%11), 1+13*(i%5), 1+i%9
		if idle[i] {
			targets = 0
		}
		times := ascending(r, samples, 0)
		x := between(r, targets, times)
		if bad[i] {
			times[1] = -1
		}
		q := &request{src: p.put(vals(tensor.F32, uniformValues(r, b*samples*d), b, samples, d)), tms: p.put(arr(times, samples))}
		q.dst = p.put(vals(tensor.F32, make([]float64, b*targets*d), b, targets, d))
		clock := ops.At(p.put(arr(x, targets)))
		require.NoError(t, p.err)
		kind := []ops.Interp{ops.InterpLinear, ops.InterpPchip, ops.InterpNearest}[i%3]
		var err error
		if i%4 == 3 {
			q.plan, err = s.dev.PlanFuse(ops.FuseArgs{Dst: q.dst, Targets: clock, Streams: []ops.FuseStream{{Src: q.src, SrcTimes: q.tms, Options: ops.ResampleOptions{Interp: kind}}}}, ops.FuseOptions{})
		} else {
			q.plan, err = s.dev.PlanResample(ops.ResampleArgs{Dst: q.dst, Src: q.src, SrcTimes: q.tms, Targets: clock}, ops.ResampleOptions{Interp: kind})
		}
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, q.plan.Close()) })
		out = append(out, q)
	}
	return out
}

func plansOf(list []*request) (plans []*ops.Plan) {
	for _, q := range list {
		plans = append(plans, q.plan)
	}
	return plans
}

func (s *suite) planBatch(t *testing.T, plans []*ops.Plan, atOnce int) *ops.Plan {
	t.Helper()
	m, err := s.dev.PlanBatch(plans, ops.BatchOptions{AtOnce: atOnce})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

// batches: a batch gives what its plans give alone, whatever may run at once, on a stream and in a graph, again with changed inputs.
func (s *suite) batches(t *testing.T) {
	list := s.requests(t, 37, nil, map[int]bool{5: true})
	st := s.stream(t)
	read := func() (all [][]uint64) {
		for _, q := range list {
			all = append(all, s.read(t, q.dst))
		}
		return all
	}
	wipe := func() {
		for _, q := range list {
			require.NoError(t, s.dev.Copy(context.Background(), q.dst, tensor.Must(tensor.New(tensor.F32, q.dst.Shape()...))))
		}
	}
	batches := map[int]*ops.Plan{0: nil, 1: nil, 3: nil, 64: nil}
	for n := range batches {
		batches[n] = s.planBatch(t, plansOf(list), n)
	}
	g, err := st.Capture(func() error { return batches[0].Run(st) })
	require.NoError(t, err)
	defer func() { assert.NoError(t, g.Close()) }()
	for round := range 2 {
		if round > 0 {
			for i, q := range list {
				require.NoError(t, s.dev.Copy(context.Background(), q.src, vals(tensor.F32, uniformValues(rng(uint64(900+i)), q.src.Len()), q.src.Shape()...).host()))
			}
		}
		for _, q := range list {
			require.NoError(t, q.plan.Run(st))
		}
		require.NoError(t, st.Synchronize(background))
		want := read()
		run := func(what string, launch func() error) {
			wipe()
			require.NoError(t, launch(), what)
			require.NoError(t, st.Synchronize(background), what)
			for i, got := range read() {
				require.True(t, equalBits(t, tensor.F32, want[i], got, fmt.Sprintf("%s, round %d, plan %d", what, round, i)))
			}
		}
		for n, m := range batches {
			run(fmt.Sprint("at once ", n), func() error { return m.Run(st) })
		}
		run("in a graph", func() error { return g.Launch(st) })
		run("beside a plan of it", func() error { return errors.Join(list[0].plan.Run(st), batches[0].Run(st), list[1].plan.Run(st)) })
	}
	none := s.planBatch(t, nil, 0)
	assert.NoError(t, none.Run(st), "a batch of nothing")
	nothing := s.planBatch(t, []*ops.Plan{list[5].plan}, 0)
	assert.NoError(t, nothing.Run(st), "a batch of a plan without targets")
	assert.NoError(t, st.Synchronize(background))
}

// voxelBatch: clouds in one batch give what they give alone.
func (s *suite) voxelBatch(t *testing.T) {
	n, st := 500, s.stream(t)
	var plans []*ops.Plan
	var checks []func()
	for i, opts := range voxelForms {
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(rng(uint64(90+i)), 3*n), n, 3), Box: cube(-8, 4, 4), Opts: opts}
		rig := s.voxelRig(t, c, n)
		plans = append(plans, &rig.plan.Plan)
		checks = append(checks, func() { rig.check(t, s, n, fmt.Sprintf("%+v, in a batch", opts)) })
	}
	m := s.planBatch(t, plans, 0)
	for range 2 {
		require.NoError(t, m.Run(st))
		require.NoError(t, st.Synchronize(background))
		for _, check := range checks {
			check()
		}
	}
}

// batchFaults: errors in values come with the index of their plan, and leave the other plans' results alone.
func (s *suite) batchFaults(t *testing.T) {
	bad := map[int]bool{3: true, 9: true}
	list := s.requests(t, 12, bad, nil)
	st := s.stream(t)
	m := s.planBatch(t, plansOf(list), 0)
	g, err := st.Capture(func() error { return m.Run(st) })
	require.NoError(t, err)
	defer func() { assert.NoError(t, g.Close()) }()
	for what, launch := range map[string]func() error{"on a stream": func() error { return m.Run(st) }, "in a graph": func() error { return g.Launch(st) }} {
		for range 2 {
			require.NoError(t, launch())
			err := st.Synchronize(background)
			require.ErrorIs(t, err, ops.ErrUnsorted, what)
			var found []int
			for _, e := range ops.BatchErrors(err) {
				found = append(found, e.Index)
				wantFault(t, e, ops.ErrUnsorted, 0, 1)
			}
			assert.Equal(t, []int{3, 9}, found, what)
			assert.NoError(t, st.Synchronize(background), "the same errors twice")
		}
	}
	one := s.planBatch(t, plansOf(list[3:4]), 0)
	require.NoError(t, one.Run(st))
	var e *ops.BatchError
	require.ErrorAs(t, st.Synchronize(background), &e)
	assert.Zero(t, e.Index)
	assert.Empty(t, ops.BatchErrors(nil))
	good := s.requests(t, 12, nil, nil)
	for _, q := range good {
		require.NoError(t, q.plan.Run(st))
	}
	require.NoError(t, st.Synchronize(background))
	for i := range list {
		if !bad[i] {
			equalBits(t, tensor.F32, s.read(t, good[i].dst), s.read(t, list[i].dst), fmt.Sprint("plan ", i, ", beside bad ones"))
		}
	}
}

// batchMisuse: what cannot be a batch is refused, and what was closed is found, with the plan's index.
func (s *suite) batchMisuse(t *testing.T) {
	list := s.requests(t, 6, nil, nil)
	plans := plansOf(list)
	refused := func(arg string, kind error, plans ...*ops.Plan) {
		t.Helper()
		_, err := s.dev.PlanBatch(plans, ops.BatchOptions{})
		var e *ops.ArgError
		require.ErrorAs(t, err, &e)
		assert.ErrorIs(t, err, kind)
		assert.Equal(t, [2]string{"PlanBatch", arg}, [2]string{e.Op, e.Arg}, "%v", err)
	}
	refused("plans[1]", ops.ErrMissing, plans[0], nil)
	refused("plans[1]", ops.ErrOption, plans[0], s.planBatch(t, plans[1:2], 0))
	refused("plans[2]", ops.ErrOverlap, plans[0], plans[1], plans[0])
	over, err := s.dev.PlanResample(ops.ResampleArgs{Dst: s.cut(t, list[1].src, 1), Src: list[0].src, SrcTimes: list[0].tms, Targets: ops.Uniform(0, 1e3, 1)}, ops.ResampleOptions{})
	require.NoError(t, err)
	defer over.Close()
	refused("plans[2]", ops.ErrOverlap, plans[0], plans[1], over)
	refused("plans[1]", ops.ErrOverlap, over, plans[1])
	if s.cpu != nil {
		x := tensor.Must(tensor.Of([]float32{1}, 1, 1))
		foreign, err := s.cpu.PlanResample(ops.ResampleArgs{Dst: tensor.Must(tensor.New(tensor.F32, 1, 1)), Src: x, SrcTimes: tensor.Must(tensor.Of([]int64{1}, 1)), Targets: ops.Uniform(0, 1, 1)}, ops.ResampleOptions{})
		require.NoError(t, err)
		refused("plans[1]", ops.ErrWrongDevice, plans[0], foreign)
	}
	_, err = s.dev.PlanBatch(plans, ops.BatchOptions{AtOnce: -1})
	assert.ErrorIs(t, err, ops.ErrOption)

	st := s.stream(t)
	m := s.planBatch(t, plans, 0)
	atClosed := func(want int) {
		t.Helper()
		err := m.Run(st)
		assert.ErrorIs(t, err, ops.ErrClosed)
		var e *ops.BatchError
		if want >= 0 && assert.ErrorAs(t, err, &e) {
			assert.Equal(t, want, e.Index)
		}
	}
	assert.Error(t, m.Run(nil), "a nil stream")
	require.NoError(t, plans[4].Close())
	atClosed(4)
	require.NoError(t, plans[2].Close())
	atClosed(2)
	_, err = s.dev.PlanBatch(plans[4:5], ops.BatchOptions{})
	assert.ErrorIs(t, err, ops.ErrClosed)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close(), "Close twice")
	atClosed(-1)
}

// cut is a view of t, [1,n,d] of its first rows.
func (s *suite) cut(t *testing.T, x *tensor.Tensor, n int) *tensor.Tensor {
	t.Helper()
	v, err := x.AsStrided([]int{1, n, 1}, []int{n, 1, 1}, 0)
	require.NoError(t, err)
	return v
}

func (s *suite) batchAllocations(t *testing.T) {
	st := s.stream(t)
	m := s.planBatch(t, plansOf(s.requests(t, 20, nil, nil)), 0)
	assert.Zero(t, fewestAllocations(t, st, func() error { return m.Run(st) }))
	g, err := st.Capture(func() error { return m.Run(st) })
	require.NoError(t, err)
	defer func() { assert.NoError(t, g.Close()) }()
	assert.Zero(t, fewestAllocations(t, st, func() error { return g.Launch(st) }))
}
