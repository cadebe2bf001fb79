package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
)

// A report has the codes of notes, and the page their sentences.
func TestThePageHasTheSentencesOfNotes(t *testing.T) {
	info := &dataset.Info{Notes: dataset.Notes{{Code: dataset.CodeFilesMissing, Subject: "videos", Count: 2, Detail: dataset.Detail{Of: 3, Names: []string{"a.mp4"}}}}}
	r := &doctor.Report{Findings: doctor.Dataset(info, doctor.Options{})}
	require.Len(t, r.Findings, 1)
	var b strings.Builder
	require.NoError(t, Write(&b, r))
	assert.Contains(t, b.String(), "<p>"+notetext.Line(info.Notes[0])+".</p>")
	assert.NotContains(t, b.String(), r.Findings[0].Why)
}
