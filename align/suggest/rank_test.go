package suggest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/align/suggest"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/streamtest"
)

// The first streams by Rank are those that a plan takes, however many there are; the action is the first of all. Streams without a rate are ranked, too.
func TestRankIsTheOrderOfAPlan(t *testing.T) {
	e := episode(streamtest.Sampled(t, "once", 50, 1, "x", streamtest.Wave), streamtest.Sampled(t, "constant", 500, 9000, "x", func(int, int) float64 { return 1 }))
	for i := range 20 {
		e.Streams = append(e.Streams, streamtest.Sampled(t, fmt.Sprint("s", i), 100, 1000+i, "x", streamtest.Wave))
	}
	order := suggest.Rank(e, &dataset.Info{})
	assert.Len(t, order, len(e.Streams))
	assert.Equal(t, []string{"s19", "s18", "s17"}, order[:3])
	assert.Equal(t, []string{"constant", "once"}, order[20:])
	var taken []string
	for _, s := range suggestion(t, dataset.Info{}, e).Plan.Streams {
		taken = append(taken, s.Name)
	}
	assert.ElementsMatch(t, order[:len(taken)], taken)

	e.Steps = true
	assert.Equal(t, order, suggest.Rank(e, &dataset.Info{}))
	e.Streams = append(e.Streams, streamtest.Sampled(t, "action", 10, 100, "x", streamtest.Wave))
	assert.Equal(t, "action", suggest.Rank(e, &dataset.Info{})[0])
}
