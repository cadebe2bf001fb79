package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestNotesAreCountedTogether(t *testing.T) {
	first := &FormatError{Format: "x", Offset: 7, Msg: "record"}
	var l Notes
	l.Add(Note{Code: "broken", Subject: "a", Count: 1, Row: At(0), Detail: Detail{Bytes: 5, Cause: first}})
	l.Add(Note{Code: "broken", Subject: "b", Count: 1})
	l.Join(Notes{{Code: "broken", Subject: "a", Count: 2, Row: At(9), Detail: Detail{Bytes: 6, Cause: errors.New("later")}}})
	require.Len(t, l, 2)
	assert.Equal(t, Note{Code: "broken", Subject: "a", Count: 3, Row: At(0), Detail: Detail{Bytes: 11, Cause: first}}, l[0])
	l.SetPath("file")
	assert.Equal(t, "file", first.Path)
}

func TestANoteSurvivesJSON(t *testing.T) {
	n := Note{Code: "broken", Subject: "a", Count: 3, Row: At(0), Detail: Detail{Of: 9, Bytes: 11, Got: "1", Want: "2", Names: []string{"x"}, Unit: " Hz", Cause: errors.New("no")}}
	b, err := json.Marshal([]Note{n, {Code: "bare"}})
	require.NoError(t, err)
	assert.Equal(t, `{"code":"bare","subject":"","count":0,"row":null}`, string(b[len(b)-50:len(b)-1]))
	var back []Note
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, n, back[0])
	assert.Equal(t, Note{Code: "bare"}, back[1])

	// A cause keeps the notes of the codes in its text.
	inner := Notes{{Code: damage + "cut", Count: 2, Detail: Detail{Cause: &NoteError{Note: Note{Code: "lost", Count: 1}}}}}
	n.Cause = fmt.Errorf("read: %w", errors.Join(errors.New("other"), &NoteError{Note: inner[0]}))
	b, err = json.Marshal(n)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &back[0]))
	assert.EqualError(t, back[0].Cause, "read: other\ncut: 2, lost: 1")
	again, err := json.Marshal(back[0])
	require.NoError(t, err)
	assert.Equal(t, b, again)
	notes := NotesIn(back[0].Cause)
	require.Len(t, notes, 1)
	assert.Equal(t, inner.String(), notes.String())
	assert.Equal(t, "lost: 1", NotesIn(notes[0].Cause).String())
}

func TestNotesAboutStreams(t *testing.T) {
	l := Notes{{Code: "a"}, {Code: "b", Subject: "/imu"}, {Code: "c", Subject: "/tf"}}
	assert.Equal(t, Notes{l[0], l[1]}, l.About([]string{"/imu"}))
	assert.Equal(t, Notes{l[0], l[2]}, l.About([]string{"/tf.base"}))
}

func TestARowIsNoneUntilItIsSet(t *testing.T) {
	_, ok := Note{}.Row.Index()
	assert.False(t, ok)
	i, ok := At(0).Index()
	assert.True(t, ok && i == 0)
}

// Fifty thousand streams take less than a second. If the time grew with their square, it would be many.
func TestNotesAreFoundInTimeThatGrowsWithTheStreams(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	thorough.InProportion(t, 50_000, func(n int) func() {
		var l Notes
		var names []string
		for i := range n {
			topic := fmt.Sprintf("/topic/of/a/robot/%d", i)
			l = append(l, Note{Code: "odd", Subject: topic})
			names = append(names, topic+[]string{"", ".a", " (pkg/Type)", "0-"}[i%4])
		}
		return func() {
			got := l.About(names)
			assert.Len(t, got, n/4*3, "the last of four is of another topic")
			assert.Equal(t, "/topic/of/a/robot/4", got[3].Subject)
		}
	})
}

func TestNotesOfEpisodesAreCountedTogether(t *testing.T) {
	var l EpisodeNotes
	l.Add(3, "a", Notes{{Code: "cut", Subject: "/x", Count: 2, Row: At(1), Detail: Detail{Of: 5, Got: "first"}}, {Code: "cut", Subject: "/y"}})
	l.Add(4, "b", Notes{{Code: "cut", Subject: "/x", Count: 1, Row: At(0), Detail: Detail{Of: 7, Got: "second"}}})
	want := []EpisodeNote{{Note{Code: "cut", Subject: "/x", Count: 3, Row: At(1), Detail: Detail{Of: 12, Got: "first"}}, "a", 3, 2}, {Note{Code: "cut", Subject: "/y"}, "a", 3, 1}}
	assert.Equal(t, want, l.List)
	b, err := json.Marshal(l)
	require.NoError(t, err)
	var back EpisodeNotes
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, want, back.List)
	b, err = json.Marshal(EpisodeNotes{})
	require.NoError(t, err)
	assert.Equal(t, "[]", string(b))
}
