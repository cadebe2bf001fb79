package loader

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// OptionError is an option that cannot be. Arg is a field of the options, or a key of the plan: "plan.windows.action".
type OptionError = dataset.OptionError

// refuse returns the *OptionError of an option.
func refuse(arg, got, want string) error { return &OptionError{Arg: arg, Got: got, Want: want} }

// few joins the first reasons.
func few(list []dataset.NoteGroup, separator string, say func(*dataset.NoteGroup) string) string {
	const most = 5
	var parts []string
	for i := range list {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, say(&list[i]))
	}
	return strings.Join(parts, separator)
}

// listed writes a few names in brackets.
func listed(names []string) string { return "[" + text.List(names, 12) + "]" }

// MediaError says that no episode has frames of a media stream, and why one that should have them has not. It is dataset.ErrMissing.
type MediaError struct {
	Media, Episode string
	Note           dataset.Note
}

func (e *MediaError) Error() string {
	return fmt.Sprintf("loader: no episode has frames of media stream %s: episode %s: %s", e.Media, e.Episode, e.Note.Reason())
}

// ErrorNotes returns the note.
func (e *MediaError) ErrorNotes() dataset.Notes { return dataset.Notes{e.Note} }

// Unwrap returns dataset.ErrMissing.
func (e *MediaError) Unwrap() error { return dataset.ErrMissing }

// mediaOf says which media streams there are.
func mediaOf(seen []string) string {
	if len(seen) == 0 {
		return "a dataset with media streams"
	}
	return "media streams of the dataset: " + listed(seen)
}

// fatal tells a mistake in the plan or the options, or a stream that no episode can have, from an episode that is not as the others.
func fatal(err error) bool {
	var option *OptionError
	if errors.As(err, &option) {
		return true
	}
	var plan *align.PlanError
	var missing *align.MissingError
	return errors.As(err, &plan) || errors.As(err, &missing)
}

// ofEpisode returns an error without the number of the episode, which the subject of a note has.
func ofEpisode(err error) error {
	if bad := (*dataset.EpisodeError)(nil); errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

// refusedNote is about an episode that cannot be taken.
func refusedNote(episode string, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeRefused, Subject: episode, Detail: dataset.Detail{Cause: ofEpisode(err)}}
}

// skippedNote is about an episode that cannot be read.
func skippedNote(number int, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeUnread, Subject: strconv.Itoa(number), Row: dataset.At(number), Detail: dataset.Detail{Cause: ofEpisode(err)}}
}
