package cudasim_test

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
)

// faultKernels do one wrong thing each. slow takes its time.
const faultKernels = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry store(.param .u64 at)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [at];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, 1;
	st.global.u32 [%rd2], %r1;
	ret;
}
.visible .entry stop()
{
	trap;
	ret;
}
.visible .entry slow(.param .u64 at, .param .u32 rounds)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [at];
	ld.param.u32 %r1, [rounds];
	mov.u32 %r2, 0;
LOOP:
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, %r1;
	@%p1 bra LOOP;
	cvta.to.global.u64 %rd2, %rd1;
	st.global.u32 [%rd2], %r2;
	ret;
}
`

// rig is a context on a simulated device.
type rig struct {
	t   *testing.T
	sim *cudasim.Device
	c   *cudadrv.Context
	m   *cudadrv.Module
	s   *cudadrv.Stream
}

func newRig(t *testing.T, table func(*cudasim.Device) *cudadrv.FunctionTable) *rig {
	r := &rig{t: t, sim: cudasim.New(cudasim.Config{})}
	drv, err := cudadrv.NewDriver(table(r.sim))
	require.NoError(t, err)
	dev, err := drv.Device(0)
	require.NoError(t, err)
	r.c, err = dev.Primary()
	require.NoError(t, err)
	r.m, err = r.c.LoadModule([]byte(faultKernels))
	require.NoError(t, err)
	r.s, err = r.c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	return r
}

func (r *rig) bind(name string, args ...any) *cudadrv.Launch {
	r.t.Helper()
	k, err := r.m.Kernel(name)
	require.NoError(r.t, err)
	l, err := k.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}, args...)
	require.NoError(r.t, err)
	return l
}

func (r *rig) malloc(n int64) *cudadrv.DeviceMem {
	r.t.Helper()
	m, err := r.c.Malloc(context.Background(), n)
	require.NoError(r.t, err)
	return m
}

func (r *rig) close(things ...interface{ Close() error }) {
	for _, x := range append(things, r.s, r.m, r.c) {
		assert.NoError(r.t, x.Close())
	}
}

func plain(d *cudasim.Device) *cudadrv.FunctionTable { return d.FunctionTable() }

func TestAFaultLosesTheDevice(t *testing.T) {
	for _, c := range []struct {
		name string
		bind func(r *rig, m *cudadrv.DeviceMem) *cudadrv.Launch
		code cudadrv.Code
		kind cudasim.FaultKind
	}{
		{"behind the end", func(r *rig, m *cudadrv.DeviceMem) *cudadrv.Launch { return r.bind("store", m.Ptr()+64) }, cudadrv.ErrIllegalAddress, cudasim.OutOfBounds},
		{"nobody's address", func(r *rig, _ *cudadrv.DeviceMem) *cudadrv.Launch { return r.bind("store", cudadrv.DevicePtr(16)) }, cudadrv.ErrIllegalAddress, cudasim.OutOfBounds},
		{"odd address", func(r *rig, m *cudadrv.DeviceMem) *cudadrv.Launch { return r.bind("store", m.Ptr()+2) }, cudadrv.ErrMisalignedAddress, cudasim.Misaligned},
		{"trap", func(r *rig, _ *cudadrv.DeviceMem) *cudadrv.Launch { return r.bind("stop") }, cudadrv.ErrLaunchFailed, cudasim.Trap},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, plain)
			m := r.malloc(64)
			e, err := r.c.NewEvent(cudadrv.EventOptions{})
			require.NoError(t, err)
			require.NoError(t, c.bind(r, m).Run(r.s), "the launch itself is queued")
			if err := r.s.Record(e); err != nil { // it may be the first to hear of it
				require.ErrorIs(t, err, c.code)
			}
			err = r.s.Synchronize(context.Background())
			require.ErrorIs(t, err, cudadrv.ErrDeviceLost)
			require.ErrorIs(t, err, c.code)
			f := r.sim.LastFault()
			require.NotNil(t, f)
			assert.Equal(t, c.kind, f.Kind)
			assert.ErrorContains(t, err, f.Error(), "the whole report is in the error")
			table := r.sim.FunctionTable()
			for _, name := range []string{"cuStreamSynchronize", "cuMemAllocAsync", "cuLaunchKernel", "cuEventQuery"} {
				call, ok := table.Lookup(name, 2000)
				require.True(t, ok)
				assert.Equal(t, c.code, cudadrv.Code(int32(call(make([]uintptr, 16)))), "%s, past cudadrv", name)
			}
			r.close(m, e)
			other := newRig(t, plain)
			other.close()
		})
	}
}

func TestWorkIsDoneWhenItsStreamGetsThere(t *testing.T) {
	r := newRig(t, plain)
	m := r.malloc(4)
	require.NoError(t, r.c.Memset8(context.Background(), m.Ptr(), 0, 4))
	s2, err := r.c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	e, err := r.c.NewEvent(cudadrv.EventOptions{})
	require.NoError(t, err)
	h, err := r.c.MallocHost(4)
	require.NoError(t, err)
	require.NoError(t, errors.Join(r.bind("slow", m.Ptr(), uint32(200_000)).Run(r.s), r.s.Record(e), s2.WaitEvent(e), s2.CopyToHost(h, 0, m.Ptr(), 4)))
	for _, query := range []func() (bool, error){r.s.Query, s2.Query, e.Query} {
		done, err := query()
		require.NoError(t, err)
		assert.False(t, done)
	}
	require.NoError(t, s2.Synchronize(context.Background()))
	assert.Equal(t, uint32(200_000), binary.LittleEndian.Uint32(h.Bytes()))
	r.close(m, e, h, s2)
	assert.Empty(t, r.sim.Leaks())
}

func TestLeaksNameTheCallSite(t *testing.T) {
	r := newRig(t, plain)
	m := r.malloc(100)
	var found bool
	for _, l := range r.sim.Leaks() {
		if l.Kind == "device memory" {
			found = true
			assert.EqualValues(t, 100, l.Size)
			assert.Contains(t, strings.Split(l.Stack, "\n")[0], "cudasim_test.(*rig).malloc", "the first frame is the program's")
		}
	}
	assert.True(t, found)
	r.close(m)
	assert.Empty(t, r.sim.Leaks())
}

// A capture that is its thread's own forbids what may wait for the device on that thread only; a global one on all.
func TestCapturesForbidByThread(t *testing.T) {
	for mode, elsewhere := range map[uintptr]cudadrv.Code{0: cudadrv.ErrCaptureUnsupported, 1: cudadrv.Success, 2: cudadrv.Success} {
		d := cudasim.New(cudasim.Config{})
		out := make([]byte, 64)
		at := cudadrv.Addr(out)
		call := func(name string, args ...uintptr) cudadrv.Code {
			p, ok := d.FunctionTable().Lookup(name, 2000)
			require.True(t, ok)
			return cudadrv.Code(int32(p(args)))
		}
		cell := func() uintptr { return uintptr(binary.NativeEndian.Uint64(out)) }
		runtime.LockOSThread()
		require.Zero(t, call("cuInit", 0))
		require.Zero(t, call("cuDevicePrimaryCtxRetain", at, 0))
		ctx := cell()
		require.Zero(t, call("cuCtxPushCurrent_v2", ctx))
		require.Zero(t, call("cuStreamCreateWithPriority", at, 1, 0))
		s := cell()
		require.Zero(t, call("cuStreamBeginCapture_v2", s, mode))
		done := make(chan cudadrv.Code, 2)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			own := make([]byte, 8)
			call("cuCtxPushCurrent_v2", ctx)
			done <- call("cuMemAlloc_v2", cudadrv.Addr(own), 8)
			done <- call("cuStreamEndCapture", s, cudadrv.Addr(own))
			call("cuCtxPopCurrent_v2", 0)
		}()
		assert.Equal(t, elsewhere, <-done, "mode %d", mode)
		if mode == 2 {
			assert.Zero(t, <-done, "any thread may end a relaxed capture")
		} else {
			assert.Equal(t, cudadrv.ErrCaptureWrongThread, <-done)
			assert.Equal(t, cudadrv.ErrCaptureUnsupported, call("cuMemAlloc_v2", at, 8))
			assert.Equal(t, cudadrv.ErrCaptureInvalidated, call("cuStreamEndCapture", s, at))
		}
		runtime.UnlockOSThread()
	}
}

func TestFaultsOnDemand(t *testing.T) {
	var in *cudasim.Injector
	wrap := func(failures ...cudasim.Failure) func(d *cudasim.Device) *cudadrv.FunctionTable {
		return func(d *cudasim.Device) (t *cudadrv.FunctionTable) {
			t, in = cudasim.Inject(d.FunctionTable(), failures...)
			return t
		}
	}
	alloc := func(name string) bool { return strings.Contains(name, "Alloc") }
	r := newRig(t, wrap(
		cudasim.Failure{Match: alloc, N: 2, Code: cudadrv.ErrOutOfMemory},
		cudasim.Failure{Call: "cuMemcpyHtoDAsync_v2", N: 1, Delay: 30 * time.Millisecond},
		cudasim.Failure{Call: "cuStreamQuery", N: 1, Code: cudadrv.ErrNotReady},
	))
	m := r.malloc(8)
	_, err := r.c.Malloc(context.Background(), 8)
	assert.ErrorIs(t, err, cudadrv.ErrOutOfMemory)
	again := r.malloc(8)
	began := time.Now()
	require.NoError(t, r.c.CopyToDevice(context.Background(), m.Ptr(), make([]byte, 8)))
	assert.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond, "a slow copy")
	done, err := r.s.Query()
	require.NoError(t, err)
	assert.False(t, done, "idle, and said not to be")
	done, err = r.s.Query()
	require.NoError(t, err)
	assert.True(t, done)
	assert.Len(t, in.Hits(), 3)
	r.close(m, again)
	assert.Empty(t, r.sim.Leaks())

	lost := newRig(t, wrap(cudasim.Failure{Call: "cuLaunchKernel", N: 1, Code: cudadrv.ErrLaunchFailed}))
	m = lost.malloc(4)
	err = lost.bind("store", m.Ptr()).Run(lost.s)
	assert.ErrorIs(t, err, cudadrv.ErrDeviceLost)
	assert.ErrorContains(t, err, "cuLaunchKernel")
	assert.Nil(t, lost.sim.LastFault(), "no kernel did it")
	lost.close(m)
}

func TestAnUploadOfOrdinaryMemoryIsTakenAtTheCall(t *testing.T) {
	r := newRig(t, plain)
	m := r.malloc(4)
	table := r.sim.FunctionTable()
	copyTo, _ := table.Lookup("cuMemcpyHtoDAsync_v2", 3020)
	makeStream, _ := table.Lookup("cuStreamCreateWithPriority", 5050)
	src, out := []byte{1, 2, 3, 4}, make([]byte, 8)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, _ := table.Lookup("cuDevicePrimaryCtxRetain", 7000)
	push, _ := table.Lookup("cuCtxPushCurrent_v2", 4000)
	pop, _ := table.Lookup("cuCtxPopCurrent_v2", 4000)
	release, _ := table.Lookup("cuDevicePrimaryCtxRelease_v2", 11000)
	destroy, _ := table.Lookup("cuStreamDestroy_v2", 4000)
	wait, _ := table.Lookup("cuStreamSynchronize", 2000)
	require.Zero(t, ctx([]uintptr{cudadrv.Addr(out), 0}))
	require.Zero(t, push([]uintptr{uintptr(binary.NativeEndian.Uint64(out))}))
	require.Zero(t, makeStream([]uintptr{cudadrv.Addr(out), 1, 0}))
	s := uintptr(binary.NativeEndian.Uint64(out))
	require.Zero(t, copyTo([]uintptr{uintptr(m.Ptr()), cudadrv.Addr(src), 4, s}))
	src[0] = 99
	require.Zero(t, wait([]uintptr{s}))
	got := make([]byte, 4)
	require.NoError(t, r.c.CopyToHost(context.Background(), got, m.Ptr()))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)
	require.Zero(t, destroy([]uintptr{s}))
	require.Zero(t, pop([]uintptr{cudadrv.Addr(out)}))
	require.Zero(t, release([]uintptr{0}))
	r.close(m)
}
