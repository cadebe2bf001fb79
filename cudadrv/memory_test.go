package cudadrv

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// lengths straddle warps, words and cache lines.
var lengths = []int{1, 2, 31, 32, 33, 127, 128, 129, 1000}

func TestCopiesMoveEveryByteAndNothingElse(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	c := newFake().open(t)
	s := stream(t, c)
	for _, n := range lengths {
		size := int64(n)
		src := bytes.Repeat([]byte{0, 1, 2, 3, 4, 5, 6}, n)[:n]
		m, err := c.Malloc(context.Background(), size+32)
		require.NoError(t, err)
		require.NoError(t, c.Memset8(context.Background(), m.Ptr(), 0xee, size+32))
		require.NoError(t, c.CopyToDevice(context.Background(), m.Ptr()+16, src))
		got := make([]byte, n+32)
		require.NoError(t, c.CopyToHost(context.Background(), got, m.Ptr()))
		guard := bytes.Repeat([]byte{0xee}, 16)
		assert.Equal(t, append(append(bytes.Clone(guard), src...), guard...), got)

		h, err := c.MallocHost(2 * size)
		require.NoError(t, err)
		copy(h.Bytes(), src)
		require.NoError(t, s.Memset8(m.Ptr(), 0, size))
		require.NoError(t, s.CopyToDevice(m.Ptr(), h, 0, size))
		require.NoError(t, s.CopyToHost(h, size, m.Ptr(), size))
		require.NoError(t, s.Synchronize(context.Background()))
		assert.Equal(t, src, h.Bytes()[n:])
		require.NoError(t, c.Memset32(context.Background(), m.Ptr(), 0x01020304, size/4))
		require.NoError(t, c.CopyDevice(context.Background(), m.Ptr()+16, m.Ptr(), min(16, size/4*4)))
		require.NoError(t, c.CopyToHost(context.Background(), got, m.Ptr()))
		if n >= 16 {
			assert.Equal(t, bytes.Repeat([]byte{4, 3, 2, 1}, 8), got[:32])
		}
		require.NoError(t, h.Close())
		require.NoError(t, m.Close())
	}
	require.NoError(t, s.Close())
	require.NoError(t, c.Close())
}

func TestCopiesRefuseRangesOutsideTheHostMemory(t *testing.T) {
	c := newFake().open(t)
	s := stream(t, c)
	h, err := c.MallocHost(16)
	require.NoError(t, err)
	var e *ValueError
	for _, r := range [][2]int64{{0, 17}, {16, 1}, {-1, 1}, {0, -1}, {1 << 62, 1 << 62}, {8, 9}} {
		assert.ErrorAs(t, s.CopyToDevice(1, h, r[0], r[1]), &e, "%v", r)
		assert.ErrorAs(t, s.CopyToHost(h, r[0], 1, r[1]), &e, "%v", r)
	}
	assert.ErrorAs(t, s.CopyToDevice(1, nil, 0, 1), &e)
	assert.ErrorAs(t, s.CopyDevice(1, 2, -1), &e)
	assert.ErrorAs(t, s.Memset32(1, 2, -1), &e)
	assert.ErrorAs(t, s.Copy2D(Plane{Device: 1, Pitch: 3}, Plane{Device: 1, Pitch: 4}, 4, 1), &e)
	assert.ErrorAs(t, s.Copy2D(Plane{Device: 1, Pitch: 4}, Plane{Host: h, Pitch: 5}, 4, 4), &e)
	assert.ErrorAs(t, s.Copy2D(Plane{Device: 1, Pitch: 4}, Plane{Host: h, Pitch: 1 << 62}, 4, 1<<40), &e)
	assert.ErrorAs(t, s.Copy2D(Plane{Device: 1, Pitch: 4}, Plane{Host: h, Offset: 1, Pitch: 4}, 4, 4), &e)
	_, err = c.Malloc(context.Background(), -1)
	assert.ErrorAs(t, err, &e)
	_, err = c.MallocHost(-1)
	assert.ErrorAs(t, err, &e)
	_, err = c.MallocAsync(nil, 1)
	assert.ErrorAs(t, err, &e)
	require.NoError(t, s.CopyToDevice(1, h, 16, 0), "nothing to copy")
	m, err := c.Malloc(context.Background(), 0)
	require.NoError(t, err)
	assert.Zero(t, m.Ptr())
	require.NoError(t, m.Close())
	require.NoError(t, c.CopyToDevice(context.Background(), 0, nil))
}

func TestCopy2DFollowsThePitches(t *testing.T) {
	c := newFake().open(t)
	s := stream(t, c)
	h, err := c.MallocHost(64)
	require.NoError(t, err)
	m, err := c.Malloc(context.Background(), 64)
	require.NoError(t, err)
	for i := range h.Bytes() {
		h.Bytes()[i] = byte(i)
	}
	require.NoError(t, c.Memset8(context.Background(), m.Ptr(), 0xff, 64))
	require.NoError(t, s.Copy2D(Plane{Device: m.Ptr(), Pitch: 4}, Plane{Host: h, Offset: 2, Pitch: 16}, 3, 3))
	require.NoError(t, s.Copy2D(Plane{Host: h, Offset: 48, Pitch: 5}, Plane{Device: m.Ptr(), Pitch: 4}, 3, 3))
	require.NoError(t, s.Synchronize(context.Background()))
	got := make([]byte, 13)
	require.NoError(t, c.CopyToHost(context.Background(), got, m.Ptr()))
	assert.Equal(t, []byte{2, 3, 4, 255, 18, 19, 20, 255, 34, 35, 36, 255, 255}, got)
	assert.Equal(t, []byte{2, 3, 4, 51, 52, 18, 19, 20, 56, 57, 34, 35, 36, 61, 62, 63}, h.Bytes()[48:])
}

