package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

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
