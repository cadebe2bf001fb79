package align_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

func TestStreamsThatAPlanDoesNotTakeHaveACode(t *testing.T) {
	e := episode(sampledAt(t, "a", 50, 500, "x", wave), sampledAt(t, "once", 50, 1, "x", wave), sampledAt(t, "ids", 50, 500, "device_id# timestamp#", func(row, column int) float64 { return float64((1-column)*77 + column*row) }),
		sampledAt(t, "bad\x01", 50, 500, "x", wave))
	got := suggestion(t, dataset.Info{}, e)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeSingleTimestamp, Subject: "once"}, {Code: dataset.CodeOnlyIdentifiers, Subject: "ids"}, {Code: dataset.CodeNameControl, Subject: "bad\x01"}}, got.Notes)
	for i := range 17 {
		e.Streams = append(e.Streams, sampledAt(t, fmt.Sprint("s", i), 100, 1000, "x", wave))
	}
	assert.NotNil(t, suggestion(t, dataset.Info{}, e).Notes.Find(dataset.CodeFewSamples))
}

func TestFramesAreNotAligned(t *testing.T) {
	e := episode(sampledAt(t, "a", 50, 500, "x", wave))
	e.Media = []dataset.Media{{Name: "eye", Encoding: "png", Times: []int64{0, 1}}}
	got, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10})
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFramesNotAligned, Subject: "eye", Count: 2, Detail: dataset.Detail{Got: "png"}}}, got.Report.Notes)
}
