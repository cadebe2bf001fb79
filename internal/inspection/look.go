package inspection

import (
	"context"
	"errors"
	"runtime"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/text"
)

// MostRemarks is how many lines of a kind one reads.
const MostRemarks = 20

// room is how many bytes of episodes Look has in memory, unless one alone has more.
const room = 32 << 20

// Options select the episodes that Look reads.
type Options struct {
	Episode int    // the index of the only episode to read; -1 for all
	Strict  bool   // return the error of the first episode that cannot be read; otherwise it becomes a problem of the report
	Next    func() // called before each episode is added to the report, unless nil
}

// Look reads one episode or all, and reports their contents; path is that of the dataset. It also returns the selected or only episode,
// which is nil if there are several. If the only episode cannot be read, or with Options.Strict, Look returns the error of the dataset.
func Look(ctx context.Context, path string, d dataset.Dataset, opt Options) (*Report, *dataset.Episode, error) {
	n := d.Len()
	var sum dataset.Summary
	var unread []Problem
	var notes dataset.EpisodeNotes
	var one *dataset.Episode
	steps := false
	firsts := map[string]Clouds{} // of each series, what is said of its first cloud
	list, numbers := dataset.ParallelWithin(ctx, d, runtime.GOMAXPROCS(0), room), n
	if opt.Episode >= 0 {
		numbers = 1
		list = func(yield func(*dataset.Episode, error) bool) {
			e, err := d.Episode(ctx, opt.Episode)
			yield(e, err)
		}
	}
	info := d.Info()
	place := max(opt.Episode, 0) - 1
	for e, err := range list {
		place++
		at := info.Number(place)
		if opt.Next != nil {
			opt.Next()
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil && (numbers == 1 || opt.Strict || dataset.IsFatal(err)):
			var only *dataset.EpisodeError
			if n == 1 && errors.As(err, &only) {
				err = only.Err
			}
			return nil, nil, err
		case err != nil:
			var of *dataset.EpisodeError
			if errors.As(err, &of) {
				err = of.Err
			}
			n := dataset.Note{Code: dataset.CodeEpisodeUnread, Subject: strconv.Itoa(at), Count: 1, Row: dataset.At(at), Detail: dataset.Detail{Cause: err}}
			unread = append(unread, Problem{"episode " + n.Subject, err.Error(), notetext.EntryOf(n)})
			continue
		}
		notes.Add(at, e.Name, e.Notes.Of(dataset.ClassDamage, dataset.ClassRemark))
		steps = steps || e.Steps
		sum.Add(e)
		for i := range e.Clouds {
			c := &e.Clouds[i]
			if _, seen := firsts[c.Name]; seen || c.Len() == 0 {
				continue
			}
			first, err := c.Cloud(ctx, 0)
			if dataset.IsFatal(err) {
				return nil, nil, err
			}
			if err != nil {
				notes.Add(at, e.Name, dataset.Notes{{Code: dataset.CodeCloudUnread, Subject: c.Name, Detail: dataset.Detail{Cause: err}}})
				continue
			}
			firsts[c.Name] = Clouds{Points: first.Len(), Columns: Columns(first.Columns)}
		}
		if numbers == 1 { // else it would be held while the next ones are read
			one = e
		}
	}
	found := reportOf(path, opt.Episode >= 0, d, &sum, firsts)
	found.Problems = append(found.Problems, unread...)
	for _, l := range sum.LeftOut {
		notes.List = append(notes.List, dataset.EpisodeNote{Note: l.Note, Episodes: l.Episodes})
	}
	for i := range sum.Streams {
		if s := &sum.Streams[i]; s.Lossy > 0 {
			notes.Join(dataset.EpisodeNote{Note: dataset.Note{Code: dataset.CodeIntegersRounded, Subject: s.Name, Count: s.Lossy, Detail: dataset.Detail{Got: s.DType}}})
		}
	}
	if steps {
		notes.Join(dataset.EpisodeNote{Note: dataset.Note{Code: dataset.CodeStepsOnly}})
	}
	found.Notes = notes
	if numbers == 1 && one != nil {
		found.Episode = &Episode{Number: info.Number(max(opt.Episode, 0)), Name: one.Name, Success: one.Attributes.Success, Attributes: one.Attributes.Other}
	}
	return found, one, nil
}

func episodes(n int) string { return text.Count(n, "episode") }
