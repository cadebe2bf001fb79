package dataset

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
