package main

import (
	"bytes"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/exampletest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const printed = `1. Faults in flight.ulg, by cause:

   gap         actuator_controls_0, actuator_controls_1, airspeed, estimator_status and 5 more
               at the same time, 9 steps are longer than 20 ms to 151 ms, the longest 160 ms to 163.8 ms, where the median is 2.475 ms to 50.34 ms; some 271 samples are missing (2 other streams have the same clock)
            -> Set max_gap: 152ms in the plan, so that values in a gap are not valid; look for dropped messages, a full disk or a busy network where it was recorded.

   gap         ekf_gps_drift
               1 step is longer than 601.2 ms, the longest 1.207 s, where the median is 200.4 ms; some 5 samples are missing
            -> Set max_gap: 602ms in the plan, so that values in a gap are not valid; look for dropped messages, a full disk or a busy network where it was recorded.

   jitter      vehicle_angular_velocity, vehicle_angular_acceleration
               one step in twenty is 2.444 ms or more away from the median of 2.475 ms
            -> Take the time when the sensor measured, if the recording has it (--clock header), rather than when the message arrived or was written; else resample linearly, so that no sample stands for another time.

   dropout     the recording
               the recorder noted that it lost data 1 time, for 30 ms together
            -> Set max_gap in the plan, so that the hole is not valid; a faster storage card, or fewer logged topics, prevents it.

   angle-wrap  yaw_estimator_status
               yaw_composite jumps by a turn of 2 pi, 4 times
            -> Give the column method: angle in the plan, so that it is not interpolated through the turn; for a network, take its sine and cosine.

2. Five streams on one clock of 50 Hz, 301 timestamps, computed on cpu:

   stream                    samples   recorded     values   valid
   actuator_controls_0          1812   403.9 Hz    [301 9]  97.0 %
   vehicle_attitude             1298   204.6 Hz    [301 9]  97.3 %
   airspeed                      595    93.6 Hz    [301 4]  97.3 %
   manual_control_setpoint        33     5.0 Hz   [301 27] 100.0 %
   vehicle_control_mode           14     2.0 Hz   [301 18] 100.0 %

3. quickstart.npz has these values with masks; quickstart.png shows them over the samples, with gaps.

Next, in the browser: go run ./cmd/robocache view examples/data/flight.ulg
`

func TestPrintsFaultsAndATableAndWritesBothFiles(t *testing.T) {
	checkedIn, err := filepath.Abs("quickstart.png")
	require.NoError(t, err)
	log, err := filepath.Abs("../data/flight.ulg")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run(log, "cpu", &out))
	assert.Equal(t, printed, out.String())

	f, err := npz.Open("quickstart.npz")
	require.NoError(t, err)
	defer f.Close()
	assert.Len(t, f.Names(), 1+4*5)
	times := exampletest.Data[int64](t, f, "times")
	require.Len(t, times, 301)
	assert.Equal(t, int64(20_328_750_000), times[0], "where the sticks begin, last of the five")
	assert.Equal(t, int64(6_000_000_000), times[300]-times[0])

	names, err := f.Strings("vehicle_attitude.columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"q[0]", "q[1]", "q[2]", "q[3]"}, names[:4])
	attitude := exampletest.Data[float32](t, f, "vehicle_attitude.values")
	for i := range times {
		var norm float64
		for _, q := range attitude[i*len(names) : i*len(names)+4] {
			norm += float64(q) * float64(q)
		}
		assert.InDelta(t, 1, math.Sqrt(norm), 1e-6, "slerp stays on the sphere, tick %d", i)
	}
	for i, v := range exampletest.Data[float32](t, f, "vehicle_control_mode.values") {
		assert.True(t, v == 0 || v == 1, "a switch is on or off: element %d is %v", i, v)
	}
	for i, age := range exampletest.Data[int64](t, f, "manual_control_setpoint.age") {
		assert.True(t, age >= 0 && age < 1e9, "tick %d: age %d ns", i, age)
	}

	assert.Equal(t, exampletest.PictureSize(t, checkedIn), exampletest.PictureSize(t, "quickstart.png"), "the picture of the README is this program's")
}

func TestUnknownBackendWritesNothing(t *testing.T) {
	exampletest.UnknownBackendWritesNothing(t, func(backend string, out io.Writer) error { return run("../data/flight.ulg", backend, out) })
}
