package main

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/exampletest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const printed = `                   stream  samples      rate    jitter  gaps    valid  backend
      actuator_controls_0     1812  403.9 Hz    2.4 ms     1   97.0 %      cpu
         vehicle_attitude     1298  204.6 Hz    0.0 ms     1   97.3 %      cpu
                 airspeed      595   93.6 Hz    0.0 ms     1   97.3 %      cpu
  manual_control_setpoint       33    5.0 Hz   22.0 ms     0  100.0 %      cpu
     vehicle_control_mode       14    2.0 Hz  461.9 ms     0  100.0 %      cpu
301 targets at 50 Hz; wrote quickstart.npz and quickstart.png
`

func TestPrintsATableAndWritesBothFiles(t *testing.T) {
	checkedIn, err := filepath.Abs("quickstart.png")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run("cpu", &out))
	assert.Equal(t, printed, out.String())

	f, err := npz.Open("quickstart.npz")
	require.NoError(t, err)
	defer f.Close()
	assert.Len(t, f.Names(), 1+4*len(streams))
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

func TestUnknownBackendWritesNothing(t *testing.T) { exampletest.UnknownBackendWritesNothing(t, run) }
