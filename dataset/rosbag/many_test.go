package rosbag

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Sixty-five thousand topics take a second or so; were the time that of their square, it would be half a minute.
func TestTimeGrowsAsTheNumberOfTopics(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const n = 65_000
	w := newBuild()
	for i := range uint32(n) {
		w.connection(i, fmt.Sprintf("/topic/of/a/robot/%d", i), "std_msgs/Float64", "float64 data\n").message(i, 1e18+int64(i), make([]byte, 8))
	}
	b, err := open(context.Background(), inMemory(w.end("none").close()), "many.bag")
	require.NoError(t, err)
	start := thorough.UserTime()
	e, err := topics.Read(context.Background(), b, dataset.Options{})
	require.NoError(t, err)
	assert.Len(t, e.Streams, n)
	assert.Less(t, thorough.UserTime()-start, 12*time.Second)
}
