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

const printed = `^bc-transformer, 289228 parameters, on 711 windows of 2 episodes, on cpu
step  250: loss 0\.\d{3}
step  500: loss 0\.\d{3}
step  750: loss 0\.\d{3}
step 1000: loss 0\.\d{3}
10 ticks ahead: skill 0\.2\d, of a ridge 0\.31, of holding the last action 0
20 ticks ahead: skill 0\.[23]\d, of a ridge 0\.29, of holding the last action 0
30 ticks ahead: skill 0\.[23]\d, of a ridge 0\.26, of holding the last action 0
state only: no cameras, no VAE; the error is open loop, which does not rank policies
wrote train\.png
$`

func TestTrainsAPolicyAndDrawsWhatItPredicts(t *testing.T) {
	checkedIn, err := filepath.Abs("train.png")
	require.NoError(t, err)
	data, err := filepath.Abs("../data/g1")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run(data, 2, "cpu", &out))
	assert.Regexp(t, printed, out.String())
	assert.Equal(t, exampletest.PictureSize(t, checkedIn), exampletest.PictureSize(t, "train.png"), "the picture checked in is this program's")
}

func TestAnEpisodeThatIsNotThereIsAnError(t *testing.T) {
	assert.ErrorContains(t, run("../data/g1", 9, "cpu", io.Discard), "HoldOut: got 9")
}

func TestUnknownBackendWritesNothing(t *testing.T) {
	exampletest.UnknownBackendWritesNothing(t, func(backend string, out io.Writer) error { return run("../data/g1", 2, backend, out) })
}
