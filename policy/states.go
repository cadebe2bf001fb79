package policy

import (
	"fmt"
	"regexp"
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

// notStates are what is no state where the plan names no streams: what knows the future, what no robot senses, and the action in another form. An element of
// a stream's name, between dots or slashes, is of a kind if the expression finds something in it; the first kind counts.
var notStates = []struct {
	reason string
	names  *regexp.Regexp
}{
	{"of the tick to come", regexp.MustCompile(`^next($|_)`)},
	{"an annotation", regexp.MustCompile(`^annotations?($|_)`)},
	{"a reward, or where an episode ends", regexp.MustCompile(`^(rewards?|discount|dones?|terminals?|terminated|truncated|success)$|^is_`)},
	{"a form of the action", regexp.MustCompile(`^(rel_|abs_|delta_)?actions?($|_)`)},
	{"language", regexp.MustCompile(`^(language|instruction)|(^|_)embeddings?$`)},
	{"a time or an index", regexp.MustCompile(`(^|_)(timestamps?|index)$|^(time|step|tick)s?$`)},
}

// notState returns why a stream is no state; "" if it can be one.
func notState(stream string) string {
	elements := strings.FieldsFunc(strings.ToLower(stream), func(r rune) bool { return r == '.' || r == '/' })
	for _, kind := range notStates {
		if slices.ContainsFunc(elements, kind.names.MatchString) {
			return kind.reason
		}
	}
	return ""
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
		switch reason := notState(name); {
		case o.isAction(name), slices.Contains(o.States, name), len(o.States) == 0 && reason == "":
			p.Streams = append(p.Streams, align.Stream{Name: name})
		case len(o.States) == 0:
			c.NotStates = append(c.NotStates, NotState{name, reason})
		}
	}
	return nil
}
