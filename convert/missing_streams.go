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

// lostOf returns the reasons why a recording's streams and cameras are missing, by name: the reader's notes, and left, the notes of
// the alignment. The empty name has the recording's damage, if any.
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

// reasonOf returns the reason why an episode lacks a stream, and true; false if lost has none. A note may name an array of the stream,
// for example "state.times", or the whole recording, by the empty name.
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
