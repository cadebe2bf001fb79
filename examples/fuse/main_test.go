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

const printed = `clock: 326 timestamps at 50 Hz, 20.319245 to 26.819245 s (begins with airspeed, ends with actuators)
         stream  samples      rate  gaps               range  timestamps   valid  outside  in gaps  lossy  methods
           gyro     1298  204.6 Hz     1  20.327 to 26.823 s         326  97.2 %        1        8      0  window-mean
  accelerometer     1298  204.6 Hz     1  20.327 to 26.823 s         326  97.2 %        1        8      0  window-mean
       attitude     1298  204.6 Hz     1  20.327 to 26.823 s         326  97.2 %        1        8      0  slerp
      actuators     1812  403.9 Hz     1  20.327 to 26.826 s         326  97.2 %        1        8      0  previous
       position      636  102.3 Hz     1  20.322 to 26.818 s         326  96.9 %        2        8      0  pchip
       airspeed      595   93.6 Hz     1  20.319 to 26.823 s         326  97.5 %        0        8      0  linear
every stream is valid at 316 of 326 timestamps
dropouts noted by the recorder: 1, 0.030 s in all
          gyro  ..################################################################
 accelerometer  ..################################################################
      attitude  ..################################################################
     actuators  ..################################################################
      position  ..###############################################################.
      airspeed  #.################################################################
values [326 18], valid [326 6] and age [326 6], fused on cpu; wrote fuse.npz and fuse.png
`

func TestPrintsATableAndWritesBothFiles(t *testing.T) {
	checkedIn, err := filepath.Abs("fuse.png")
	require.NoError(t, err)
	log, err := filepath.Abs("../data/flight.ulg")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run(log, "cpu", &out))
	assert.Equal(t, printed, out.String())

	f, err := npz.Open("fuse.npz")
	require.NoError(t, err)
	defer f.Close()
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	require.Len(t, columns, 18)
	assert.Equal(t, []string{"attitude.q[0]", "attitude.q[1]", "attitude.q[2]", "attitude.q[3]"}, columns[6:10])
	values, valid := exampletest.Data[float64](t, f, "values"), exampletest.Data[uint8](t, f, "valid")
	require.Len(t, values, 326*18)
	still := 0
	for row := range 326 {
		v, mask := values[row*18:][:18], valid[row*6:][:6]
		if mask[2] == 1 {
			assert.InDelta(t, 1, math.Sqrt(square(v[6:10])), 1e-6, "slerp stays on the sphere, tick %d", row)
		}
		if mask[1] == 1 && math.Abs(math.Sqrt(square(v[3:6]))/9.80665-1) < .05 {
			still++
		}
		for i, block := range [][2]int{{0, 3}, {3, 6}, {6, 10}, {10, 14}, {14, 17}, {17, 18}} {
			if mask[i] == 0 {
				assert.Zero(t, square(v[block[0]:block[1]]), "what is not valid is 0: tick %d, input %d", row, i)
			}
		}
	}
	assert.Greater(t, still, 300, "the accelerometer feels one g")

	assert.Equal(t, exampletest.PictureSize(t, checkedIn), exampletest.PictureSize(t, "fuse.png"), "the picture checked in is this program's")
}

func TestUnknownBackendWritesNothing(t *testing.T) {
	exampletest.UnknownBackendWritesNothing(t, func(backend string, out io.Writer) error { return run("../data/flight.ulg", backend, out) })
}

func square(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}
