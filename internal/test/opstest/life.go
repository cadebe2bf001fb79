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

var background = context.Background()

// lifeParts returns the tests for the lifetime of queues, plans, graphs and batches.
func lifeParts() parts {
	return parts{
		"a wrong call is refused":                                       (*suite).refuses,
		"plans and graphs run many times with changed inputs":           ofEach((*suite).reuse),
		"an error surfaces at the next Synchronize and once":            ofEach((*suite).errorsOnce),
		"what is closed says so":                                        ofEach((*suite).closedArguments),
		"calls leave nothing behind":                                    (*suite).calls,
		"closed queues and devices say so":                              (*suite).closed,
		"four goroutines on four queues":                                (*suite).fourStreams,
		"64 goroutines on one device":                                   (*suite).manyGoroutines,
		"two plans' errors are both returned":                           (*suite).errorsJoin,
		"a capture that fails leaves the queue usable":                  (*suite).captureFails,
		"Synchronize honours its context":                               (*suite).contexts,
		"a call whose context has ended writes nothing":                 (*suite).endedCalls,
		"a call whose context ends while it runs leaves nothing behind": (*suite).endingCalls,
		"Run allocates nothing with any kind":                           (*suite).allocations,
		"plans on many queues at once":                                  (*suite).overlap,
		"plans that share a cursor take turns":                          (*suite).drawTurns,
		"a chain of operations launched early gives the same bits":      (*suite).dependentChain,
		"operations ready behind one that waits give the same bits":     (*suite).readyBehind,
		"independent operations launched early give the same bits":      (*suite).readyInputs,
		"faults after early launches are reported":                      (*suite).earlyFaults,
		"a queue copies":                                                (*suite).queueCopies,
		"a queue waits for another":                                     (*suite).queuesWait,
		"a pipeline of two buffers":                                     (*suite).pipeline,
		"a graph copies":                                                (*suite).copyGraphs,
		"copies, marks and waits allocate nothing":                      (*suite).copyAllocations,
		"a batch gives what its plans give":                             (*suite).batches,
		"errors of a batch name their plan":                             (*suite).batchFaults,
		"10,000 calls leave nothing behind":                             (*suite).noGrowth,
	}
}

// ofEach returns a test that runs once for each operation's subject.
func ofEach(run func(s *suite, t *testing.T, subject func() *subject)) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		for _, subject := range subjects() {
			x := subject()
			t.Run(x.op+", "+x.name(), func(t *testing.T) { run(s, t, subject) })
		}
	}
}

// reuse tests that a plan runs many times, on its queue and in graphs on any queue, uses the current inputs each time, and allocates
// no memory.
func (s *suite) reuse(t *testing.T, subject func() *subject) {
	r, st, other := s.rig(t, subject()), s.stream(t), s.stream(t)
	r.runs(t, st, 1, "first", r.on(st)) // not in a graph, because the first run loads kernels
	before := r.bits(t)
	g, twice := capture(t, st, r.on(st)), capture(t, st, func() error { return errors.Join(r.plan.Run(st), r.plan.Run(st)) })
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, before, r.bits(t), "capturing ran the work")
	rounds := 3
	if s.simulated && !s.long {
		rounds = 2
	}
	for round := range rounds {
		r.vary(t, round+1)
		r.runs(t, st, 1, "run", r.on(st))
		r.runs(t, st, 1, "in a graph", func() error { return g.Launch(st) })
		r.runs(t, other, 1, "in a graph on another queue", func() error { return g.Launch(other) })
		r.runs(t, st, 2, "twice in a graph", func() error { return twice.Launch(st) })
	}
	assert.Zero(t, fewestAllocations(t, st, r.on(st)), "Run")
	assert.Zero(t, fewestAllocations(t, st, func() error { return g.Launch(st) }), "Launch")
	require.NoError(t, r.plan.Close())
	r.wipe(t)
	before = r.bits(t)
	assert.ErrorIs(t, g.Launch(st), ops.ErrClosed, "of a plan")
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, before, r.bits(t), "a launch that was refused ran some of the work")
	require.NoError(t, g.Close())
	require.NoError(t, g.Close(), "twice")
	assert.ErrorIs(t, g.Launch(st), ops.ErrClosed)
}

