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

// early makes plans of many kinds for device tensors, which live until the test ends.
type early struct {
	s           *suite
	t           *testing.T
	links       int // number of consecutive operations
	b, n        int // rows, and the samples and targets in each
	p           *placed
	times       *tensor.Tensor
	back, ahead ops.Clock // targets a little before, and a little after, the samples
}

const earlyWidth = 8

func (s *suite) early(t *testing.T) *early {
	e := &early{s: s, t: t, links: 11, b: 2, n: 128, p: &placed{dev: s.dev}} // each plan once, and the first again
	if s.dev.Info().Backend == "cuda" {                                      // on other backends, work always waits for all earlier work
		e.links, e.b, e.n = 50, 16, 1024
	}
	times := ascending(rng(1), e.n, 0)
	move := func(by int64) *tensor.Tensor {
		x := make([]int64, e.n)
		for i := range x {
			x[i] = times[i] + by*int64(i%7)
		}
		return e.p.put(arr(x, e.n))
	}
	e.times, e.back, e.ahead = move(0), ops.At(move(-400_000)), ops.At(move(400_000))
	t.Cleanup(func() { assert.NoError(t, e.p.close()) })
	return e
}

// values returns random values for b rows.
func (e *early) values(seed uint64, b int) *array {
	return vals(tensor.F32, uniformValues(rng(seed), b*e.n*earlyWidth), b, e.n, earlyWidth)
}

// plan returns a plan that reads src [b,n,8] and writes dst [b,n,8]. k selects one of the kernels of Resample and Fuse.
func (e *early) plan(k int, dst, valid, src *tensor.Tensor, mode ops.LaunchMode) *ops.Plan {
	e.t.Helper()
	targets := []ops.Clock{e.back, e.ahead}[k/5%2]
	args := ops.ResampleArgs{Dst: dst, Valid: valid, Src: src, SrcTimes: e.times, Targets: targets}
	opts := ops.ResampleOptions{Launch: mode}
	fused := ops.FuseArgs{Dst: dst, Targets: targets, Streams: []ops.FuseStream{{Src: src, SrcTimes: e.times}}}
	var plan *ops.Plan
	var err error
	switch k % 5 {
	case 0:
		plan, err = e.s.dev.PlanResample(args, opts)
	case 1:
		opts.Edge = ops.EdgeExtrapolate
		plan, err = e.s.dev.PlanResample(args, opts)
	case 2:
		opts.Interp = ops.InterpPchip
		plan, err = e.s.dev.PlanResample(args, opts)
	case 3:
		plan, err = e.s.dev.PlanFuse(fused, ops.FuseOptions{Launch: mode})
	default:
		fused.Streams[0].Options.Interp = ops.InterpCatmullRom
		plan, err = e.s.dev.PlanFuse(fused, ops.FuseOptions{Launch: mode})
	}
	require.NoError(e.t, err)
	e.t.Cleanup(func() { assert.NoError(e.t, plan.Close()) })
	return plan
}

// both runs plans on a stream and in a graph. It calls reset before each run and check after it.
func (e *early) both(what string, plans []*ops.Plan, reset func(), check func(what string)) {
	e.t.Helper()
	st := e.s.stream(e.t)
	all := func() (err error) {
		for _, p := range plans {
			err = errors.Join(err, p.Run(st))
		}
		return err
	}
	reset()
	require.NoError(e.t, all())
	require.NoError(e.t, st.Synchronize(background))
	check(what + ", on a stream")
	g, err := st.Capture(all)
	require.NoError(e.t, err, what)
	for range min(2, e.s.times(2)) {
		reset()
		require.NoError(e.t, g.Launch(st))
		require.NoError(e.t, st.Synchronize(background))
		check(what + ", as a graph")
	}
	require.NoError(e.t, g.Close())
}

// alike fails the test unless each written tensor has the bits in want. A tensor without an element in want sets it. alike returns want.
func (e *early) alike(what string, want [][]uint64, written ...*tensor.Tensor) [][]uint64 {
	e.t.Helper()
	for i, x := range written {
		got := e.s.read(e.t, x)
		if len(want) <= i {
			want = append(want, got)
		}
		require.True(e.t, equalBits(e.t, tensor.F32, want[i], got, fmt.Sprint(what, ", output ", i)))
	}
	return want
}

// dependentChain tests a chain in which each operation reads the output of its predecessor and overwrites its predecessor's input.
// Small operations with inputs of their own between them may start early, but the chain must not.
func (s *suite) dependentChain(t *testing.T) {
	e := s.early(t)
	start, aside := e.values(2, e.b).host(), e.p.put(e.values(3, 1))
	var buf, valid [2]*tensor.Tensor
	for i := range buf {
		buf[i], valid[i] = e.p.put(e.values(4, e.b)), e.p.put(packed(tensor.U8, make([]uint64, e.b*e.n), e.b, e.n))
	}
	small := make([]*tensor.Tensor, e.links)
	for k := range small {
		small[k] = e.p.put(e.values(5, 1))
	}
	require.NoError(t, e.p.err)
	blank := e.values(6, 1).host()
	var want [][]uint64
	for _, v := range []struct {
		links, small ops.LaunchMode
		alternate    bool
	}{
		{ops.LaunchDefault, ops.LaunchDefault, false}, // the reference for the other modes
		{ops.LaunchDependent, ops.LaunchDependent, false},
		{ops.LaunchDependent, ops.LaunchInputsReady, false},
		{ops.LaunchDefault, ops.LaunchInputsReady, false},
		{ops.LaunchDependent, ops.LaunchInputsReady, true},
	} {
		var plans []*ops.Plan
		for k := range e.links {
			mode := v.links
			if v.alternate && k%3 == 0 {
				mode = ops.LaunchDefault
			}
			plans = append(plans, e.plan(k, buf[(k+1)%2], valid[k%2], buf[k%2], mode), e.plan(k, small[k], nil, aside, v.small))
		}
		reset := func() {
			require.NoError(t, s.dev.Copy(context.Background(), buf[0], start))
			for _, x := range small {
				require.NoError(t, s.dev.Copy(context.Background(), x, blank))
			}
		}
		e.both(fmt.Sprintf("%+v", v), plans, reset, func(what string) {
			want = e.alike(what, want, append(slices.Clone(small), valid[0], valid[1], buf[e.links%2])...)
			require.NotEqual(t, bitsOf(start), want[len(want)-1], "the chain changes its values")
		})
	}
}

