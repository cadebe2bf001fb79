package ops_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func times[T tensor.Element](v ...T) *tensor.Tensor { return tensor.Must(tensor.Of(v, len(v))) }

// A target that one channel's tolerance makes invalid is filled as a whole, so that the other channels read nothing either.
func TestAFilledTargetUsesNoSample(t *testing.T) {
	channels := []ops.Channel{{Lo: 0, Hi: 1, Interp: ops.InterpPrevious}, {Lo: 1, Hi: 2, Interp: ops.InterpLinear}}
	opt := ops.ResampleOptions{Channels: channels, Tolerance: ops.Within(3 * time.Nanosecond), FillGaps: true}
	used, err := ops.UsedSamples(times[int64](0, 10, 20), times[int64](5, 12), 2, opt)
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true, true}, used)
	opt.FillGaps = false
	used, err = ops.UsedSamples(times[int64](0, 10, 20), times[int64](5), 2, opt)
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true, false}, used)
}

func TestUsedSamplesOfNoSamplesAndOfSeconds(t *testing.T) {
	used, err := ops.UsedSamples(times[int64](), times[int64](1), 1, ops.ResampleOptions{})
	require.NoError(t, err)
	assert.Empty(t, used)
	used, err = ops.UsedSamples(times[float32](0, 1, 2), times[float32](.5), 1, ops.ResampleOptions{Interp: ops.InterpNext})
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true, false}, used)
}

func TestUsedSamplesRefusesWhatResampleRefuses(t *testing.T) {
	x := times[int64](0, 1)
	for kind, call := range map[error]func() ([]bool, error){
		ops.ErrMissing: func() ([]bool, error) { return ops.UsedSamples(nil, x, 1, ops.ResampleOptions{}) },
		ops.ErrDType:   func() ([]bool, error) { return ops.UsedSamples(x, times(0.5), 1, ops.ResampleOptions{}) },
		ops.ErrShape: func() ([]bool, error) {
			return ops.UsedSamples(tensor.Must(x.Reshape(1, 2)), x, 1, ops.ResampleOptions{})
		},
		ops.ErrOption: func() ([]bool, error) { return ops.UsedSamples(x, x, 1, ops.ResampleOptions{Edge: 99}) },
	} {
		_, err := call()
		assert.ErrorIs(t, err, kind)
	}
}

// Of four samples, two targets with linear interpolation read the two brackets that they lie in.
func ExampleUsedSamples() {
	samples := tensor.Must(tensor.Of([]int64{0, 10, 20, 30}, 4)) // ns
	targets := tensor.Must(tensor.Of([]int64{4, 6}, 2))
	used, err := ops.UsedSamples(samples, targets, 1, ops.ResampleOptions{})
	fmt.Println(used, err)
	// Output: [true true false false] <nil>
}
