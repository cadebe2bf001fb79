package loader

import (
	"context"
	"fmt"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/loader/store"
)

// MixtureError means that a store cannot be drawn from together with the stores before it. It is dataset.ErrOption.
type MixtureError struct {
	Store     int // its index in the list of stores
	What      string
	Got, Want string
}

func (e *MixtureError) Error() string {
	return fmt.Sprintf("loader: store %d: %s: got %s, want %s", e.Store, e.What, e.Got, e.Want)
}

// Unwrap returns dataset.ErrOption.
func (e *MixtureError) Unwrap() error { return dataset.ErrOption }

// stores numbers several stores' episodes in one sequence.
type stores []*store.Store

func (s stores) Len() int {
	n := 0
	for _, store := range s {
		n += store.Len()
	}
	return n
}

// Read returns an episode. Its streams have the first store's columns.
func (s stores) Read(ctx context.Context, i int) (*dataset.Episode, *store.Episode, error) {
	holder, i := s.of(i)
	e, recorded, err := holder.Read(ctx, i)
	if err != nil || holder == s[0] {
		return e, recorded, err
	}
	about := *recorded
	for k := range e.Streams {
		if want := s[0].Stream(e.Streams[k].Name); want != nil {
			if _, err = about.Fit(&e.Streams[k], want.Columns, false); err != nil { // a stream that does not fit is not drawn
				return nil, recorded, err
			}
		}
	}
	for k := range e.Empty {
		if want := s[0].Stream(e.Empty[k].Name); want != nil {
			e.Empty[k].Columns = want.Columns
		}
	}
	e.Notes = about.Notes
	return e, &about, nil
}

func (s stores) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	store, i := s.of(i)
	return store.Episode(ctx, i)
}

func (s stores) Format() string { return s[0].Format() }

func (s stores) GuardEpisode(i int, do func() error) error {
	store, i := s.of(i)
	return store.GuardEpisode(i, do)
}

// of returns the store of episode i in the common sequence, and the episode's index in that store.
func (s stores) of(i int) (*store.Store, int) {
	for ; i >= s[0].Len(); s = s[1:] {
		i -= s[0].Len()
	}
	return s[0], i
}

// Guard calls do under all stores' guards.
func (s stores) Guard(do func() error) error {
	if len(s) == 0 {
		return do()
	}
	return s[0].Guard(func() error { return s[1:].Guard(do) })
}

// whole returns the packed stream with a name, if there is only one store.
func (s stores) whole(name string) *store.Stream {
	if len(s) > 1 {
		return nil
	}
	return s[0].Stream(name)
}

// alike returns a *MixtureError if a store lacks a plan's stream, or has it with other columns or another dtype than the first
// store.
func (s stores) alike(i int, plan *align.Plan) error {
	if i == 0 {
		return nil
	}
	for _, p := range plan.Streams {
		name := p.Source()
		want, got := s[0].Stream(name), s[i].Stream(name)
		switch {
		case want == nil: // Prepare reports it
		case got == nil:
			return &MixtureError{i, "stream " + name, "none", "one, as the first store has it"}
		case !store.Fits(want.Columns, got.Columns):
			return &MixtureError{i, "stream " + name, fmt.Sprintf("%d columns: %s", len(got.Columns), columnNames(got.Columns)),
				fmt.Sprintf("the %d of the first store: %s", len(want.Columns), columnNames(want.Columns))}
		case got.DType() != want.DType():
			return &MixtureError{i, "stream " + name, got.DType().String(), fmt.Sprintf("%s, as the first store has it", want.DType())}
		}
	}
	return nil
}

func (s stores) Place(i int) (store, number int) {
	for k, o := range s {
		if i < o.Len() {
			return k, o.Episodes[i].Number
		}
		i -= o.Len()
	}
	return len(s), i
}

// columnNames returns the names of the first few columns, for errors.
func columnNames(list []dataset.Column) string {
	names := columns.Names(list)
	if len(names) > 8 {
		names = append(names[:8], "...")
	}
	return strings.Join(names, ", ")
}
