package cudadrv

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGraphRunsWhatWasCaptured(t *testing.T) {
	for _, version := range []int{12080, 11080} {
		k := newFake()
		k.version = version
		c := k.open(t)
		s := stream(t, c)
		mem, err := c.Malloc(context.Background(), 1024)
		require.NoError(t, err)
		kern := k.kernel(t, c, "fill")
		require.NoError(t, kern.Declare([]int{8, 4, 4}))
		a, err := kern.Bind(one, mem.Ptr(), uint32(7), uint32(100))
		require.NoError(t, err)
		b, err := kern.Bind(one, mem.Ptr()+512, uint32(8), uint32(100))
		require.NoError(t, err)
		g, err := s.Capture(func(s *Stream) error { return errors.Join(a.Run(s), b.Run(s), a.Run(s)) })
		require.NoError(t, err)
		n, err := g.Nodes()
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		assert.Empty(t, k.runs, "a capture runs nothing")
		x, err := g.Instantiate()
		require.NoError(t, err)
		word := func(at DevicePtr) uint32 {
			var b [4]byte
			require.NoError(t, c.CopyToHost(context.Background(), b[:], mem.Ptr()+at))
			return binary.LittleEndian.Uint32(b[:])
		}
		require.NoError(t, x.Launch(s))
		assert.Equal(t, []uint32{7, 7, 8, 8}, []uint32{word(0), word(396), word(512), word(908)})

		require.NoError(t, a.SetUint32(1, 70))
		require.NoError(t, a.SetConfig(LaunchConfig{Grid: [3]uint32{9, 8, 7}, Block: [3]uint32{6, 5, 4}, Shared: 3}))
		require.NoError(t, x.Launch(s))
		assert.Equal(t, uint32(7), word(0), "the graph has a copy of the arguments")
		require.NoError(t, g.Close(), "an instance outlives its graph")
		require.NoError(t, x.Launch(s))
		require.NoError(t, b.SetUint32(1, 90))
		next, err := s.Capture(func(s *Stream) error { return errors.Join(a.Run(s), b.Run(s), a.Run(s)) })
		require.NoError(t, err)
		require.NoError(t, x.Update(next))
		k.runs = nil
		require.NoError(t, x.Launch(s))
		assert.Equal(t, []uint32{70, 90}, []uint32{word(0), word(512)})
		assert.Equal(t, [7]uintptr{9, 8, 7, 6, 5, 4, 3}, k.runs[0].config)
		assert.Equal(t, k.runs[0], k.runs[2], "both nodes of the launch")
		assert.Equal(t, [7]uintptr{1, 1, 1, 1, 1, 1, 0}, k.runs[1].config)
		shorter, err := s.Capture(a.Run)
		require.NoError(t, err)
		var e *GraphUpdateError
		require.ErrorAs(t, x.Update(shorter), &e)
		assert.Equal(t, 2, e.Reason)
		assert.ErrorIs(t, e, ErrGraphUpdateFailure)
		assert.ErrorContains(t, e, "another shape")
		for _, y := range []interface{ Close() error }{x, next, shorter, mem, s, kern.mod, c} {
			require.NoError(t, y.Close())
		}
	}
}

func TestFailedCaptureLeavesTheStreamUsable(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		fn   func(*Context) func(*Stream) error
		want error
	}{
		"the function fails": {func(*Context) func(*Stream) error { return func(*Stream) error { return boom } }, boom},
		"a wait": {func(*Context) func(*Stream) error {
			return func(s *Stream) error { return s.Synchronize(context.Background()) }
		}, ErrCaptureUnsupported},
		"a query": {func(*Context) func(*Stream) error {
			return func(s *Stream) error { _, err := s.Query(); return err }
		}, ErrCaptureUnsupported},
		"a nested capture": {func(*Context) func(*Stream) error {
			return func(s *Stream) error { _, err := s.Capture(nil); return err }
		}, nil},
		"a close": {func(*Context) func(*Stream) error { return (*Stream).Close }, ErrCaptureUnsupported},
		"a call that the driver refuses, passed on": {func(c *Context) func(*Stream) error {
			return func(*Stream) error { _, err := c.MallocHost(8); return err }
		}, ErrCaptureUnsupported},
		"a call that the driver refuses, hidden": {func(c *Context) func(*Stream) error {
			return func(*Stream) error { _, _ = c.MallocHost(8); return nil }
		}, ErrCaptureInvalidated},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			k := newFake()
			c := k.open(t)
			s := stream(t, c)
			g, err := s.Capture(x.fn(c))
			assert.Nil(t, g)
			var e *CaptureError
			require.ErrorAs(t, err, &e)
			if x.want != nil {
				assert.ErrorIs(t, err, x.want)
			}
			assert.Nil(t, k.capture)
			require.NoError(t, s.Synchronize(context.Background()))
			g, err = s.Capture(func(*Stream) error { return nil })
			require.NoError(t, err, "the next capture works")
			require.NoError(t, g.Close())
			require.NoError(t, s.Close())
			require.NoError(t, c.Close())
		})
	}
}

func TestCaptureSurvivesAPanic(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	assert.PanicsWithValue(t, "boom", func() { _, _ = s.Capture(func(*Stream) error { panic("boom") }) })
	assert.Nil(t, k.capture)
	require.NoError(t, s.Synchronize(context.Background()))
	require.NoError(t, s.Close())
	require.NoError(t, c.Close())
}

func TestGraphsNeedTheirFunctions(t *testing.T) {
	k := newFake()
	k.missing["cuStreamBeginCapture_v2"] = true
	c := k.open(t)
	_, err := stream(t, c).Capture(func(*Stream) error { return nil })
	assert.ErrorIs(t, err, ErrUnsupported)
}

func TestModuleErrorsCarryTheCompilersWords(t *testing.T) {
	for _, version := range []int{12080, 11080} {
		k := newFake()
		k.version = version
		c := k.open(t)
		_, err := c.LoadModule([]byte("bad"))
		var e *ModuleError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, "ptxas error: line 1", e.ErrorLog)
		assert.ErrorIs(t, err, ErrInvalidPTX)
		assert.ErrorContains(t, err, "ptxas error: line 1")
		_, err = c.LoadModule(nil)
		var v *ValueError
		assert.ErrorAs(t, err, &v)
		m, err := c.LoadModule([]byte("good"))
		require.NoError(t, err)
		_, err = m.Kernel("no such")
		assert.ErrorIs(t, err, ErrNotFound)
		assert.ErrorContains(t, err, `"no such"`)
		a, err := m.Kernel("null")
		require.NoError(t, err)
		b, err := m.Kernel("null")
		require.NoError(t, err)
		assert.Same(t, a, b)
		_, err = a.Attribute(FuncRegisters)
		require.NoError(t, err)
		require.NoError(t, a.SetMaxDynamicShared(100<<10))
		blocks, err := a.Occupancy(256, 0)
		require.NoError(t, err)
		assert.Equal(t, 8, blocks)
		require.NoError(t, m.Close())
		require.NoError(t, c.Close())
	}
}
