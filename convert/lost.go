package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// LostError says that an episode lost streams or cameras that others have, and why.
type LostError struct {
	Notes dataset.Notes // of each; Subject is its name in the recording
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

// SpoiledError says which episodes that were written lack what a later one has, since they lost it: the piece is made again without them.
type SpoiledError struct{ Episodes map[int]error }

func (e *SpoiledError) Error() string { return e.Episodes[e.first()].Error() }

// first is the number of the first of them.
func (e *SpoiledError) first() int { return slices.Min(slices.Collect(maps.Keys(e.Episodes))) }

// lostOf lists why streams and cameras of a recording are not on its clock or no streams at all, by their names.
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

// reasonOf returns why an episode lacks a stream. Arrays of a stream are called by its name, a point, and what they are.
func reasonOf(lost map[string]dataset.Note, stream string) (why dataset.Note, ok bool) {
	for _, name := range []string{stream, stream + ".values", stream + ".times", ""} {
		if why, ok = lost[name]; ok {
			break
		}
	}
	why.Subject = stream
	return why, ok
}

// lostAmong returns a *LostError of those of some streams that an episode lost, nil if it did not lose any.
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

// lossy is an episode that was written, and why it lacks what it lacks.
type lossy struct {
	number int
	lost   map[string]dataset.Note
}

// ExtraStreamError says that an episode has a stream or camera that the first has not, so that a dataset of the first's would lose it.
type ExtraStreamError struct {
	Streams []string // by their names in the recording
	Episode string
	Number  int // of the episode
	First   string
}

func (e *ExtraStreamError) Error() string {
	return fmt.Sprintf("convert: episode %d, %s, has %s, which the first episode, %s, has not: want to leave that out or to skip such episodes "+
		"(LeRobotOptions.Extra), or a plan of streams that all have", e.Number, e.Episode, strings.Join(e.Streams, ", "), e.First)
}

// Unwrap returns dataset.ErrMissing.
func (e *ExtraStreamError) Unwrap() error { return dataset.ErrMissing }

// compare finds what an episode has and the first has not, and what it lacks. Whoever lost it is the one to do without, the episode or those before it;
// what the first never had is left out if that is asked for.
func (l *leRobotWriter) compare(e *Episode, own *dataset.Episode, names map[string]string, kept *Kept) error {
	if l.has == nil {
		return nil
	}
	has := map[string]bool{}
	var found []string
	look := func(name string) {
		feature := cmp.Or(names[name], name)
		if has[feature] = true; l.has[feature] == "" {
			found = append(found, name)
		}
	}
	for i := range own.Streams {
		look(own.Streams[i].Name)
	}
	for i := range own.Media {
		look(own.Media[i].Name)
	}
	var lacks []string
	for _, feature := range slices.Sorted(maps.Keys(l.has)) {
		if !has[feature] {
			lacks = append(lacks, l.has[feature])
		}
	}
	if err := lostAmong(e.Lost, lacks); err != nil {
		return &RefusedError{err}
	}
	if l.opt.Extra != "drop" {
		if err := l.spoiled(e, found); err != nil {
			return err
		}
	}
	if len(found) == 0 || l.opt.Extra == "skip" { // the writer refuses the episode
		return nil
	}
	if l.opt.Extra == "error" {
		return &ExtraStreamError{Streams: found, Episode: e.Name, Number: e.Number, First: l.first}
	}
	drop := func(name string, n int) bool {
		if !slices.Contains(found, name) {
			return false
		}
		delete(kept.Samples, name)
		kept.leave(name, n, dataset.Note{Code: dataset.CodeNotInFirst})
		return true
	}
	own.Streams = slices.DeleteFunc(own.Streams, func(s dataset.Stream) bool { return drop(s.Name, s.Len()) })
	own.Media = slices.DeleteFunc(own.Media, func(m dataset.Media) bool { return drop(m.Name, m.Len()) })
	return nil
}

// spoiled returns a *SpoiledError of the episodes that were written and lost what an episode has: streams that were found more than the first has, and
// those that are left out of all as their numbers are not finite, where those of this episode are.
func (l *leRobotWriter) spoiled(e *Episode, found []string) error {
	for name := range l.left {
		if _, lost := e.Lost[name]; !lost && e.Stream(name) != nil {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	spoiled := &SpoiledError{map[int]error{}}
	for _, before := range l.lossy {
		if err := lostAmong(before.lost, found); err != nil {
			spoiled.Episodes[before.number] = err
		}
	}
	if len(spoiled.Episodes) == 0 {
		return nil
	}
	return spoiled
}
