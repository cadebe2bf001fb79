package cudadrv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
)

// ramp is k times 0 to n-1.
func ramp(n int, k float32) []byte { return floats(n, func(i int) float32 { return k * float32(i) }) }

// both opens the pools of two devices to each other, and gives a rig on each.
func both(t *testing.T, c []*cudadrv.Context) (*rig, *rig) {
	t.Helper()
	require.NoError(t, c[0].OpenPool(c[1].Device()))
	require.NoError(t, c[1].OpenPool(c[0].Device()))
	require.NoError(t, c[1].OpenPool(c[0].Device()), "twice is fine")
	return newRig(t, c[0]), newRig(t, c[1])
}

func (r *rig) event() *cudadrv.Event {
	r.t.Helper()
	e, err := r.c.NewEvent(cudadrv.EventOptions{NoTiming: true})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, e.Close()) })
	return e
}

func (r *rig) holds(m *cudadrv.DeviceMem, want []byte, why string) {
	r.t.Helper()
	got := make([]byte, len(want))
	require.NoError(r.t, r.c.CopyToHost(context.Background(), got, m.Ptr()))
	assert.Equal(r.t, want, got, why)
}

func TestKernelsAndCopiesReachTheMemoryOfAnOpenedPool(t *testing.T) {
	const n, size = 1000, 4000
	gputest.Several(t, 2, func(t *testing.T, c []*cudadrv.Context) {
		early, err := c[1].Malloc(context.Background(), size) // before the pool is opened
		require.NoError(t, err)
		defer func() { require.NoError(t, early.Close()) }()
		a, b := both(t, c)
		here, there := a.malloc(size), b.malloc(size)
		require.NoError(t, c[0].CopyToDevice(context.Background(), here.Ptr(), ramp(n, 1)))
		require.NoError(t, c[1].CopyToDevice(context.Background(), early.Ptr(), ramp(n, 10)))
		// A kernel of device 0 reads memory of both and writes that of device 1.
		require.NoError(t, a.bind("vector_add", config(8, 128), here.Ptr(), early.Ptr(), there.Ptr(), uint32(n)).Run(a.s))
		require.NoError(t, a.s.Synchronize(context.Background()))
		b.holds(there, ramp(n, 11), "written by the other device")
		require.NoError(t, b.s.CopyDevice(here.Ptr(), there.Ptr(), size))
		require.NoError(t, b.s.Synchronize(context.Background()))
		a.holds(here, ramp(n, 11), "copied by the other device")
	})
}

func TestAStreamWaitsForAnEventOfAnotherDevice(t *testing.T) {
	const n, size = 1 << 16, 4 << 16
	gputest.Several(t, 2, func(t *testing.T, c []*cudadrv.Context) {
		a, b := both(t, c)
		x, y := a.malloc(size), b.malloc(size)
		done, back := a.event(), b.event()
		require.NoError(t, c[0].CopyToDevice(context.Background(), x.Ptr(), ramp(n, 1)))
		double := a.bind("vector_add", config(n/128, 128), x.Ptr(), x.Ptr(), x.Ptr(), uint32(n)) // x = 2x
		fetch := b.bind("vector_add", config(n/128, 128), x.Ptr(), x.Ptr(), y.Ptr(), uint32(n))  // y = 2x
		for range 5 {
			require.NoError(t, errors.Join(a.s.WaitEvent(back), double.Run(a.s), a.s.Record(done), b.s.WaitEvent(done), fetch.Run(b.s), b.s.Record(back)))
		}
		require.NoError(t, b.s.Synchronize(context.Background()))
		b.holds(y, ramp(n, 64), "after five rounds")

		var wrong *cudadrv.ValueError
		require.ErrorAs(t, a.s.Record(back), &wrong, "an event is recorded on streams of its own device")
		require.ErrorIs(t, wrong, cudadrv.ErrWrongDevice)
		require.NoError(t, a.s.Synchronize(context.Background()))
	})
}

