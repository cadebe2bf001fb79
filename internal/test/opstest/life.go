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

// rig is a plan on device tensors whose inputs can be changed: one row of 5 samples, 4 targets, 2 features.
type rig struct {
	s                   *suite
	args                ops.ResampleArgs
	plan                *ops.Plan
	src, times, targets *array
}

func (s *suite) rig(t *testing.T) *rig {
	t.Helper()
	r := &rig{s: s}
	r.src = vals(tensor.F32, []float64{0, 5, 1, 4, 2, 3, 3, 2, 4, 1}, 5, 2)
	r.times, r.targets = arr([]int64{0, 10, 20, 30, 40}, 5), arr([]int64{0, 15, 25, 40}, 4)
	r.args = ops.ResampleArgs{Dst: s.alloc(t, tensor.F32, 4, 2), Src: s.upload(t, r.src), SrcTimes: s.upload(t, r.times), Targets: ops.At(s.upload(t, r.targets))}
	var err error
	r.plan, err = s.dev.PlanResample(r.args, ops.ResampleOptions{})
	require.NoError(t, err)
	return r
}

func (s *suite) alloc(t *testing.T, dtype tensor.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := s.dev.Alloc(dtype, shape...)
	require.NoError(t, err)
	return x
}

func (s *suite) upload(t *testing.T, a *array) *tensor.Tensor {
	t.Helper()
	x, err := s.dev.Upload(context.Background(), a.host())
	require.NoError(t, err)
	return x
}

// change writes new source values, which scale the answer, and new timestamps.
func (r *rig) change(t *testing.T, scale float64, times ...int64) {
	t.Helper()
	r.src = vals(tensor.F32, []float64{0, 5 * scale, scale, 4 * scale, 2 * scale, 3 * scale, 3 * scale, 2 * scale, 4 * scale, scale}, 5, 2)
	require.NoError(t, r.s.dev.Copy(context.Background(), r.args.Src, r.src.host()))
	if len(times) > 0 {
		r.times = arr(times, 5)
		require.NoError(t, r.s.dev.Copy(context.Background(), r.args.SrcTimes, r.times.host()))
	}
}

// check compares Dst with what the inputs now give.
func (r *rig) check(t *testing.T, what string) {
	t.Helper()
	c := &resampling{Name: what, Src: r.src, Times: r.times, Targets: r.targets}
	want := solve(c)
	require.Nil(t, want.err)
	got := r.s.read(t, r.args.Dst)
	for i, w := range want.dst {
		assert.True(t, w.ok(tensor.F32, got[i]), "%s, element %d: got %s, want %s", what, i, show(tensor.F32, got[i]), w.show(tensor.F32))
	}
}

func (r *rig) wipe(t *testing.T) {
	t.Helper()
	raw := make([]uint64, 8)
	for i := range raw {
		raw[i] = poison(tensor.F32)
	}
	require.NoError(t, r.s.dev.Copy(context.Background(), r.args.Dst, packed(tensor.F32, raw, 4, 2).host()))
}

func (r *rig) close() {
	r.plan.Close()
	for _, x := range []*tensor.Tensor{r.args.Dst, r.args.Src, r.args.SrcTimes, r.args.Targets.Times} {
		x.Close()
	}
}

func (s *suite) stream(t *testing.T) *ops.Queue {
	t.Helper()
	st, err := s.dev.NewQueue()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, st.Close()) })
	return st
}

// lifeParts are about queues, plans, graphs, batches and their ends.
func lifeParts() parts {
	return parts{
		"a wrong call is refused":                                       (*suite).refuses,
		"four goroutines on four queues":                                (*suite).fourStreams,
		"64 goroutines on one device":                                   (*suite).manyGoroutines,
		"a plan runs many times with changed inputs":                    (*suite).planReuse,
		"an error surfaces at the next Synchronize and once":            (*suite).errorsOnce,
		"an error stays on its queue":                                   (*suite).errorsStay,
		"errors of two plans are both returned":                         (*suite).errorsJoin,
		"a graph runs many times with changed inputs":                   (*suite).graphs,
		"a capture that fails leaves the queue usable":                  (*suite).captureFails,
		"Synchronize honours its context":                               (*suite).contexts,
		"a call whose context has ended writes nothing":                 (*suite).endedCalls,
		"a call whose context ends while it runs leaves nothing behind": (*suite).endingCalls,
		"what is closed says so":                                        (*suite).closed,
		"Run and Launch allocate nothing":                               (*suite).allocations,
		"plans on many queues at once":                                  (*suite).overlap,
		"a chain of operations launched early gives the same bits":      (*suite).dependentChain,
		"operations ready behind one that waits give the same bits":     (*suite).readyBehind,
		"independent operations launched early give the same bits":      (*suite).readyInputs,
		"faults of operations launched early are reported":              (*suite).earlyFaults,
		"a queue copies":                           (*suite).queueCopies,
		"a queue waits for another":                (*suite).queuesWait,
		"a pipeline of two buffers":                (*suite).pipeline,
		"a graph copies":                           (*suite).copyGraphs,
		"copies, marks and waits allocate nothing": (*suite).copyAllocations,
		"a batch gives what its plans give":        (*suite).batches,
		"a batch of clouds gives what they give":   (*suite).voxelBatch,
		"errors of a batch name their plan":        (*suite).batchFaults,
		"a batch's Run allocates nothing":          (*suite).batchAllocations,
		"1000 calls, every tenth bad":              (*suite).everyTenth,
		"10,000 calls leave nothing behind":        (*suite).noGrowth,
		"fuse":                                     (*suite).fuseLife,
		"backward":                                 (*suite).gradientLife,
		"voxel":                                    (*suite).voxelLife,
		"draw":                                     (*suite).drawLife,
		"tally":                                    (*suite).tallyLife,
	}
}

