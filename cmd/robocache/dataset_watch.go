package main

import (
	"errors"
	"os"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/pflag"
)

// ranked sets the rank of a command from its flags or from the environment, and prints the source.
func (a *app) ranked(rank, world *int, f *pflag.FlagSet) error {
	flags := [2]*int{rank, world}
	for i, name := range []string{"rank", "world"} {
		if !f.Changed(name) {
			flags[i] = nil
		}
	}
	p, err := batching.PlaceOf(flags[0], flags[1], os.Getenv, spelling(f))
	if err != nil {
		return err
	}
	*rank, *world = p.Index, p.Count
	if text := p.String(); text != "" && (flags[0] == nil || flags[1] == nil) {
		a.Remark("%s", text)
	}
	return nil
}

// watch prints the progress and the notes while datasets are opened.
func (a *app) watch(notes *noteList) batching.Watch {
	return batching.Watch{Step: a.Step, Note: func(n dataset.Note) {
		notes.notes(dataset.Notes{n})
		notes.print(a)
	}, Counting: func(what string, of int) (one, done func()) {
		bar := a.Counting(what, of)
		return func() { bar.Add(1) }, bar.Done
	}}
}

// explainDrawn maps a loader's error for a dataset that must fit the device.
func explainDrawn(r *batching.Request, err error) error {
	var memory *ops.MemoryError
	if errors.As(err, &memory) {
		return err
	}
	return r.Explain(err)
}
