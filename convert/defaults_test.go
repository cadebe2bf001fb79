package convert

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset/mcap"
)

// A stream of a plan file switches a default off by saying so, and what the defaults say of columns is not said of cameras.
func TestDefaultsOfAPlanFileHoldAsInFuse(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true))
	recording := episodes(t, in)[0]
	column := recording.Stream("state").Columns[0].Name
	plan, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 20\ndefaults: {offset: 100ms, method: {\""+column+"\": previous}}\nstreams: [{name: state, offset: 0s}]\n"))
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	converts(t, out, MCAP(mcap.Protobuf), Options{Plan: &plan, Device: cpu(t)}, in)
	got := episodes(t, out)[0]
	recordedTimes, times := recording.Stream("state").Nanoseconds(), got.Stream("state").Nanoseconds()
	assert.Equal(t, recordedTimes[0]+100e6, times[0], "the camera is later")
	assert.LessOrEqual(t, times[len(times)-1], recordedTimes[len(recordedTimes)-1], "the stream is not")
	require.Len(t, got.Media, 1)
}
