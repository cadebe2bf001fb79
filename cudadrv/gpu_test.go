package cudadrv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// rig is a context with the test kernels loaded and a stream, closed in order at the end of the test.
type rig struct {
	t testing.TB
	c *cudadrv.Context
	m *cudadrv.Module
	s *cudadrv.Stream
}

func newRig(t testing.TB, c *cudadrv.Context) *rig {
	t.Helper()
	m, err := c.LoadModule([]byte(kernels))
	require.NoError(t, err)
	s, err := c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, m.Close())
	})
	return &rig{t, c, m, s}
}

func (r *rig) bind(name string, cfg cudadrv.LaunchConfig, args ...any) *cudadrv.Launch {
	r.t.Helper()
	k, err := r.m.Kernel(name)
	require.NoError(r.t, err)
	if _, known := k.Params(); !known {
		sizes := map[string][]int{"null": {}, "wild": {}, "spin": {8}, "vector_add": {8, 8, 8, 4}, "shared": {8, 4}, "mixed": {8, 1, 2, 4, 4, 8, 8, 12},
			"chain": {8, 8, 8, 4, 4, 8}, "clusters": {8}, "meet": {8, 8}}
		require.NoError(r.t, k.Declare(sizes[name]))
	}
	l, err := k.Bind(cfg, args...)
	require.NoError(r.t, err)
	return l
}

func (r *rig) malloc(n int64) *cudadrv.DeviceMem {
	r.t.Helper()
	m, err := r.c.Malloc(context.Background(), n)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, m.Close()) })
	return m
}

func config(grid, block uint32) cudadrv.LaunchConfig {
	return cudadrv.LaunchConfig{Grid: [3]uint32{grid}, Block: [3]uint32{block}}
}

func floats(n int, f func(i int) float32) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f(i)))
	}
	return b
}

// add checks vector_add on n elements, with its own memory.
func (r *rig) add(s *cudadrv.Stream, n int) error {
	size := int64(4 * n)
	m, err := r.c.Malloc(context.Background(), 3*size+64)
	if err != nil {
		return err
	}
	a, b, out := m.Ptr(), m.Ptr()+cudadrv.DevicePtr(size), m.Ptr()+cudadrv.DevicePtr(2*size)
	k, err := r.m.Kernel("vector_add")
	if err != nil {
		return err
	}
	l, err := k.Bind(config(uint32(n+127)/128, 128), a, b, out, uint32(n))
	if err != nil {
		return err
	}
	got := make([]byte, size+64)
	err = errors.Join(
		r.c.Memset8(context.Background(), m.Ptr(), 0xee, 3*size+64),
		r.c.CopyToDevice(context.Background(), a, floats(n, func(i int) float32 { return float32(i) })),
		r.c.CopyToDevice(context.Background(), b, floats(n, func(i int) float32 { return float32(2 * i) })),
		l.Run(s), s.Synchronize(context.Background()),
		r.c.CopyToHost(context.Background(), got, out), m.Close())
	want := append(floats(n, func(i int) float32 { return float32(3 * i) }), bytes.Repeat([]byte{0xee}, 64)...)
	if err == nil && !bytes.Equal(want, got) {
		return fmt.Errorf("vector_add of %d elements: wrong result", n)
	}
	return err
}

