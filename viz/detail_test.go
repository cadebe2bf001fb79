package viz

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// The detail shows a gap, but more samples than gap, also if the gap is far longer than the detail.
func TestTheDetailIsNotInsideAGap(t *testing.T) {
	for _, seconds := range []float64{0.1, 0.3, 0.6, 5, 30} {
		for _, from := range []float64{0.02, 3, 18} { // after this many seconds
			var times []int64
			for i := range 2000 {
				at := float64(i) / 100
				if at > from {
					at += seconds
				}
				times = append(times, int64(at*1e9))
			}
			n := len(times)
			series := Series{Times: tensor.Must(tensor.Of(times, n)), Values: tensor.Must(tensor.New(tensor.F32, n, 1))}
			in := Panel{Recorded: series, Resampled: series}
			p, err := newPanel(0, &in, firstTimestamps([]Panel{in}))
			require.NoError(t, err)
			require.Len(t, p.gaps, 1)
			s := figure([]panel{*p}, Options{})
			name := fmt.Sprintf("%g s after %g s: %g to %g", seconds, from, s.dlo, s.dhi)
			assert.LessOrEqual(t, s.missing(s.dlo, s.dhi), (s.dhi-s.dlo)/2, name)
			assert.True(t, s.dlo < p.gaps[0][1] && s.dhi > p.gaps[0][0], "%s: the gap is seen", name)
		}
	}
}

func TestLongNamesFit(t *testing.T) {
	small := style(8.5, false)
	assert.Equal(t, "kLeft", fitted("kLeft", small, 100))
	long := "observation.state.left_arm_shoulder_pitch_position"
	assert.Greater(t, float64(small.Width(long)), 100.0)
	assert.LessOrEqual(t, float64(small.Width(fitted(long, small, 100))), 100.0)
}
