package cudasim_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
)

// probe calls driver functions as they are. The rules tested with it are those that the simulated driver follows; where
// there is a GPU its driver is held to them too.
type probe struct {
	t    *testing.T
	c    *cudadrv.Context
	drv  *cudadrv.FunctionTable
	out  []byte // what calls write to, 64 cells of 8 bytes
	text []byte
}

// rules runs a test on both devices, with the primary context current on the test's thread.
func rules(t *testing.T, test func(p *probe)) {
	gputest.Both(t, func(t *testing.T) {
		p := &probe{t: t, c: gputest.Context(t), drv: gputest.FunctionTable(t), out: make([]byte, 512)}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		ctx := p.make("cuDevicePrimaryCtxRetain", 7000, 0)
		p.is(0, "cuCtxPushCurrent_v2", 4000, ctx)
		test(p)
		p.is(0, "cuCtxPopCurrent_v2", 4000, p.at(0))
		p.is(0, "cuDevicePrimaryCtxRelease_v2", 11000, 0)
	})
}

func (p *probe) at(i int) uintptr   { return cudadrv.Addr(p.out[8*i:]) }
func (p *probe) cell(i int) uintptr { return uintptr(binary.NativeEndian.Uint64(p.out[8*i:])) }

func (p *probe) name(s string) uintptr {
	p.text = append([]byte(s), 0)
	return cudadrv.Addr(p.text)
}

func (p *probe) call(name string, version int, args ...uintptr) cudadrv.Code {
	p.t.Helper()
	fn, ok := p.drv.Lookup(name, version)
	if !ok {
		p.t.Skipf("this driver lacks %s", name)
	}
	return cudadrv.Code(int32(fn(args)))
}

func (p *probe) is(want cudadrv.Code, name string, version int, args ...uintptr) {
	p.t.Helper()
	assert.Equal(p.t, want, p.call(name, version, args...), "%s", name)
}

// make calls a function whose first argument is where its result goes.
func (p *probe) make(name string, version int, args ...uintptr) uintptr {
	p.t.Helper()
	binary.NativeEndian.PutUint64(p.out[8*60:], 0)
	require.Equal(p.t, cudadrv.Success, p.call(name, version, append([]uintptr{p.at(60)}, args...)...), "%s", name)
	return p.cell(60)
}

func (p *probe) stream() uintptr {
	s := p.make("cuStreamCreateWithPriority", 5050, 1, 0)
	p.t.Cleanup(func() { p.is(0, "cuStreamDestroy_v2", 4000, s) })
	return s
}

func (p *probe) event() uintptr {
	e := p.make("cuEventCreate", 2000, 0)
	p.t.Cleanup(func() { p.is(0, "cuEventDestroy_v2", 4000, e) })
	return e
}

func TestCallsThatNeedAContextSaySo(t *testing.T) {
	rules(t, func(p *probe) {
		s := p.stream()
		p.is(0, "cuCtxPopCurrent_v2", 4000, p.at(0))
		ctx := p.cell(0)
		p.is(cudadrv.ErrInvalidContext, "cuEventCreate", 2000, p.at(1), 0)
		p.is(cudadrv.ErrInvalidContext, "cuMemAlloc_v2", 3020, p.at(1), 64)
		p.is(cudadrv.ErrInvalidContext, "cuCtxSynchronize", 2000)
		p.is(cudadrv.ErrInvalidContext, "cuCtxPopCurrent_v2", 4000, p.at(1))
		p.is(0, "cuStreamSynchronize", 2000, s)
		p.is(0, "cuMemAllocAsync", 11020, p.at(2), 64, s)
		p.is(0, "cuMemsetD8Async", 3020, p.cell(2), 1, 64, s)
		p.is(0, "cuMemFreeAsync", 11020, p.cell(2), s)
		p.is(0, "cuStreamSynchronize", 2000, s)
		p.is(0, "cuCtxPushCurrent_v2", 4000, ctx)
	})
}

