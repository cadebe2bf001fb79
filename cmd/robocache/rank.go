package main

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/robocache/robocache/internal/batching"
)

// ranked fills in the rank of a command from the flags that are given and from the environment, and prints where it is from.
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
		a.remark("%s", text)
	}
	return nil
}
