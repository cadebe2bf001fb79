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

const printed = `clock: 301 timestamps at 50 Hz, 20.32875 to 26.32875 s (begins with manual_control_setpoint, ends with vehicle_control_mode)
                   stream  samples      rate  gaps               range  timestamps    valid  outside  in gaps  lossy  methods
      actuator_controls_0     1812  403.9 Hz     1  20.327 to 26.826 s         301   97.0 %        0        9      0  8 linear, 1 previous
         vehicle_attitude     1298  204.6 Hz     1  20.327 to 26.823 s         301   97.3 %        0        8      0  8 slerp, 1 previous
                 airspeed      595   93.6 Hz     1  20.319 to 26.823 s         301   97.3 %        0        8      0  linear
  manual_control_setpoint       33    5.0 Hz     0  20.329 to 26.727 s         301  100.0 %        0        0      0  16 previous, 11 linear
     vehicle_control_mode       14    2.0 Hz     0  20.221 to 26.338 s         301  100.0 %        0        0      0  previous
dropouts noted by the recorder: 1, 0.030 s in all
computed on cpu; wrote quickstart.npz and quickstart.png
`

func TestPrintsATableAndWritesBothFiles(t *testing.T) {
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
