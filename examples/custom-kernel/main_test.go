package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/gputest"
)

const printed = `-1.0000 -> -0.9500
-0.3100 -> -0.2600
-0.0500 ->  0.0000
-0.0490 ->  0.0000
 0.0000 ->  0.0000
 0.0200 ->  0.0000
 0.0500 ->  0.0000
 0.0625 ->  0.0125
 0.4000 ->  0.3500
 1.0000 ->  0.9500
`

func TestPrintsTheSameOnTheSimulatedDevice(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run("sim", &out))
	assert.Equal(t, printed, out.String())
}

func TestRunsWithoutAGPU(t *testing.T) {
	t.Setenv("ROBOCACHE_LIBCUDA", "none")
	var out bytes.Buffer
	require.NoError(t, run("auto", &out))
	assert.Equal(t, "no GPU: on the simulated device\n"+printed, out.String())
}

func TestPrintsTheSameOnAGPU(t *testing.T) {
	gputest.Require(t)
	var out bytes.Buffer
	require.NoError(t, run("cuda", &out))
	assert.Equal(t, printed, out.String())
}

func TestUnknownDevice(t *testing.T) {
	assert.ErrorContains(t, run("tpu", &bytes.Buffer{}), `"tpu", want auto, cuda or sim`)
}
