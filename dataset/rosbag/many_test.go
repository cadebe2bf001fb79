package rosbag

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Thirty-two thousand topics take less than a second. If the time grew with their square, it would be seven seconds.
func TestTimeGrowsAsTheNumberOfTopics(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	thorough.InProportion(t, 32_000, func(n int) func() {
		w := newBuild()
		for i := range uint32(n) {
			w.connection(i, fmt.Sprintf("/topic/of/a/robot/%d", i), "std_msgs/Float64", "float64 data\n").message(i, 1e18+int64(i), make([]byte, 8))
		}
		b, err := open(context.Background(), inMemory(w.end("none").close()), "many.bag")
		require.NoError(t, err)
		return func() {
			e, err := topics.Read(context.Background(), b, dataset.Options{})
			require.NoError(t, err)
			assert.Len(t, e.Streams, n)
		}
	})
}
