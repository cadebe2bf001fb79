package cudadrv

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestArraysMoveElementsAndNothingElse(t *testing.T) {
	c := newFake().open(t)
	ctx := t.Context()
	for _, n := range lengths {
		src := make([]int16, n)
		for i := range src {
			src[i] = int16(-3 * i)
		}
		a, err := ArrayOf(ctx, c, src)
		require.NoError(t, err)
		assert.Equal(t, n, a.Len())
		assert.EqualValues(t, 2*n, a.Size())
		part, err := a.Slice(n/3, n)
		require.NoError(t, err)
		assert.Equal(t, a.Ptr()+DevicePtr(2*(n/3)), part.Ptr())
		got := make([]int16, part.Len())
		require.NoError(t, part.CopyTo(ctx, got))
		assert.Equal(t, src[n/3:], got)
		last, err := part.Slice(part.Len()-1, part.Len())
		require.NoError(t, err, "a part of a part")
		require.NoError(t, last.CopyFrom(ctx, []int16{77}))
		all := make([]int16, n)
		require.NoError(t, a.CopyTo(context.Background(), all))
		src[n-1] = 77
		assert.Equal(t, src, all)
		require.NoError(t, last.Close())
		require.NoError(t, part.CloseAsync(nil), "it owns nothing")
		assert.NotZero(t, a.Ptr())
		require.NoError(t, a.Close())
		require.NoError(t, a.Close())
		assert.Zero(t, a.Ptr())
		assert.Zero(t, part.Ptr())
		assert.ErrorIs(t, part.CopyTo(ctx, got), ErrClosed)
	}
	require.NoError(t, c.Close())
}

// A type made from a number is an element, such as an address or a half.
func TestArraysHoldNamedTypes(t *testing.T) {
	c := newFake().open(t)
	a, err := ArrayOf(t.Context(), c, []DevicePtr{1, 1 << 40})
	require.NoError(t, err)
	got := make([]DevicePtr, 2)
	require.NoError(t, a.CopyTo(t.Context(), got))
	assert.Equal(t, []DevicePtr{1, 1 << 40}, got)
	s := stream(t, c)
	require.NoError(t, a.CloseAsync(s))
	empty, err := ArrayOf[float64](t.Context(), c, nil)
	require.NoError(t, err)
	require.NoError(t, empty.CopyTo(t.Context(), nil))
	require.NoError(t, empty.Close())
}

func TestArraysRefuseOtherLengthsBeforeTheyCopy(t *testing.T) {
	k := newFake()
	c := k.open(t)
	a, err := NewArray[float32](t.Context(), c, 4)
	require.NoError(t, err)
	before := k.calls["cuMemcpyHtoDAsync_v2"]
	var e *ValueError
	for _, n := range []int{0, 3, 5} {
		err := a.CopyFrom(t.Context(), make([]float32, n))
		assert.ErrorAs(t, err, &e)
		assert.ErrorIs(t, err, ErrShape)
		assert.ErrorIs(t, a.CopyTo(t.Context(), make([]float32, n)), ErrShape)
	}
	assert.EqualError(t, a.CopyTo(t.Context(), nil), "cudadrv: CopyTo: the length is 0, want 4, the array's")
	assert.Equal(t, before, k.calls["cuMemcpyHtoDAsync_v2"])
	assert.Zero(t, k.calls["cuMemcpyDtoHAsync_v2"])
	for _, r := range [][2]int{{-1, 2}, {3, 2}, {0, 5}, {5, 5}, {0, math.MaxInt}} {
		_, err := a.Slice(r[0], r[1])
		assert.ErrorIs(t, err, ErrShape, "%v", r)
	}
	for _, n := range []int{-1, math.MaxInt, math.MaxInt/4 + 1} {
		_, err := NewArray[float32](t.Context(), c, n)
		assert.ErrorIs(t, err, ErrShape, n)
	}
	_, err = NewArray[float32](t.Context(), nil, 1)
	assert.ErrorIs(t, err, ErrMissing)
	_, err = NewArray[float32](t.Context(), c, 1<<40)
	assert.ErrorIs(t, err, ErrOutOfMemory)
	require.NoError(t, a.Close())
	require.NoError(t, c.Close())
}

// What waits begins nothing once its context.Context has ended.
func TestAnEndedContextBeginsNothing(t *testing.T) {
	k := newFake()
	c := k.open(t)
	m, err := c.Malloc(t.Context(), 64)
	require.NoError(t, err)
	calls := func() (n int) {
		for _, name := range []string{"cuMemAllocAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async"} {
			n += k.calls[name]
		}
		return n
	}
	before := calls()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, errMalloc := c.Malloc(ctx, 64)
	_, errArray := ArrayOf(ctx, c, []int32{1})
	for i, err := range []error{errMalloc, errArray, c.CopyToDevice(ctx, m.Ptr(), make([]byte, 8)), c.CopyToHost(ctx, make([]byte, 8), m.Ptr()), c.CopyDevice(ctx, m.Ptr(), m.Ptr()+8, 8),
		c.Memset8(ctx, m.Ptr(), 1, 8), c.Memset32(ctx, m.Ptr(), 1, 2), c.Synchronize(ctx)} {
		assert.ErrorIs(t, err, context.Canceled, i)
	}
	assert.Equal(t, before, calls())
	require.NoError(t, m.Close())
	require.NoError(t, c.Close(), "nothing is left open")
}

func TestACopyStopsBetweenItsParts(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	k := newFake()
	c := k.open(t)
	m, err := c.Malloc(t.Context(), 2*copyPart)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	k.fault = func(name string, n int) Code {
		if name == "cuMemcpyHtoDAsync_v2" {
			cancel()
		}
		return Success
	}
	src := make([]byte, 2*copyPart)
	for i := range src {
		src[i] = 7
	}
	assert.ErrorIs(t, c.CopyToDevice(ctx, m.Ptr(), src), context.Canceled)
	assert.Equal(t, 1, k.calls["cuMemcpyHtoDAsync_v2"])
	k.fault = nil
	require.NoError(t, c.CopyToDevice(t.Context(), m.Ptr(), src))
	got := make([]byte, 2*copyPart)
	require.NoError(t, c.CopyToHost(t.Context(), got, m.Ptr()))
	assert.True(t, string(src) == string(got))
	assert.Equal(t, 3, k.calls["cuMemcpyHtoDAsync_v2"], "in two parts")
	assert.Equal(t, 2, k.calls["cuMemcpyDtoHAsync_v2"])
	require.NoError(t, c.CopyToDevice(context.Background(), m.Ptr(), src))
	assert.Equal(t, 4, k.calls["cuMemcpyHtoDAsync_v2"], "at once where nothing can end it")
	require.NoError(t, m.Close())
	require.NoError(t, c.Close())
}

func TestWaitsForTheDeviceEndWithTheirContext(t *testing.T) {
	k := newFake()
	c := k.open(t)
	m, err := c.Malloc(t.Context(), 64)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	release := k.hold(c.inner)
	assert.ErrorIs(t, c.Memset8(ctx, m.Ptr(), 1, 8), context.DeadlineExceeded)
	release()
	release = k.hold(c.memory)
	again, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Malloc(again, 8)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	release()
	require.NoError(t, m.Close())
	require.NoError(t, c.Close(), "the memory that was given up is not open")
}