func TestOneGraphIsOfTwoDevices(t *testing.T) {
	const n, size = 1 << 14, 4 << 14
	gputest.Several(t, 2, func(t *testing.T, c []*cudadrv.Context) {
		a, b := both(t, c)
		x, y, z := a.malloc(size), b.malloc(size), b.malloc(size)
		fork, join := a.event(), b.event()
		cfg := config(n/128, 128)
		require.NoError(t, c[0].CopyToDevice(context.Background(), x.Ptr(), ramp(n, 1)))
		require.NoError(t, c[1].Memset8(context.Background(), y.Ptr(), 0, size))
		first := a.bind("vector_add", cfg, x.Ptr(), x.Ptr(), x.Ptr(), uint32(n))  // on 0: x = 2x
		second := b.bind("vector_add", cfg, x.Ptr(), y.Ptr(), y.Ptr(), uint32(n)) // on 1: y += x
		third := a.bind("vector_add", cfg, y.Ptr(), x.Ptr(), z.Ptr(), uint32(n))  // on 0: z = y + x
		g, err := a.s.Capture(func(s *cudadrv.Stream) error {
			return errors.Join(first.Run(s), s.Record(fork), b.s.WaitEvent(fork), second.Run(b.s), b.s.Record(join), s.WaitEvent(join), third.Run(s))
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, g.Close()) }()
		nodes, err := g.Nodes()
		require.NoError(t, err)
		assert.Equal(t, 3, nodes)
		exec, err := g.Instantiate()
		require.NoError(t, err)
		defer func() { require.NoError(t, exec.Close()) }()
		for range 3 { // x 2, 4, 8; y 2, 6, 14
			require.NoError(t, exec.Launch(a.s))
		}
		require.NoError(t, a.s.Synchronize(context.Background()))
		a.holds(x, ramp(n, 8), "on device 0")
		b.holds(y, ramp(n, 14), "on device 1")
		b.holds(z, ramp(n, 22), "by device 0 in the memory of device 1")
	})
}

func TestMemoryThatIsNotOpenIsRefused(t *testing.T) {
	devices := gputest.SimulateSeveral(t, 2, cudasim.Config{})
	var c [2]*cudadrv.Context
	for i := range c {
		dev, err := gputest.Require(t).Device(i)
		require.NoError(t, err)
		c[i], err = dev.Primary()
		require.NoError(t, err)
	}
	a, b := newRig(t, c[0]), newRig(t, c[1])
	there := b.malloc(4000)
	require.NoError(t, c[1].Memset8(context.Background(), there.Ptr(), 0, 4000))
	require.ErrorIs(t, a.s.Memset8(there.Ptr(), 1, 4), cudadrv.ErrInvalidValue)
	require.NoError(t, a.bind("vector_add", config(8, 128), there.Ptr(), there.Ptr(), there.Ptr(), uint32(1000)).Run(a.s))
	err := a.s.Synchronize(context.Background())
	require.ErrorIs(t, err, cudadrv.ErrIllegalAddress)
	assert.ErrorContains(t, err, "device 0 has no access to it")
	assert.ErrorContains(t, err, "memory of device 1")
	assert.NotNil(t, devices[0].LastFault())
	assert.Nil(t, devices[1].LastFault(), "the other device goes on")
	require.NoError(t, c[1].Device().Lost())
	require.NoError(t, b.add(b.s, 1000))
}

func TestDevicesOfOneDriverDifferInName(t *testing.T) {
	gputest.Several(t, 3, func(t *testing.T, c []*cudadrv.Context) {
		seen := map[string]bool{}
		for i, x := range c {
			assert.Equal(t, i, x.Device().Ordinal())
			id, err := x.Device().UUID()
			require.NoError(t, err)
			bus, err := x.Device().PCIBusID()
			require.NoError(t, err)
			seen[id], seen[bus] = true, true
			free, total, err := x.MemInfo()
			require.NoError(t, err)
			assert.LessOrEqual(t, free, total)
		}
		assert.Len(t, seen, 6)
	})
}
