package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader/store"
)

// NotState is a stream of a dataset that is not taken as a state: by its name, unless a plan names it, or a camera that a plan names.
type NotState struct {
	Stream string `json:"stream"`
	Reason string `json:"reason"`
}

// Camera is the Reason of a stream that a plan names and a policy cannot take; conversions and batches by the same plan have it.
const Camera = "a camera, of which a policy has none"

// findCameras notes which streams of the plan the dataset declares as cameras.
func (c *Config) findCameras(info dataset.Info) error {
	p, err := c.readPlan()
	if err != nil {
		return err
	}
	for _, s := range p.Streams {
		if info.DeclaresMedia(cmp.Or(s.From, s.Name)) {
			c.NotStates = append(c.NotStates, NotState{s.Name, Camera})
		}
	}
	if n := len(c.NotStates); n > 0 && n == len(p.Streams) {
		return p.Mistake("streams", "cameras alone", "states and actions beside them: a policy is of numbers")
	}
	return nil
}

// passOver takes the cameras out of a plan that names streams.
func (c *Config) passOver(p *align.Plan) {
	if len(p.Streams) == 0 {
		return
	}
	for _, n := range c.NotStates {
		p.Streams = slices.DeleteFunc(p.Streams, func(s align.Stream) bool { return s.Name == n.Stream })
		delete(p.Windows, n.Stream)
	}
}

// Times are the columns of states and of the action that are times or indices by their names.
func (c *Config) Times() (list []Column) {
	for _, s := range append(slices.Clone(c.States), c.Action) {
		for _, name := range s.Columns {
			if recognise.IsTime(name) {
				list = append(list, Column{Stream: s.Name, Name: name})
			}
		}
	}
	return list
}

// choose takes the streams of a store that the options name, or that can be states, and the action, for a plan that names none.
func (c *Config) choose(store *store.Store, p *align.Plan, o *Options) error {
	var names []string
	for i := range store.Streams {
		names = append(names, store.Streams[i].Name)
	}
	there := func(arg, name string) error {
		if slices.Contains(names, name) {
			return nil
		}
		return refuse(arg, fmt.Sprintf("%q", name)+text.DidYouMean(name, names), "one of "+strings.Join(names, ", "))
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
			return refuse("States", fmt.Sprintf("%q twice, or as the action too", name), "each stream once")
		}
	}
	for _, name := range names {
		switch reason := recognise.NotState(name); {
		case o.isAction(name), slices.Contains(o.States, name), len(o.States) == 0 && reason == "":
			p.Streams = append(p.Streams, align.Stream{Name: name})
		case len(o.States) == 0:
			c.NotStates = append(c.NotStates, NotState{name, reason})
		}
	}
	return nil
}
