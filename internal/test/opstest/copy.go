package opstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// pinned returns a tensor in pinned host memory (AllocHost), which is closed at the end of the test.
func (s *suite) pinned(t *testing.T, dtype tensor.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := s.dev.AllocHost(dtype, shape...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, x.Close()) })
	return x
}

// room returns a device tensor, which is closed at the end of the test.
func (s *suite) room(t *testing.T, dtype tensor.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	x := s.alloc(t, dtype, shape...)
	t.Cleanup(func() { assert.NoError(t, x.Close()) })
	return x
}

func (s *suite) mark(t *testing.T) *ops.Mark {
	t.Helper()
	m, err := s.dev.NewMark()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

// fill writes the elements of an array to a host tensor with the same shape.
func fill(t *testing.T, host *tensor.Tensor, a *array) {
	t.Helper()
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	require.NoError(t, cpu.Copy(background, host, a.host()))
}

// queueCopies tests copies of whole tensors and views from pinned memory to the device, inside the device, and back.
func (s *suite) queueCopies(t *testing.T) {
	st := s.stream(t)
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64, tensor.U8} {
		for _, n := range []int{0, 1, 31, 1000} {
			raw := make([]uint64, n+3)
			for i := range raw {
				raw[i] = encode(dtype, float64(i%100))
			}
			in, out := s.pinned(t, dtype, n+3), s.pinned(t, dtype, n+3)
			a, b := s.room(t, dtype, n+3), s.room(t, dtype, n+3)
			assert.True(t, in.OnHost())
			fill(t, in, packed(dtype, raw, n+3))
			for _, x := range []*tensor.Tensor{a, b} {
				require.NoError(t, st.Copy(x, in))
			}
			part := func(x *tensor.Tensor, lo int) *tensor.Tensor { return tensor.Must(x.Slice(0, lo, lo+n)) }
			for i, err := range []error{st.Copy(part(a, 1), part(in, 2)), st.Copy(part(b, 0), part(a, 1)), st.Copy(out, b), st.Copy(part(out, 3), part(b, 0))} {
				require.NoError(t, err, "copy %d", i)
			}
			require.NoError(t, st.Synchronize(background))
			want := append([]uint64(nil), raw...)
			copy(want, raw[2:n+2])
			copy(want[3:], raw[2:n+2])
			assert.Equal(t, want, bitsOf(out), "%v, %d", dtype, n)
		}
	}
	scalar, x := s.pinned(t, tensor.F32), s.room(t, tensor.F32)
	fill(t, scalar, packed(tensor.F32, []uint64{encode(tensor.F32, 7)}))
	require.NoError(t, st.Copy(x, scalar))
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, []uint64{encode(tensor.F32, 7)}, s.read(t, x))
}

// heavy returns a plan that keeps a queue busy for a while.
func (s *suite) heavy(t *testing.T) *ops.Plan {
	t.Helper()
	n := 4_000_000
	switch {
	case s.simulated:
		n = 20_000
	case s.isCPU():
		n = 1_000_000
	}
	args := ops.ResampleArgs{Dst: s.room(t, tensor.F32, n, 1), Src: s.room(t, tensor.F32, 2, 1), SrcTimes: s.upload(t, arr([]int64{0, 1e9}, 2)), Targets: ops.Uniform(0, 1e9, n)}
	t.Cleanup(func() { assert.NoError(t, args.SrcTimes.Close()) })
	require.NoError(t, s.dev.Copy(background, args.Src, vals(tensor.F32, []float64{0, 1}, 2, 1).host()))
	plan, err := s.dev.PlanResample(args, ops.ResampleOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plan.Close()) })
	return plan
}

