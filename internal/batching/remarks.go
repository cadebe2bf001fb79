package batching

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
)

// mostRemarks is the largest number of lines that Remarks returns, except for one that counts the others.
const mostRemarks = 20

// Remarks returns lines about episodes that lack a stream. Function sentence returns the text of a note: notetext.Text.
func Remarks(r *loader.Report, sentence func(dataset.Note) string) (list []string) {
	type same struct {
		first             *loader.Lacking
		episodes, windows int
	}
	var lacking []*same
	at := map[[2]string]*same{}
	for i := range r.Lacking {
		l := &r.Lacking[i]
		key := [2]string{l.Stream, l.Note.Reason()}
		s := at[key]
		if s == nil {
			s = &same{first: l}
			at[key], lacking = s, append(lacking, s)
		}
		s.episodes++
		s.windows += l.Windows
	}
	for i, s := range lacking {
		if i == mostRemarks {
			list = append(list, fmt.Sprintf("%d more reasons why episodes have no samples for a stream", len(lacking)-i))
			break
		}
		list = append(list, LackingLine(s.first, s.episodes, s.windows, sentence))
	}
	return list
}

// LackingLine returns the line about a stream without samples in some episodes. episodes and windows count them; l is the first one.
func LackingLine(l *loader.Lacking, episodes, windows int, sentence func(dataset.Note) string) string {
	who, have := "episode "+l.Episode, "has"
	if episodes > 1 {
		who, have = fmt.Sprintf("%s and %d more", who, episodes-1), "have"
	}
	return fmt.Sprintf("stream %s: %s %s no samples (%s): in the %d windows there it has the fill value, and is not valid", l.Stream, who, have, sentence(l.Note), windows)
}

// Notes returns the notes about samples that are not finite, and about windows in gaps whose values are valid.
func Notes(r *loader.Report) (notes dataset.Notes) {
	for _, s := range r.Streams {
		if s.NotFinite != nil && *s.NotFinite > 0 {
			notes.Add(dataset.Note{Code: dataset.CodeNotFiniteDrawn, Subject: s.Name, Count: *s.NotFinite, Detail: dataset.Detail{Of: s.Samples}})
		}
	}
	gaps := func(name string, n int, unlimited bool) {
		if n > 0 && unlimited {
			notes.Add(dataset.Note{Code: dataset.CodeWindowsInGaps, Subject: name, Count: n, Detail: dataset.Detail{Of: r.Windows}})
		}
	}
	for _, s := range r.Streams {
		gaps(s.Name, s.InGaps, s.Unlimited)
	}
	for _, c := range r.Cameras {
		gaps(c.Name, c.InGaps, c.Unlimited)
	}
	return notes
}

// StoreNotes returns the notes of a store's recordings, and notes about streams that are not sorted by time.
func StoreNotes(ctx context.Context, s *store.Store) ([]dataset.EpisodeNote, error) {
	var all dataset.EpisodeNotes
	for i := range s.Episodes {
		all.Add(i, s.Episodes[i].Name, s.Episodes[i].Notes.Of(dataset.ClassRemark))
		err := s.Guard(func() error {
			e, _, err := s.Read(ctx, i)
			if err != nil {
				return err
			}
			for k := range e.Streams {
				var wrong *cover.DisorderError
				if errors.As(cover.Disorder(&e.Streams[k]), &wrong) {
					wrong.Cure = ""
					all.Add(i, e.Name, dataset.Notes{{Code: dataset.CodePackedDisorder, Subject: e.Streams[k].Name, Detail: dataset.Detail{Cause: wrong}}})
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all.List, nil
}
