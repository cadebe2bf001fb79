package opstest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// memory tests the typed errors for outputs that are too large for any memory, which have the size in bytes, and for shapes that no
// tensor can have. The inputs are small, on the host and on the device in turn, and so are the outputs.
func (s *suite) memory(t *testing.T) {
	const most, wide = 1<<31 - 1, 1 << 20
	for form, put := range map[string]func(t *testing.T, a *array) *tensor.Tensor{
		"host":   func(_ *testing.T, a *array) *tensor.Tensor { return a.host() },
		"device": s.upload,
	} {
		place := func(a *array) *tensor.Tensor {
			x := put(t, a)
			t.Cleanup(func() { assert.NoError(t, x.Close()) })
			return x
		}
		row := place(packed(tensor.F32, make([]uint64, wide), 1, wide))
		point, times := place(cloud(.5, .5, .5)), place(arr([]int64{0}, 1))
		rows := tensor.Must(row.AsStrided([]int{wide, 1, wide}, []int{0, wide, 1}, 0))
		resample := func(src *tensor.Tensor) error {
			_, err := s.dev.Resample(context.Background(), ops.ResampleArgs{Src: src, SrcTimes: times, Targets: ops.Uniform(0, 1e3, most)}, ops.ResampleOptions{})
			return err
		}
		fuse := func(src *tensor.Tensor) error {
			_, err := s.dev.Fuse(context.Background(), ops.FuseArgs{Streams: []ops.FuseStream{{Src: src, SrcTimes: times}, {Width: 1}}, Targets: ops.Uniform(0, 1e3, most)}, ops.FuseOptions{})
			return err
		}
		voxelize := func(cells float64, opts ops.VoxelizeOptions) error {
			_, err := s.dev.Voxelize(context.Background(), ops.VoxelizeArgs{Points: point, Features: row}, ops.VoxelGrid{Max: [3]float64{cells, 1, 1}, Size: [3]float64{1, 1, 1}}, opts)
			return err
		}
		hard := ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: most, MaxVoxels: most}
		dense := ops.VoxelizeOptions{Reduce: ops.ReduceMean}
		for name, c := range map[string]struct {
			err   error
			bytes int64 // 0 for a shape that no tensor can have
			arg   string
		}{
			"Resample":       {resample(row), 4 * most * wide, ""},
			"Fuse":           {fuse(row), 4 * most * (wide + 1), ""},
			"hard voxels":    {voxelize(1, hard), 4 * most * (wide + 3), ""},
			"a dense grid":   {voxelize(most, dense), 4 * most * wide, ""},
			"Resample, 2^73": {resample(rows), 0, "Dst"},
			"Fuse, 2^73":     {fuse(rows), 0, "Dst"},
		} {
			var full *ops.MemoryError
			var arg *ops.ArgError
			if c.bytes > 0 {
				if assert.True(t, errors.As(c.err, &full), "%s, %s: got %v", form, name, c.err) {
					assert.ErrorIs(t, c.err, ops.ErrOutOfMemory)
					assert.Equal(t, c.bytes, full.Bytes, "%s, %s", form, name)
				}
			} else if assert.True(t, errors.As(c.err, &arg), "%s, %s: got %v", form, name, c.err) {
				assert.ErrorIs(t, c.err, ops.ErrTooLarge)
				assert.Equal(t, c.arg, arg.Arg, "%s, %s", form, name)
			}
		}
	}
	_, err := s.dev.Alloc(tensor.F64, 1<<50)
	var full *ops.MemoryError
	require.True(t, errors.As(err, &full), "%v", err)
	assert.EqualValues(t, 1<<53, full.Bytes)
	t.Run("the device works afterwards", func(t *testing.T) { s.literal(t, literals[0]) })
}
