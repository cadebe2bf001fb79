package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/near"
	"github.com/robocache/robocache/loader"
)

// NotState is a stream of a dataset that is not taken as a state, since its name says what it is. A plan that names it takes it.
type NotState struct {
	Stream string `json:"stream"`
	Reason string `json:"reason"`
}

// choose takes the streams of a store that the options name, or that can be states, and the action, for a plan that names none.
func (c *Config) choose(store *loader.Store, p *align.Plan, o *Options) error {
	var names []string
	for i := range store.Streams {
		names = append(names, store.Streams[i].Name)
	}
	there := func(arg, name string) error {
		if slices.Contains(names, name) {
			return nil
		}
		return &OptionError{arg, fmt.Sprintf("%q", name) + near.DidYouMean(name, names), "one of " + strings.Join(names, ", ")}
	}
	if o.Action != "" {
		if err := there("Action", o.Action); err != nil {
			return err
		}
	}
	for i, name := range o.States {
		if err := there("States", name); err != nil {
			return err
		}
		if o.isAction(name) || slices.Contains(o.States[:i], name) {
			return &OptionError{"States", fmt.Sprintf("%q twice, or as the action too", name), "each stream once"}
		}
	}
	for _, name := range names {
		switch reason := align.NotState(name); {
		case o.isAction(name), slices.Contains(o.States, name), len(o.States) == 0 && reason == "":
			p.Streams = append(p.Streams, align.Stream{Name: name})
		case len(o.States) == 0:
			c.NotStates = append(c.NotStates, NotState{name, reason})
		}
	}
	return nil
}
