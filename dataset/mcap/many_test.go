package mcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Thirty-two thousand topics take about a second. If the time grew with their square, it would be seven seconds.
func TestTimeGrowsAsTheNumberOfTopics(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	thorough.InProportion(t, 32_000, func(n int) func() {
		var file bytes.Buffer
		w, err := NewWriter(&file, WriterOptions{})
		require.NoError(t, err)
		schema, err := w.AddSchema("std_msgs/Float64", "ros1msg", []byte("float64 data\n"))
		require.NoError(t, err)
		for i := range n {
			channel, err := w.AddChannel(fmt.Sprintf("/topic/of/a/robot/%d", i), "ros1", schema, nil)
			require.NoError(t, err)
			at := uint64(1e18 + i)
			require.NoError(t, w.Message(&Message{ChannelID: channel, LogTime: at, PublishTime: at, Data: binary.LittleEndian.AppendUint64(nil, 0)}))
		}
		require.NoError(t, w.Close())
		path := filepath.Join(t.TempDir(), "many.mcap")
		require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
		d, err := Open(context.Background(), path, dataset.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, d.Close()) })
		return func() {
			e, err := d.Episode(context.Background(), 0)
			require.NoError(t, err)
			assert.Len(t, e.Streams, n)
		}
	})
}
