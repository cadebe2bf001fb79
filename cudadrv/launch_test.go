package cudadrv

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

var one = LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}

// mixedArgs fit the kernel "mixed": 4, 8, 4, 2, 1, 8 and 12 bytes.
func mixedArgs() []any {
	return []any{int32(-2), DevicePtr(0x1122334455667788), float32(1.5), uint16(0xabcd), uint8(7), math.Pi, []byte("twelve bytes")}
}

func TestLaunchPacksEachArgumentToItsSize(t *testing.T) {
	for _, version := range []int{12080, 11080} { // library API, and modules with a declared list
		k := newFake()
		k.version = version
		c := k.open(t)
		s := stream(t, c)
		kern := k.kernel(t, c, "mixed")
		if version < 12040 {
			_, known := kern.Params()
			require.False(t, known)
			_, err := kern.Bind(one, mixedArgs()...)
			require.ErrorIs(t, err, ErrParamsUnknown)
			require.NoError(t, kern.Declare([]int{4, 8, 4, 2, 1, 8, 12}))
		}
		l, err := kern.Bind(LaunchConfig{Grid: [3]uint32{3, 2}, Block: [3]uint32{32, 4}, Shared: 99}, mixedArgs()...)
		require.NoError(t, err)
		require.NoError(t, l.Run(s))
		require.Len(t, k.runs, 1)
		r := k.runs[0]
		le := binary.LittleEndian
		assert.Equal(t, "mixed", r.name)
		assert.Equal(t, [7]uintptr{3, 2, 1, 32, 4, 1, 99}, r.config)
		assert.Equal(t, int32(-2), int32(le.Uint32(r.args[0])))
		assert.Equal(t, uint64(0x1122334455667788), le.Uint64(r.args[1]))
		assert.Equal(t, float32(1.5), math.Float32frombits(le.Uint32(r.args[2])))
		assert.Equal(t, uint16(0xabcd), le.Uint16(r.args[3]))
		assert.Equal(t, []byte{7}, r.args[4])
		assert.Equal(t, math.Pi, math.Float64frombits(le.Uint64(r.args[5])))
		assert.Equal(t, "twelve bytes", string(r.args[6]))

		require.NoError(t, l.SetInt32(0, 5))
		require.NoError(t, l.SetPtr(1, 6))
		require.NoError(t, l.SetFloat32(2, 2))
		require.NoError(t, l.Set(6, []byte("other twelve")))
		require.NoError(t, l.SetFloat64(5, 8))
		require.NoError(t, l.Run(s))
		r = k.runs[1]
		assert.Equal(t, uint32(5), le.Uint32(r.args[0]))
		assert.Equal(t, uint64(6), le.Uint64(r.args[1]))
		assert.Equal(t, "other twelve", string(r.args[6]))
		assert.Equal(t, []byte("other twelve"), l.arg(6))
		assert.Nil(t, l.arg(7))
	}
}

func TestBindNamesTheArgumentThatDoesNotFit(t *testing.T) {
	k := newFake()
	c := k.open(t)
	kern := k.kernel(t, c, "mixed")
	with := func(i int, v any) []any { a := mixedArgs(); a[i] = v; return a }
	cases := []struct {
		args []any
		at   int
		got  string
		want string
	}{
		{mixedArgs()[:6], -1, "6 arguments", "7"},
		{append(mixedArgs(), int32(1)), -1, "8 arguments", "7"},
		{nil, -1, "0 arguments", "7"},
		{with(0, int64(1)), 0, "int64 (8 bytes)", "4 bytes"},
		{with(1, uint32(1)), 1, "uint32 (4 bytes)", "8 bytes"},
		{with(4, float32(1)), 4, "float32 (4 bytes)", "1 bytes"},
		{with(6, []byte("short")), 6, "[]byte (5 bytes)", "12 bytes"},
		{with(0, 1), 0, "int", "a type of fixed size, 4 bytes"},
		{with(1, new(int)), 1, "*int", "a type of fixed size, 8 bytes"},
		{with(2, nil), 2, "<nil>", "a type of fixed size, 4 bytes"},
		{with(3, true), 3, "bool", "a type of fixed size, 2 bytes"},
	}
	for _, x := range cases {
		_, err := kern.Bind(one, x.args...)
		var e *ArgError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, ArgError{Kernel: "mixed", Position: x.at, Got: x.got, Want: x.want}, *e)
	}
	l, err := kern.Bind(one, mixedArgs()...)
	require.NoError(t, err)
	for _, err := range []error{l.Set(7, int32(1)), l.Set(-1, "x"), l.SetPtr(0, 1), l.SetInt32(1, 1), l.SetUint32(99, 1), l.SetUint64(0, 1), l.SetInt64(0, 1)} {
		var e *ArgError
		assert.ErrorAs(t, err, &e)
	}
	var e *ArgError
	require.ErrorAs(t, kern.Declare([]int{4, 8, 4, 2, 1, 4, 12}), &e)
	assert.Equal(t, 5, e.Position)
	require.ErrorAs(t, kern.Declare([]int{4}), &e)
	assert.Equal(t, -1, e.Position)
	require.NoError(t, kern.Declare([]int{4, 8, 4, 2, 1, 8, 12}))
}

