package cudadrv

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestRegisteredMemoryIsCopiedInPlace(t *testing.T) {
	for _, n := range lengths {
		k := newFake()
		c := k.open(t)
		s := stream(t, c)
		b := make([]byte, n+8)
		for i := range b {
			b[i] = byte(i)
		}
		own := b[4 : 4+n]
		h, err := c.RegisterHost(own, RegisterOptions{})
		require.NoError(t, err)
		assert.Equal(t, uintptr(n)|3<<48, k.pinned[Addr(own)], "portable and mapped")
		assert.Same(t, &own[0], &h.Bytes()[0])
		assert.Equal(t, n, cap(h.Bytes()), "nothing beyond the range can be reached")
		assert.EqualValues(t, Addr(own), h.DevicePtr())
		m, err := c.Malloc(context.Background(), int64(n))
		require.NoError(t, err)
		require.NoError(t, s.CopyToDevice(m.Ptr(), h, 0, int64(n)))
		require.NoError(t, s.Memset8(DevicePtr(Addr(own)), 0xee, int64(n)))
		require.NoError(t, s.CopyToHost(h, 0, m.Ptr(), int64(n)))
		require.NoError(t, s.Synchronize(context.Background()))
		for i := range b {
			require.EqualValues(t, byte(i), b[i])
		}
		var e *ValueError
		assert.ErrorAs(t, s.CopyToHost(h, 1, m.Ptr(), int64(n)), &e)
		_, err = c.RegisterHost(b, RegisterOptions{})
		assert.ErrorIs(t, err, ErrAlreadyRegistered)
		assert.NoError(t, c.dev.Lost())
		for range 2 {
			require.NoError(t, h.Close())
		}
		assert.Empty(t, k.pinned)
		assert.Nil(t, h.Bytes())
		assert.EqualValues(t, 4, b[4], "the program's memory stays the program's")
		assert.ErrorIs(t, s.CopyToDevice(m.Ptr(), h, 0, 1), ErrClosed)
		for _, x := range []interface{ Close() error }{m, s, c} {
			require.NoError(t, x.Close())
		}
	}
}

func TestReadOnlyMemoryIsNotWritten(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	h, err := c.RegisterHost(make([]byte, 64), RegisterOptions{ReadOnly: true})
	require.NoError(t, err)
	assert.EqualValues(t, 64|11<<48, k.pinned[h.addr])
	var e *ValueError
	assert.ErrorAs(t, s.CopyToHost(h, 0, 1, 8), &e)
	assert.ErrorAs(t, s.Copy2D(Plane{Host: h, Pitch: 8}, Plane{Device: 1, Pitch: 8}, 8, 2), &e)
	m, err := c.Malloc(context.Background(), 64)
	require.NoError(t, err)
	assert.NoError(t, s.CopyToDevice(m.Ptr(), h, 0, 64))
	assert.NoError(t, s.Copy2D(Plane{Device: m.Ptr(), Pitch: 8}, Plane{Host: h, Pitch: 8}, 8, 2))
	require.NoError(t, h.Close())
	k.attrs[ReadOnlyHostRegister] = 0
	var u *UnsupportedError
	_, err = c.RegisterHost(make([]byte, 64), RegisterOptions{ReadOnly: true})
	require.ErrorAs(t, err, &u)
}

func TestFailedRegistrationLeavesNothingPinned(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2"} {
		k := newFake()
		c := k.open(t)
		k.fault = only(name, ErrOutOfMemory)
		_, err := c.RegisterHost(make([]byte, 64), RegisterOptions{})
		require.ErrorIs(t, err, ErrOutOfMemory)
		assert.Empty(t, k.pinned)
		require.NoError(t, c.Close())
	}
	k := newFake()
	k.missing["cuMemHostRegister_v2"] = true
	c := k.open(t)
	_, err := c.RegisterHost(make([]byte, 64), RegisterOptions{})
	var u *UnsupportedError
	require.ErrorAs(t, err, &u)
	for _, b := range [][]byte{nil, {}} { // no memory, as MallocHost of 0 bytes
		h, err := c.RegisterHost(b, RegisterOptions{})
		require.NoError(t, err)
		assert.Zero(t, h.DevicePtr())
		require.NoError(t, stream(t, c).CopyToDevice(1, h, 0, 0))
		require.NoError(t, h.Close())
	}
}

func TestRegisteredMemoryOutlivesTheProgramsReferences(t *testing.T) {
	k := newFake()
	c := k.open(t)
	held := func() weak.Pointer[HostMem] {
		h, err := c.RegisterHost(make([]byte, 1<<20), RegisterOptions{})
		require.NoError(t, err)
		return weak.Make(h)
	}()
	for range 3 {
		runtime.GC()
	}
	h := held.Value()
	require.NotNil(t, h, "the driver still refers to it")
	require.NoError(t, h.Close())
	h = nil
	for range 3 {
		runtime.GC()
	}
	assert.Nil(t, held.Value(), "after Close it is garbage")
	require.NoError(t, c.Close())
}

func TestRegisteredMemoryClosesOnALostDevice(t *testing.T) {
	k := newFake()
	c := k.open(t)
	h, err := c.RegisterHost(make([]byte, 64), RegisterOptions{})
	require.NoError(t, err)
	k.fault = only("cuMemHostUnregister", ErrNotPermitted)
	require.ErrorIs(t, h.Close(), ErrNotPermitted)
	assert.NotNil(t, h.Bytes(), "still registered")
	k.poison = ErrIllegalAddress
	require.ErrorIs(t, h.Close(), ErrDeviceLost, "the call that finds the loss says so")
	assert.Nil(t, h.Bytes())
	require.NoError(t, h.Close())
}
