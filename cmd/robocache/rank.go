package main

import (
	"os"

	"github.com/robocache/robocache/internal/batching"
)

// ranked fills in the rank of a command from its flags, of which some are given, and the environment, and says who said so.
func (a *app) ranked(rank, world *int, given func(flag string) bool) error {
	flags := [2]*int{rank, world}
	for i, name := range []string{"rank", "world"} {
		if !given(name) {
			flags[i] = nil
		}
	}
	p, err := batching.PlaceOf(flags[0], flags[1], os.Getenv)
	if err != nil {
		return err
	}
	*rank, *world = p.Index, p.Count
	if text := p.String(); text != "" && (flags[0] == nil || flags[1] == nil) {
		a.remark("%s", text)
	}
	return nil
}