func TestBindChecksTheShape(t *testing.T) {
	k := newFake()
	c := k.open(t)
	kern := k.kernel(t, c, "null")
	for _, cfg := range []LaunchConfig{
		{},
		{Grid: [3]uint32{1}},
		{Block: [3]uint32{1}},
		{Grid: [3]uint32{1 << 31}, Block: [3]uint32{1}},
		{Grid: [3]uint32{1, 65536}, Block: [3]uint32{1}},
		{Grid: [3]uint32{1, 1, 65536}, Block: [3]uint32{1}},
		{Grid: [3]uint32{1}, Block: [3]uint32{1025}},
		{Grid: [3]uint32{1}, Block: [3]uint32{1024, 2}},
		{Grid: [3]uint32{1}, Block: [3]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32}},
	} {
		_, err := kern.Bind(cfg)
		var e *ValueError
		assert.ErrorAs(t, err, &e, "%v", cfg)
	}
	l, err := kern.Bind(LaunchConfig{Grid: [3]uint32{math.MaxInt32, 65535, 65535}, Block: [3]uint32{1024}})
	require.NoError(t, err)
	require.Error(t, l.SetConfig(LaunchConfig{}))
	assert.Equal(t, [3]uint32{1024, 1, 1}, l.Config().Block, "a refused configuration changes nothing")
}

// assertNoAllocs runs fn many times and counts. The race detector makes pools forget, so it only runs fn there.
func assertNoAllocs(t *testing.T, fn func(), what string) {
	t.Helper()
	if n := testing.AllocsPerRun(1000, fn); !thorough.Raced {
		assert.Zero(t, n, what)
	}
}

func TestLaunchAllocatesNothing(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	l, err := k.kernel(t, c, "null").Bind(one)
	require.NoError(t, err)
	assertNoAllocs(t, func() {
		if err := l.Run(s); err != nil {
			panic(err)
		}
	}, "Run")
	fill, err := k.kernel(t, c, "fill").Bind(one, DevicePtr(0), uint32(1), uint32(0))
	require.NoError(t, err)
	assertNoAllocs(t, func() {
		if fill.SetPtr(0, 1) != nil || fill.SetUint32(2, 0) != nil {
			panic("set")
		}
	}, "Set")
	g, err := s.Capture(func(s *Stream) error { return nil })
	require.NoError(t, err)
	x, err := g.Instantiate()
	require.NoError(t, err)
	assertNoAllocs(t, func() {
		if err := x.Launch(s); err != nil {
			panic(err)
		}
	}, "graph launch")
	h, err := c.MallocHost(64)
	require.NoError(t, err)
	m, err := c.Malloc(context.Background(), 64)
	require.NoError(t, err)
	e, err := c.NewEvent(EventOptions{})
	require.NoError(t, err)
	assertNoAllocs(t, func() {
		if s.CopyToDevice(m.Ptr(), h, 0, 64) != nil || s.CopyToHost(h, 0, m.Ptr(), 64) != nil || s.Memset8(m.Ptr(), 1, 64) != nil ||
			s.Record(e) != nil || s.WaitEvent(e) != nil || s.Synchronize(context.Background()) != nil {
			panic("copy")
		}
	}, "copies, events and waits")
}