func TestGPUDevice(t *testing.T) {
	d := gputest.Require(t)
	c := gputest.Context(t)
	dev := c.Device()
	name, err := dev.Name()
	require.NoError(t, err)
	uuid, err := dev.UUID()
	require.NoError(t, err)
	bus, err := dev.PCIBusID()
	require.NoError(t, err)
	total, err := dev.TotalMem()
	require.NoError(t, err)
	sms, err := dev.Attribute(cudadrv.MultiprocessorCount)
	require.NoError(t, err)
	warp, err := dev.Attribute(cudadrv.WarpSize)
	require.NoError(t, err)
	major, minor := dev.ComputeCapability()
	free, all, err := c.MemInfo()
	require.NoError(t, err)
	least, greatest, err := c.StreamPriorities()
	require.NoError(t, err)
	t.Logf("driver %s at %s; %s %s %s; cc %d.%d; %d SMs; %d bytes, %d of %d free; priorities %d to %d",
		cudadrv.FormatVersion(d.Version()), d.Path(), name, uuid, bus, major, minor, sms, total, free, all, least, greatest)
	assert.NotEmpty(t, name)
	assert.Regexp(t, `^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, uuid)
	assert.NotEqual(t, "GPU-00000000-0000-0000-0000-000000000000", uuid)
	assert.Regexp(t, `^[0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9]$`, bus)
	assert.Equal(t, 32, warp)
	assert.GreaterOrEqual(t, major, 5)
	assert.Greater(t, total, uint64(1<<30))
	assert.LessOrEqual(t, free, all)
	assert.GreaterOrEqual(t, least, greatest)
	s, err := c.NewStream(cudadrv.StreamOptions{Priority: greatest})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestGPUVectorAdd(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	r := newRig(t, gputest.Context(t))
	for _, n := range []int{1, 2, 31, 32, 33, 127, 128, 129, 1000, 1 << 20} {
		require.NoError(t, r.add(r.s, n))
	}
}

func TestGPUKernelSignature(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	k, err := r.m.Kernel("mixed")
	require.NoError(t, err)
	params, known := k.Params()
	if r.c.Device().Driver().Version() >= 12040 {
		require.True(t, known)
	}
	if known {
		assert.Equal(t, []cudadrv.Param{{0, 8}, {8, 1}, {10, 2}, {12, 4}, {16, 4}, {24, 8}, {32, 8}, {40, 12}}, params)
	}
	null, err := r.m.Kernel("null")
	require.NoError(t, err)
	params, _ = null.Params()
	assert.Empty(t, params)
	regs, err := k.Attribute(cudadrv.FuncRegisters)
	require.NoError(t, err)
	assert.Positive(t, regs)
	blocks, err := null.Occupancy(256, 0)
	require.NoError(t, err)
	assert.Positive(t, blocks)
	_, err = r.m.Kernel("no_such_kernel")
	assert.ErrorIs(t, err, cudadrv.ErrNotFound)
	t.Logf("mixed: %d registers; null: %d blocks of 256 a multiprocessor", regs, blocks)
}

func TestGPUMixedSizes(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	out := r.malloc(64)
	l := r.bind("mixed", config(1, 1), out.Ptr(), uint8(200), int16(-2), int32(-3), float32(1.5), uint64(1)<<63|5, math.Pi, []byte("twelve bytes"))
	run := func() []byte {
		require.NoError(t, r.c.Memset8(context.Background(), out.Ptr(), 0, 64))
		require.NoError(t, l.Run(r.s))
		require.NoError(t, r.s.Synchronize(context.Background()))
		got := make([]byte, 64)
		require.NoError(t, r.c.CopyToHost(context.Background(), got, out.Ptr()))
		return got
	}
	words := func(b []byte) (w []uint64) {
		for i := range 6 {
			w = append(w, binary.LittleEndian.Uint64(b[8*i:]))
		}
		return w
	}
	got := run()
	assert.Equal(t, []uint64{200, 0xfffe, 0xfffffffd, uint64(math.Float32bits(1.5)), 1<<63 | 5, math.Float64bits(math.Pi)}, words(got))
	assert.Equal(t, "twelve bytes", string(got[48:60]))
	require.NoError(t, l.SetInt32(3, 9))
	require.NoError(t, l.Set(1, uint8(1)))
	got = run()
	assert.Equal(t, []uint64{1, 0xfffe, 9}, words(got)[:3])
}

func TestGPULaunchAllocatesNothing(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	l := r.bind("null", config(1, 1))
	g, err := r.s.Capture(l.Run)
	require.NoError(t, err)
	defer g.Close()
	x, err := g.Instantiate()
	require.NoError(t, err)
	defer x.Close()
	launch := testing.AllocsPerRun(1000, func() {
		if err := l.Run(r.s); err != nil {
			panic(err)
		}
	})
	require.NoError(t, r.s.Synchronize(context.Background()))
	graph := testing.AllocsPerRun(1000, func() {
		if err := x.Launch(r.s); err != nil {
			panic(err)
		}
	})
	require.NoError(t, r.s.Synchronize(context.Background()))
	if !thorough.Raced {
		assert.Zero(t, launch, "Run")
		assert.Zero(t, graph, "graph launch")
	}
}

func TestGPUSharedMemoryOptIn(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	limit, err := r.c.Device().Attribute(cudadrv.MaxSharedPerBlockOptin)
	require.NoError(t, err)
	out := r.malloc(4)
	k, err := r.m.Kernel("shared")
	require.NoError(t, err)
	require.NoError(t, k.SetMaxDynamicShared(limit))
	cfg := config(1, 1)
	cfg.Shared = uint32(limit)
	require.NoError(t, r.bind("shared", cfg, out.Ptr(), uint32(limit-4)).Run(r.s))
	require.NoError(t, r.s.Synchronize(context.Background()))
	var got [4]byte
	require.NoError(t, r.c.CopyToHost(context.Background(), got[:], out.Ptr()))
	assert.EqualValues(t, 4242, binary.LittleEndian.Uint32(got[:]), "%d bytes", limit)
	assert.Error(t, k.SetMaxDynamicShared(limit+1))
	for _, percent := range []int{100, 0, -1} {
		require.NoError(t, k.PreferShared(percent), "%d %%", percent)
		require.NoError(t, r.bind("shared", cfg, out.Ptr(), uint32(limit-4)).Run(r.s), "what a launch needs it gets all the same")
	}
	require.NoError(t, r.s.Synchronize(context.Background()))
	assert.ErrorIs(t, k.PreferShared(101), cudadrv.ErrInvalidValue)
}

func TestGPUBadImages(t *testing.T) {
	c := gputest.Context(t)
	for name, image := range map[string]string{
		"not ptx":     "this is not PTX",
		"syntax":      ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry broken()\n{\n\tfrobnicate.u32 %r1, 5;\n\tret;\n}\n",
		"new version": ".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry late()\n{\n\tret;\n}\n",
	} {
		_, err := c.LoadModule([]byte(image))
		var e *cudadrv.ModuleError
		require.ErrorAs(t, err, &e, name)
		t.Logf("%s: %v", name, err)
		if name == "syntax" {
			assert.ErrorIs(t, err, cudadrv.ErrInvalidPTX)
			assert.Contains(t, e.ErrorLog, "line 6")
		}
		if name == "new version" {
			assert.ErrorIs(t, err, cudadrv.ErrUnsupportedPTXVersion)
		}
	}
	require.NoError(t, c.Device().Lost(), "a bad image loses nothing")
	newRig(t, c)
}

func TestGPUOutOfMemory(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	total, err := r.c.Device().TotalMem()
	require.NoError(t, err)
	_, err = r.c.Malloc(context.Background(), int64(total)*2)
	require.ErrorIs(t, err, cudadrv.ErrOutOfMemory)
	t.Log(err)
	require.NoError(t, r.add(r.s, 1000), "the context lives on")
}

func TestGPUPoolKeepsWhatTheThresholdAllows(t *testing.T) {
	c := gputest.Context(t)
	if err := c.SetPoolThreshold(1 << 30); errors.Is(err, cudadrv.ErrUnsupported) {
		t.Skip("this GPU has no memory pools")
	} else {
		require.NoError(t, err)
	}
	const size = 64 << 20
	m, err := c.Malloc(context.Background(), size)
	require.NoError(t, err)
	_, used, err := c.PoolInfo()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, used, uint64(size))
	require.NoError(t, m.Close())
	require.NoError(t, c.Synchronize(context.Background()))
	reserved, _, err := c.PoolInfo()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, reserved, uint64(size), "kept")
	require.NoError(t, c.SetPoolThreshold(0))
	require.NoError(t, c.TrimPool(0))
	after, _, err := c.PoolInfo()
	require.NoError(t, err)
	assert.Less(t, after, reserved, "given back")
	t.Logf("reserved %d, after trimming %d", reserved, after)
}

func TestGPUCopies(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	const n = 1 << 20
	m := r.malloc(2 * n)
	h, err := r.c.MallocHost(2 * n)
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()
	for i := range h.Bytes() {
		h.Bytes()[i] = byte(i * 7)
	}
	want := bytes.Clone(h.Bytes()[:n])
	require.NoError(t, errors.Join(
		r.s.CopyToDevice(m.Ptr(), h, 0, n),
		r.s.CopyDevice(m.Ptr()+n, m.Ptr(), n),
		r.s.Memset32(m.Ptr(), 0xdeadbeef, n/4),
		r.s.CopyToHost(h, n, m.Ptr()+n, n),
		r.s.CopyToHost(h, 0, m.Ptr(), 8),
		r.s.Synchronize(context.Background())))
	assert.True(t, bytes.Equal(want, h.Bytes()[n:]))
	assert.Equal(t, []byte{0xef, 0xbe, 0xad, 0xde, 0xef, 0xbe, 0xad, 0xde}, h.Bytes()[:8])
	require.NoError(t, errors.Join(
		r.s.Memset8(m.Ptr(), 0xff, 64),
		r.s.Copy2D(cudadrv.Plane{Device: m.Ptr(), Pitch: 8}, cudadrv.Plane{Host: h, Offset: n, Pitch: 100}, 5, 3),
		r.s.Synchronize(context.Background())))
	got := make([]byte, 24)
	require.NoError(t, r.c.CopyToHost(context.Background(), got, m.Ptr()))
	for y := range 3 {
		assert.Equal(t, append(bytes.Clone(want[100*y:100*y+5]), 255, 255, 255), got[8*y:8*y+8], "row %d", y)
	}
	// The device reads and writes pinned memory in place.
	copy(h.Bytes(), floats(8, func(i int) float32 { return float32(i) }))
	require.NoError(t, r.bind("vector_add", config(1, 32), h.DevicePtr(), h.DevicePtr(), h.DevicePtr()+1024, uint32(8)).Run(r.s))
	require.NoError(t, r.s.Synchronize(context.Background()))
	assert.Equal(t, floats(8, func(i int) float32 { return float32(2 * i) }), h.Bytes()[1024:1024+32])
}

func TestGPUEventsTime(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	var e [3]*cudadrv.Event
	for i := range e {
		var err error
		e[i], err = r.c.NewEvent(cudadrv.EventOptions{NoTiming: i == 2})
		require.NoError(t, err)
		defer func() { require.NoError(t, e[i].Close()) }()
	}
	spin := r.bind("spin", config(1, 1), uint64(20e6))
	require.NoError(t, errors.Join(r.s.Record(e[0]), spin.Run(r.s), r.s.Record(e[1])))
	_, err := e[1].Elapsed(e[0])
	assert.ErrorIs(t, err, cudadrv.ErrNotReady)
	require.NoError(t, e[1].Synchronize(t.Context()))
	took, err := e[1].Elapsed(e[0])
	require.NoError(t, err)
	assert.InDelta(t, 20, float64(took)/1e6, 10, "milliseconds")
	t.Logf("a spin of 20 ms took %v", took)
	require.NoError(t, r.s.Record(e[2]))
	require.NoError(t, e[2].Synchronize(context.Background()))
	_, err = e[2].Elapsed(e[0])
	assert.Error(t, err)
	// A second stream waits for the first through an event.
	s2, err := r.c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	defer s2.Close()
	require.NoError(t, errors.Join(spin.Run(r.s), r.s.Record(e[2]), s2.WaitEvent(e[2])))
	done, err := s2.Query()
	require.NoError(t, err)
	assert.False(t, done)
	require.NoError(t, s2.Synchronize(context.Background()))
	done, err = r.s.Query()
	require.NoError(t, err)
	assert.True(t, done)
}

func TestGPUWaitsHoldNoThreads(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	spin := r.bind("spin", config(1, 1), uint64(300e6))
	require.NoError(t, spin.Run(r.s))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.ErrorIs(t, r.s.Synchronize(ctx), context.DeadlineExceeded)
	assert.Less(t, time.Since(start), 200*time.Millisecond, "the wait ended, not the kernel")
	threads := func() int {
		list, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(list)
	}
	before := threads()
	var wg sync.WaitGroup
	for range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			assert.NoError(t, r.s.Synchronize(t.Context()))
		}()
	}
	time.Sleep(50 * time.Millisecond)
	during := threads()
	wg.Wait()
	t.Logf("%d threads before, %d with 200 waits", before, during)
	assert.Less(t, during-before, 64, "200 waits")
	require.NoError(t, r.c.Synchronize(t.Context()))
}

func TestGPUManyGoroutines(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s, err := r.c.NewStream(cudadrv.StreamOptions{})
			if !assert.NoError(t, err) {
				return
			}
			for j := range 20 {
				runtime.Gosched() // and so, often, another thread
				if !assert.NoError(t, r.add(s, 20*i+j+1)) {
					break
				}
			}
			assert.NoError(t, s.Close())
		}()
	}
	wg.Wait()
}