func (s *suite) planReuse(t *testing.T) {
	r, st := s.rig(t), s.stream(t)
	defer r.close()
	for i := range 5 {
		r.change(t, float64(i+1), 0, 10, 20, 30, 40+int64(i))
		require.NoError(t, r.plan.Run(st))
		require.NoError(t, st.Synchronize(background))
		r.check(t, fmt.Sprint("run ", i))
	}
}

func wantFault(t *testing.T, err error, kind error, row, index int) {
	t.Helper()
	var e *ops.ValueError
	if assert.True(t, errors.As(err, &e), "got %v, want a *ValueError", err) {
		assert.ErrorIs(t, err, kind)
		assert.Equal(t, [2]int{row, index}, [2]int{e.Row, e.Index}, "%v", err)
	}
}

func (s *suite) errorsOnce(t *testing.T) {
	r, st := s.rig(t), s.stream(t)
	defer r.close()
	r.change(t, 1, 0, 10, 5, 30, 40)
	for range 3 {
		require.NoError(t, r.plan.Run(st), "Run gives no error in values")
		wantFault(t, st.Synchronize(background), ops.ErrUnsorted, 0, 2)
		assert.NoError(t, st.Synchronize(background), "the same error twice")
	}
	r.change(t, 2, 0, 10, 20, 30, 40)
	require.NoError(t, r.plan.Run(st))
	require.NoError(t, st.Synchronize(background))
	r.check(t, "after the errors")
}

func (s *suite) errorsStay(t *testing.T) {
	bad, good := s.rig(t), s.rig(t)
	defer bad.close()
	defer good.close()
	a, b := s.stream(t), s.stream(t)
	bad.change(t, 1, 0, 10, 20, 30, 29)
	require.NoError(t, bad.plan.Run(a))
	require.NoError(t, good.plan.Run(b))
	assert.NoError(t, b.Synchronize(background))
	assert.NoError(t, s.dev.Synchronize(background))
	good.check(t, "beside a bad plan")
	wantFault(t, a.Synchronize(background), ops.ErrUnsorted, 0, 4)
}

func (s *suite) errorsJoin(t *testing.T) {
	one, two, good := s.rig(t), s.rig(t), s.rig(t)
	defer one.close()
	defer two.close()
	defer good.close()
	st := s.stream(t)
	one.change(t, 1, 0, 10, 5, 30, 40)
	two.change(t, 1, 0, 10, 20, 30, 1<<62+1)
	require.NoError(t, one.plan.Run(st))
	require.NoError(t, good.plan.Run(st))
	require.NoError(t, two.plan.Run(st))
	err := st.Synchronize(background)
	assert.ErrorIs(t, err, ops.ErrUnsorted)
	assert.ErrorIs(t, err, ops.ErrTimeRange)
	good.check(t, "between two bad plans")
	assert.NoError(t, st.Synchronize(background))
}