func TestLaunchBindsTheContextWhereTheDriverWantsIt(t *testing.T) {
	k := newFake()
	current := func(name string, _ int) Code {
		if strings.HasPrefix(name, "cuLaunch") || strings.HasPrefix(name, "cuStreamQ") {
			if k.pushed == 0 {
				return ErrInvalidContext
			}
		}
		return Success
	}
	k.fault = current
	c := k.open(t)
	s := stream(t, c)
	l, err := k.kernel(t, c, "null").Bind(one)
	require.NoError(t, err)
	require.NoError(t, l.Run(s))
	require.NoError(t, l.Run(s))
	assert.Equal(t, 3, k.count("cuLaunchKernel"), "the second launch goes the right way at once")
	done, err := s.Query()
	require.NoError(t, err)
	assert.True(t, done)
	assert.Zero(t, k.pushed)
}

func TestLaunchIsSafeFromManyGoroutines(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	l, err := k.kernel(t, c, "fill").Bind(one, DevicePtr(0), uint32(0), uint32(0))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				assert.NoError(t, l.SetUint32(1, uint32(i)))
				assert.NoError(t, l.Run(s))
				assert.NoError(t, s.Synchronize(t.Context()))
			}
		}()
	}
	wg.Wait()
	assert.Len(t, k.runs, 64*20)
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s, err := c.NewStream(StreamOptions{})
	require.NoError(t, err)
	m, err := c.LoadModule([]byte("good"))
	require.NoError(t, err)
	kern, err := m.Kernel("null")
	require.NoError(t, err)
	l, err := kern.Bind(one)
	require.NoError(t, err)
	e, err := c.NewEvent(EventOptions{})
	require.NoError(t, err)
	mem, err := c.Malloc(context.Background(), 4)
	require.NoError(t, err)
	host, err := c.MallocHost(4)
	require.NoError(t, err)
	g, err := s.Capture(l.Run)
	require.NoError(t, err)
	x, err := g.Instantiate()
	require.NoError(t, err)

	var use *InUseError
	require.ErrorAs(t, c.Close(), &use)
	assert.Equal(t, map[string]int{"stream": 1, "module": 1, "event": 1, "device memory": 1, "host memory": 1, "graph": 1, "graph exec": 1}, use.Open)
	assert.EqualError(t, use, "cudadrv: the context still has open: 1 device memory, 1 host memory, 1 stream, 1 event, 1 module, 1 graph, 1 graph exec")

	closers := []interface{ Close() error }{x, g, host, mem, e, m, s}
	for range 2 {
		for _, x := range closers {
			require.NoError(t, x.Close(), "%T", x)
		}
	}
	assert.ErrorIs(t, l.Run(s), ErrClosed)
	assert.ErrorIs(t, s.Synchronize(context.Background()), ErrClosed)
	assert.ErrorIs(t, s.Synchronize(t.Context()), ErrClosed)
	assert.ErrorIs(t, e.Synchronize(context.Background()), ErrClosed)
	s2 := stream(t, c)
	assert.ErrorIs(t, x.Launch(s2), ErrClosed)
	assert.ErrorIs(t, x.Update(g), ErrClosed)
	_, err = g.Instantiate()
	assert.ErrorIs(t, err, ErrClosed)
	_, err = m.Kernel("null")
	assert.ErrorIs(t, err, ErrClosed)
	assert.Zero(t, mem.Ptr())
	assert.Nil(t, host.Bytes())
	assert.ErrorIs(t, s2.CopyToDevice(1, host, 0, 4), ErrClosed)
	require.NoError(t, s2.Close())
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	_, err = c.Malloc(context.Background(), 1)
	assert.ErrorIs(t, err, ErrClosed)
	_, err = c.NewStream(StreamOptions{})
	assert.ErrorIs(t, err, ErrClosed)
	var left []string
	for _, what := range k.handles {
		if what != "context" && what != "kernel" && what != "node" {
			left = append(left, what)
		}
	}
	assert.Empty(t, left, "everything made in the driver is destroyed there")
	assert.Empty(t, k.mem)
}

// arg returns a copy of the packed bytes of argument i, nil if there is none.
func (l *Launch) arg(i int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i < 0 || i >= len(l.sizes) {
		return nil
	}
	return slices.Clone(wordBytes(l.words)[8*l.at[i]:][:l.sizes[i]])
}
