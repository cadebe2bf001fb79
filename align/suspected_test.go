package align_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Whole numbers are nanoseconds. Where they can hardly be, a remark asks; floats that can be no seconds are an error that says what they are taken
// for.
func TestUnitsOfTimeAreSuspected(t *testing.T) {
	run := func(times *tensor.Tensor) (dataset.Notes, error) {
		got, err := align.Resample(context.Background(), cpu(t), episode(numbered(t, "s", times)), align.Plan{Rate: 30})
		if err != nil {
			return nil, err
		}
		return got.Report.Notes, nil
	}
	for name, c := range map[string]struct {
		times *tensor.Tensor
		want  string // the unit and the rate
	}{
		"epoch milliseconds":   {every(300, func(i int) int64 { return 1_700_000_000_000 + int64(i)*1000/30 }), "milliseconds 30"},
		"milliseconds":         {every(300, func(i int) int64 { return int64(i) * 10 }), "milliseconds 100"},
		"epoch microseconds":   {every(300, func(i int) int64 { return 1_700_000_000_000_000 + int64(i)*1_000_000/30 }), "microseconds 30"},
		"microseconds, 250 Hz": {every(300, func(i int) int64 { return int64(i) * 4000 }), "microseconds 250"},
		"nanoseconds":          {every(300, func(i int) int64 { return 1_700_000_000_000_000_000 + int64(i)*1_000_000_000/30 }), ""},
		"8 kHz":                {every(8000, func(i int) int64 { return 1_700_000_000_000_000_000 + int64(i)*125_000 }), ""},
		"an uptime":            {every(300, func(i int) int64 { return 1_700_000_000_000 + int64(i)*4*ms }), ""},
		"bursts":               {every(300, func(i int) int64 { return int64(i/3)*100*ms + int64(i%3)*1000 }), ""},
	} {
		got, err := run(c.times)
		require.NoError(t, err, name)
		if c.want == "" {
			assert.Empty(t, got, name)
			continue
		}
		n := got.Find(dataset.CodeTimeUnit)
		require.NotNil(t, n, name)
		assert.Equal(t, c.want, n.Unit+" "+n.Want, name)
	}
	sec := make([]float64, 30)
	for i := range sec {
		sec[i] = 1.7e12 + float64(i)*33
	}
	_, err := run(tensor.Must(tensor.Of(sec, 30)))
	require.ErrorIs(t, err, ops.ErrTimeRange)
	assert.ErrorContains(t, err, "want seconds, as floats are taken")
}

// Angles beyond a turn that jump are neither wrapped radians nor unwrapped ones.
func TestDegreesAreSuspected(t *testing.T) {
	run := func(at func(i int) float64, period float64) dataset.Notes {
		v := make([]float64, 300)
		for i := range v {
			v[i] = at(i)
		}
		s := dataset.Stream{Name: "yaw", Times: every(300, func(i int) int64 { return int64(i) * 100 * ms }), Values: tensor.Must(tensor.Of(v, 300, 1)), Columns: []dataset.Column{{Name: "v"}}}
		got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 20, Defaults: align.Sampling{Kind: "angle", Period: period}})
		require.NoError(t, err)
		return got.Report.Notes
	}
	degrees := func(i int) float64 { return math.Mod(float64(i)*7.3, 360) }
	require.Len(t, run(degrees, 0), 1)
	assert.Equal(t, []any{dataset.CodeAngleUnit, "yaw", "35"}, []any{run(degrees, 0)[0].Code, run(degrees, 0)[0].Subject, run(degrees, 0)[0].Got[:2]})
	assert.Empty(t, run(degrees, 360))
	assert.Empty(t, run(func(i int) float64 { return math.Mod(float64(i)*.3, 2*math.Pi) }, 0), "wrapped radians")
	assert.Empty(t, run(func(i int) float64 { return float64(i) * .3 }, 0), "unwrapped radians")
}

// Steps of which nobody says how long they are can be resampled onto targets, and onto no rate.
func TestStepsAreNoClock(t *testing.T) {
	e := episode(numbered(t, "s", every(10, func(i int) int64 { return int64(i) * 1000 * ms })))
	e.Steps = true
	_, err := align.Resample(context.Background(), cpu(t), e, align.Plan{Rate: 10})
	var steps *clocks.StepsError
	require.ErrorAs(t, err, &steps)
	require.ErrorIs(t, err, ops.ErrMissing)
	got, err := align.Resample(context.Background(), cpu(t), e, align.Plan{Targets: tensor.Must(tensor.Of([]int64{1500 * ms}, 1))})
	require.NoError(t, err)
	assert.Equal(t, 1, got.Report.Streams[0].Valid)
}