func TestCopiesAreCheckedWhenTheyAreQueued(t *testing.T) {
	rules(t, func(p *probe) {
		s := p.stream()
		m := p.make("cuMemAlloc_v2", 3020, 4096)
		p.is(cudadrv.ErrInvalidValue, "cuMemsetD32Async", 3020, m+1, 0, 1, s)
		p.is(0, "cuMemcpyHtoDAsync_v2", 3020, m, p.at(0), 0, s)
		p.is(0, "cuMemFree_v2", 3020, m)
		p.is(cudadrv.ErrInvalidValue, "cuMemFree_v2", 3020, m)
		p.is(0, "cuMemFree_v2", 3020, 0)
		p.is(cudadrv.ErrInvalidValue, "cuMemAlloc_v2", 3020, p.at(0), 0)
		p.is(cudadrv.ErrInvalidValue, "cuMemHostAlloc", 2020, p.at(0), 64, 1<<16) // no such flag
		// No bytes of pinned memory are no error. Whether they have an address is the driver's affair; if so it is freed.
		if none := p.make("cuMemHostAlloc", 2020, 0, 0); none != 0 {
			p.is(0, "cuMemFreeHost", 2000, none)
		}
	})
}

func TestRegisteredMemoryIsKnownOnce(t *testing.T) {
	rules(t, func(p *probe) {
		b := make([]byte, 3*4096)
		at := (cudadrv.Addr(b) + 4095) &^ 4095
		p.is(0, "cuMemHostRegister_v2", 6050, at, 4096, 2)
		p.is(712, "cuMemHostRegister_v2", 6050, at, 4096, 2)
		p.is(0, "cuMemHostGetDevicePointer_v2", 3020, p.at(0), at, 0)
		p.is(0, "cuMemHostUnregister", 4000, at)
		p.is(713, "cuMemHostUnregister", 4000, at)
		runtime.KeepAlive(b)
	})
}

func TestEventsThatNobodyRecorded(t *testing.T) {
	rules(t, func(p *probe) {
		s, a, b := p.stream(), p.event(), p.event()
		p.is(0, "cuEventQuery", 2000, a)
		p.is(0, "cuEventSynchronize", 2000, a)
		p.is(0, "cuStreamWaitEvent", 3020, s, a, 0)
		p.is(cudadrv.ErrInvalidHandle, "cuEventElapsedTime", 2000, p.at(0), a, b)
		p.is(0, "cuEventRecord", 2000, a, s)
		p.is(0, "cuEventRecord", 2000, b, s)
		p.is(0, "cuStreamSynchronize", 2000, s)
		p.is(0, "cuEventElapsedTime", 2000, p.at(0), a, b)
	})
}

func TestCapturesEndAsTheDriverEndsThem(t *testing.T) {
	const relaxed = 2
	begin := func(p *probe, s uintptr) { p.is(0, "cuStreamBeginCapture_v2", 10010, s, relaxed) }
	end := func(p *probe, want cudadrv.Code, s uintptr) {
		p.t.Helper()
		p.is(want, "cuStreamEndCapture", 10000, s, p.at(8))
		assert.Equal(p.t, want == cudadrv.Success, p.cell(8) != 0, "a graph")
		if p.cell(8) != 0 {
			p.is(0, "cuGraphDestroy", 10000, p.cell(8))
		}
	}
	rules(t, func(p *probe) {
		s, s2, e := p.stream(), p.stream(), p.event()
		p.is(401, "cuStreamEndCapture", 10000, s, p.at(8))
		begin(p, s)
		p.is(401, "cuStreamBeginCapture_v2", 10010, s, relaxed)
		end(p, 0, s)

		begin(p, s)
		p.is(cudadrv.ErrCaptureUnsupported, "cuStreamSynchronize", 2000, s)
		end(p, cudadrv.ErrCaptureInvalidated, s)

		begin(p, s)
		p.is(cudadrv.ErrCaptureUnsupported, "cuStreamQuery", 2000, s)
		end(p, cudadrv.ErrCaptureInvalidated, s)

		m := p.make("cuMemAlloc_v2", 3020, 64)
		begin(p, s)
		p.is(0, "cuEventRecord", 2000, e, s)
		p.is(907, "cuEventQuery", 2000, e)
		end(p, cudadrv.ErrCaptureInvalidated, s)

		begin(p, s)
		p.is(0, "cuEventRecord", 2000, e, s)
		p.is(0, "cuStreamWaitEvent", 3020, s2, e, 0)
		p.is(0, "cuMemsetD8Async", 3020, m, 0, 64, s2)
		end(p, cudadrv.ErrCaptureUnjoined, s)

		p.is(0, "cuEventRecord", 2000, e, s2)
		begin(p, s)
		p.is(905, "cuStreamWaitEvent", 3020, s, e, 0)
		end(p, cudadrv.ErrCaptureInvalidated, s)

		p.is(0, "cuStreamSynchronize", 2000, s)
		p.is(0, "cuStreamSynchronize", 2000, s2)
		p.is(0, "cuMemFree_v2", 3020, m)
	})
}

