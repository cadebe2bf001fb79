package loader

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/loader/store"
)

// Lacking is an episode without samples in a drawn stream. In its windows the stream has the fill value and is not valid.
type Lacking struct {
	Dataset int          `json:"dataset"` // the dataset's index, if there are several
	Episode string       `json:"episode"`
	Stream  string       `json:"stream"`
	Note    dataset.Note `json:"-"`       // the reason why there are no samples
	Windows int          `json:"windows"` // the episode's windows in an epoch
}

// LackingError means that an episode lacks samples of a plan's stream. With Options.Strict that is an error for any episode, else
// only if no episode has samples.
type LackingError struct {
	Lacking
	All bool // set if no episode has samples
}

func (e *LackingError) Error() string {
	if e.All {
		return fmt.Sprintf("loader: stream %s: no episode has samples to draw: episode %s: %s", e.Stream, e.Episode, e.Note.Reason())
	}
	return fmt.Sprintf("loader: stream %s: episode %s has no samples: %s", e.Stream, e.Episode, e.Note.Reason())
}

// ErrorNotes returns Note.
func (e *LackingError) ErrorNotes() dataset.Notes { return dataset.Notes{e.Note} }

// Unwrap returns dataset.ErrMissing.
func (e *LackingError) Unwrap() error { return dataset.ErrMissing }

// whyEmpty returns a note that explains why a recording has no samples of a stream.
func whyEmpty(e *dataset.Episode, about *store.Episode, p *prepared.Recording, name string) dataset.Note {
	for i, notes := range []dataset.Notes{about.Notes, p.Notes, e.Notes} {
		if n := notes.LeftOut(name); n != nil && (i == 0 || n.Code != dataset.CodeNoSamples) {
			return *n
		}
	}
	most := dataset.Note{Code: dataset.CodeNoStreamOfName, Subject: name}
	for _, n := range e.Notes { // for example: no depth image has a point in the box
		if n.Subject == name && n.Count > most.Count {
			most = n
		}
	}
	return most
}
