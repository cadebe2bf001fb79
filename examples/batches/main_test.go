package main

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/internal/test/exampletest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const printed = `1865 windows of 3 episodes in 58 batches, 9 dropped; 583120 bytes on cpu
observation.state: values f32 [32 50 26], valid [32 50]
action: values f32 [32 50 26], valid [32 50]
drew 58 batches, up to position 1856 of epoch 0; wrote batches.png
`

func TestDrawsAnEpochAndAPicture(t *testing.T) {
	checkedIn, err := filepath.Abs("batches.png")
	require.NoError(t, err)
	data, err := filepath.Abs("../data/g1")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run(data, "cpu", &out))
	assert.Equal(t, printed, out.String())
	assert.Equal(t, exampletest.PictureSize(t, checkedIn), exampletest.PictureSize(t, "batches.png"), "the picture checked in is this program's")
}

func TestUnknownBackendWritesNothing(t *testing.T) {
	exampletest.UnknownBackendWritesNothing(t, func(backend string, out io.Writer) error { return run("../data/g1", backend, out) })
}
