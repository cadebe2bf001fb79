package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTakesABagToADatasetAndWindows(t *testing.T) {
	dataset := filepath.Join(t.TempDir(), "turtles")
	var first, again bytes.Buffer
	require.NoError(t, run("../data/turtles2", "plan.yaml", dataset, &first))
	assert.Equal(t, `follower: 1344 read, 830 used, 514 dropped; 415 rows, 0 across gaps
leader: 1344 read, 830 used, 514 dropped; 415 rows, 0 across gaps
action: 208 read, 207 used, 1 dropped; 415 rows, 0 across gaps
lerobot v3.0: 415 rows at 20 Hz, tasks ["follow the turtle"]
observation.state: windows [32 20 7]
action: windows [32 20 2]
`, first.String())
	require.NoError(t, run("../data/turtles2", "plan.yaml", dataset, &again), "a dataset that is there, whole, is used as it is")
	assert.Equal(t, first.String(), again.String())
}