// queuesWait tests that a plan on one queue uses the data of an earlier copy that waits for long work on another queue, and that no
// later copy changes its input first. The queues wait for each other or for marks.
func (s *suite) queuesWait(t *testing.T) {
	r, slow := s.rig(t, steps()), s.heavy(t)
	src := flat(r.tensor("Src"), 5, 2)
	load, work := s.stream(t), s.stream(t)
	in := s.pinned(t, tensor.F32, 5, 2)
	loaded, worked := s.mark(t), s.mark(t)
	for i, points := range [][2]ops.Point{{load, work}, {loaded, worked}} {
		for round := range 3 {
			r.wipe(t)
			r.set(t, "Src", scaled(float64(10*i+round+2)))
			fill(t, in, *r.inputs["Src"])
			require.NoError(t, s.dev.Copy(background, src, scaled(-1).host()))
			require.NoError(t, slow.Run(load))
			require.NoError(t, load.Copy(src, in))
			require.NoError(t, load.Mark(loaded))
			require.NoError(t, work.After(points[0]))
			require.NoError(t, slow.Run(load)) // after the mark, so no queue waits for it
			require.NoError(t, slow.Run(work))
			require.NoError(t, r.plan.Run(work))
			require.NoError(t, work.Mark(worked))
			require.NoError(t, loaded.Wait(background))
			fill(t, in, vals(tensor.F32, make([]float64, 10), 5, 2)) // the host may change this buffer again
			require.NoError(t, load.After(points[1]))
			require.NoError(t, load.Copy(src, in)) // not before the plan has read its input
			require.NoError(t, worked.Wait(background))
			r.check(t, 1, fmt.Sprintf("%T, round %d", points[0], round))
			require.NoError(t, load.Synchronize(background))
			require.NoError(t, work.Synchronize(background))
			assert.Equal(t, make([]uint64, 10), s.read(t, src))
		}
	}
	require.NoError(t, work.After(work), "a queue may wait for itself")
	require.NoError(t, work.Synchronize(background))
}

// pipeline tests three stages: the host fills two buffers in turn; a queue copies them to two places on the device; another queue
// computes from there and copies the results back. Each stage waits only for the buffer that it needs.
func (s *suite) pipeline(t *testing.T) {
	const places = 2
	load, work := s.stream(t), s.stream(t)
	var rigs [places]*rig
	var in, out [places]*tensor.Tensor
	var loaded, worked [places]*ops.Mark
	for i := range places {
		rigs[i] = s.rig(t, steps())
		in[i], out[i] = s.pinned(t, tensor.F32, 5, 2), s.pinned(t, tensor.F32, 4, 2)
		loaded[i], worked[i] = s.mark(t), s.mark(t)
	}
	want := func(round int) *array { return scaled(float64(round + 1)) }
	check := func(round int) {
		i := round % places
		require.NoError(t, worked[i].Wait(background))
		c := *rigs[i].operation.(*resampling)
		c.Src = want(round)
		got := bitsOf(out[i])
		for k, w := range solve(&c).dst {
			assert.True(t, w.ok(tensor.F32, got[k]), "round %d, element %d: got %s, want %s", round, k, show(tensor.F32, got[k]), w.show(tensor.F32))
		}
	}
	const rounds = 12
	for round := range rounds {
		i := round % places
		if round >= places {
			check(round - places)
		}
		require.NoError(t, loaded[i].Wait(background), "a mark that nothing set stands for no work")
		fill(t, in[i], want(round))
		require.NoError(t, load.After(worked[i]))
		require.NoError(t, load.Copy(flat(rigs[i].tensor("Src"), 5, 2), in[i]))
		require.NoError(t, load.Mark(loaded[i]))
		require.NoError(t, work.After(loaded[i]))
		require.NoError(t, rigs[i].plan.Run(work))
		require.NoError(t, work.Copy(out[i], rigs[i].tensor("Dst")))
		require.NoError(t, work.Mark(worked[i]))
	}
	for round := rounds - places; round < rounds; round++ {
		check(round)
	}
}

// copyGraphs tests that a graph copies the content that the buffers have when the graph is launched.
func (s *suite) copyGraphs(t *testing.T) {
	r, st := s.rig(t, steps()), s.stream(t)
	src, dst := flat(r.tensor("Src"), 5, 2), r.tensor("Dst")
	in, out := s.pinned(t, tensor.F32, 5, 2), s.pinned(t, tensor.F32, 4, 2)
	spare := s.room(t, tensor.F32, 5, 2)
	require.NoError(t, r.plan.Run(st))
	require.NoError(t, st.Synchronize(background))
	before := s.read(t, src)
	g, err := st.Capture(func() error {
		return errors.Join(st.Copy(spare, in), st.Copy(src, spare), r.plan.Run(st), st.Copy(out, dst))
	})
	require.NoError(t, err)
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, before, s.read(t, src), "capturing ran a copy")
	for i := range 3 {
		r.set(t, "Src", scaled(float64(i+2)))
		fill(t, in, *r.inputs["Src"])
		require.NoError(t, s.dev.Copy(background, src, scaled(-1).host()))
		r.runs(t, st, 1, fmt.Sprint("launch ", i), func() error { return g.Launch(st) })
		assert.Equal(t, s.read(t, dst), bitsOf(out))
	}
	held := bitsOf(out)
	r.wipe(t)
	wiped := s.read(t, dst)
	require.NoError(t, in.Close())
	var arg *ops.ArgError
	require.ErrorAs(t, g.Launch(st), &arg)
	assert.ErrorIs(t, arg, ops.ErrClosed)
	assert.Equal(t, "src", arg.Arg)
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, held, bitsOf(out))
	assert.Equal(t, wiped, s.read(t, dst), "a launch that was refused ran some of the work")
	require.NoError(t, g.Close())
}

