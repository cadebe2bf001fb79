package store

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// listNames formats a few names in brackets.
func listNames(names []string) string { return "[" + text.List(names, 12) + "]" }

// MediaError means that no episode has frames in a media stream. Note explains why the first such episode lacks them. It matches
// dataset.ErrMissing.
type MediaError struct {
	Media, Episode string
	Note           dataset.Note
}

func (e *MediaError) Error() string {
	return fmt.Sprintf("loader: no episode has frames for media stream %s: episode %s: %s", e.Media, e.Episode, e.Note.Reason())
}

// ErrorNotes returns Note.
func (e *MediaError) ErrorNotes() dataset.Notes { return dataset.Notes{e.Note} }

// Unwrap returns dataset.ErrMissing.
func (e *MediaError) Unwrap() error { return dataset.ErrMissing }

// UnknownMedia returns the *OptionError for an unknown media stream. names are the dataset's media streams.
func UnknownMedia(arg, name string, names []string) error {
	want := "a dataset with media streams"
	if len(names) > 0 {
		want = "media streams in the dataset: [" + text.Closest(name, names) + "]"
	}
	return refuse(arg, fmt.Sprintf("%q, which no episode has", name), want)
}

// ofEpisode returns an error without the episode's number, because the note's subject has it.
func ofEpisode(err error) error {
	if bad := (*dataset.EpisodeError)(nil); errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

// RefusedNote returns a note about an episode that is left out because of an error.
func RefusedNote(episode string, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeRefused, Subject: episode, Detail: dataset.Detail{Cause: ofEpisode(err)}}
}

// skippedNote returns a note about an episode that cannot be read.
func skippedNote(number int, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeUnread, Subject: strconv.Itoa(number), Row: dataset.At(number), Detail: dataset.Detail{Cause: ofEpisode(err)}}
}

// refuse returns the *dataset.OptionError for an option.
func refuse(arg, got, want string) error { return &dataset.OptionError{Arg: arg, Got: got, Want: want} }

// errorsOf returns a function that makes the *dataset.FormatError for a store's file or folder.
func errorsOf(path string) func(kind error, what, got, want string) error {
	return func(kind error, what, got, want string) error {
		return &dataset.FormatError{Format: "store", Path: path, Offset: -1, Kind: kind, Msg: what, Got: got, Want: want}
	}
}
