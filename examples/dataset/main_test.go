package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/robocache/robocache/internal/test/exampletest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoesThroughADataset(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run("../data/g1", 0, "cpu", []string{"observation.state", "action"}, &out))
	assert.Equal(t, `g1, lerobot: 3 episodes at 30 Hz (from file)
000000: 343 frames become [571 52], 571 of 571 ticks with all streams: Pick up the yellow bottle on the table.
000001: 368 frames become [612 52], 612 of 612 ticks with all streams: Pick up the yellow bottle on the table.
000002: 410 frames become [682 52], 682 of 682 ticks with all streams: Pick up the yellow bottle on the table.
computed on cpu
`, out.String())

	out.Reset()
	require.NoError(t, run("../../dataset/robomimic/testdata/demo.hdf5", 20, "cpu", []string{"actions"}, &out))
	assert.Contains(t, out.String(), "demo, robosuite: 1 episodes at 20 Hz (from caller)\ndemo_1: 174 frames become [433 6]")
}

func TestUnknownBackendWritesNothing(t *testing.T) {
	exampletest.UnknownBackendWritesNothing(t, func(backend string, out io.Writer) error {
		return run("../data/g1", 0, backend, []string{"action"}, out)
	})
}
