package cuda_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
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

// ranks are the same parameters on several devices, of which each has a part of the optimiser's work: it adds the gradients of all, and writes its part
// of the parameters to all.
type ranks struct {
	devices []*ops.Device
	params  []*tensor.Tensor
	working []*tensor.Tensor
	norms   []backend.Plan // of the gradients
	steps   []backend.Plan
}

const (
	rankParams    = 3*backend.NormChunk + 100
	rankGradients = 2
)

func newRanks(t *testing.T, devices []*ops.Device) *ranks {
	t.Helper()
	ctx := context.Background()
	up := func(d *ops.Device, list any, n ...int) *tensor.Tensor {
		var host *tensor.Tensor
		switch v := list.(type) {
		case []float32:
			host = tensor.Must(tensor.Of(v, n...))
		case []int64:
			host = tensor.Must(tensor.Of(v, n...))
		}
		x, err := d.Upload(ctx, host)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, x.Close()) })
		return x
	}
	numbers := func(seed int) []float32 {
		list := make([]float32, rankParams)
		for i := range list {
			list[i] = float32((i*31+seed*17)%199-99) / 64
		}
		return list
	}
	r := &ranks{devices: devices}
	var gradients []*tensor.Tensor
	for i := range rankGradients {
		gradients = append(gradients, up(devices[i%len(devices)], numbers(i+1), rankParams))
	}
	for _, d := range devices {
		r.params = append(r.params, up(d, numbers(0), rankParams))
		w, err := d.Alloc(tensor.BF16, rankParams)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, w.Close()) })
		r.working = append(r.working, w)
	}
	var squares []*tensor.Tensor
	for _, d := range devices {
		squares = append(squares, up(d, make([]float32, 4), 4))
	}
	for i, d := range devices {
		nn, err := d.NN()
		require.NoError(t, err)
		from, to := 2*backend.NormChunk*i, rankParams
		if i+1 < len(devices) {
			to = 2 * backend.NormChunk * (i + 1)
		}
		sum := up(d, make([]float32, rankParams), rankParams)
		norm, err := nn.GradientNorm(&backend.GradientNormJob{Gradients: gradients, From: from, To: to, Scale: 0.5, Sum: sum, Squares: squares})
		require.NoError(t, err)
		job := &backend.AdamWJob{Params: r.params[i], M: up(d, make([]float32, rankParams), rankParams), V: up(d, make([]float32, rankParams), rankParams),
			Gradients: []*tensor.Tensor{sum}, Scale: 1, From: from, To: to, Working: r.working, Schedule: up(d, []float32{0.01, 0.25, 0.999, 0}, 1, 4),
			State: up(d, make([]int64, backend.StateWords), backend.StateWords), Beta1: 0.9, Beta2: 0.99, Eps: 1e-6, MaxNorm: 1, Squares: squares[i], Norm: up(d, []float32{0}, 1)}
		for j, p := range r.params {
			if j != i {
				job.Copies = append(job.Copies, p)
			}
		}
		step, err := nn.AdamW(job)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, errors.Join(norm.Close(), step.Close())) })
		r.norms, r.steps = append(r.norms, norm), append(r.steps, step)
	}
	return r
}

// step gives the work of all to their queues: everybody's norm before anybody's step.
func (r *ranks) step() error {
	for _, plans := range [][]backend.Plan{r.norms, r.steps} {
		for _, d := range r.devices {
			for _, o := range r.devices {
				if o == d {
					continue
				}
				if err := d.Queue().After(o.Queue()); err != nil {
					return err
				}
			}
		}
		for i, d := range r.devices {
			if err := plans[i].Run(d.Queue().Backend()); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestRanksShareAStepOfTheOptimiser(t *testing.T) {
	gputest.Several(t, 2, func(t *testing.T, _ []*cudadrv.Context) {
		ctx := context.Background()
		d := opened(t, 2)
		alone := newRanks(t, d[:1])
		before := read(t, d[0], alone.params[0])
		const steps = 3
		for range steps {
			require.NoError(t, alone.step())
		}
		require.NoError(t, d[0].Synchronize(ctx))

		require.NoError(t, ops.Connect(d...))
		both := newRanks(t, d)
		g, err := d[0].Queue().Capture(both.step, d[1].Queue())
		require.NoError(t, err)
		for range steps {
			require.NoError(t, g.Launch(d[0].Queue()))
		}
		require.NoError(t, d[0].Synchronize(ctx))
		require.NoError(t, g.Close())
		params, working := read(t, d[0], alone.params[0]), read(t, d[0], alone.working[0])
		for i := range params {
			require.NotEqual(t, before[i], params[i], "element %d", i)
		}
		for i := range d {
			assert.Equal(t, params, read(t, d[i], both.params[i]), "rank %d", i)
			assert.Equal(t, working, read(t, d[i], both.working[i]), "rank %d", i)
		}
	})
}
