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

const printed = `          input                  stream    rate  columns         kind   valid   oldest  mask, a mark for five ticks
           gyro         sensor_combined  205 Hz      0:3  window-mean  97.2 %   4.9 ms  ..################################################################
  accelerometer         sensor_combined  205 Hz      3:6  window-mean  97.2 %   4.9 ms  ..################################################################
       attitude        vehicle_attitude  205 Hz     6:10        slerp  97.2 %   4.9 ms  ..################################################################
      actuators     actuator_controls_0  404 Hz    10:14     previous  97.2 %   4.8 ms  ..################################################################
       position  vehicle_local_position  102 Hz    14:17        pchip  96.9 %  11.5 ms  ..###############################################################.
       airspeed                airspeed   94 Hz    17:18       linear  97.5 %  10.6 ms  #.################################################################
    rangefinder         distance_sensor       -    18:19       linear   0.0 %   0.0 ms  ..................................................................
values [326 19], valid [326 7] and age [326 7], fused on cpu
wrote fuse.npz and fuse.png
`

func TestPrintsATableAndWritesBothFiles(t *testing.T) {
	checkedIn, err := filepath.Abs("fuse.png")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run("cpu", &out))
	assert.Equal(t, printed, out.String())

	f, err := npz.Open("fuse.npz")
	require.NoError(t, err)
	defer f.Close()
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	require.Len(t, columns, 19)
	assert.Equal(t, []string{"attitude.w", "attitude.x", "attitude.y", "attitude.z"}, columns[6:10])
	values, valid := exampletest.Data[float32](t, f, "values"), exampletest.Data[uint8](t, f, "valid")
	require.Len(t, values, 326*19)
	still := 0
	for row := range 326 {
		v, mask := values[row*19:][:19], valid[row*7:][:7]
		if mask[2] == 1 {
			assert.InDelta(t, 1, math.Sqrt(square(v[6:10])), 1e-6, "slerp stays on the sphere, tick %d", row)
		}
		if mask[1] == 1 && math.Abs(math.Sqrt(square(v[3:6]))-1) < .05 {
			still++
		}
		for i, block := range [][2]int{{0, 3}, {3, 6}, {6, 10}, {10, 14}, {14, 17}, {17, 18}, {18, 19}} {
			if mask[i] == 0 {
				assert.Zero(t, square(v[block[0]:block[1]]), "what is not valid is 0: tick %d, input %d", row, i)
			}
		}
		assert.Zero(t, mask[6], "the log has no rangefinder")
	}
	assert.Greater(t, still, 300, "the accelerometer feels one g")

	assert.Equal(t, exampletest.PictureSize(t, checkedIn), exampletest.PictureSize(t, "fuse.png"), "the picture checked in is this program's")
}

func TestUnknownBackendWritesNothing(t *testing.T) { exampletest.UnknownBackendWritesNothing(t, run) }

func square(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}
