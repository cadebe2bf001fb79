package mcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Sixty-five thousand topics take two seconds or so; were the time that of their square, it would be half a minute.
func TestTimeGrowsAsTheNumberOfTopics(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const n = 65_000
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
	defer d.Close()
	start := thorough.UserTime()
	e, err := d.Episode(context.Background(), 0)
	require.NoError(t, err)
	assert.Len(t, e.Streams, n)
	assert.Less(t, thorough.UserTime()-start, 15*time.Second)
}
