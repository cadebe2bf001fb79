package cuda_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/gputest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// opened is n devices of the driver under test.
func opened(t *testing.T, n int) []*ops.Device {
	t.Helper()
	var list []*ops.Device
	for i := range n {
		b, err := cuda.New(gputest.Require(t), i)
		require.NoError(t, err)
		d, err := ops.NewDevice(b)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, d.Close()) })
		list = append(list, d)
	}
	return list
}

// chain is a product after the other, each with its result on the other device.
type chain struct {
	x     [4]*tensor.Tensor // x[i+1] = x[i] times w
	plans [3]backend.Plan
}

// newChain makes one whose i-th product is done on runs[i]; x[i] lies on lies[i], the weights on lies[0].
func newChain(t *testing.T, runs [3]*ops.Device, lies [4]*ops.Device) *chain {
	t.Helper()
	const n = 64
	ctx := context.Background()
	numbers := make([]tensor.BFloat16, n*n)
	for i := range numbers {
		numbers[i] = tensor.BF16FromF64(float64(i*7%13-6) / 32)
	}
	host := tensor.Must(tensor.Of(numbers, n, n))
	c := &chain{}
	w, err := lies[0].Upload(ctx, host)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	for i, d := range lies {
		c.x[i], err = d.Upload(ctx, host)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, c.x[i].Close()) })
	}
	for i, d := range runs {
		nn, err := d.NN()
		require.NoError(t, err)
		c.plans[i], err = nn.MatMul(&backend.MatMulJob{A: c.x[i], B: w, M: n, N: n, K: n, Out: c.x[i+1]})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, c.plans[i].Close()) })
	}
	return c
}

func read(t *testing.T, d *ops.Device, x *tensor.Tensor) []float64 {
	t.Helper()
	host := tensor.Must(tensor.New(x.DType(), x.Shape()...))
	require.NoError(t, d.Copy(context.Background(), host, x))
	list, err := tensor.Floats(host)
	require.NoError(t, err)
	return list
}

func TestOneGraphIsOfTheWorkOfConnectedDevices(t *testing.T) {
	gputest.Several(t, 2, func(t *testing.T, _ []*cudadrv.Context) {
		ctx := context.Background()
		d := opened(t, 2)
		alone := newChain(t, [3]*ops.Device{d[0], d[0], d[0]}, [4]*ops.Device{d[0], d[0], d[0], d[0]})
		for _, p := range alone.plans {
			require.NoError(t, p.Run(d[0].Queue().Backend()))
		}
		require.NoError(t, d[0].Synchronize(ctx))
		want := read(t, d[0], alone.x[3])

		require.NoError(t, ops.Connect(d...))
		require.NoError(t, ops.Connect(d...), "twice is fine")
		c := newChain(t, [3]*ops.Device{d[0], d[1], d[0]}, [4]*ops.Device{d[0], d[1], d[0], d[1]})
		q := [3]*ops.Queue{d[0].Queue(), d[1].Queue(), d[0].Queue()}
		work := func() error {
			for i, p := range c.plans {
				if i > 0 {
					if err := q[i].After(q[i-1]); err != nil {
						return err
					}
				}
				if err := p.Run(q[i].Backend()); err != nil {
					return err
				}
			}
			return nil
		}
		g, err := q[0].Capture(work, q[1])
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, g.Launch(q[0]))
			require.NoError(t, d[0].Synchronize(ctx))
			assert.Equal(t, want, read(t, d[1], c.x[3]))
		}
		require.NoError(t, g.Close())

		require.NoError(t, work(), "and without a graph")
		require.NoError(t, errors.Join(d[0].Synchronize(ctx), d[1].Synchronize(ctx)))
		assert.Equal(t, want, read(t, d[1], c.x[3]))

		// What a capture of several refuses.
		inside, outside := newMark(t, d[0]), newMark(t, d[0])
		require.NoError(t, q[0].Mark(outside))
		g, err = q[0].Capture(func() error {
			assert.ErrorIs(t, q[1].After(outside), ops.ErrOption, "a mark from before")
			assert.ErrorIs(t, q[1].Synchronize(ctx), ops.ErrOption)
			return q[0].Mark(inside)
		}, q[1])
		require.NoError(t, err)
		require.NoError(t, g.Close())
		assert.ErrorIs(t, inside.Wait(ctx), ops.ErrOption, "a mark of a capture stands for nothing outside")
		assert.ErrorIs(t, q[1].After(inside), ops.ErrOption)
		_, err = q[0].Capture(work, q[1], q[1])
		assert.ErrorIs(t, err, ops.ErrOption, "one twice")
		_, err = q[0].Capture(work, nil)
		assert.ErrorIs(t, err, ops.ErrMissing)
		boom := errors.New("boom")
		_, err = q[0].Capture(func() error { return boom }, q[1])
		assert.ErrorIs(t, err, boom)
		require.NoError(t, work(), "the queues are as before")
		require.NoError(t, errors.Join(d[0].Synchronize(ctx), d[1].Synchronize(ctx)))
	})
}

func newMark(t *testing.T, d *ops.Device) *ops.Mark {
	t.Helper()
	m, err := d.NewMark()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

func TestOnlyDevicesOfOneDriverAreConnected(t *testing.T) {
	gputest.Several(t, 2, func(t *testing.T, _ []*cudadrv.Context) {
		d := opened(t, 2)
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		defer cpu.Close()
		assert.ErrorIs(t, ops.Connect(d[0], cpu), ops.ErrWrongDevice)
		assert.ErrorIs(t, ops.Connect(cpu, d[0]), ops.ErrWrongDevice)
		assert.ErrorIs(t, ops.Connect(d[0], nil), ops.ErrMissing)
		assert.ErrorIs(t, d[0].Queue().After(d[1].Queue()), ops.ErrWrongDevice, "not connected")
		_, err = d[0].Queue().Capture(func() error { return nil }, d[1].Queue())
		assert.ErrorIs(t, err, ops.ErrWrongDevice)
		require.NoError(t, ops.Connect(d[0]), "one has nobody to be connected to")
		require.NoError(t, ops.Connect(cpu, cpu))
		require.NoError(t, ops.Connect())
	})
}
