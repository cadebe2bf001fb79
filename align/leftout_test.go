package align_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/streamtest"
)

func TestFramesAreNotAligned(t *testing.T) {
	e := episode(streamtest.Sampled(t, "a", 50, 500, "x", streamtest.Wave))
	e.Media = []dataset.Media{{Name: "eye", Encoding: "png", Times: []int64{0, 1}}}
	got, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10})
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFramesNotAligned, Subject: "eye", Count: 2, Detail: dataset.Detail{Got: "png"}}}, got.Report.Notes)
}
