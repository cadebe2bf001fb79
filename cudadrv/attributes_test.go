package cudadrv

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everything asks for all attributes at once; 2, 4, 6 and 8 are their numbers in cuda.h.
var everything = LaunchConfig{Grid: [3]uint32{8, 6}, Block: [3]uint32{32}, Shared: 7, Cluster: [3]uint32{4, 2}, Dependent: true, Cooperative: true, Priority: -3}

var everythingAttrs = map[uint32][]uint32{2: {1, 0, 0}, 4: {4, 2, 1}, 6: {1, 0, 0}, 8: {0xfffffffd, 0, 0}}

func fillArgs() []any { return []any{DevicePtr(0), uint32(1), uint32(0)} }

func TestLaunchAttributesReachTheDriver(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	l, err := k.kernel(t, c, "fill").Bind(everything, fillArgs()...)
	require.NoError(t, err)
	require.NoError(t, l.Run(s))
	require.Zero(t, k.count("cuLaunchKernel"))
	r := k.runs[0]
	assert.Equal(t, "fill", r.name)
	assert.Equal(t, [7]uintptr{8, 6, 1, 32, 1, 1, 7}, r.config)
	assert.Equal(t, everythingAttrs, r.attrs)
	assert.Equal(t, []byte{1, 0, 0, 0}, r.args[1])
	assert.Equal(t, [3]uint32{4, 2, 1}, l.Config().Cluster)

	for _, x := range []struct {
		cfg  LaunchConfig
		want map[uint32][]uint32
	}{
		{LaunchConfig{Grid: one.Grid, Block: one.Block, Dependent: true}, map[uint32][]uint32{6: {1, 0, 0}}},
		{LaunchConfig{Grid: one.Grid, Block: one.Block, Cooperative: true}, map[uint32][]uint32{2: {1, 0, 0}}},
		{LaunchConfig{Grid: one.Grid, Block: one.Block, Cluster: [3]uint32{1}}, map[uint32][]uint32{4: {1, 1, 1}}},
		{LaunchConfig{Grid: one.Grid, Block: one.Block, Priority: 2}, map[uint32][]uint32{8: {2, 0, 0}}},
		{one, nil},
		{everything, everythingAttrs},
	} {
		require.NoError(t, l.SetConfig(x.cfg))
		require.NoError(t, l.SetUint32(1, 5))
		require.NoError(t, l.Run(s))
		r := k.runs[len(k.runs)-1]
		assert.Equal(t, x.want, r.attrs, "%+v", x.cfg)
		assert.Equal(t, []byte{5, 0, 0, 0}, r.args[1])
		assert.Equal(t, s.h, r.stream)
	}
	assert.Equal(t, 1, k.count("cuLaunchKernel"), "a default launch goes the default way")
}

func TestLaunchWithAttributesAllocatesNothing(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	l, err := k.kernel(t, c, "null").Bind(everything)
	require.NoError(t, err)
	assertNoAllocs(t, func() {
		if err := l.Run(s); err != nil {
			panic(err)
		}
	}, "Run")
	plain := one
	assertNoAllocs(t, func() {
		plain.Priority = -1 - plain.Priority
		if err := l.SetConfig(plain); err != nil {
			panic(err)
		}
	}, "SetConfig")
}

