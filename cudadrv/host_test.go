package cudadrv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
)

// BenchmarkLaunchHost times what a launch costs the program beside the driver's own work: the driver's function does nothing.
func BenchmarkLaunchHost(b *testing.B) {
	table := cudasim.New(cudasim.Config{}).FunctionTable().Wrap(func(name string, next cudadrv.Proc) cudadrv.Proc {
		if name == "cuLaunchKernel" || name == "cuLaunchKernelEx" || name == "cuGraphLaunch" {
			return func([]uintptr) uintptr { return 0 }
		}
		return next
	})
	drv, err := cudadrv.NewDriver(table)
	require.NoError(b, err)
	dev, err := drv.Device(0)
	require.NoError(b, err)
	c, err := dev.Primary()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	r := newRig(b, c)
	for _, dependent := range []bool{false, true} {
		cfg := config(1, 32)
		cfg.Dependent = dependent
		l := r.bind("null", cfg)
		b.Run(map[bool]string{false: "launch", true: "dependent"}[dependent], func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := l.Run(r.s); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(map[bool]string{false: "launch", true: "dependent"}[dependent]+"/parallel", func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				l, s := r.bind("null", cfg), r.s
				for p.Next() {
					if err := l.Run(s); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
	g, err := r.s.Capture(func(s *cudadrv.Stream) error { return nil })
	require.NoError(b, err)
	x, err := g.Instantiate()
	require.NoError(b, err)
	b.Run("graph", func(b *testing.B) {
		for range b.N {
			if err := x.Launch(r.s); err != nil {
				b.Fatal(err)
			}
		}
	})
	require.NoError(b, x.Close())
	require.NoError(b, g.Close())
}
