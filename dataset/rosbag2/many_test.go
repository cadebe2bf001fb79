package rosbag2

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Fifty thousand topics take less than a second. If the time grew with their square, it would be many.
func TestTimeGrowsAsTheNumberOfTopics(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	thorough.InProportion(t, 50_000, func(n int) func() {
		b := &bag{define: func(name string) string { return "" }}
		m := &metadata{Distro: "humble"}
		left := make(dataset.Notes, n)
		for i := range n {
			topic, kind := fmt.Sprintf("/topic/of/a/robot/%d", i), fmt.Sprintf("own_msgs/msg/Kind%d", i)
			b.channels = append(b.channels, topics.Channel{Topic: topic, Encoding: "cdr", Schema: message.Schema{Name: kind}})
			left[n-1-i] = dataset.Note{Code: dataset.CodeNoDecoder, Subject: topic, Count: i}
			m.Topics = append(m.Topics, countedTopic{Count: int64(i)})
			m.Topics[i].Topic.Name, m.Topics[i].Topic.Type = topic, kind
		}
		left[n-1].Code = dataset.CodeNoMessages
		return func() {
			b.describe(m)
			b.lacks(left)
			sum := 0
			for i := range n {
				sum += b.Count(i)
			}
			assert.Equal(t, n*(n-1)/2, sum)
			assert.Equal(t, "humble", b.distro)
			assert.Equal(t, dataset.CodeNoMessages, left[n-1].Code)
			assert.Equal(t, []any{dataset.CodeUndefinedType, fmt.Sprintf("own_msgs/msg/Kind%d", n-1)}, []any{left[0].Code, left[0].Got})
		}
	})
}
