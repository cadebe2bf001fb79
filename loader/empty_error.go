package loader

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// EmptyError means that a plan leaves no window to draw, for example because its filter takes no episode.
type EmptyError struct {
	Episodes, Filtered int
	Trimmed            int           // ticks that Options.DropFirst and DropLast leave out
	Notes              dataset.Notes // the reasons why episodes are left out

	Filter        dataset.Filter
	Tasks, Splits []string // the tasks and splits that the episodes have
	// Succeeded and Failed count the episodes with a success flag.
	Succeeded, Failed int
}

// PassesNone returns the error for a filter that no episode passes.
func PassesNone(f dataset.Filter, episodes []*store.Episode) *EmptyError {
	e := &EmptyError{Episodes: len(episodes), Filtered: len(episodes), Filter: f}
	for _, about := range episodes {
		e.record(about)
	}
	return e
}

// record adds an episode's fields that a filter may test.
func (e *EmptyError) record(about *store.Episode) {
	if about.Task != "" && !slices.Contains(e.Tasks, about.Task) {
		e.Tasks = append(e.Tasks, about.Task)
	}
	for _, s := range about.Splits {
		if !slices.Contains(e.Splits, s) {
			e.Splits = append(e.Splits, s)
		}
	}
	if s := about.Success; s != nil && *s {
		e.Succeeded++
	} else if s != nil {
		e.Failed++
	}
}

func (e *EmptyError) Error() string {
	s := fmt.Sprintf("loader: no windows in %d episodes", e.Episodes)
	if e.Filtered > 0 {
		s = fmt.Sprintf("loader: no windows: of %d episodes the filter leaves out %d: %s", e.Episodes, e.Filtered, strings.Join(e.filterText(), "; "))
	}
	if e.Trimmed > 0 {
		s += fmt.Sprintf("; %d ticks at episode ends are left out", e.Trimmed)
	}
	if len(e.Notes) > 0 {
		s += "; " + text.Join(e.Notes.Groups(), 5, "; ", func(g *dataset.Notes) string { return g.Who() + ": " + (*g)[0].Reason() })
	}
	return s
}

// ErrorNotes returns Notes.
func (e *EmptyError) ErrorNotes() dataset.Notes { return e.Notes }

// Steps reports whether streams are left out because their timestamps count steps: see [store.NothingError].
func (e *EmptyError) Steps() bool {
	return slices.ContainsFunc(e.Notes, func(n dataset.Note) bool {
		var none *clocks.NoStreamsError
		return errors.As(n.Cause, &none) && none.Notes.Find(dataset.CodeStepTimes) != nil
	})
}

// filterText lists the filter's conditions, each with the values that episodes have.
func (e *EmptyError) filterText() (list []string) {
	one := func(what, got string, there []string) {
		if got == "" {
			return
		}
		state := fmt.Sprintf("%s %q", what, got)
		switch {
		case slices.Contains(there, got):
			state += ", which some have"
		case len(there) == 0:
			state += ", where no episode has a " + what
		default:
			quoted := make([]string, len(there))
			for i, name := range there {
				quoted[i] = strconv.Quote(name)
			}
			state += text.DidYouMean(got, there) + fmt.Sprintf(", where the %ss are ", what) + "[" + text.List(quoted, 12) + "]"
		}
		list = append(list, state)
	}
	one("split", e.Filter.Split, e.Splits)
	one("task", e.Filter.Task, e.Tasks)
	if s := e.Filter.Success; s != nil {
		list = append(list, fmt.Sprintf("success %t, where %d succeeded, %d failed and %d have no mark", *s, e.Succeeded, e.Failed, e.Episodes-e.Succeeded-e.Failed))
	}
	return list
}

// Unwrap returns ops.ErrMissing.
func (e *EmptyError) Unwrap() error { return ops.ErrMissing }