func (s *suite) graphs(t *testing.T) {
	a, b, st := s.rig(t), s.rig(t), s.stream(t)
	defer a.close()
	defer b.close()
	// Once outside, so that whatever a first run loads is there.
	require.NoError(t, a.plan.Run(st))
	require.NoError(t, st.Synchronize(background))
	a.wipe(t)
	before := s.read(t, a.args.Dst)
	g, err := st.Capture(func() error { return errors.Join(a.plan.Run(st), b.plan.Run(st)) })
	require.NoError(t, err)
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, before, s.read(t, a.args.Dst), "capturing ran the work")
	other := s.stream(t)
	for i := range 4 {
		for _, on := range []*ops.Queue{st, other} {
			a.change(t, float64(i+2))
			b.change(t, float64(-i))
			a.wipe(t)
			require.NoError(t, g.Launch(on))
			require.NoError(t, on.Synchronize(background))
			a.check(t, fmt.Sprint("launch ", i))
			b.check(t, fmt.Sprint("launch ", i))
		}
	}
	a.change(t, 1, 0, 10, 5, 30, 40)
	require.NoError(t, g.Launch(st))
	wantFault(t, st.Synchronize(background), ops.ErrUnsorted, 0, 2)
	a.change(t, 3, 0, 10, 20, 30, 40)
	require.NoError(t, g.Launch(st))
	require.NoError(t, st.Synchronize(background))
	a.check(t, "after an error")
	require.NoError(t, b.plan.Close())
	a.wipe(t)
	assert.ErrorIs(t, g.Launch(st), ops.ErrClosed, "of a plan")
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, before, s.read(t, a.args.Dst), "a launch that was refused ran some of the work")
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	assert.ErrorIs(t, g.Launch(st), ops.ErrClosed)
}

func (s *suite) captureFails(t *testing.T) {
	r, st := s.rig(t), s.stream(t)
	defer r.close()
	own := errors.New("mine")
	g, err := st.Capture(func() error { return errors.Join(r.plan.Run(st), own) })
	assert.ErrorIs(t, err, own)
	assert.Nil(t, g)
	require.NoError(t, r.plan.Run(st))
	require.NoError(t, st.Synchronize(background))
	r.check(t, "after a failed capture")
}

func (s *suite) contexts(t *testing.T) {
	r, st := s.rig(t), s.stream(t)
	defer r.close()
	ctx, cancel := context.WithCancel(background)
	cancel()
	require.NoError(t, r.plan.Run(st))
	// Work that is done already may be reported as done.
	if err := st.Synchronize(ctx); err != nil {
		assert.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, st.Synchronize(background))
	r.check(t, "after a context that ended")
}

func (s *suite) closed(t *testing.T) {
	r := s.rig(t)
	st, err := s.dev.NewQueue()
	require.NoError(t, err)
	wantClosed := func(err error, what string) {
		t.Helper()
		var e *ops.ArgError
		assert.True(t, errors.As(err, &e), "%s: got %v, want an *ArgError", what, err)
		assert.ErrorIs(t, err, ops.ErrClosed, what)
	}
	assert.Error(t, r.plan.Run(nil), "a nil stream")
	for name, x := range map[string]*tensor.Tensor{"Dst": r.args.Dst, "Src": r.args.Src, "SrcTimes": r.args.SrcTimes, "Targets": r.args.Targets.Times} {
		fresh := s.rig(t)
		which := map[*tensor.Tensor]*tensor.Tensor{r.args.Dst: fresh.args.Dst, r.args.Src: fresh.args.Src, r.args.SrcTimes: fresh.args.SrcTimes, r.args.Targets.Times: fresh.args.Targets.Times}[x]
		require.NoError(t, which.Close())
		require.NoError(t, which.Close(), "Close twice")
		err := fresh.plan.Run(st)
		wantClosed(err, name)
		var e *ops.ArgError
		if errors.As(err, &e) {
			assert.Equal(t, name, e.Arg)
		}
		assert.NoError(t, st.Synchronize(background))
		fresh.close()
	}
	require.NoError(t, st.Close())
	require.NoError(t, st.Close(), "Close twice")
	wantClosed(r.plan.Run(st), "Run on a closed stream")
	wantClosed(st.Synchronize(background), "Synchronize of a closed stream")
	_, err = st.Capture(func() error { return nil })
	assert.Error(t, err, "Capture of a closed stream")
	require.NoError(t, r.plan.Close())
	require.NoError(t, r.plan.Close(), "Close twice")
	wantClosed(r.plan.Run(s.dev.Queue()), "Run of a closed plan")
	r.close()

	dev, err := ops.Open(s.dev.Name())
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	require.NoError(t, dev.Close(), "Close twice")
	_, err = dev.Alloc(tensor.F32, 1)
	wantClosed(err, "Alloc")
	_, err = dev.Upload(context.Background(), tensor.Must(tensor.New(tensor.F32, 1)))
	wantClosed(err, "Upload")
	_, err = dev.NewQueue()
	wantClosed(err, "NewQueue")
	_, err = dev.Resample(context.Background(), ops.ResampleArgs{}, ops.ResampleOptions{})
	wantClosed(err, "Resample")
	_, err = dev.PlanResample(ops.ResampleArgs{}, ops.ResampleOptions{})
	wantClosed(err, "PlanResample")
	wantClosed(dev.Synchronize(background), "Synchronize")
	wantClosed(dev.Copy(context.Background(), nil, nil), "Copy")
}

