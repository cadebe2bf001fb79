package topics

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// Two channels in turn are two publishers; a second one that follows the first is the next piece, or a node that was started anew.
func TestPublishersThatAlternateAreNoted(t *testing.T) {
	for name, c := range map[string]struct {
		channel func(i int) int
		returns int
	}{
		"in turn":   {func(i int) int { return i % 2 }, 38},
		"one slow":  {func(i int) int { return 1 - min(i%4, 1) }, 18},
		"in pieces": {func(i int) int { return i / 20 }, 0},
		"one":       {func(int) int { return 0 }, 0},
	} {
		log := &fakeLog{channels: []Channel{{Topic: "/cmd", Encoding: "json", Metadata: map[string]string{"callerid": "/teleop"}}, {Topic: "/cmd", Encoding: "json"}}}
		for i := range 40 {
			log.parts = append(log.parts, []Message{{Channel: c.channel(i), Log: int64(i), Publish: int64(i), Data: []byte(`{"x":1}`)}})
		}
		e, err := Read(context.Background(), log, dataset.Options{})
		require.NoError(t, err)
		n := e.Notes.Find(dataset.CodePublishersAlternate)
		if c.returns == 0 {
			assert.Nil(t, n, name)
			continue
		}
		require.NotNil(t, n, name)
		assert.Equal(t, []any{"/cmd", c.returns, 40}, []any{n.Subject, n.Count, n.Of}, name)
		assert.ElementsMatch(t, []string{"/teleop", "channel 1"}, n.Names)
	}
}
