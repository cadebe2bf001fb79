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

// The index has each episode with findings, with links to these and the command that shows the episode.
func TestThePageHasAnIndexOfEpisodes(t *testing.T) {
	r := &doctor.Report{Checked: doctor.Checked{Episodes: 3, Paths: []doctor.Source{{Path: "a b", Name: "a b"}}}, Findings: []doctor.Finding{
		{Kind: doctor.Schema, Severity: doctor.Warning, Path: "a b", Episode: doctor.Whole, Count: 1},
		{Kind: doctor.Gap, Severity: doctor.Warning, Path: "a b", Episode: 2, Streams: []string{"x", "y"}, Count: 2},
		{Kind: doctor.NaN, Severity: doctor.Information, Path: "a b", Episode: 2, Count: 1},
	}}
	var b strings.Builder
	require.NoError(t, Write(&b, r))
	text := b.String()
	assert.Contains(t, text, `<span class="soft">0 errors</span>, <span class="warning">2 warnings</span>, <span class="information">1 note</span>`)
	assert.Contains(t, text, `id="finding-1"`)
	assert.Contains(t, text, `episode 2: <a class="warning" href="#finding-1">gap</a> <a class="information" href="#finding-2">nan</a> `)
	assert.Contains(t, text, `<code>robocache view &#39;a b&#39; <nobr>--episode 2</nobr></code>`)
	assert.Equal(t, 1, strings.Count(text, "<nobr>"), "one for each episode, none for the dataset")
	for i := range r.Findings {
		r.Findings[i].Kind, r.Findings[i].Severity, r.Findings[i].WhatToDo = doctor.Damaged, doctor.Error, "Copy it."
	}
	r.Checked.Episodes = 1
	b.Reset()
	require.NoError(t, Write(&b, r))
	assert.NotContains(t, b.String(), `id="episodes"`)
	assert.Equal(t, 1, strings.Count(b.String(), "Copy it."), "a remedy is there once")
}

func TestThePageNamesTheStreamsThatItsPictureLacks(t *testing.T) {
	clocks := &doctor.Plot{X: "s", Y: "step, ms", Lines: []doctor.Line{{Name: "a"}, {Name: "b"}}}
	for _, c := range []struct {
		plot    *doctor.Plot
		streams []string
		want    string
	}{
		{clocks, []string{"a", "b", "c", "d"}, "not drawn: c, d<"}, {clocks, []string{"a", "b"}, ""},
		{&doctor.Plot{X: "s", Y: "a", Lines: []doctor.Line{{Name: "x"}}}, []string{"a", "b"}, "not drawn: b<"},
		{&doctor.Plot{X: "lag, ms", Y: "correlation", Lines: []doctor.Line{{Name: "correlation"}}}, []string{"a"}, ""},
		{nil, []string{"a", "b"}, ""},
	} {
		var b strings.Builder
		require.NoError(t, Write(&b, &doctor.Report{Findings: []doctor.Finding{{Kind: doctor.Gap, Severity: doctor.Warning, Streams: c.streams, Plot: c.plot}}}))
		if c.want == "" {
			assert.NotContains(t, b.String(), "not drawn")
		} else {
			assert.Contains(t, b.String(), c.want)
		}
	}
}
