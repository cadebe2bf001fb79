package cudadrv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// newRig90 is a rig with kernels for sm_90.
func newRig90(t *testing.T, kernels string) *rig {
	t.Helper()
	c := gputest.Context(t)
	if !c.Device().DependentLaunch() || c.Device().Driver().Version() < 12000 {
		t.Skip("this GPU is before sm_90, or its driver before CUDA 12.0")
	}
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

func words(n int, f func(i int) uint32) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, f(i))
	}
	return b
}

func (r *rig) read(from cudadrv.DevicePtr, n int) []byte {
	r.t.Helper()
	got := make([]byte, n)
	require.NoError(r.t, r.s.Synchronize(context.Background()))
	require.NoError(r.t, r.c.CopyToHost(context.Background(), got, from))
	return got
}

// A chain of launches, each reading what the one before wrote, is right however it is launched: plain or dependent, waiting
// first of all or after reading what is declared ready, on the stream or as a graph.
func TestGPUDependentChains(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	gputest.Both(t, dependentChains)
}

func dependentChains(t *testing.T) {
	r := newRig90(t, chainKernel)
	const n, links = 1000, 24
	m := r.malloc(3 * 4 * n)
	at := func(i int) cudadrv.DevicePtr { return m.Ptr() + cudadrv.DevicePtr(4*n*i) }
	start := func(i int) uint32 { return uint32(i) * 2654435761 }
	want := words(n, func(i int) uint32 {
		v := start(i)
		for range links {
			v = 3*v + uint32(i)
		}
		return v
	})
	require.NoError(t, r.c.CopyToDevice(context.Background(), at(2), words(n, func(i int) uint32 { return uint32(i) })))
	for _, dependent := range []bool{false, true} {
		for _, early := range []uint32{0, 1} {
			cfg := config((n+255)/256, 256)
			cfg.Dependent = dependent
			chain := func(s *cudadrv.Stream) (err error) {
				for k := range links {
					err = errors.Join(err, r.bind("chain", cfg, at((k+1)%2), at(k%2), at(2), uint32(n), early, uint64(20_000)).Run(s))
				}
				return err
			}
			name := fmt.Sprintf("dependent %v, early %d", dependent, early)
			reset := func() { require.NoError(t, r.c.CopyToDevice(context.Background(), at(0), words(n, start))) }
			timed := func(fn func() error) time.Duration {
				begin := time.Now()
				require.NoError(t, errors.Join(fn(), r.s.Synchronize(context.Background())))
				return time.Since(begin)
			}
			for range 3 {
				reset()
				took := timed(func() error { return chain(r.s) })
				require.True(t, bytes.Equal(want, r.read(at(0), 4*n)), name)
				t.Logf("%s, stream: %v", name, took)
			}
			g, err := r.s.Capture(chain)
			require.NoError(t, err, name)
			x, err := g.Instantiate()
			require.NoError(t, err, name)
			for range 3 {
				reset()
				took := timed(func() error { return x.Launch(r.s) })
				require.True(t, bytes.Equal(want, r.read(at(0), 4*n)), "%s, graph", name)
				t.Logf("%s, graph: %v", name, took)
			}
			require.NoError(t, errors.Join(x.Close(), g.Close()))
		}
	}
}

func TestGPUClusters(t *testing.T) {
	r := newRig90(t, kernels90)
	out := r.malloc(8 * 32)
	for _, size := range []uint32{1, 2, 4, 8} {
		cfg := config(32, 64)
		cfg.Cluster = [3]uint32{size}
		require.NoError(t, r.bind("clusters", cfg, out.Ptr()).Run(r.s))
		want := words(64, func(i int) uint32 { return []uint32{uint32(i) / 2 % size, size}[i%2] })
		assert.Equal(t, want, r.read(out.Ptr(), 8*32), "clusters of %d", size)
	}
}

func TestGPUCooperativeBlocksMeet(t *testing.T) {
	r := newRig90(t, kernels90)
	sms, err := r.c.Device().Attribute(cudadrv.MultiprocessorCount)
	require.NoError(t, err)
	mem := r.malloc(int64(4 * (sms + 1)))
	require.NoError(t, r.c.Memset8(context.Background(), mem.Ptr(), 0, int64(4*(sms+1))))
	cfg := config(uint32(sms), 1)
	cfg.Cooperative, cfg.Priority = true, -1
	require.NoError(t, r.bind("meet", cfg, mem.Ptr(), mem.Ptr()+4).Run(r.s))
	assert.Equal(t, words(sms+1, func(int) uint32 { return uint32(sms) }), r.read(mem.Ptr(), 4*(sms+1)))
	cfg.Grid[0] = 1 << 20
	assert.ErrorIs(t, r.bind("meet", cfg, mem.Ptr(), mem.Ptr()+4).Run(r.s), cudadrv.ErrCooperativeTooLarge)
	require.NoError(t, r.c.Device().Lost())
}

func TestGPURegisteredMemory(t *testing.T) { gputest.Both(t, registeredMemory) }

func registeredMemory(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	const n = 1<<20 + 4
	all := make([]byte, n+8)
	b := all[4 : 4+n] // starts and ends inside a page
	for i := range b {
		b[i] = byte(i * 7)
	}
	want := bytes.Clone(b)
	h, err := r.c.RegisterHost(b, cudadrv.RegisterOptions{})
	require.NoError(t, err)
	_, err = r.c.RegisterHost(b[:100], cudadrv.RegisterOptions{})
	assert.ErrorIs(t, err, cudadrv.ErrAlreadyRegistered)
	m := r.malloc(n)
	require.NoError(t, errors.Join(r.s.CopyToDevice(m.Ptr(), h, 0, n), r.s.Synchronize(context.Background())))
	clear(b)
	require.NoError(t, errors.Join(r.s.CopyToHost(h, 0, m.Ptr(), n), r.s.Synchronize(context.Background())))
	assert.True(t, bytes.Equal(want, b))
	copy(b, floats(8, func(i int) float32 { return float32(i) }))
	require.NoError(t, r.bind("vector_add", config(1, 32), h.DevicePtr(), h.DevicePtr(), h.DevicePtr()+1024, uint32(8)).Run(r.s))
	require.NoError(t, r.s.Synchronize(context.Background()))
	assert.Equal(t, floats(8, func(i int) float32 { return float32(2 * i) }), b[1024:1024+32], "the device reads and writes in place")
	assert.Equal(t, []byte{0, 0, 0, 0}, all[:4])
	require.NoError(t, h.Close())
	again, err := r.c.RegisterHost(b, cudadrv.RegisterOptions{})
	require.NoError(t, err, "after Close")
	require.NoError(t, again.Close())
}