// errorsOnce tests that an error in values is returned once, by the queue's next Synchronize, and that the plan works again with
// correct values.
func (s *suite) errorsOnce(t *testing.T, subject func() *subject) {
	r, good, st, other := s.rig(t, subject()), s.rig(t, subject()), s.stream(t), s.stream(t)
	if r.bad == nil {
		return
	}
	g := capture(t, st, r.on(st))
	right := *r.inputs[r.badIn]
	r.set(t, r.badIn, r.bad)
	for _, launch := range []func() error{r.on(st), func() error { return g.Launch(st) }, r.on(st)} {
		require.NoError(t, launch(), "no error in values")
		good.runs(t, other, 1, "beside a bad plan", good.on(other))
		r.wantFault(t, st.Synchronize(background))
		assert.NoError(t, st.Synchronize(background), "the same error twice")
	}
	r.set(t, r.badIn, packed(right.dtype, right.raw, right.shape...))
	r.wipe(t)
	r.runs(t, st, 1, "after the errors", r.on(st))
	r.runs(t, st, 1, "after the errors, in a graph", func() error { return g.Launch(st) })
}

// closedArguments tests that running a plan with a closed tensor returns an error with the argument's name.
func (s *suite) closedArguments(t *testing.T, subject func() *subject) {
	st := s.stream(t)
	for name := range subject().inputs {
		r := s.rig(t, subject())
		x := r.tensor(name)
		require.NoError(t, x.Close())
		require.NoError(t, x.Close(), "twice")
		var e *ops.ArgError
		err := r.plan.Run(st)
		if assert.ErrorAs(t, err, &e, name) {
			assert.ErrorIs(t, err, ops.ErrClosed)
			assert.Equal(t, [2]string{r.op, name}, [2]string{e.Op, e.Arg})
		}
		assert.NoError(t, st.Synchronize(background))
	}
	r := s.rig(t, subject())
	assert.Error(t, r.plan.Run(nil), "a nil queue")
	require.NoError(t, r.plan.Close())
	require.NoError(t, r.plan.Close(), "twice")
	assert.ErrorIs(t, r.plan.Run(st), ops.ErrClosed, "a closed plan")
}

// calls runs valid and invalid calls of each subject in random order on four goroutines (two on a simulated device). Each must give its own
// result or error, and none may leave memory allocated. The host's memory is compared once, because that collects all garbage twice.
func (s *suite) calls(t *testing.T) {
	routines, times := 4, max(s.times(25), 5)
	if s.simulated && !s.long {
		routines = 2
	}
	if s.isCPU() && !s.long {
		times = 10
	}
	var each []func(n int)
	for _, fresh := range subjects() {
		good, bad := fresh(), fresh()
		if bad.bad != nil {
			*bad.inputs[bad.badIn] = bad.bad
		}
		name := good.op + ", " + good.name()
		one := func(x *subject) func() string {
			fault, compare := x.solve(s)
			return func() string {
				got, err := x.call(s.dev)
				return mistake(fault, compare, got, err)
			}
		}
		right, wrong := one(good), one(bad)
		each = append(each, func(n int) {
			before := s.memoryInUse()
			var all sync.WaitGroup
			for range routines {
				all.Go(func() {
					for i := range n {
						if i%5 == 4 {
							assert.Empty(t, wrong(), name)
						}
						assert.Empty(t, right(), name)
					}
				})
			}
			all.Wait()
			if n > 1 { // the first call may load kernels
				assert.LessOrEqual(t, s.memoryInUse(), before, "%s: bytes of device memory in use", name)
			}
		})
	}
	for _, some := range each {
		some(1)
	}
	assertNoGrowth(t, func() {
		for _, some := range each {
			some(times)
		}
	})
}