// copyMisuse tests that a wrong copy or wait returns a typed error that names the argument, and writes nothing.
func (s *suite) copyMisuse(t *testing.T) {
	st, other := s.stream(t), s.stream(t)
	host, dev := s.pinned(t, tensor.F32, 4, 2), s.room(t, tensor.F32, 4, 2)
	require.NoError(t, s.dev.Copy(background, dev, vals(tensor.F32, count(1, 8), 4, 2).host()))
	before := s.read(t, dev)
	gone := s.pinned(t, tensor.F32, 4, 2)
	require.NoError(t, gone.Close())
	require.NoError(t, gone.Close(), "Close twice")
	goneDev := s.alloc(t, tensor.F32, 4, 2)
	require.NoError(t, goneDev.Close())
	wide := s.room(t, tensor.F32, 4, 4)
	foreign := tensor.Must(tensor.OnDevice(elsewhere{1 << 20}, tensor.F32, 4, 2))
	pageable := tensor.Must(tensor.New(tensor.F32, 4, 2))
	mark := s.mark(t)
	goneMark, err := s.dev.NewMark()
	require.NoError(t, err)
	require.NoError(t, errors.Join(goneMark.Close(), goneMark.Close()))
	shut, err := s.dev.NewQueue()
	require.NoError(t, err)
	require.NoError(t, shut.Close())
	captured := func(fn func() error) error {
		g, err := st.Capture(fn)
		if err == nil {
			return g.Close()
		}
		return err
	}
	type misuse struct {
		err  error
		kind error
		op   string
		arg  string
	}
	cases := map[string]misuse{
		"no dst":             {st.Copy(nil, host), ops.ErrMissing, "Copy", "dst"},
		"no src":             {st.Copy(dev, nil), ops.ErrMissing, "Copy", "src"},
		"closed dst":         {st.Copy(gone, dev), ops.ErrClosed, "Copy", "dst"},
		"closed src":         {st.Copy(dev, gone), ops.ErrClosed, "Copy", "src"},
		"closed on device":   {st.Copy(goneDev, host), ops.ErrClosed, "Copy", "dst"},
		"dtypes":             {st.Copy(dev, s.pinned(t, tensor.I32, 4, 2)), ops.ErrDType, "Copy", "src"},
		"shapes":             {st.Copy(dev, s.pinned(t, tensor.F32, 2, 4)), ops.ErrShape, "Copy", "src"},
		"ranks":              {st.Copy(dev, s.pinned(t, tensor.F32, 8)), ops.ErrShape, "Copy", "src"},
		"strided dst":        {st.Copy(tensor.Must(wide.Slice(1, 0, 2)), host), ops.ErrStride, "Copy", "dst"},
		"strided src":        {st.Copy(host, tensor.Must(wide.Slice(1, 0, 2))), ops.ErrStride, "Copy", "src"},
		"another device":     {st.Copy(foreign, host), ops.ErrWrongDevice, "Copy", "dst"},
		"itself":             {st.Copy(dev, dev), ops.ErrOverlap, "Copy", "dst"},
		"overlap":            {st.Copy(tensor.Must(wide.Slice(0, 0, 3)), tensor.Must(wide.Slice(0, 1, 4))), ops.ErrOverlap, "Copy", "dst"},
		"closed queue":       {shut.Copy(dev, host), ops.ErrClosed, "Copy", "queue"},
		"no mark":            {st.Mark(nil), ops.ErrMissing, "Mark", "m"},
		"closed mark":        {st.Mark(goneMark), ops.ErrClosed, "Mark", "mark"},
		"mark, closed queue": {shut.Mark(mark), ops.ErrClosed, "Mark", "queue"},
		"mark in a capture":  {captured(func() error { return st.Mark(mark) }), ops.ErrOption, "Mark", "queue"},
		"wait, closed mark":  {goneMark.Wait(background), ops.ErrClosed, "Wait", "mark"},
		"no point":           {st.After(nil), ops.ErrMissing, "After", "p"},
		"no queue":           {st.After((*ops.Queue)(nil)), ops.ErrMissing, "After", "p"},
		"no mark to wait on": {st.After((*ops.Mark)(nil)), ops.ErrMissing, "After", "p"},
		"after closed mark":  {st.After(goneMark), ops.ErrClosed, "After", "mark"},
		"after closed queue": {st.After(shut), ops.ErrClosed, "After", "p"},
		"closed waits":       {shut.After(st), ops.ErrClosed, "After", "queue"},
		"after in a capture": {captured(func() error { return st.After(other) }), ops.ErrOption, "After", "queue"},
		"after a captured":   {captured(func() error { return other.After(st) }), ops.ErrOption, "After", "p"},
		"huge":               {second(s.dev.AllocHost(tensor.F64, 1<<62)), ops.ErrTooLarge, "AllocHost", "shape"},
		"no dtype":           {second(s.dev.AllocHost(tensor.DType(99), 1)), ops.ErrDType, "AllocHost", "dtype"},
	}
	if !s.isCPU() {
		cases["pageable src"] = misuse{st.Copy(dev, pageable), ops.ErrPageable, "Copy", "src"}
		cases["pageable dst"] = misuse{st.Copy(pageable, dev), ops.ErrPageable, "Copy", "dst"}
		cases["host to host"] = misuse{st.Copy(host, s.pinned(t, tensor.F32, 4, 2)), ops.ErrWrongDevice, "Copy", "dst"}
	}
	for name, c := range cases {
		var arg *ops.ArgError
		if assert.True(t, errors.As(c.err, &arg), "%s: got %v", name, c.err) {
			assert.ErrorIs(t, c.err, c.kind, name)
			assert.Equal(t, [2]string{c.op, c.arg}, [2]string{arg.Op, arg.Arg}, "%s: %v", name, c.err)
		}
	}
	_, err = s.dev.AllocHost(tensor.F32, -1)
	assert.ErrorIs(t, err, ops.ErrShape)
	_, err = s.dev.AllocHost(tensor.F64, 1<<50)
	var full *ops.MemoryError
	if assert.True(t, errors.As(err, &full), "%v", err) {
		assert.EqualValues(t, 1<<53, full.Bytes)
	}
	ended, cancel := context.WithCancel(background)
	cancel()
	assert.ErrorIs(t, mark.Wait(ended), context.Canceled)
	require.NoError(t, st.Copy(host, dev), "the queue works afterwards")
	require.NoError(t, st.Synchronize(background))
	assert.Equal(t, before, bitsOf(host))
}

