package inspection

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/text"
)

// MostRemarks is how many lines of a kind one reads.
const MostRemarks = 20

// room is how many bytes of episodes Look has in memory, unless one alone has more.
const room = 32 << 20

// Options say what Look reads.
type Options struct {
	Episode int    // the only one to read, from 0 to one less than there are; -1 for all
	Strict  bool   // the first episode that cannot be read is the error of all; else it is a problem of the dataset
	Next    func() // called before what is said of each episode that was read, unless nil
}

// Look reads an episode, or all of them, and says what they hold; path is that of the dataset. It also returns the one that was asked for, or the only one,
// which is nil if there are several. An episode that cannot be read is an error as the dataset has it where it is the only one, or Options.Strict.
func Look(ctx context.Context, path string, d dataset.Dataset, opt Options) (*Report, *dataset.Episode, error) {
	n := d.Len()
	var sum dataset.Summary
	var remarks, kinds, unread []string
	more, alike := 0, map[string]int{} // remarks than one reads; those that say the same of other episodes, by their words
	remark := func(where, text string) {
		words := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == '.' {
				return -1
			}
			return r
		}, text)
		if alike[words]++; where != "" && alike[words] > 1 {
			return
		}
		if len(remarks) == MostRemarks {
			more++
			return
		}
		remarks = append(remarks, where+text)
		kinds = append(kinds, words)
	}
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
	at := max(opt.Episode, 0) - 1
	for e, err := range list {
		at++
		if opt.Next != nil {
			opt.Next()
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil && (numbers == 1 || opt.Strict):
			var only *dataset.EpisodeError
			if n == 1 && errors.As(err, &only) {
				err = only.Err
			}
			return nil, nil, err
		case err != nil:
			unread = append(unread, err.Error())
			continue
		}
		where := ""
		if numbers > 1 {
			where = fmt.Sprintf("episode %d, %s: ", at, e.Name)
		}
		for _, lost := range notetext.Lost(e.Notes) {
			remark(where, lost)
		}
		for _, r := range e.Remarks {
			remark(where, r)
		}
		steps = steps || e.Steps
		sum.Add(e)
		for i := range e.Clouds {
			c := &e.Clouds[i]
			if _, seen := firsts[c.Name]; seen || c.Len() == 0 {
				continue
			}
			first, err := c.Cloud(ctx, 0)
			if err != nil {
				remark(where, "the first cloud cannot be read: "+err.Error())
				continue
			}
			firsts[c.Name] = Clouds{Points: first.Len(), Columns: Columns(first.Columns)}
		}
		if numbers == 1 { // else it would be held while the next ones are read
			one = e
		}
	}
	found := reportOf(path, opt.Episode >= 0, d, &sum, firsts)
	for _, u := range unread {
		where, what, _ := strings.Cut(u, ": ")
		found.Problems = append(found.Problems, Problem{where, what, nil})
	}
	for i := range sum.Streams {
		if s := &sum.Streams[i]; s.Lossy > 0 {
			remark("", fmt.Sprintf("%s: whole numbers that are rounded since %s does not hold them: %d", s.Name, s.DType, s.Lossy))
		}
	}
	for i, words := range kinds {
		if n := alike[words] - 1; n > 0 {
			remarks[i] += fmt.Sprintf(" (and alike of %s)", text.Count(n, "more episode"))
		}
	}
	if more > 0 {
		remarks = append(remarks, fmt.Sprintf("and %d more", more))
	}
	found.Remarks = append(found.Remarks, remarks...)
	if steps {
		found.Remarks = append(found.Remarks, "no times: timestamps count steps, a second each, unless --rate says how many a second there are")
	}
	if numbers == 1 && one != nil {
		found.Episode = &Episode{Number: max(opt.Episode, 0), Name: one.Name, Success: one.Attributes.Success, Attributes: one.Attributes.Other}
	}
	return found, one, nil
}

func episodes(n int) string { return text.Count(n, "episode") }
