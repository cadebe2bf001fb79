package recognise_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/test/streamtest"
	"github.com/robocache/robocache/tensor"
)

func recognised(t *testing.T, list ...dataset.Stream) *recognise.Recogniser {
	t.Helper()
	r := &recognise.Recogniser{}
	for i := range list {
		require.NoError(t, r.Add(&list[i]))
	}
	return r
}

func TestQuaternionsAreFoundByNamesInAnyOrderAndByValues(t *testing.T) {
	for _, c := range []struct {
		columns string
		order   dataset.Rotation
		by      recognise.Evidence
	}{
		{"px qx qy qz qw", dataset.RotationXYZW, recognise.ByName}, {"px qw qx qy qz", dataset.RotationWXYZ, recognise.ByName}, {"px qz qy qx qw", dataset.RotationNone, recognise.ByName},
		{"px ori.x ori.y ori.z ori.w", dataset.RotationNone, recognise.ByValue}, {"px orientation.x orientation.y orientation.z orientation.w", dataset.RotationXYZW, recognise.ByName},
		{"px ee_quat_x ee_quat_y ee_quat_z ee_quat_w", dataset.RotationXYZW, recognise.ByName}, {"px quat[0] quat[1] quat[2] quat[3]", dataset.RotationNone, recognise.ByName},
		{"0 1 2 3 4", dataset.RotationNone, recognise.ByValue}, {"px rot_w rot_x rot_y rot_z", dataset.RotationWXYZ, recognise.ByName},
	} {
		s := streamtest.Sampled(t, "s", 100, 200, c.columns, func(row, k int) float64 {
			if k == 0 {
				return .3 * streamtest.Wave(row, 0)
			}
			return streamtest.Rotating(row)[k-1]
		})
		assert.Equal(t, []recognise.Quaternion{{At: 1, Order: c.order, By: c.by}}, recognised(t, s).Quaternions(), c.columns)
		half, err := tensor.Floats(s.Values)
		require.NoError(t, err)
		small := make([]float32, len(half))
		for i, v := range half {
			small[i] = float32(v)
		}
		s.Values = tensor.Must(tensor.Of(small, s.Len(), 5))
		assert.Len(t, recognised(t, s).Quaternions(), 1, "in float32")
	}
	named := streamtest.Sampled(t, "/pose.q", 100, 5, "[0] [1] [2] [3]", func(row, k int) float64 { return streamtest.Rotating(row)[k] })
	assert.Equal(t, []recognise.Quaternion{{By: recognise.ByName}}, recognised(t, named).Quaternions(), "an array's name is its stream's")
	two := streamtest.Sampled(t, "s", 100, 200, "a b c d e f g h", func(row, k int) float64 { return streamtest.Rotating(row + k/4*900)[k%4] })
	assert.Len(t, recognised(t, two).Quaternions(), 2)
}

func TestWhatHasTheNormOfAQuaternionAndIsNoneIsLeftAlone(t *testing.T) {
	for name, at := range map[string]func(row, k int) float64{
		"one of four":         func(row, k int) float64 { return map[bool]float64{true: 1}[row/7%4 == k] },
		"sine and cosine":     func(row, k int) float64 { return []float64{math.Sin(float64(row)), math.Cos(float64(row)), 0, 0}[k] },
		"of another length":   func(row, k int) float64 { return 1.01 * streamtest.Rotating(row)[k] },
		"of that length once": func(row, k int) float64 { return streamtest.Rotating(row)[k] * float64(1+row%2) },
	} {
		assert.Empty(t, recognised(t, streamtest.Sampled(t, "s", 100, 200, "a b c d", at)).Quaternions(), name)
	}
	sure := streamtest.Sampled(t, "/imu", 100, 200, "orientation_covariance[0] orientation_covariance[1] orientation_covariance[2] orientation_covariance[3] orientation_covariance[4]",
		func(row, k int) float64 { return streamtest.Rotating(row)[k%4] })
	assert.Empty(t, recognised(t, sure).Quaternions(), "a covariance")
	short := streamtest.Sampled(t, "s", 100, 5, "a b c d", func(row, k int) float64 { return streamtest.Rotating(row)[k] })
	assert.Empty(t, recognised(t, short).Quaternions(), "a few samples say nothing")
	wrong := streamtest.Sampled(t, "s", 100, 200, "qx qy qz qw", func(row, k int) float64 { return 3 * streamtest.Rotating(row)[k] })
	assert.Empty(t, recognised(t, wrong).Quaternions(), "whatever it is called")
	zeros := streamtest.Sampled(t, "s", 100, 200, "a b c d", func(row, k int) float64 { return streamtest.Rotating(row)[k] * map[bool]float64{true: 1}[row > 20] })
	assert.Len(t, recognised(t, zeros).Quaternions(), 1, "zeros until the first pose")
}