// allocations runs a plan of every kind, dtype and clock.
// fewestAllocations counts what ten calls allocate each, at the best of a few times: the runtime itself may allocate at any time.
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

func (s *suite) allocations(t *testing.T) {
	st := s.stream(t)
	count := func(run func() error) float64 { return fewestAllocations(t, st, run) }
	r := rng(7)
	for _, kind := range ops.Interps() {
		for _, dtype := range valueDTypes {
			for _, clock := range clockDTypes {
				timestamps, between := count0(40), count0(40)
				for i := range timestamps {
					timestamps[i], between[i] = 10*timestamps[i], 10*between[i]+float64(i%3) // on samples and between them
				}
				times := vals(clock, timestamps, 40)
				p := &placed{dev: s.dev}
				args := ops.ResampleArgs{Src: p.put(vals(dtype, uniformValues(r, 40*12), 40, 12)), SrcTimes: p.put(times), Targets: ops.At(p.put(vals(clock, between, 40)))}
				require.NoError(t, p.err)
				args.Dst, args.Valid, args.Age = s.alloc(t, dtype, 40, 12), s.alloc(t, tensor.U8, 40), s.alloc(t, clock, 40)
				p.open = append(p.open, args.Dst, args.Valid, args.Age)
				plan, err := s.dev.PlanResample(args, ops.ResampleOptions{Interp: kind, Window: anyWindow})
				require.NoError(t, err)
				assert.Zero(t, count(func() error { return plan.Run(st) }), "Run: %v %v %v", kind, dtype, clock)
				g, err := st.Capture(func() error { return plan.Run(st) })
				require.NoError(t, err)
				assert.Zero(t, count(func() error { return g.Launch(st) }), "Launch: %v %v %v", kind, dtype, clock)
				require.NoError(t, errors.Join(g.Close(), plan.Close(), p.close()))
			}
		}
	}
}

func count0(n int) []float64 { return count(0, n-1) }

func (s *suite) fourStreams(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		r, st := s.rig(t), s.stream(t)
		r.change(t, float64(i+1))
		all.Go(func() {
			for range 50 {
				if !assert.NoError(t, r.plan.Run(st)) || !assert.NoError(t, st.Synchronize(background)) {
					return
				}
			}
		})
		defer func() {
			all.Wait()
			r.check(t, fmt.Sprint("stream ", i))
			r.close()
		}()
	}
	all.Wait()
}

// wrong returns what is wrong with one convenient call, a good one or a bad one.
func (s *suite) wrong(seed int, bad bool) error {
	r := rng(uint64(seed))
	times := ascending(r, 20, 0)
	x := between(r, 9, times)
	if bad {
		times[1+seed%19] = -1
	}
	c := &resampling{Name: fmt.Sprint("call ", seed), Src: vals(tensor.F32, uniformValues(r, 60), 20, 3), Times: arr(times, 20), Targets: arr(x, 9)}
	got, err := c.call(s.dev)
	fault, compare := c.solve(s)
	if msg := mistake(fault, compare, got, err); msg != "" {
		return errors.New(msg)
	}
	return err
}

func (s *suite) manyGoroutines(t *testing.T) {
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 4 {
				assert.NoError(t, s.wrong(i*10+k, false))
			}
		})
	}
	all.Wait()
}

func (s *suite) everyTenth(t *testing.T) {
	faults, right := 0, 0
	n := s.times(1000) / 10 * 10
	for i := range n {
		err := s.wrong(i, i%10 == 9)
		var e *ops.ValueError
		switch {
		case err == nil:
			right++
		case errors.As(err, &e) && errors.Is(err, ops.ErrUnsorted):
			faults++
		default:
			t.Errorf("call %d: %v", i, err)
		}
	}
	assert.Equal(t, [2]int{n / 10, n - n/10}, [2]int{faults, right}, "errors, right results")
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
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	device := func() int64 {
		if s.cfg.MemoryInUse == nil {
			return 0
		}
		return s.cfg.MemoryInUse()
	}
	calls(200)
	hostBefore, deviceBefore, goroutines := heap(), device(), runtime.NumGoroutine()
	if tool != "" {
		calls(500) // each takes milliseconds, and the tool looks for other faults
		return
	}
	calls(s.times(10_000))
	// 40 bytes a call would be 400 kB: a leak of anything shows, the runtime's own noise does not.
	assert.Less(t, heap()-hostBefore, int64(400<<10), "bytes of host memory grown")
	assert.LessOrEqual(t, device(), deviceBefore, "bytes of device memory in use")
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2, "goroutines")
}
