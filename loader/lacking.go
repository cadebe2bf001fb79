package loader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// Lacking is an episode that has no samples of a stream that is drawn. Its windows are drawn with the fill value there, which is not valid.
type Lacking struct {
	Dataset int          `json:"dataset"` // of several, which
	Episode string       `json:"episode"`
	Stream  string       `json:"stream"`
	Note    dataset.Note `json:"-"`       // why
	Windows int          `json:"windows"` // of the episode, in an epoch
}

// LackingError says that an episode has no samples of a stream of the plan: with Options.Strict of any, else of a stream that no episode has.
type LackingError struct {
	Lacking
	All bool // no episode has any
}

func (e *LackingError) Error() string {
	if e.All {
		return fmt.Sprintf("loader: stream %s: none of the episodes has samples of it to draw: episode %s: %s", e.Stream, e.Episode, e.Note.Reason())
	}
	return fmt.Sprintf("loader: stream %s: episode %s has no samples of it: %s", e.Stream, e.Episode, e.Note.Reason())
}

// ErrorNotes returns the note.
func (e *LackingError) ErrorNotes() dataset.Notes { return dataset.Notes{e.Note} }

// Unwrap returns dataset.ErrMissing.
func (e *LackingError) Unwrap() error { return dataset.ErrMissing }

// lacking lists the streams of the plan that an episode has no samples of, and why.
func (c *chosen) lacking(i int, e *dataset.Episode, about *Episode, p *align.Prepared) (list []Lacking) {
	for m := range c.plan.Streams {
		name, from := c.plan.Streams[m].Name, cmp.Or(c.plan.Streams[m].From, c.plan.Streams[m].Name)
		if slices.ContainsFunc(p.Streams, func(s align.PreparedStream) bool { return s.Name == name && s.Len() > 0 }) {
			continue
		}
		which, _ := c.from.place(i)
		list = append(list, Lacking{Dataset: which, Episode: about.Name, Stream: name, Note: whyEmpty(e, about, p, from)})
	}
	return list
}

// whyEmpty returns a note that explains why a recording has no samples of a stream.
func whyEmpty(e *dataset.Episode, about *Episode, p *align.Prepared, name string) dataset.Note {
	for i, notes := range []dataset.Notes{about.Notes, p.Notes, e.Notes} {
		if n := notes.LeftOut(name); n != nil && (i == 0 || n.Code != dataset.CodeNoSamples) {
			return *n
		}
	}
	return dataset.Note{Code: dataset.CodeNoStreamOfName, Subject: name}
}

// refusedNote is about an episode that cannot be taken.
func refusedNote(episode string, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeRefused, Subject: episode, Detail: dataset.Detail{Cause: ofEpisode(err)}}
}

// ofEpisode returns an error without the number of the episode, which the subject of a note has.
func ofEpisode(err error) error {
	if bad := (*dataset.EpisodeError)(nil); errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

// skippedNote is about an episode that cannot be read.
func skippedNote(number int, err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeEpisodeUnread, Subject: strconv.Itoa(number), Row: dataset.At(number), Detail: dataset.Detail{Cause: ofEpisode(err)}}
}