// assertNoGrowth tests that calls leave less than 400 KiB of host memory. The noise of the Go runtime is less in one of three times; a leak is
// more each time.
func assertNoGrowth(t *testing.T, calls func()) {
	t.Helper()
	grown := int64(0)
	for range 3 {
		before := heap()
		calls()
		if grown = heap() - before; grown < 400<<10 {
			return
		}
	}
	assert.Fail(t, "host memory grows", "by %d bytes", grown)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (s *suite) memoryInUse() int64 {
	if s.cfg.MemoryInUse == nil {
		return 0
	}
	return s.cfg.MemoryInUse()
}

func (s *suite) errorsJoin(t *testing.T) {
	one, two, good, st := s.rig(t, steps()), s.rig(t, steps()), s.rig(t, steps()), s.stream(t)
	one.set(t, "SrcTimes", arr([]int64{0, 10, 5, 30, 40}, 5))
	two.set(t, "SrcTimes", arr([]int64{0, 10, 20, 30, 1<<62 + 1}, 5))
	for _, r := range []*rig{one, good, two} {
		require.NoError(t, r.plan.Run(st))
	}
	err := st.Synchronize(background)
	assert.ErrorIs(t, err, ops.ErrUnsorted)
	assert.ErrorIs(t, err, ops.ErrTimeRange)
	good.check(t, 1, "between two bad plans")
	assert.NoError(t, st.Synchronize(background))
}

func (s *suite) captureFails(t *testing.T) {
	r, st := s.rig(t, steps()), s.stream(t)
	own := errors.New("mine")
	g, err := st.Capture(func() error { return errors.Join(r.plan.Run(st), own) })
	assert.ErrorIs(t, err, own)
	assert.Nil(t, g)
	r.runs(t, st, 1, "after a failed capture", r.on(st))
}

func (s *suite) contexts(t *testing.T) {
	r, st := s.rig(t, steps()), s.stream(t)
	ctx, cancel := context.WithCancel(background)
	cancel()
	require.NoError(t, r.plan.Run(st))
	// The context may end after the work is done, so success is also correct.
	if err := st.Synchronize(ctx); err != nil {
		assert.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, st.Synchronize(background))
	r.check(t, 1, "after a context that ended")
}

func (s *suite) closed(t *testing.T) {
	r := s.rig(t, steps())
	st, err := s.dev.NewQueue()
	require.NoError(t, err)
	wantClosed := func(err error, what string) {
		t.Helper()
		var e *ops.ArgError
		assert.True(t, errors.As(err, &e), "%s: got %v, want an *ArgError", what, err)
		assert.ErrorIs(t, err, ops.ErrClosed, what)
	}
	require.NoError(t, st.Close())
	require.NoError(t, st.Close(), "Close twice")
	wantClosed(r.plan.Run(st), "Run on a closed queue")
	wantClosed(st.Synchronize(background), "Synchronize of a closed queue")
	_, err = st.Capture(func() error { return nil })
	assert.Error(t, err, "Capture of a closed queue")
	dev, err := ops.Open(s.dev.Name())
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	require.NoError(t, dev.Close(), "Close twice")
	for name, call := range map[string]func() error{
		"Alloc":        func() error { return second(dev.Alloc(tensor.F32, 1)) },
		"Upload":       func() error { return second(dev.Upload(background, tensor.Must(tensor.New(tensor.F32, 1)))) },
		"NewQueue":     func() error { return second(dev.NewQueue()) },
		"Resample":     func() error { return second(dev.Resample(background, ops.ResampleArgs{}, ops.ResampleOptions{})) },
		"PlanResample": func() error { return second(dev.PlanResample(ops.ResampleArgs{}, ops.ResampleOptions{})) },
		"Draw":         func() error { return second(dev.Draw(background, ops.DrawArgs{}, ops.DrawOptions{})) },
		"PlanDraw":     func() error { return second(dev.PlanDraw(ops.DrawArgs{}, ops.DrawOptions{})) },
		"Synchronize":  func() error { return dev.Synchronize(background) },
		"Copy":         func() error { return dev.Copy(background, nil, nil) },
	} {
		wantClosed(call(), name)
	}
}

// fewestAllocations returns the allocations per call over ten calls. It takes the lowest of several measurements, because the Go
// runtime may allocate at any time.
func fewestAllocations(t *testing.T, st *ops.Queue, run func() error) float64 {
	t.Helper()
	var least float64 = 1 << 20
	for range 3 {
		var failed error
		n := testing.AllocsPerRun(10, func() { failed = errors.Join(failed, run()) })
		require.NoError(t, failed)
		require.NoError(t, st.Synchronize(background))
		if least = min(least, n); least == 0 {
			break
		}
	}
	return least
}

// allocations tests that a run allocates nothing, with a plan for every kind. The dtypes and clocks take turns; the long set has all
// combinations.
func (s *suite) allocations(t *testing.T) {
	st, r := s.stream(t), rng(7)
	for k, kind := range ops.Interps() {
		for i, dtype := range valueDTypes {
			for j, clock := range clockDTypes {
				if !s.long && (k%4 != i || k%3 != j) {
					continue
				}
				timestamps, between := count0(40), count0(40)
				for i := range timestamps {
					timestamps[i], between[i] = 10*timestamps[i], 10*between[i]+float64(i%3) // on samples and between them
				}
				c := &resampling{Name: fmt.Sprint(kind, dtype, clock), Src: vals(dtype, uniformValues(r, 40*12), 40, 12), Times: vals(clock, timestamps, 40), Targets: vals(clock, between, 40),
					Opts: ops.ResampleOptions{Interp: kind, Window: anyWindow}}
				plan := s.rig(t, &subject{operation: c})
				assert.Zero(t, fewestAllocations(t, st, plan.on(st)), c.Name)
			}
		}
	}
}

func count0(n int) []float64 { return count(0, n-1) }

func (s *suite) fourStreams(t *testing.T) {
	var all sync.WaitGroup
	var rigs []*rig
	for i := range 4 {
		r, st := s.rig(t, steps()), s.stream(t)
		r.vary(t, i+1)
		rigs = append(rigs, r)
		all.Go(func() {
			for range 50 {
				if !assert.NoError(t, r.plan.Run(st)) || !assert.NoError(t, st.Synchronize(background)) {
					return
				}
			}
		})
	}
	all.Wait()
	for i, r := range rigs {
		r.check(t, 50, fmt.Sprint("queue ", i))
	}
}

func (s *suite) manyGoroutines(t *testing.T) {
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 4 {
				seed := i*10 + k
				r := rng(uint64(seed))
				times := ascending(r, 20, 0)
				c := &resampling{Src: vals(tensor.F32, uniformValues(r, 60), 20, 3), Times: arr(times, 20), Targets: arr(between(r, 9, times), 9)}
				got, err := c.call(s.dev)
				fault, compare := c.solve(s)
				assert.Empty(t, mistake(fault, compare, got, err), "call %d", seed)
			}
		})
	}
	all.Wait()
}

