//go:build linux && (amd64 || arm64)

package cudadrv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
)

// child runs the test again in a process of its own, where body runs instead: for what spoils a process. In the
// parent it returns false once the child has passed.
func child(t *testing.T) bool {
	t.Helper()
	const env = "ROBOCACHE_TEST_CHILD"
	if os.Getenv(env) == t.Name() {
		return true
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), env+"="+t.Name())
	out, err := cmd.CombinedOutput()
	t.Logf("child:\n%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "--- PASS: "+t.Name()+" ", "the child ran no test, or skipped it")
	return false
}

func TestGPULostDevice(t *testing.T) {
	gputest.Require(t)
	if !child(t) {
		return
	}
	dev, err := gputest.Require(t).Device(0)
	require.NoError(t, err)
	c, err := dev.Primary()
	require.NoError(t, err)
	m, err := c.LoadModule([]byte(kernels))
	require.NoError(t, err)
	s, err := c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	r := &rig{t, c, m, s}
	null, wild := r.bind("null", config(1, 1)), r.bind("wild", config(1, 1))
	mem, err := c.Malloc(context.Background(), 64)
	require.NoError(t, err)
	require.NoError(t, null.Run(s))
	require.NoError(t, wild.Run(s))
	err = s.Synchronize(context.Background())
	t.Log(err)
	require.ErrorIs(t, err, cudadrv.ErrDeviceLost)
	require.ErrorIs(t, err, cudadrv.ErrIllegalAddress)
	var lost *cudadrv.LostError
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, []string{"wild", "null"}, lost.Kernels)
	assert.Equal(t, "CUDA_ERROR_ILLEGAL_ADDRESS", lost.First.Name)
	_, err = c.Malloc(context.Background(), 1)
	for _, err := range []error{err, null.Run(s), s.Synchronize(t.Context()), c.Synchronize(context.Background()), c.CopyToDevice(context.Background(), 1, []byte{1})} {
		assert.ErrorIs(t, err, cudadrv.ErrDeviceLost)
	}
	for _, x := range []interface{ Close() error }{mem, s, m, c} {
		assert.NoError(t, x.Close(), "%T", x)
	}
}

// action is what the system holds for a signal.
type action struct{ handler, flags uint64 }

func actions(t *testing.T) (all [65]action) {
	for sig := 1; sig <= 64; sig++ {
		var raw [4]uint64 // handler, flags, restorer, mask
		// SAFETY: the call writes 32 bytes to raw, which lives in this frame, and keeps nothing.
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&raw)), 8, 0, 0)
		require.Zero(t, errno, "signal %d", sig)
		all[sig] = action{raw[0], raw[1]}
	}
	return all
}

// Go runs signal handlers on goroutine stacks unless they ask for the other stack: a library that installs one
// without asking kills the process at its next signal.
func TestGPUSignalHandlers(t *testing.T) {
	gputest.Require(t)
	if os.Getenv("ROBOCACHE_TEST_CHILD") == "" {
		child(t)
		return
	}
	gputest.Context(t) // TestMain looked before anything of the driver was loaded
	after := actions(t)
	changed := 0
	for sig := 1; sig <= 64; sig++ {
		if after[sig] != handlersAtStart[sig] {
			changed++
			t.Logf("signal %d: handler %#x flags %#x became handler %#x flags %#x", sig,
				handlersAtStart[sig].handler, handlersAtStart[sig].flags, after[sig].handler, after[sig].flags)
		}
		if after[sig].handler > 1 {
			const onStack = 0x08000000
			assert.NotZero(t, after[sig].flags&onStack, "signal %d has a handler that does not ask for the signal stack", sig)
		}
	}
	t.Logf("%d handlers changed by starting the driver", changed)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	select {
	case <-got:
	case <-time.After(5 * time.Second):
		t.Fatal("a signal did not arrive")
	}
}

// TestGPUAsAnOldDriver hides what came after CUDA 11.8, and runs everything on what is left.
func TestGPUAsAnOldDriver(t *testing.T) {
	real := gputest.Require(t)
	table, err := cudadrv.LibraryFunctionTable(real.Path())
	require.NoError(t, err)
	for _, pools := range []bool{true, false} {
		t.Run(fmt.Sprintf("pools=%t", pools), func(t *testing.T) {
			d, err := cudadrv.NewDriver(&cudadrv.FunctionTable{Path: "as 11.8", Lookup: func(name string, version int) (cudadrv.Proc, bool) {
				if version > cudadrv.MinVersion || name == "cuMemAllocAsync" && !pools {
					return nil, false
				}
				p, ok := table.Lookup(name, version)
				if ok && name == "cuDriverGetVersion" {
					return func(args []uintptr) uintptr {
						binary.LittleEndian.PutUint32(cudadrv.View(args[0], 4), cudadrv.MinVersion)
						return 0
					}, true
				}
				return p, ok
			}})
			require.NoError(t, err)
			assert.Equal(t, cudadrv.MinVersion, d.Version())
			dev, err := d.Device(0)
			require.NoError(t, err)
			c, err := dev.Primary()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			r := newRig(t, c)
			k, err := r.m.Kernel("vector_add")
			require.NoError(t, err)
			_, err = k.Bind(config(1, 1))
			require.ErrorIs(t, err, cudadrv.ErrParamsUnknown)
			require.NoError(t, k.Declare([]int{8, 8, 8, 4}))
			require.NoError(t, r.add(r.s, 1000))
			require.NoError(t, r.bind("null", config(1, 1)).Run(r.s))
			m, err := c.MallocAsync(r.s, 1000)
			require.NoError(t, err)
			require.NoError(t, errors.Join(r.s.Memset8(m.Ptr(), 1, 1000), m.CloseAsync(r.s), r.s.Synchronize(context.Background())))
			r.graphs()
			_, err = c.LoadModule([]byte("this is not PTX"))
			var e *cudadrv.ModuleError
			require.ErrorAs(t, err, &e)
		})
	}
}

// TestGPUBindsWhereAsked answers 201 to every call made without a current context.
func TestGPUBindsWhereAsked(t *testing.T) {
	real := gputest.Require(t)
	table, err := cudadrv.LibraryFunctionTable(real.Path())
	require.NoError(t, err)
	bound := map[int]int{} // thread -> contexts pushed; only this goroutine's calls, one at a time
	d, err := cudadrv.NewDriver(table.Wrap(func(name string, next cudadrv.Proc) cudadrv.Proc {
		return func(args []uintptr) uintptr {
			switch name {
			case "cuCtxPushCurrent_v2":
				bound[syscall.Gettid()]++
			case "cuCtxPopCurrent_v2":
				bound[syscall.Gettid()]--
			case "cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord", "cuGraphLaunch", "cuMemAllocAsync":
				if bound[syscall.Gettid()] == 0 {
					return 201
				}
			}
			return next(args)
		}
	}))
	require.NoError(t, err)
	dev, err := d.Device(0)
	require.NoError(t, err)
	c, err := dev.Primary()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	r := newRig(t, c)
	require.NoError(t, r.add(r.s, 1000))
	r.graphs()
}

var handlersAtStart [65]action

func TestMain(m *testing.M) {
	if os.Getenv("ROBOCACHE_TEST_CHILD") == "TestGPUSignalHandlers" {
		handlersAtStart = actions(new(testing.T))
	}
	os.Exit(m.Run())
}
