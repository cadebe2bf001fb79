package cudadrv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
)

// graphs checks capture, launch and the two kinds of update.
func (r *rig) graphs() {
	t := r.t
	const n = 1000
	m := r.malloc(5 * 4 * n)
	at := func(i int) cudadrv.DevicePtr { return m.Ptr() + cudadrv.DevicePtr(4*n*i) }
	ramp := func(k float32) []byte { return floats(n, func(i int) float32 { return k * float32(i) }) }
	require.NoError(t, r.c.CopyToDevice(context.Background(), at(0), ramp(1)))
	require.NoError(t, r.c.CopyToDevice(context.Background(), at(1), ramp(10)))
	expect := func(i int, k float32, why string) {
		t.Helper()
		got := make([]byte, 4*n)
		require.NoError(t, r.s.Synchronize(context.Background()))
		require.NoError(t, r.c.CopyToHost(context.Background(), got, at(i)))
		assert.Equal(t, ramp(k), got, why)
	}
	first := r.bind("vector_add", config(8, 128), at(0), at(1), at(2), uint32(n))  // 11
	second := r.bind("vector_add", config(8, 128), at(2), at(0), at(3), uint32(n)) // 12
	record := func(s *cudadrv.Stream) error {
		return errors.Join(s.Memset8(at(2), 0, 4*n), first.Run(s), second.Run(s))
	}
	g, err := r.s.Capture(record)
	require.NoError(t, err)
	defer g.Close()
	nodes, err := g.Nodes()
	require.NoError(t, err)
	assert.Equal(t, 3, nodes)
	x, err := g.Instantiate()
	require.NoError(t, err)
	defer x.Close()
	require.NoError(t, x.Launch(r.s))
	expect(3, 12, "as captured")

	require.NoError(t, second.SetPtr(1, at(1)))
	require.NoError(t, second.SetPtr(2, at(4)))
	require.NoError(t, r.c.Memset8(context.Background(), at(3), 0, 4*n))
	require.NoError(t, x.Launch(r.s))
	expect(3, 12, "a graph has a copy of the arguments")

	require.NoError(t, first.SetPtr(0, at(1)))
	next, err := r.s.Capture(record)
	require.NoError(t, err)
	defer next.Close()
	require.NoError(t, x.Update(next))
	require.NoError(t, x.Launch(r.s))
	expect(4, 30, "after the update from a graph")

	short, err := r.s.Capture(first.Run)
	require.NoError(t, err)
	defer short.Close()
	var e *cudadrv.GraphUpdateError
	err = x.Update(short)
	require.ErrorAs(t, err, &e)
	t.Log(err)
	require.NoError(t, x.Launch(r.s))
	expect(4, 30, "after a refused update")
}

func TestGPUGraphs(t *testing.T) {
	newRig(t, gputest.Context(t)).graphs()
}

func TestGPUCaptureJoinsStreams(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	s2, err := r.c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	defer s2.Close()
	fork, err := r.c.NewEvent(cudadrv.EventOptions{NoTiming: true})
	require.NoError(t, err)
	defer fork.Close()
	join, err := r.c.NewEvent(cudadrv.EventOptions{NoTiming: true})
	require.NoError(t, err)
	defer join.Close()
	a, b := r.bind("null", config(1, 1)), r.bind("spin", config(1, 1), uint64(1000))
	g, err := r.s.Capture(func(s *cudadrv.Stream) error {
		return errors.Join(s.Record(fork), s2.WaitEvent(fork), a.Run(s), b.Run(s2), s2.Record(join), s.WaitEvent(join))
	})
	require.NoError(t, err)
	defer g.Close()
	x, err := g.Instantiate()
	require.NoError(t, err)
	defer x.Close()
	require.NoError(t, x.Launch(r.s))
	require.NoError(t, r.s.Synchronize(context.Background()))
	_, err = r.s.Capture(func(s *cudadrv.Stream) error {
		return errors.Join(s.Record(fork), s2.WaitEvent(fork), b.Run(s2))
	})
	var e *cudadrv.CaptureError
	require.ErrorAs(t, err, &e, "a stream that was not joined")
	t.Log(err)
	require.NoError(t, r.add(r.s, 1000))
}

func TestGPUFailedCaptureLeavesTheStreamUsable(t *testing.T) {
	r := newRig(t, gputest.Context(t))
	l := r.bind("null", config(1, 1))
	for name, fn := range map[string]func(*cudadrv.Stream) error{
		"wait":         func(s *cudadrv.Stream) error { return errors.Join(l.Run(s), s.Synchronize(context.Background())) },
		"context wait": func(s *cudadrv.Stream) error { return errors.Join(l.Run(s), r.c.Synchronize(context.Background())) },
		"hidden":       func(s *cudadrv.Stream) error { _ = r.c.Synchronize(context.Background()); return l.Run(s) },
		"own error":    func(s *cudadrv.Stream) error { return errors.Join(l.Run(s), errors.New("boom")) },
	} {
		g, err := r.s.Capture(fn)
		assert.Nil(t, g, name)
		var e *cudadrv.CaptureError
		require.ErrorAs(t, err, &e, name)
		t.Logf("%s: %v", name, err)
		require.NoError(t, r.c.Device().Lost())
		require.NoError(t, r.add(r.s, 1000), name)
	}
}
