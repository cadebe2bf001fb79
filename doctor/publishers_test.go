package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Publishers that alternate on a topic are a warning about it.
func TestPublishersThatAlternateAreAFinding(t *testing.T) {
	times, values := make([]int64, 40), make([]float64, 40)
	for i := range times {
		times[i], values[i] = int64(i)*1e8, float64(i)
	}
	s, err := dataset.NewStream("/cmd", times, tensor.Must(tensor.Of(values, 40, 1)), []dataset.Column{{Name: "x"}})
	require.NoError(t, err)
	e := &dataset.Episode{Name: "a", Streams: []dataset.Stream{s}, Notes: dataset.Notes{{Code: dataset.CodePublishersAlternate, Subject: "/cmd", Count: 38,
		Detail: dataset.Detail{Of: 40, Names: []string{"/teleop", "/planner"}}}}}
	found := Episode(e, 0, &dataset.Info{}, Options{})
	require.Len(t, found, 1)
	assert.Equal(t, []any{Schema, Warning, "/cmd", 38}, []any{found[0].Kind, found[0].Severity, found[0].Subject(), found[0].Count})
}
