package cudadrv

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWaitEndsWithItsContext(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	release := k.hold(s)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := s.Synchronize(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	gone, stop := context.WithCancel(t.Context())
	stop()
	assert.ErrorIs(t, s.Synchronize(gone), context.Canceled)
	done, err := s.Query()
	require.NoError(t, err)
	assert.False(t, done, "the work goes on")
	release()
	require.NoError(t, s.Synchronize(t.Context()))
	require.NoError(t, c.Synchronize(t.Context()))
	require.NoError(t, c.Synchronize(context.Background()))
	var none context.Context
	require.NoError(t, s.Synchronize(none), "no context at all")
	require.NoError(t, c.Synchronize(none))
}

func TestWaitsShareOneGoroutine(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	release := k.hold(s)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	const waiters = 200
	for range waiters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			assert.NoError(t, s.Synchronize(t.Context()))
		}()
	}
	require.Eventually(t, func() bool {
		p := &c.dev.poller
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiters) == waiters
	}, 10*time.Second, time.Millisecond)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before+waiters+2, "one poller beside the waiters (and the test's own ticker)")
	release()
	wg.Wait()
	require.Eventually(t, func() bool {
		p := &c.dev.poller
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.running
	}, 10*time.Second, time.Millisecond, "the poller ends with its last waiter")
}

func TestWaitReportsWhatTheDriverSays(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	release := k.hold(s)
	errs := make(chan error)
	go func() { errs <- s.Synchronize(t.Context()) }()
	time.Sleep(5 * time.Millisecond)
	k.mu.Lock()
	k.fault = only("cuStreamQuery", ErrInvalidHandle)
	k.mu.Unlock()
	assert.ErrorIs(t, <-errs, ErrInvalidHandle)
	release()
}

func TestClosingAStreamEndsItsWaits(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	release := k.hold(s)
	defer release()
	errs := make(chan error)
	go func() { errs <- s.Synchronize(t.Context()) }()
	time.Sleep(5 * time.Millisecond)
	require.NoError(t, s.Close())
	assert.ErrorIs(t, <-errs, ErrClosed)
}

func TestEventsTellTime(t *testing.T) {
	c := newFake().open(t)
	s := stream(t, c)
	a, err := c.NewEvent(EventOptions{})
	require.NoError(t, err)
	b, err := c.NewEvent(EventOptions{NoTiming: true})
	require.NoError(t, err)
	require.NoError(t, s.Record(a))
	require.NoError(t, s.Record(b))
	require.NoError(t, s.WaitEvent(a))
	require.NoError(t, b.Synchronize(context.Background()))
	require.NoError(t, b.Synchronize(t.Context()))
	took, err := b.Elapsed(a)
	require.NoError(t, err)
	assert.Equal(t, 1500*time.Microsecond, took)
	assert.Error(t, s.Record(nil))
	assert.Error(t, s.WaitEvent(nil))
	_, err = b.Elapsed(nil)
	assert.Error(t, err)
}

func TestLostDeviceKeepsTheFirstCauseAndTheLastKernels(t *testing.T) {
	for _, code := range []Code{226, 700, 702, 710, 714, 715, 716, 717, 718, 719} {
		k := newFake()
		c := k.open(t)
		s := stream(t, c)
		null, err := k.kernel(t, c, "null").Bind(one)
		require.NoError(t, err)
		fill, err := k.kernel(t, c, "fill").Bind(one, DevicePtr(0), uint32(0), uint32(0))
		require.NoError(t, err)
		mem, err := c.Malloc(context.Background(), 8)
		require.NoError(t, err)
		require.NoError(t, null.Run(s))
		require.NoError(t, null.Run(s))
		require.NoError(t, fill.Run(s))
		require.NoError(t, c.Device().Lost())
		k.mu.Lock()
		k.poison = code
		k.mu.Unlock()
		err = s.Synchronize(context.Background())
		require.ErrorIs(t, err, ErrDeviceLost)
		require.ErrorIs(t, err, code)
		k.mu.Lock()
		k.poison = ErrUnknown
		k.mu.Unlock()
		calls := k.count("cuLaunchKernel")
		_, errMalloc := c.Malloc(context.Background(), 1)
		_, errModule := c.LoadModule([]byte("good"))
		_, errPrimary := c.Device().Primary()
		_, errQuery := s.Query()
		for _, err := range []error{null.Run(s), s.Synchronize(context.Background()), s.Synchronize(t.Context()), c.Synchronize(context.Background()), errMalloc, errModule, errPrimary, errQuery,
			c.CopyToDevice(context.Background(), 1, []byte{1}), c.Device().Lost()} {
			var lost *LostError
			require.ErrorAs(t, err, &lost)
			assert.Equal(t, code, lost.First.Code, "the first cause")
			assert.Equal(t, "cuStreamSynchronize", lost.First.Op)
			assert.Equal(t, []string{"fill", "null"}, lost.Kernels, "the latest first")
		}
		assert.Equal(t, calls, k.count("cuLaunchKernel"), "a lost device is not called again")
		require.NoError(t, mem.Close())
		require.NoError(t, s.Close())
	}
}

func TestOrdinaryErrorsDoNotLoseTheDevice(t *testing.T) {
	for _, code := range []Code{1, 2, 201, 400, 600, 701, 709, 711, 712, 713, 720, 800, 900, 999} {
		assert.False(t, code.sticky(), "%d", code)
	}
}
