package opstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// roomCamera is one of the cameras in a room with a sphere. It has images of 640x480 pixels.
type roomCamera struct{ depth, pose, intrinsics *array }

func roomCameras() (list []roomCamera) {
	const h, w, focal, cameras = 480, 640, 525, 8
	for i := range cameras {
		x := 0.1*float64(i) - 0.4
		depth := make([]float64, h*w)
		for pixel := range depth {
			dx, dy := float64(pixel%w-w/2)/focal, float64(pixel/w-h/2)/focal
			z := min(2.8, max((1.5-x)/dx, (-1.5-x)/dx), 1/math.Abs(dy))
			// The sphere has the radius 0.4 and its centre at z = 1.8.
			along, square := 1.8-x*dx, dx*dx+dy*dy+1
			if root := along*along - square*(x*x+1.8*1.8-0.16); root > 0 {
				z = (along - math.Sqrt(root)) / square
			}
			depth[pixel] = z
		}
		list = append(list, roomCamera{vals(tensor.F32, depth, 1, h, w), vals(tensor.F32, []float64{1, 0, 0, x, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 4),
			vals(tensor.F32, []float64{focal, focal, w / 2, h / 2}, 4)})
	}
	return list
}

// BenchIntegrate times one 640x480 image at 1 cm and up to 3 m, from cameras in a room whose volume has each block already.
// Each image is one launch of a graph.
func BenchIntegrate(b *testing.B, dev *ops.Device) {
	const blocks = 1 << 14
	q, err := dev.NewQueue()
	require.NoError(b, err)
	defer q.Close()
	var made []*tensor.Tensor
	put := func(a *array) *tensor.Tensor {
		t, err := dev.Upload(background, a.host())
		require.NoError(b, err)
		made = append(made, t)
		return t
	}
	zeros := func(dtype tensor.DType, shape ...int) *tensor.Tensor {
		return put(packed(dtype, make([]uint64, packed(dtype, nil, shape...).len()), shape...))
	}
	args := ops.IntegrateArgs{Keys: zeros(tensor.I32, blocks, 3), Distance: zeros(tensor.F32, blocks, 512), Weight: zeros(tensor.F32, blocks, 512), State: zeros(tensor.I64, 3)}
	var graphs []*ops.Graph
	for _, c := range roomCameras() {
		args.Depth, args.Poses, args.Intrinsics = put(c.depth), put(c.pose), put(c.intrinsics)
		plan, err := dev.PlanIntegrate(args, ops.IntegrateOptions{Voxel: 0.01, Far: 3})
		require.NoError(b, err)
		defer plan.Close()
		g, err := q.Capture(func() error { return plan.Run(q) })
		require.NoError(b, err)
		defer g.Close()
		require.NoError(b, g.Launch(q))
		graphs = append(graphs, g)
	}
	require.NoError(b, q.Synchronize(background))
	b.ResetTimer()
	for i := range b.N {
		if err := graphs[i%len(graphs)].Launch(q); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, q.Synchronize(background))
	b.StopTimer()
	state := tensor.Must(tensor.New(tensor.I64, 3))
	require.NoError(b, dev.Copy(background, state, args.State))
	list, err := tensor.Elements[int64](state)
	require.NoError(b, err)
	require.Zero(b, list[2])
	b.ReportMetric(float64(list[0]), "blocks")
	for _, t := range made {
		require.NoError(b, t.Close())
	}
}

// BenchVolume times a Volume's Integrate of the same images, as a video on the host, with the copies to the device and the waiting.
func BenchVolume(b *testing.B, dev *ops.Device) {
	volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.01, Far: 3}})
	require.NoError(b, err)
	defer volume.Close()
	var images []ops.IntegrateArgs
	for _, c := range roomCameras() {
		images = append(images, ops.IntegrateArgs{Depth: c.depth.host(), Poses: c.pose.host(), Intrinsics: c.intrinsics.host(), Counts: tensor.Must(tensor.New(tensor.I64, 1, 4))})
		require.NoError(b, volume.Integrate(background, images[len(images)-1]))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if err := volume.Integrate(background, images[i%len(images)]); err != nil {
			b.Fatal(err)
		}
	}
}
