package opstest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// requests makes n rigs with small jobs, each with its own shape and kind: a Resample, or every fourth a Fuse. In those in bad the timestamps go backwards at
// index 1; those in idle have no targets.
func (s *suite) requests(t *testing.T, n int, bad, idle map[int]bool) (list []*rig) {
	t.Helper()
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
		c := &resampling{Name: fmt.Sprint("request ", i), Src: vals(tensor.F32, uniformValues(r, b*samples*d), b, samples, d), Times: arr(times, samples), Targets: arr(x, targets),
			Opts: ops.ResampleOptions{Interp: []ops.Interp{ops.InterpLinear, ops.InterpPchip, ops.InterpNearest}[i%3]}}
		subject := &subject{operation: c, op: "Resample", inputs: map[string]**array{"Src": &c.Src, "SrcTimes": &c.Times}}
		if i%4 == 3 {
			p := &part{resampling: *c}
			subject.operation, subject.op, subject.inputs["Src"] = &fusing{Name: c.Name, Out: tensor.F32, Streams: []*part{p}, Targets: c.Targets}, "Fuse", &p.Src
		}
		list = append(list, s.rig(t, subject))
	}
	return list
}

func plansOf(list []*rig) (plans []*ops.Plan) {
	for _, r := range list {
		plans = append(plans, r.plan)
	}
	return plans
}

func (s *suite) planBatch(t *testing.T, plans []*ops.Plan, atOnce int) *rig {
	t.Helper()
	m, err := s.dev.PlanBatch(plans, ops.BatchOptions{AtOnce: atOnce})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return &rig{s: s, plan: m}
}

// batches: a batch gives the results of its plans alone, however many may run at once, on a queue and in a graph, again with changed inputs. Each operation has
// plans among them.
func (s *suite) batches(t *testing.T) {
	requests := max(s.times(37), 12)
	list, st := s.requests(t, requests, nil, map[int]bool{5: true}), s.stream(t)
	for _, x := range subjects() {
		list = append(list, s.rig(t, x()))
	}
	plans := plansOf(list)
	launches := map[string]func() error{}
	sizes := []int{0, 3, 1, 64}
	if s.simulated && !s.long {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		launches[fmt.Sprint("at once ", n)] = s.planBatch(t, plans, n).on(st)
	}
	g := capture(t, st, launches["at once 0"])
	launches["in a graph"] = func() error { return g.Launch(st) }
	launches["beside a plan of it"] = func() error { return errors.Join(plans[0].Run(st), launches["at once 0"](), plans[1].Run(st)) }
	for round := range 2 {
		if round > 0 {
			for i, r := range list[:requests] {
				src := *r.inputs["Src"]
				r.set(t, "Src", vals(tensor.F32, uniformValues(rng(uint64(900+i)), src.len()), src.shape...))
			}
		}
		for what, launch := range launches {
			for _, r := range list {
				r.wipe(t)
			}
			require.NoError(t, launch(), what)
			require.NoError(t, st.Synchronize(background), what)
			for _, r := range list {
				r.check(t, 1, fmt.Sprintf("%s, round %d", what, round))
			}
		}
	}
	whole := launches["at once 0"]
	assert.Zero(t, fewestAllocations(t, st, whole))
	assert.Zero(t, fewestAllocations(t, st, launches["in a graph"]))
	assert.NoError(t, s.planBatch(t, nil, 0).on(st)(), "a batch of nothing")
	assert.NoError(t, s.planBatch(t, plans[5:6], 0).on(st)(), "a batch of a plan without targets")
	assert.NoError(t, st.Synchronize(background))
}

// batchFaults: errors in values come with the index of their plan, and leave the other plans' results alone.
func (s *suite) batchFaults(t *testing.T) {
	bad := map[int]bool{3: true, 9: true}
	list, st := s.requests(t, 12, bad, nil), s.stream(t)
	run := s.planBatch(t, plansOf(list), 0).on(st)
	g := capture(t, st, run)
	for what, launch := range map[string]func() error{"on a queue": run, "in a graph": func() error { return g.Launch(st) }} {
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
	require.NoError(t, s.planBatch(t, plansOf(list[3:4]), 0).on(st)())
	var e *ops.BatchError
	require.ErrorAs(t, st.Synchronize(background), &e)
	assert.Zero(t, e.Index)
	assert.Empty(t, ops.BatchErrors(nil))
	for i, r := range list {
		if !bad[i] {
			r.check(t, 1, "beside bad ones")
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
	refused("plans[1]", ops.ErrOption, plans[0], s.planBatch(t, plans[1:2], 0).plan)
	refused("plans[2]", ops.ErrOverlap, plans[0], plans[1], plans[0])
	over, err := s.dev.PlanResample(ops.ResampleArgs{Dst: flat(list[1].tensor("Src"), 1, 1, 1), Src: flat(list[0].tensor("Src"), 1, 2, 1), SrcTimes: list[0].tensor("SrcTimes"), Targets: ops.Uniform(0, 1e3, 1)}, ops.ResampleOptions{})
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
	m := s.planBatch(t, plans, 0).plan
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
