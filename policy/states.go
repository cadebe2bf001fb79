package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader/store"
)

// NotState is a stream in a dataset, or one column in it, that is not used as a state. Usually the policy may not read it, for
// example because it is a reward, and the plan names no streams. It can also be a camera that the plan names.
type NotState struct {
	Stream string `json:"stream"`
	Column string `json:"column,omitempty"` // empty if it is the whole stream
	Reason string `json:"reason"`
}

// String returns "STREAM (REASON)", or "COLUMN of STREAM (REASON)".
func (n NotState) String() string {
	what := n.Stream
	if n.Column != "" {
		what = n.Column + " of " + what
	}
	return fmt.Sprintf("%s (%s)", what, n.Reason)
}

// Code returns dataset.CodePlanCamera for a camera of a plan, else dataset.CodeNotState or dataset.CodeColumnsNotState.
func (n NotState) Code() dataset.Code {
	switch {
	case n.Reason == Camera:
		return dataset.CodePlanCamera
	case n.Column != "":
		return dataset.CodeColumnsNotState
	}
	return dataset.CodeNotState
}

// MarshalJSON adds the key "code".
func (n NotState) MarshalJSON() ([]byte, error) {
	type plain NotState
	return json.Marshal(struct {
		plain
		Code dataset.Code `json:"code"`
	}{plain(n), n.Code()})
}

// Camera is the Reason for a camera in a plan. A policy leaves it out instead of failing, because conversions and batches by the
// same plan use it.
const Camera = "a camera, but a policy takes none"

// findCameras adds the plan's streams that the dataset declares as cameras to NotStates.
func (c *Config) findCameras(info dataset.Info) error {
	p, err := c.readPlan()
	if err != nil {
		return err
	}
	for _, s := range p.Streams {
		if info.DeclaresMedia(s.Source()) {
			c.NotStates = append(c.NotStates, NotState{Stream: s.Name, Reason: Camera})
		}
	}
	if n := len(c.NotStates); n > 0 && n == len(p.Streams) {
		return p.Mistake("streams", "cameras alone", "states and actions next to them: a policy takes numbers")
	}
	return nil
}

// passOver removes the cameras from a plan that names streams.
func (c *Config) passOver(p *align.Plan) {
	if len(p.Streams) == 0 {
		return
	}
	for _, n := range c.NotStates {
		p.Streams = slices.DeleteFunc(p.Streams, func(s align.Stream) bool { return s.Name == n.Stream })
		delete(p.Windows, n.Stream)
	}
}

// Times returns the columns in the states and the action that are times or indices by their names, for example "frame_index".
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

// choose adds streams to a plan that names none: the action, and the states in the options or, without them, all that can be states.
func (c *Config) choose(store *store.Store, p *align.Plan, o *Options) error {
	var names []string
	for i := range store.Streams {
		names = append(names, store.Streams[i].Name)
	}
	there := func(arg, name string) error {
		if slices.Contains(names, name) {
			return nil
		}
		return refuse(arg, fmt.Sprintf("%q", name)+text.DidYouMean(name, names), "one of "+text.Closest(name, names))
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
	info := store.Info()
	for i, name := range names {
		s := align.Stream{Name: name}
		if !o.isAction(name) && !slices.Contains(o.States, name) {
			if len(o.States) > 0 {
				continue
			}
			var all bool
			if s.Columns, all = c.exclude(&info, &store.Streams[i]); all {
				continue
			}
		}
		p.Streams = append(p.Streams, s)
	}
	return nil
}

// exclude adds the reasons why a policy may not read a stream, or some of its columns, to NotStates. It returns the names of the other
// columns, or nil for all. all reports that no column is left, or that a plan cannot select the others by name.
func (c *Config) exclude(info *dataset.Info, s *store.Stream) (rest []string, all bool) {
	list := recognise.Exclusions(info, s.Name, s.Columns)
	if len(list) == 0 {
		return nil, false
	}
	names := columns.Names(s.Columns)
	reasons := make([]string, len(names))
	for _, x := range list {
		for _, i := range x.Columns {
			reasons[i] = x.Reason
		}
	}
	for i, name := range names {
		if reasons[i] == "" {
			rest = append(rest, name)
			all = all || !slices.Equal(columns.Find(s.Columns, name), []int{i})
		}
	}
	if all || list[0].Columns == nil || len(rest) == 0 {
		c.NotStates = append(c.NotStates, NotState{Stream: s.Name, Reason: list[0].Reason})
		return nil, true
	}
	for i, reason := range reasons {
		if reason != "" {
			c.NotStates = append(c.NotStates, NotState{Stream: s.Name, Column: names[i], Reason: reason})
		}
	}
	return rest, false
}
