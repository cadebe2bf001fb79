package cuda_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// process is what a rank has: a simulated device of a driver of its own, which stands for another process's.
type process struct {
	*ops.Device
	flags, number *tensor.Tensor
	handles       [2][]byte
	theirs        []*tensor.Tensor // the others' numbers, and its own
	meet          *ops.MeetPlan
}

// processes makes n of them, whose tensors all have opened.
func processes(t *testing.T, n int) []*process {
	t.Helper()
	var all []*process
	for range n {
		simulated := cudasim.New(cudasim.Config{})
		b, err := sim.New(simulated)
		require.NoError(t, err)
		d, err := ops.NewDevice(b)
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, d.Close())
			assert.Empty(t, simulated.Leaks())
		})
		p := &process{Device: d}
		p.flags, p.handles[0], err = d.AllocShared(tensor.I32, n)
		require.NoError(t, err)
		require.NoError(t, d.Copy(t.Context(), p.flags, tensor.Must(tensor.New(tensor.I32, n))))
		p.number, p.handles[1], err = d.AllocShared(tensor.I32, 1)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, errors.Join(p.flags.Close(), p.number.Close())) })
		all = append(all, p)
	}
	for i, p := range all {
		var flags []*tensor.Tensor
		for j, o := range all {
			f, x := p.flags, p.number
			if i != j {
				var err1, err2 error
				f, err1 = p.OpenShared(o.handles[0], tensor.I32, n)
				x, err2 = p.OpenShared(o.handles[1], tensor.I32, 1)
				require.NoError(t, errors.Join(err1, err2))
				t.Cleanup(func() { assert.NoError(t, errors.Join(f.Close(), x.Close())) })
			}
			flags, p.theirs = append(flags, f), append(p.theirs, x)
		}
		var err error
		p.meet, err = p.PlanMeet(i, flags)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.meet.Close()) })
	}
	return all
}

// What a rank has written before a meeting all have after it, in each launch of one graph.
func TestRanksMeet(t *testing.T) {
	const ranks, steps = 3, 6
	var wait sync.WaitGroup
	for i, p := range processes(t, ranks) {
		from, err1 := p.AllocHost(tensor.I32, 1)
		to, err2 := p.AllocHost(tensor.I32, ranks)
		q, err3 := p.NewQueue()
		require.NoError(t, errors.Join(err1, err2, err3))
		t.Cleanup(func() { assert.NoError(t, errors.Join(q.Close(), from.Close(), to.Close())) })
		g, err := q.Capture(func() error {
			err := errors.Join(q.Copy(p.number, from), p.meet.Run(q))
			for j, x := range p.theirs {
				err = errors.Join(err, q.Copy(tensor.Must(to.Slice(0, j, j+1)), x))
			}
			return errors.Join(err, p.meet.Run(q))
		})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, g.Close()) })
		wait.Go(func() {
			for step := range int32(steps) {
				numbersOf(t, from)[0] = 100*step + int32(i)
				if !assert.NoError(t, g.Launch(q)) || !assert.NoError(t, q.Synchronize(t.Context())) {
					return
				}
				assert.Equal(t, []int32{100 * step, 100*step + 1, 100*step + 2}, numbersOf(t, to))
			}
		})
	}
	wait.Wait()
}

func numbersOf(t *testing.T, x *tensor.Tensor) []int32 {
	list, err := tensor.Data[int32](x)
	assert.NoError(t, err)
	return list
}

// Who is told that somebody has left waits no more, in what runs and in what is still to run.
func TestNobodyWaitsForWhoHasLeft(t *testing.T) {
	p := processes(t, 2)[0]
	for range 10 {
		require.NoError(t, p.meet.Run(p.Queue()))
	}
	time.Sleep(10 * time.Millisecond)
	require.NoError(t, p.meet.Leave())
	require.NoError(t, p.Synchronize(t.Context()))
}

// What cannot be shared, opened or met.
func TestMeetingsThatCannotBe(t *testing.T) {
	all := processes(t, 2)
	p, x := all[0], all[0].number
	_, _, err := p.AllocShared(tensor.I32, 0)
	assert.ErrorIs(t, err, ops.ErrShape)
	_, err = p.OpenShared([]byte("short"), tensor.I32, 1)
	assert.Error(t, err)
	_, err = p.OpenShared(p.handles[0], tensor.I32, 2)
	assert.Error(t, err, "its own")
	for _, c := range []struct {
		rank  int
		flags []*tensor.Tensor
		kind  error
	}{{0, nil, ops.ErrOption}, {2, []*tensor.Tensor{p.flags, p.flags}, ops.ErrOption}, {0, []*tensor.Tensor{p.flags, nil}, ops.ErrMissing},
		{0, []*tensor.Tensor{x, x}, ops.ErrShape}, {0, make([]*tensor.Tensor, backend.MaxRanks+1), ops.ErrOption}} {
		_, err := p.PlanMeet(c.rank, c.flags)
		assert.ErrorIs(t, err, c.kind)
	}
}
