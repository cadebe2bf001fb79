package suggest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/streamtest"
)

func TestStreamsThatAPlanDoesNotTakeHaveACode(t *testing.T) {
	e := episode(streamtest.Sampled(t, "a", 50, 500, "x", streamtest.Wave), streamtest.Sampled(t, "once", 50, 1, "x", streamtest.Wave), streamtest.Sampled(t, "ids", 50, 500, "device_id# timestamp#", func(row, column int) float64 { return float64((1-column)*77 + column*row) }),
		streamtest.Sampled(t, "bad\x01", 50, 500, "x", streamtest.Wave))
	got := suggestion(t, dataset.Info{}, e)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeSingleTimestamp, Subject: "once"}, {Code: dataset.CodeOnlyIdentifiers, Subject: "ids"}, {Code: dataset.CodeNameControl, Subject: "bad\x01"}}, got.Notes)
	for i := range 17 {
		e.Streams = append(e.Streams, streamtest.Sampled(t, fmt.Sprint("s", i), 100, 1000, "x", streamtest.Wave))
	}
	assert.NotNil(t, suggestion(t, dataset.Info{}, e).Notes.Find(dataset.CodeFewSamples))
}

// A plan for training takes no column that is no state, and lists it.
func TestColumnsThatAreNoStatesAreNotTaken(t *testing.T) {
	info := dataset.Info{Rate: 30, RateFrom: "file"}
	state := streamtest.Sampled(t, "state", 30, 90, "a target_a b leader.c", streamtest.Wave)
	targets := streamtest.Sampled(t, "extra", 30, 90, "target_a target_b", streamtest.Wave)
	got := suggestion(t, info, episode(state, targets, streamtest.Sampled(t, "action", 30, 90, "a", streamtest.Wave)))
	require.Len(t, got.Plan.Streams, 2)
	assert.Equal(t, []string{"a", "b"}, got.Plan.Streams[0].Columns)
	assert.Equal(t, dataset.Notes{
		{Code: dataset.CodeColumnsNotState, Subject: "state", Detail: dataset.Detail{Got: "a target or command", Names: []string{"target_a"}}},
		{Code: dataset.CodeColumnsNotState, Subject: "state", Detail: dataset.Detail{Got: "of the leader arm, or of who steers", Names: []string{"leader.c"}}},
		{Code: dataset.CodeNotState, Subject: "extra", Detail: dataset.Detail{Got: "a target or command"}},
	}, got.Notes)
	info.Features = []dataset.Feature{{Name: "state"}, {Name: "action"}}
	undeclared := suggestion(t, info, episode(streamtest.Sampled(t, "state", 30, 90, "a", streamtest.Wave), streamtest.Sampled(t, "copy", 30, 90, "a", streamtest.Wave),
		streamtest.Sampled(t, "action", 30, 90, "a", streamtest.Wave)))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotState, Subject: "copy", Detail: dataset.Detail{Got: "not declared by the dataset"}}}, undeclared.Notes)
}