func TestMemoryComesPlainWherePoolsAreMissing(t *testing.T) {
	for _, lack := range []func(*fake){
		func(k *fake) { k.attrs[MemoryPoolsSupported] = 0 },
		func(k *fake) { k.missing["cuMemAllocAsync"] = true },
	} {
		k := newFake()
		lack(k)
		c := k.open(t)
		s := stream(t, c)
		a, err := c.Malloc(context.Background(), 64)
		require.NoError(t, err)
		b, err := c.MallocAsync(s, 64)
		require.NoError(t, err)
		require.NoError(t, a.CloseAsync(s))
		require.NoError(t, b.Close())
		assert.Equal(t, 2, k.count("cuMemAlloc_v2"))
		assert.Equal(t, 2, k.count("cuMemFree_v2"))
		assert.Zero(t, k.count("cuMemAllocAsync"))
		assert.ErrorIs(t, c.SetPoolThreshold(1), ErrUnsupported)
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
	}
	k := newFake()
	c := k.open(t)
	m, err := c.Malloc(context.Background(), 64)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	assert.Equal(t, 1, k.count("cuMemFreeAsync"))
	require.NoError(t, c.SetPoolThreshold(1<<40))
	assert.Equal(t, 1<<40, k.attrs[-4], "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD is 4")
	reserved, used, err := c.PoolInfo()
	require.NoError(t, err)
	assert.EqualValues(t, []uint64{5, 7}, []uint64{reserved, used})
	require.NoError(t, c.Close())
}

func TestFailedCallsLeaveNothingOpen(t *testing.T) {
	// Each function of the driver fails once, at each of its calls, while a fixed list of things is done.
	work := func(c *Context) {
		s, err := c.NewStream(StreamOptions{})
		if err != nil {
			return
		}
		defer s.Close()
		if m, err := c.Malloc(context.Background(), 64); err == nil {
			defer m.Close()
		}
		if h, err := c.MallocHost(64); err == nil {
			defer h.Close()
		}
		if h, err := c.RegisterHost(make([]byte, 64), RegisterOptions{}); err == nil {
			defer h.Close()
		}
		m, err := c.LoadModule([]byte("good"))
		if err != nil {
			return
		}
		defer m.Close()
		k, err := m.Kernel("null")
		if err != nil {
			return
		}
		l, err := k.Bind(LaunchConfig{Grid: one.Grid, Block: one.Block, Dependent: true, Cluster: [3]uint32{1}})
		if err != nil {
			return
		}
		g, err := s.Capture(l.Run)
		if err != nil {
			return
		}
		defer g.Close()
		if x, err := g.Instantiate(); err == nil {
			_ = x.Update(g)
			_ = x.Close()
		}
	}
	probe := newFake()
	c := probe.open(t)
	work(c)
	require.NoError(t, c.Close())
	for name := range probe.calls {
		if strings.Contains(name, "Destroy") || strings.Contains(name, "Free") || strings.Contains(name, "Unload") || strings.Contains(name, "Unregister") || strings.Contains(name, "Pop") ||
			strings.HasPrefix(name, "cuDevice") || name == "cuInit" || name == "cuDriverGetVersion" {
			continue // what cannot be undone, and what comes before there is a context
		}
		k := newFake()
		c := k.open(t)
		from := k.count(name)
		k.fault = func(n string, i int) Code {
			if n == name && i == from+1 {
				return ErrUnknown
			}
			return Success
		}
		work(c)
		k.fault = nil
		require.NoError(t, c.Close(), name)
		assert.Empty(t, k.mem, name)
		assert.Empty(t, k.pinned, name)
		for _, what := range k.handles {
			assert.Contains(t, []string{"context", "kernel", "node"}, what, name)
		}
		if name != "cuStreamEndCapture" { // failing, it ends nothing
			assert.Nil(t, k.capture, name)
		}
		assert.Zero(t, k.pushed, name)
	}
}

func TestLeaksNameTheCallSite(t *testing.T) {
	c := newFake().open(t)
	d := c.Device().Driver()
	before, err := c.Malloc(context.Background(), 1)
	require.NoError(t, err)
	was := tracking.Load()
	TrackLeaks(true)
	defer TrackLeaks(was)
	m, err := c.Malloc(context.Background(), 77)
	require.NoError(t, err)
	s, err := c.NewStream(StreamOptions{})
	require.NoError(t, err)
	leaks := d.Leaks()
	if !was {
		require.Len(t, leaks, 2, "what was made before is not tracked")
	}
	leaks = leaks[len(leaks)-2:]
	assert.Equal(t, "device memory", leaks[0].Kind)
	assert.EqualValues(t, 77, leaks[0].Size)
	assert.Contains(t, leaks[0].Stack, "TestLeaksNameTheCallSite")
	assert.Contains(t, leaks[0].Stack, "memory_test.go:")
	assert.Equal(t, "stream", leaks[1].Kind)
	require.NoError(t, m.Close())
	require.NoError(t, s.Close())
	require.NoError(t, before.Close())
	assert.Empty(t, d.Leaks())
	require.NoError(t, c.Close())
}