func TestLaunchAttributesSayWhatIsMissing(t *testing.T) {
	dependent := LaunchConfig{Grid: one.Grid, Block: one.Block, Dependent: true}
	cooperative := LaunchConfig{Grid: one.Grid, Block: one.Block, Cooperative: true}
	cluster := LaunchConfig{Grid: one.Grid, Block: one.Block, Cluster: [3]uint32{1}}
	priority := LaunchConfig{Grid: one.Grid, Block: one.Block, Priority: 1}
	for _, x := range []struct {
		lack func(*fake)
		cfgs []LaunchConfig
		text string
	}{
		{func(k *fake) { k.missing["cuLaunchKernelEx"] = true }, []LaunchConfig{dependent, cooperative, cluster, priority},
			"cuLaunchKernelEx needs a driver for CUDA 11.6, this one supports 12.8"},
		{func(k *fake) { k.attrs[ComputeCapabilityMajor] = 8 }, []LaunchConfig{dependent}, "a dependent launch of kernel null, on this device: not supported"},
		{func(k *fake) { k.attrs[ClusterLaunch] = 0 }, []LaunchConfig{cluster}, "a cluster launch of kernel null"},
		{func(k *fake) { k.attrs[CooperativeLaunch] = 0 }, []LaunchConfig{cooperative}, "a cooperative launch of kernel null"},
	} {
		k := newFake()
		x.lack(k)
		c := k.open(t)
		kern := k.kernel(t, c, "null")
		l, err := kern.Bind(one)
		require.NoError(t, err, "a plain launch needs none of it")
		for _, cfg := range x.cfgs {
			_, err := kern.Bind(cfg)
			var e *UnsupportedError
			require.ErrorAs(t, err, &e, "%+v", cfg)
			assert.ErrorIs(t, err, ErrUnsupported)
			assert.ErrorContains(t, err, x.text)
			require.ErrorAs(t, l.SetConfig(cfg), &e)
			assert.Equal(t, LaunchConfig{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1}}, l.Config())
		}
		assert.Equal(t, c.dev.DependentLaunch(), k.attrs[ComputeCapabilityMajor] == 9 && !k.missing["cuLaunchKernelEx"])
		require.NoError(t, l.Run(stream(t, c)))
	}
}

func TestClustersFitTheGrid(t *testing.T) {
	k := newFake()
	c := k.open(t)
	kern := k.kernel(t, c, "null")
	config := func(grid, cluster [3]uint32) error {
		_, err := kern.Bind(LaunchConfig{Grid: grid, Block: one.Block, Cluster: cluster})
		return err
	}
	require.NoError(t, config([3]uint32{16, 4, 2}, [3]uint32{4, 2, 2}))
	require.NoError(t, config([3]uint32{16}, [3]uint32{16}))
	var e *ValueError
	for _, x := range [][2][3]uint32{
		{{9}, {2}}, {{8, 3}, {2, 2}}, {{8}, {2, 2}}, {{32}, {32}}, {{8, 8}, {0, 2}}, {{1 << 30, 1 << 15}, {1 << 30, 1 << 15}}, {{17}, {17}},
	} {
		assert.ErrorAs(t, config(x[0], x[1]), &e, "%v", x)
	}
	require.NoError(t, kern.AllowLargeClusters())
	require.NoError(t, kern.PreferShared(50))
}

func TestGraphsKeepLaunchAttributes(t *testing.T) {
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	kern := k.kernel(t, c, "fill")
	a, err := kern.Bind(everything, fillArgs()...)
	require.NoError(t, err)
	b, err := kern.Bind(one, fillArgs()...)
	require.NoError(t, err)
	g, err := s.Capture(func(s *Stream) error { return errors.Join(a.Run(s), b.Run(s)) })
	require.NoError(t, err)
	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, x.Launch(s))
	require.Len(t, k.runs, 2)
	assert.Equal(t, everythingAttrs, k.runs[0].attrs)
	assert.Nil(t, k.runs[1].attrs)

	for _, y := range []interface{ Close() error }{x, g, s, kern.mod, c} {
		require.NoError(t, y.Close())
	}
}

func TestLaunchWithAttributesBindsTheContextWhereTheDriverWantsIt(t *testing.T) {
	k := newFake()
	k.fault = func(name string, _ int) Code {
		if name == "cuLaunchKernelEx" && k.pushed == 0 {
			return ErrInvalidContext
		}
		return Success
	}
	c := k.open(t)
	s := stream(t, c)
	l, err := k.kernel(t, c, "fill").Bind(everything, fillArgs()...)
	require.NoError(t, err)
	require.NoError(t, l.Run(s))
	require.NoError(t, l.Run(s))
	assert.Equal(t, 3, k.count("cuLaunchKernelEx"), "the second launch goes the right way at once")
	assert.Len(t, k.runs, 2)
	assert.Zero(t, k.pushed)
	k.fault = only("cuLaunchKernelEx", ErrCooperativeTooLarge)
	assert.ErrorIs(t, l.Run(s), ErrCooperativeTooLarge)
	assert.ErrorContains(t, l.Run(s), "cuLaunchKernelEx")
	assert.NoError(t, c.dev.Lost())
}
