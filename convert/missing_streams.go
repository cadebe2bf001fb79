package convert

import (
	"errors"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// LostError reports an episode that lost streams or cameras that other episodes have, with the reasons.
type LostError struct {
	Notes dataset.Notes // one per stream or camera; Subject is its name in the recording
}

func (e *LostError) Error() string {
	list := make([]string, len(e.Notes))
	for i, n := range e.Notes {
		list[i] = n.Subject + ": " + n.Reason()
	}
	return "without what other episodes have: " + strings.Join(list, "; ")
}

// ErrorNotes returns the notes.
func (e *LostError) ErrorNotes() dataset.Notes { return e.Notes }

// Unwrap returns dataset.ErrMissing.
func (e *LostError) Unwrap() error { return dataset.ErrMissing }

// lostOf lists why streams and cameras of a recording are not on its clock or no streams at all, by their names.
func lostOf(e *dataset.Episode, left dataset.Notes) map[string]dataset.Note {
	lost := map[string]dataset.Note{}
	for _, n := range slices.Concat(e.Notes.Of(dataset.ClassLeftOut), left) {
		lost[n.Subject] = n
	}
	if damage := e.Notes.Damage(); damage != nil {
		lost[""] = dataset.Note{Code: dataset.CodeRecordingBroken, Detail: dataset.Detail{Cause: errors.New(damage.String())}}
	}
	return lost
}

// reasonOf returns why an episode lacks a stream. An array of a stream is named STREAM.ARRAY, for example "state.times".
func reasonOf(lost map[string]dataset.Note, stream string) (why dataset.Note, ok bool) {
	for _, name := range []string{stream, stream + ".values", stream + ".times", ""} {
		if why, ok = lost[name]; ok {
			break
		}
	}
	why.Subject = stream
	return why, ok
}

// lostAmong returns a *LostError about the given streams that an episode lost, or nil.
func lostAmong(lost map[string]dataset.Note, streams []string) error {
	e := &LostError{}
	for _, name := range streams {
		if why, ok := reasonOf(lost, name); ok && why.Code != dataset.CodeNoMessages { // a silent topic is no fault of an episode
			e.Notes = append(e.Notes, why)
		}
	}
	if len(e.Notes) == 0 {
		return nil
	}
	return e
}
