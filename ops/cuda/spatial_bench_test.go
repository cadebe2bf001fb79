package cuda_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func BenchmarkIntegrate(b *testing.B) { opstest.BenchIntegrate(b, device(b)) }

func BenchmarkVolume(b *testing.B) { opstest.BenchVolume(b, device(b)) }

// runner is a plan of any operation.
type runner interface {
	Run(q *ops.Queue) error
	Close() error
}

// BenchmarkSpatial times operations on the points of an image of 1280x720, as graphs; bench/peers/spatial_peer.py does the same in torch.
func BenchmarkSpatial(b *testing.B) {
	const h, w, k = 720, 1280, 1024
	dev := device(b)
	on := func(t *tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(b, err)
		if t.OnHost() {
			t, err = dev.Upload(b.Context(), t)
			require.NoError(b, err)
		}
		b.Cleanup(func() { require.NoError(b, t.Close()) })
		return t
	}
	rng := rand.New(rand.NewPCG(1, 1))
	random := func(n int, least, most float32) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = least + rng.Float32()*(most-least)
		}
		return list
	}
	points := on(tensor.Of(random(h*w*3, -1, 1), 1, h*w, 3))
	flat, err := points.Reshape(h*w, 3)
	require.NoError(b, err)
	features := on(tensor.Of(random(h*w*7, 0, 1), h*w, 7))
	offsets := on(tensor.Of([]int64{0, h * w}, 2))
	grid, err := ops.PerActGrid([3]float64{-1, -1, -1}, [3]float64{1, 1, 1})
	require.NoError(b, err)
	options, err := ops.VoxelPreset("peract")
	require.NoError(b, err)
	cameras := on(tensor.Of([]float32{900, 900, w / 2, h / 2}, 4))
	depth := on(tensor.Of(random(h*w, 0.3, 3), 1, h, w))
	for name, plan := range map[string]func() (runner, error){
		"deproject": func() (runner, error) {
			return dev.PlanDeproject(ops.DeprojectArgs{Points: on(dev.Alloc(tensor.F32, 1, h, w, 3)), Mask: on(dev.Alloc(tensor.U8, 1, h, w)), Depth: depth, Intrinsics: cameras}, ops.DeprojectOptions{})
		},
		"deproject compact": func() (runner, error) {
			args := ops.DeprojectArgs{Points: on(dev.Alloc(tensor.F32, h*w, 3)), Offsets: on(dev.Alloc(tensor.I64, 2)), Depth: depth, Intrinsics: cameras}
			return dev.PlanDeproject(args, ops.DeprojectOptions{Near: 1}) // without a quarter of the pixels
		},
		"farthest": func() (runner, error) {
			return dev.PlanFarthestPoints(ops.FarthestArgs{Indices: on(dev.Alloc(tensor.I64, 1, k)), Points: points}, ops.FarthestOptions{})
		},
		"peract": func() (runner, error) {
			args := ops.VoxelizeArgs{Grid: on(dev.Alloc(tensor.F32, 1, 100, 100, 100, 7)), Points: flat, Features: features, Offsets: offsets}
			return dev.PlanVoxelize(args, grid, options)
		},
	} {
		b.Run(name, func(b *testing.B) {
			p, err := plan()
			require.NoError(b, err)
			defer p.Close()
			q, err := dev.NewQueue()
			require.NoError(b, err)
			defer q.Close()
			g, err := q.Capture(func() error { return p.Run(q) })
			require.NoError(b, err)
			defer g.Close()
			require.NoError(b, g.Launch(q))
			require.NoError(b, q.Synchronize(b.Context()))
			b.ResetTimer()
			for range b.N {
				require.NoError(b, g.Launch(q))
			}
			require.NoError(b, q.Synchronize(b.Context()))
		})
	}
}