func TestLaunchesAreCheckedWhenTheyAreQueued(t *testing.T) {
	rules(t, func(p *probe) {
		s := p.stream()
		m, err := p.c.LoadModule([]byte(addKernel))
		require.NoError(p.t, err)
		defer func() { require.NoError(p.t, m.Close()) }()
		lib := p.make("cuLibraryLoadData", 12000, p.name(addKernel), 0, 0, 0, 0, 0, 0)
		p.is(cudadrv.ErrNotFound, "cuLibraryGetKernel", 12000, p.at(0), lib, p.name("nobody"))
		k := p.make("cuLibraryGetKernel", 12000, lib, p.name("add_word"))
		p.is(0, "cuKernelGetParamInfo", 12040, k, 2, p.at(0), p.at(1))
		assert.Equal(p.t, [2]uintptr{12, 4}, [2]uintptr{p.cell(0), p.cell(1)}, "offset and size")
		p.is(cudadrv.ErrInvalidValue, "cuKernelGetParamInfo", 12040, k, 3, p.at(0), p.at(1))
		for i := range 3 {
			binary.NativeEndian.PutUint64(p.out[8*(10+i):], uint64(p.at(20+i))) // the parameters: address 0, k 0, n 0
		}
		launch := func(want cudadrv.Code, grid, block, shared uintptr) {
			p.t.Helper()
			p.is(want, "cuLaunchKernel", 4000, k, grid, 1, 1, block, 1, 1, shared, s, p.at(10), 0)
		}
		launch(0, 1, 32, 0)
		launch(cudadrv.ErrInvalidValue, 0, 32, 0)
		launch(cudadrv.ErrInvalidValue, 1, 0, 0)
		launch(cudadrv.ErrInvalidValue, 1, 1025, 0)
		launch(0, 1, 32, 48<<10)
		launch(cudadrv.ErrInvalidValue, 1, 32, 48<<10+1)
		p.is(0, "cuKernelSetAttribute", 12000, 8, 64<<10, k, 0)
		launch(0, 1, 32, 64<<10)
		p.is(0, "cuKernelSetAttribute", 12000, 9, 100, k, 0)
		p.is(cudadrv.ErrInvalidValue, "cuKernelSetAttribute", 12000, 9, 101, k, 0)
		launch(0, 1, 32, 64<<10)
		// The same through cuLaunchKernelEx, with the attribute that lets a launch begin early, which says that it does not.
		config, attr := make([]byte, 56), make([]byte, 72)
		for i, v := range []uint32{1, 1, 1, 32, 1, 1, 0} {
			binary.NativeEndian.PutUint32(config[4*i:], v)
		}
		binary.NativeEndian.PutUint64(config[32:], uint64(s))
		binary.NativeEndian.PutUint64(config[40:], uint64(cudadrv.Addr(attr)))
		binary.NativeEndian.PutUint32(config[48:], 1)
		binary.NativeEndian.PutUint32(attr, 6)
		p.is(0, "cuLaunchKernelEx", 11060, cudadrv.Addr(config), k, p.at(10), 0)
		binary.NativeEndian.PutUint32(config[12:], 0)
		p.is(cudadrv.ErrInvalidValue, "cuLaunchKernelEx", 11060, cudadrv.Addr(config), k, p.at(10), 0)
		p.is(0, "cuStreamSynchronize", 2000, s)
		p.is(0, "cuLibraryUnload", 12000, lib)
	})
}
