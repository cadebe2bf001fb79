package batching

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
)

// mostRemarks is how many remarks of a kind there are.
const mostRemarks = 20

// Remarks says of a loader's report what a trainer should know before it draws: what the recordings say themselves, episodes that lack a stream, and
// samples that are not finite. sentence returns the text of a note: notetext.Text.
func Remarks(r *loader.Report, sentence func(dataset.Note) string) (list []string) {
	for i, s := range r.Said {
		if i == mostRemarks {
			list = append(list, fmt.Sprintf("%d remarks more of recordings", len(r.Said)-i))
			break
		}
		list = append(list, said(s.Text, s.Episode, s.Episodes, r.Episodes))
	}
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
			list = append(list, fmt.Sprintf("%d reasons more why episodes have no samples of a stream", len(lacking)-i))
			break
		}
		who, have := "episode "+s.first.Episode, "has"
		if s.episodes > 1 {
			who, have = fmt.Sprintf("%s and %d more", who, s.episodes-1), "have"
		}
		list = append(list, fmt.Sprintf("stream %s: %s %s no samples of it (%s): in the %d windows there it has the fill value, and is not valid", s.first.Stream, who, have, sentence(s.first.Note), s.windows))
	}
	for _, s := range r.Streams {
		if s.NotFinite != nil && *s.NotFinite > 0 {
			list = append(list, fmt.Sprintf("stream %s: %d of %d samples are not finite, and are drawn as they are: valid, and left out of statistics", s.Name, *s.NotFinite, s.Samples))
		}
	}
	return list
}

// said is what some of the episodes say.
func said(text, first string, episodes, of int) string {
	switch {
	case of == 1:
		return text
	case episodes == 1:
		return "episode " + first + ": " + text
	}
	return fmt.Sprintf("episode %s and %d more: %s", first, episodes-1, text)
}

// StoreRemarks are those of a store's recordings, each once, with the episodes that have it, and which streams are not in the order of time there.
func StoreRemarks(ctx context.Context, s *loader.Store) (list []string, err error) {
	type alike struct {
		text, first string
		episodes    int
	}
	var all []*alike
	at := map[string]*alike{}
	add := func(episode, text string) {
		if at[text] == nil {
			at[text] = &alike{text, episode, 0}
			all = append(all, at[text])
		}
		at[text].episodes++
	}
	for i := range s.Episodes {
		for _, text := range s.Episodes[i].Remarks {
			add(s.Episodes[i].Name, text)
		}
		err := s.Guard(func() error {
			e, err := s.Episode(ctx, i)
			if err != nil {
				return err
			}
			for k := range e.Streams {
				var wrong *align.DisorderError
				if errors.As(align.Disorder(&e.Streams[k]), &wrong) {
					add(e.Name, fmt.Sprintf("%s: %s; it is packed as it is, and batches --unordered sort takes it", e.Streams[k].Name, wrong.What))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i, a := range all {
		if i == mostRemarks {
			return append(list, fmt.Sprintf("%d remarks more of recordings", len(all)-i)), nil
		}
		list = append(list, said(a.text, a.first, a.episodes, s.Len()))
	}
	return list, nil
}
