package sim_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// packed returns a tensor's elements.
func packed[T tensor.Element](t *testing.T, from *tensor.Tensor) []T {
	list, err := tensor.Packed[T](from)
	require.NoError(t, err)
	return list
}

// endsLater is a context that ends after some questions whether it has.
type endsLater struct {
	context.Context
	left int
}

func (c *endsLater) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A context that ends at any time leaves a volume that has the image once, or not at all and then takes it.
func TestACanceledImageIsWholeOrAbsent(t *testing.T) {
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	defer dev.Close()
	args := ops.IntegrateArgs{
		Depth:      tensor.Must(tensor.Of([]float32{1, 1, 1, 1}, 1, 2, 2)),
		Intrinsics: tensor.Must(tensor.Of([]float32{20, 20, 0.7, 0.7}, 4)),
		Poses:      tensor.Must(tensor.Of([]float32{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 4)),
	}
	var want ops.VolumeBlocks
	canceled := 0
	for left := 200; left >= 0; left = min(left-1, 30) { // 200 are enough for the whole call
		volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: 0.05}, Blocks: 1, MaxBlocks: 64})
		require.NoError(t, err)
		if err = volume.Integrate(&endsLater{context.Background(), left}, args); err != nil {
			canceled++
			require.ErrorIs(t, err, context.Canceled)
			require.NoError(t, volume.Integrate(context.Background(), args))
		}
		got, err := volume.Download(context.Background())
		require.NoError(t, err)
		if left == 200 {
			want = got
		}
		require.Equal(t, want, got, "after %d questions", left)
		require.NoError(t, volume.Close())
	}
	require.NotEmpty(t, want.Keys)
	require.Positive(t, canceled)
}

// A volume's values and counts are those of Device.Integrate, whichever images follow each other and although it grows.
func TestVolumeIntegratesImagesOfAnyShapes(t *testing.T) {
	ctx := context.Background()
	single := func(depth *tensor.Tensor, x float32) ops.IntegrateArgs {
		return ops.IntegrateArgs{Depth: depth, Intrinsics: tensor.Must(tensor.Of([]float32{20, 20, 0.7, 0.7}, 4)),
			Poses: tensor.Must(tensor.Of([]float32{1, 0, 0, x, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 4)), Counts: tensor.Must(tensor.New(tensor.I64, depth.Dim(0), 4))}
	}
	images := []ops.IntegrateArgs{
		single(tensor.Must(tensor.Of([]float32{1, 1, 1, 1}, 1, 2, 2)), 0),
		single(tensor.Must(tensor.Of([]float32{1.1, 0, 1, 2}, 1, 2, 2)), 0.7),
		single(tensor.Must(tensor.Of([]uint8{1, 0, 2, 0, 1, 0, 0, 0, 1, 0, 2, 0}, 1, 3, 2, 2)), 0.1),
		single(tensor.Must(tensor.Of([]float32{1, 1, 1, 1, 1, 1, 1, 5}, 2, 2, 2)), -0.3),
		single(tensor.Must(tensor.Of([]float32{1, 2, 1, 2}, 1, 2, 2)), 0.2),
	}
	images[4].Counts = nil
	opts := ops.IntegrateOptions{Voxel: 0.05, Scale: 1, Far: 4}
	reference, err := ops.Open("cpu")
	require.NoError(t, err)
	defer reference.Close()
	const blocks = 200
	large := ops.IntegrateArgs{Keys: tensor.Must(tensor.New(tensor.I32, blocks, 3)), Distance: tensor.Must(tensor.New(tensor.F32, blocks, 512)),
		Weight: tensor.Must(tensor.New(tensor.F32, blocks, 512)), State: tensor.Must(tensor.New(tensor.I64, 3))}
	var counts [][]int64
	for _, a := range images {
		a.Keys, a.Distance, a.Weight, a.State = large.Keys, large.Distance, large.Weight, large.State
		require.NoError(t, reference.Integrate(ctx, a, opts))
		if a.Counts != nil {
			counts = append(counts, slices.Clone(packed[int64](t, a.Counts)))
		}
	}
	for _, name := range []string{"cpu", "sim"} {
		t.Run(name, func(t *testing.T) {
			dev, err := ops.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			volume, err := dev.NewVolume(ops.VolumeOptions{IntegrateOptions: opts, Blocks: 1})
			require.NoError(t, err)
			defer func() { require.NoError(t, volume.Close()) }()
			for i, a := range images {
				if a.Depth.Rank() == 3 && i > 0 && name == "sim" { // on the device already
					a.Depth, err = dev.Upload(ctx, a.Depth)
					require.NoError(t, err)
					defer a.Depth.Close()
				}
				require.NoError(t, volume.Integrate(ctx, a))
				if a.Counts != nil {
					require.Equal(t, counts[i], packed[int64](t, a.Counts))
				}
			}
			got, err := volume.Download(ctx)
			require.NoError(t, err)
			require.Greater(t, len(got.Keys), 16)
			require.Equal(t, packed[float32](t, large.Distance)[:len(got.Distance)], got.Distance)
			require.Equal(t, packed[float32](t, large.Weight)[:len(got.Weight)], got.Weight)
			require.Equal(t, int64(len(got.Keys)), packed[int64](t, large.State)[0])

			refused := func(arg string, kind error, change func(a *ops.IntegrateArgs)) {
				t.Helper()
				for _, a := range []ops.IntegrateArgs{images[0], images[3]} { // with the latest shapes, and with others
					change(&a)
					var bad *ops.ArgError
					require.ErrorAs(t, volume.Integrate(ctx, a), &bad)
					require.Equal(t, []any{"Integrate", arg}, []any{bad.Op, bad.Arg})
					require.ErrorIs(t, bad, kind)
				}
				after, err := volume.Download(ctx)
				require.NoError(t, err)
				require.Equal(t, got, after)
			}
			closed := tensor.Must(tensor.New(tensor.F32, 4))
			require.NoError(t, closed.Close())
			refused("Intrinsics", ops.ErrClosed, func(a *ops.IntegrateArgs) { a.Intrinsics = closed })
			refused("Poses", ops.ErrMissing, func(a *ops.IntegrateArgs) { a.Poses = nil })
			refused("Counts", ops.ErrStride, func(a *ops.IntegrateArgs) {
				n := a.Depth.Dim(0)
				a.Counts = tensor.Must(tensor.Must(tensor.New(tensor.I64, n, 5)).AsStrided([]int{n, 4}, []int{5, 1}, 0))
				if n == 1 {
					a.Counts = tensor.Must(tensor.Must(tensor.New(tensor.I64, 8)).AsStrided([]int{1, 4}, []int{4, 2}, 0))
				}
			})
		})
	}
}