// flat returns a contiguous tensor with a shape in the memory of base.
func flat(base *tensor.Tensor, shape ...int) *tensor.Tensor {
	return packed(base.DType(), nil, shape...).view(base)
}

func second[T any](_ T, err error) error { return err }

// copyAllocations tests that a pipeline makes no allocations on the host. The simulated driver allocates for its recordings, and
// devices made for tests may allocate for copies.
func (s *suite) copyAllocations(t *testing.T) {
	if !slices.Contains([]string{"cpu", "cuda", "sim"}, s.dev.Info().Backend) {
		return
	}
	st, other, m := s.stream(t), s.stream(t), s.mark(t)
	host, a, b := s.pinned(t, tensor.F32, 100), s.room(t, tensor.F32, 100), s.room(t, tensor.F32, 100)
	recorded := 0.
	if s.dev.Info().Backend == "sim" {
		recorded = 2
	}
	for name, c := range map[string]struct {
		run  func() error
		most float64
	}{
		"to the device":      {func() error { return st.Copy(a, host) }, 0},
		"within it":          {func() error { return errors.Join(st.Copy(a, host), st.Copy(b, a)) }, 0},
		"to the host":        {func() error { return st.Copy(host, a) }, 0},
		"Mark":               {func() error { return st.Mark(m) }, recorded},
		"After a mark":       {func() error { return st.After(m) }, 0},
		"After a queue":      {func() error { return st.After(other) }, recorded},
		"Wait for past work": {func() error { return m.Wait(background) }, 0},
	} {
		require.NoError(t, c.run())
		assert.LessOrEqual(t, fewestAllocations(t, st, c.run), c.most, name)
	}
}