func TestAnglesThatGoAroundAreFoundInRadiansAndDegrees(t *testing.T) {
	steady := func(row int) float64 { return float64(row) * .13 }
	for name, c := range map[string]struct {
		at     func(row int) float64
		period float64
	}{
		"half a turn to each side": {func(row int) float64 { return math.Remainder(steady(row), 2*math.Pi) }, 2 * math.Pi},
		"from zero":                {func(row int) float64 { return math.Mod(steady(row), 2*math.Pi) }, 2 * math.Pi},
		"in degrees":               {func(row int) float64 { return math.Remainder(steady(row)*57.3, 360) }, 360},
		"in degrees from zero":     {func(row int) float64 { return math.Mod(steady(row)*57.3, 360) }, 360},
	} {
		s := streamtest.Sampled(t, "s", 100, 300, "a b", func(row, k int) float64 {
			if k == 0 {
				return streamtest.Wave(row, 0)
			}
			return c.at(row)
		})
		got := recognised(t, s).Angles()
		require.Len(t, got, 1, name)
		assert.Equal(t, []any{1, c.period, recognise.ByValue}, []any{got[0].Column, got[0].Period, got[0].By}, name)
		assert.Equal(t, int(steady(299)/(2*math.Pi)+.5), got[0].Wraps, name)
	}
}

// A tracker that loses an angle for a while, and finds it elsewhere, has not seen it go around.
func TestNoAngleGoesAroundInAHole(t *testing.T) {
	s := streamtest.Sampled(t, "s", 100, 300, "bearing", func(row, _ int) float64 {
		switch {
		case row < 100:
			return 3 + .001*float64(row)
		case row < 120:
			return math.NaN()
		}
		return -3.1 + .001*float64(row)
	})
	for _, a := range recognised(t, s).Angles() {
		assert.Zero(t, a.Wraps)
	}
}

func TestAnglesAreFoundByNameAndWhatHasEndsIsNone(t *testing.T) {
	s := streamtest.Sampled(t, "s", 100, 300, "yaw kLeftShoulderYaw yaw_rate heading_deg theta psi tcp_euler.z roll_variance noise flag", func(row, k int) float64 {
		switch k {
		case 3:
			return 100 + 20*streamtest.Wave(row, 0)
		case 5:
			return 1000 * streamtest.Wave(row, 0)
		case 8: // over the whole turn, and nothing like one
			return math.Remainder(float64(row*row)*1.7, 2*math.Pi)
		case 9:
			return float64(row%2) * 2 * math.Pi
		}
		return streamtest.Wave(row, k)
	})
	var got []string
	for _, a := range recognised(t, s).Angles() {
		got = append(got, fmt.Sprintf("%s %.3g", s.Columns[a.Column].Name, a.Period))
		assert.Equal(t, recognise.ByName, a.By)
	}
	assert.Equal(t, []string{"yaw 6.28", "heading_deg 360", "theta 6.28", "tcp_euler.z 6.28"}, got)
}

func TestTimesSwitchesAndConstantsAreFound(t *testing.T) {
	s := streamtest.Sampled(t, "s", 100, 300, "timestamp_sample# stamp.sec# time airtime grip command sensor flat whole#", func(row, k int) float64 {
		switch k {
		case 0, 2:
			return float64(row)
		case 1:
			return float64(row / 100)
		case 4:
			return -1 + 2*float64(row/40%2)
		case 5: // set ten times a second
			return streamtest.Wave(row/10*10, 0)
		case 7:
			return 4
		}
		return streamtest.Wave(row, k)
	})
	r := recognised(t, s)
	assert.Equal(t, []int{0, 1, 2}, r.Times())
	assert.Equal(t, []int{7}, r.Constant())
	var got []string
	for _, w := range r.Switches() {
		got = append(got, s.Columns[w.Column].Name+": "+w.Why)
	}
	assert.Equal(t, []string{"grip: it has 2 values", "command: it keeps each value for about 10 samples"}, got)
}

// What several episodes show together counts, and those of other columns do not.
func TestARecogniserTakesEpisodesTogether(t *testing.T) {
	part := func(from float64, columns string) dataset.Stream {
		return streamtest.Sampled(t, "s", 100, 30, columns, func(row, k int) float64 { return math.Remainder(from+float64(row)*.2, 2*math.Pi) })
	}
	assert.Empty(t, recognised(t, streamtest.Sampled(t, "s", 100, 10, "a", func(row, _ int) float64 { return float64(row) * .1 })).Angles())
	r := recognised(t, part(0, "a"), part(2, "a"), part(0, "b"), dataset.Stream{Name: "s", Times: part(0, "a").Times, Columns: part(0, "a").Columns, Values: tensor.Must(tensor.New(tensor.F32, 0, 1))})
	require.Len(t, r.Angles(), 1)
	assert.Equal(t, 2, r.Angles()[0].Wraps)
	nan := streamtest.Sampled(t, "s", 10, 40, "a b c d", func(int, int) float64 { return math.NaN() })
	r = recognised(t, nan)
	assert.Empty(t, r.Quaternions())
	assert.Empty(t, r.Angles())
	assert.Empty(t, r.Constant())
}

func BenchmarkRecogniser(b *testing.B) {
	const rows = 100_000
	values := make([]float32, rows*26)
	for i := range values {
		values[i] = float32(math.Sin(float64(i)))
	}
	s := dataset.Stream{Name: "s", Values: tensor.Must(tensor.Of(values, rows, 26)), Times: tensor.Must(tensor.New(tensor.I64, rows))}
	for _, c := range strings.Fields(strings.Repeat("c ", 26)) {
		s.Columns = append(s.Columns, dataset.Column{Name: c})
	}
	b.SetBytes(rows * 26 * 4)
	for b.Loop() {
		var r recognise.Recogniser
		if err := r.Add(&s); err != nil {
			b.Fatal(err)
		}
	}
}