// readyBehind tests a chain in which each link is followed by another operation that reads the same input as the link. That operation
// has ready inputs, because the link waits for them. The links write two buffers in turn, each after its last reader.
func (s *suite) readyBehind(t *testing.T) {
	e := s.early(t)
	start := e.values(2, e.b).host()
	var buf, valid [2]*tensor.Tensor
	for i := range buf {
		buf[i], valid[i] = e.p.put(e.values(4, e.b)), e.p.put(packed(tensor.U8, make([]uint64, e.b*e.n), e.b, e.n))
	}
	echo := make([]*tensor.Tensor, e.links)
	for k := range echo {
		echo[k] = e.p.put(e.values(5, e.b))
	}
	require.NoError(t, e.p.err)
	blank := e.values(6, e.b).host()
	var want [][]uint64
	for _, mode := range []ops.LaunchMode{ops.LaunchDefault, ops.LaunchInputsReady} {
		var plans []*ops.Plan
		for k := range e.links {
			plans = append(plans, e.plan(k, buf[(k+1)%2], valid[k%2], buf[k%2], min(mode, ops.LaunchDependent)), e.plan(k+1, echo[k], nil, buf[k%2], mode))
		}
		reset := func() {
			require.NoError(t, s.dev.Copy(context.Background(), buf[0], start))
			for _, x := range echo {
				require.NoError(t, s.dev.Copy(context.Background(), x, blank))
			}
		}
		e.both(mode.String(), plans, reset, func(what string) {
			want = e.alike(what, want, append(slices.Clone(echo), buf[e.links%2])...)
		})
	}
}

// readyInputs tests that operations with shared inputs and separate outputs may overlap.
func (s *suite) readyInputs(t *testing.T) {
	e := s.early(t)
	src := e.p.put(e.values(7, e.b))
	dst, valid := make([]*tensor.Tensor, e.links), make([]*tensor.Tensor, e.links)
	for k := range dst {
		dst[k], valid[k] = e.p.put(e.values(8, e.b)), e.p.put(packed(tensor.U8, make([]uint64, e.b*e.n), e.b, e.n))
	}
	require.NoError(t, e.p.err)
	blank := e.values(8, e.b).host()
	var want [][]uint64
	for _, mode := range []ops.LaunchMode{ops.LaunchDefault, ops.LaunchInputsReady} {
		var plans []*ops.Plan
		for k := range e.links {
			plans = append(plans, e.plan(k, dst[k], valid[k], src, mode))
		}
		reset := func() {
			for _, x := range dst {
				require.NoError(t, s.dev.Copy(context.Background(), x, blank))
			}
		}
		e.both(mode.String(), plans, reset, func(what string) {
			want = e.alike(what, want, slices.Concat(dst, valid)...)
		})
	}
}

// earlyFaults tests that operations that overlap report only their own errors in values.
func (s *suite) earlyFaults(t *testing.T) {
	for _, mode := range []ops.LaunchMode{ops.LaunchDependent, ops.LaunchInputsReady} {
		st := s.stream(t)
		var rigs []*rig
		for range 6 {
			rigs = append(rigs, s.rigIn(t, steps(), mode))
		}
		rigs[1].set(t, "SrcTimes", arr([]int64{0, 10, 5, 30, 40}, 5))
		rigs[4].set(t, "SrcTimes", arr([]int64{0, 10, 20, 30, 1<<62 + 1}, 5))
		run := func() (err error) {
			for _, r := range rigs {
				err = errors.Join(err, r.plan.Run(st))
			}
			return err
		}
		g, err := st.Capture(run)
		require.NoError(t, err)
		for what, launch := range map[string]func() error{"on a stream": run, "as a graph": func() error { return g.Launch(st) }} {
			for range 3 {
				require.NoError(t, launch())
				err := st.Synchronize(background)
				assert.ErrorIs(t, err, ops.ErrUnsorted, "%v, %s", mode, what)
				assert.ErrorIs(t, err, ops.ErrTimeRange, "%v, %s", mode, what)
				wantFault(t, err, ops.ErrUnsorted, 0, 2)
				assert.NoError(t, st.Synchronize(background))
			}
			for _, i := range []int{0, 2, 3, 5} {
				rigs[i].check(t, 1, fmt.Sprintf("%v, %s, plan %d", mode, what, i))
			}
		}
		require.NoError(t, g.Close())
	}
}