// drawTurns tests two plans that share a cursor: they draw consecutive batches in turn.
func (s *suite) drawTurns(t *testing.T) {
	one, two, st := s.rig(t, drawn(31)), s.rig(t, drawn(31)), s.stream(t)
	require.NoError(t, two.plan.Close())
	c := two.operation.(*drawing)
	args := c.args(two.p.put)
	for _, x := range c.outputs(&args) {
		*x.at = two.tensor(x.name)
	}
	args.Cursor = one.tensor("Cursor")
	var err error
	two.plan, err = s.dev.PlanDraw(args, c.Opts)
	require.NoError(t, err)
	for k := range 4 {
		one.runs(t, st, 1, "the first", one.on(st))
		require.NoError(t, two.plan.Run(st))
		require.NoError(t, st.Synchronize(background))
		require.NoError(t, s.dev.Copy(background, two.tensor("Cursor"), packed(tensor.I64, s.read(t, one.tensor("Cursor")), 2).host()))
		two.round = 2*k + 1
		two.check(t, 1, "the second")
		one.round++
	}
	_, err = s.dev.PlanBatch([]*ops.Plan{one.plan, two.plan}, ops.BatchOptions{})
	assert.ErrorIs(t, err, ops.ErrOverlap, "they have no order in a batch")
}

func (s *suite) noGrowth(t *testing.T) {
	c := &resampling{Src: vals(tensor.F32, []float64{1, 2}, 2, 1), Times: arr([]int64{0, 1}, 2), Targets: arr([]int64{0}, 1)}
	args := c.args((*array).host)
	args.Dst, args.Valid, args.Age = tensor.Must(tensor.New(tensor.F32, 1, 1)), tensor.Must(tensor.New(tensor.U8, 1)), tensor.Must(tensor.New(tensor.I64, 1))
	calls := func(n int) {
		for range n {
			_, err := s.dev.Resample(context.Background(), args, ops.ResampleOptions{})
			require.NoError(t, err)
		}
	}
	calls(200)
	deviceBefore, goroutines := s.memoryInUse(), runtime.NumGoroutine()
	if tool != "" {
		calls(500) // each call takes milliseconds, and the memory checker looks for other faults
		return
	}
	assertNoGrowth(t, func() { calls(s.times(10_000)) }) // a leak of 40 bytes per call is 400 kB
	assert.LessOrEqual(t, s.memoryInUse(), deviceBefore, "bytes of device memory in use")
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2, "goroutines")
}

func wantFault(t *testing.T, err error, kind error, row, index int) {
	t.Helper()
	var e *ops.ValueError
	if assert.True(t, errors.As(err, &e), "got %v, want a *ValueError", err) {
		assert.ErrorIs(t, err, kind)
		assert.Equal(t, [2]int{row, index}, [2]int{e.Row, e.Index}, "%v", err)
	}
}
