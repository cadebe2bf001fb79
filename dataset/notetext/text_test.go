//go:build !notecodes

package notetext

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
)

func TestATemplateTakesTheFieldsOfANote(t *testing.T) {
	n := &dataset.Note{Subject: "/camera", Count: 3, Row: dataset.At(17), Detail: dataset.Detail{Of: 200, Got: "h264", Names: []string{"a", "b"}}}
	assert.Equal(t, "3 of 200 images", expand("{count} of {total} images", n))
	assert.Equal(t, "3 images are h264", expand("{count image} {is|are} {got}", n))
	assert.Equal(t, "3 entries: a, b", expand("{count entry|entries}: {names}", n))
	assert.Equal(t, "from 17 on", expand("from {row} on[, {bytes} bytes][: {cause}]", n))
	n.Count, n.Cause = 1, errors.New("no")
	assert.Equal(t, "1 image is h264: no", expand("{count image} {is|are} {got}[: {cause}]", n))
}

// Each sentence can be expanded.
func TestEachSentenceIsOne(t *testing.T) {
	for c, template := range texts {
		assert.NotEmpty(t, template, c)
		assert.NotPanics(t, func() { Text(dataset.Note{Code: c, Count: 2}) }, c)
	}
}

func TestLinesShareSentences(t *testing.T) {
	for code, text := range map[dataset.Code]string{"x": "no header", "y": "the log is cut"} {
		texts[code] = text
		defer delete(texts, code)
	}
	notes := dataset.Notes{{Code: "x", Subject: "/a"}, {Code: "y"}, {Code: "x", Subject: "/b"}}
	assert.Equal(t, []string{"no header: /a, /b", "the log is cut"}, Lines(notes))
}

func TestASentenceMayHaveItsSubjectInside(t *testing.T) {
	texts["x"] = "stream {subject} is odd"
	defer delete(texts, "x")
	assert.Equal(t, "stream /a is odd", Line(dataset.Note{Code: "x", Subject: "/a"}))
	assert.Equal(t, []string{"stream /a is odd", "stream /b is odd"}, Lines(dataset.Notes{{Code: "x", Subject: "/a"}, {Code: "x", Subject: "/b"}}))
}

func TestLinesNameTheEpisodes(t *testing.T) {
	texts["x"] = "no header"
	defer delete(texts, "x")
	list := []dataset.EpisodeNote{
		{Note: dataset.Note{Code: "x", Subject: "/a"}, Episode: "e0", Episodes: 3}, {Note: dataset.Note{Code: "x", Subject: "/b"}, Episode: "e0", Episodes: 3},
		{Note: dataset.Note{Code: "x"}, Episode: "e1", Number: 1, Episodes: 1}, {Note: dataset.Note{Code: "x", Subject: "/all"}},
	}
	assert.Equal(t, []string{"episode e0 and 2 more: no header: /a, /b", "episode e1: no header", "/all: no header"}, EpisodeLines(list, 4))
	assert.Equal(t, []string{"no header: /a, /b", "no header", "/all: no header"}, EpisodeLines(list, 1))
	for i := range 25 {
		list = append(list, dataset.EpisodeNote{Note: dataset.Note{Code: "x"}, Episode: "more", Number: i, Episodes: 1})
	}
	lines := EpisodeLines(list, 30)
	assert.Equal(t, "8 more remarks about recordings", lines[len(lines)-1])
	assert.Equal(t, EpisodeEntry{Entry: Entry{Code: "x", Subject: "/a", Text: "/a: no header"}, Episode: "e0", Episodes: 3}, EpisodeEntries(list)[0])
}
