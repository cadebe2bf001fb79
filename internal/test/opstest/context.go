package opstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// endedCalls tests that every blocking call returns the error of a context that has ended before the call.
func (s *suite) endedCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	src, times := vals(tensor.F32, uniformValues(rng(1), 12), 3, 4).host(), arr([]int64{0, 1, 2}, 3).host()
	targets := ops.Uniform(0, 1e9, 3)
	dst := vals(tensor.F32, make([]float64, 12), 3, 4).host()
	before := bitsOf(dst)
	table := func(x ...int64) *tensor.Tensor { return arr(x, len(x)).host() }
	for name, call := range map[string]func() error{
		"Resample": func() error {
			got, err := s.dev.Resample(ctx, ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: targets}, ops.ResampleOptions{})
			assert.Equal(t, ops.ResampleResult{}, got)
			return err
		},
		"Fuse": func() error {
			got, err := s.dev.Fuse(ctx, ops.FuseArgs{Dst: dst, Streams: []ops.FuseStream{{Src: src, SrcTimes: times}}, Targets: targets}, ops.FuseOptions{})
			assert.Equal(t, ops.FuseResult{}, got)
			return err
		},
		"ResampleBackward": func() error {
			got, err := s.dev.ResampleBackward(ctx, ops.ResampleBackwardArgs{SrcGrad: dst, DstGrad: src, SrcTimes: times, Targets: targets}, ops.ResampleOptions{})
			assert.Equal(t, ops.ResampleBackwardResult{}, got)
			return err
		},
		"FuseBackward": func() error {
			return s.dev.FuseBackward(ctx, ops.FuseBackwardArgs{DstGrad: src, Streams: []ops.FuseBackwardStream{{SrcGrad: dst, SrcTimes: times}}, Targets: targets}, ops.FuseOptions{})
		},
		"Voxelize": func() error {
			got, err := s.dev.Voxelize(ctx, ops.VoxelizeArgs{Points: vals(tensor.F32, make([]float64, 3), 1, 3).host()}, cube(-1, 1, 1), ops.VoxelizeOptions{})
			assert.Equal(t, ops.VoxelizeResult{}, got)
			return err
		},
		"Draw": func() error {
			got, err := s.dev.Draw(ctx, ops.DrawArgs{Cursor: table(0, 0), Windows: table(0, 2), Begins: table(0)}, ops.DrawOptions{Rate: 1, Count: 2, Batch: 2})
			assert.Equal(t, ops.DrawResult{}, got)
			return err
		},
		"Tally": func() error {
			return s.dev.Tally(ctx, tallySubject().operation.(*tallying).args((*array).host, func(_ string, a *array) *tensor.Tensor { return a.host() }), ops.TallyOptions{})
		},
		"Deproject": func() error {
			return s.dev.Deproject(ctx, deprojectSubject(false).operation.(*deprojecting).args((*array).host, newOutput), ops.DeprojectOptions{})
		},
		"FarthestPoints": func() error {
			return s.dev.FarthestPoints(ctx, farthestSubject().operation.(*choosing).args((*array).host, newOutput), ops.FarthestOptions{})
		},
		"Integrate": func() error {
			args := integrateSubject().operation.(*integrating).args((*array).host, func(_ string, a *array) *tensor.Tensor { return a.host() })
			return s.dev.Integrate(ctx, args, ops.IntegrateOptions{Voxel: 0.1})
		},
		"Copy":   func() error { return s.dev.Copy(ctx, dst, src) },
		"Upload": func() error { _, err := s.dev.Upload(ctx, src); return err },
	} {
		assert.ErrorIs(t, call(), context.Canceled, name)
		assert.Equal(t, before, bitsOf(dst), "%s: something was written", name)
	}
}

// endingCalls tests that a call returns its result or the context's error, whenever the context ends, and closes its allocations
// after an error. A leak is found on devices that count their memory.
func (s *suite) endingCalls(t *testing.T) {
	n := s.times(400_000)
	src, times := tensor.Must(tensor.New(tensor.F32, n, 4)), make([]int64, n)
	for i := range times {
		times[i] = int64(i)
	}
	args := ops.ResampleArgs{Src: src, SrcTimes: arr(times, n).host(), Targets: ops.Uniform(0, 1e9, n)}
	ended := 0
	for i := range 12 {
		ctx, cancel := context.WithTimeout(background, time.Duration(i*i)*50*time.Microsecond)
		got, err := s.dev.Resample(ctx, args, ops.ResampleOptions{})
		cancel()
		if err != nil {
			ended++
			require.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
			assert.Equal(t, ops.ResampleResult{}, got)
			continue
		}
		require.NoError(t, errors.Join(got.Values.Close(), got.Valid.Close(), got.Age.Close()))
	}
	assert.Positive(t, ended, "a context that had ended before")
}
