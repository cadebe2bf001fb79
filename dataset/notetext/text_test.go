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
	assert.Equal(t, "3 of 200 images", expand("{count} of {of} images", n))
	assert.Equal(t, "3 images are h264", expand("{count image} {is|are} {got}", n))
	assert.Equal(t, "3 entries: a, b", expand("{count entry|entries}: {names}", n))
	assert.Equal(t, "from 17 on", expand("from {row} on[, {bytes} bytes][: {cause}]", n))
	n.Count, n.Cause = 1, errors.New("no")
	assert.Equal(t, "1 image is h264: no", expand("{count image} {is|are} {got}[: {cause}]", n))
}

// Each code has a sentence, and each sentence can be expanded.
func TestEachCodeHasASentence(t *testing.T) {
	for _, c := range dataset.Codes() {
		template, ok := templateOf(c)
		assert.True(t, ok && template != "", "%s has no sentence in this package", c)
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
