package loader

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// Lacking is an episode that has no samples of a stream that is drawn. Its windows are drawn with the fill value there, which is not valid.
type Lacking struct {
	Dataset int    `json:"dataset"` // of several, which
	Episode string `json:"episode"`
	Stream  string `json:"stream"`
	Reason  string `json:"reason"`
	Windows int    `json:"windows"` // of the episode, in an epoch
}

// LackingError says that an episode has no samples of a stream of the plan: with Options.Strict of any, else of a stream that no episode has.
type LackingError struct {
	Lacking
	All bool // no episode has any
}

func (e *LackingError) Error() string {
	if e.All {
		return fmt.Sprintf("loader: stream %s: none of the episodes has samples of it to draw: episode %s: %s", e.Stream, e.Episode, e.Reason)
	}
	return fmt.Sprintf("loader: stream %s: episode %s has no samples of it: %s", e.Stream, e.Episode, e.Reason)
}

// Unwrap returns dataset.ErrMissing.
func (e *LackingError) Unwrap() error { return dataset.ErrMissing }

// lacking lists the streams of the plan that an episode has no samples of, and why.
func (c *chosen) lacking(i int, e *dataset.Episode, about *Episode, p *align.Prepared) (list []Lacking) {
	for m := range c.plan.Streams {
		name, from := c.plan.Streams[m].Name, cmp.Or(c.plan.Streams[m].From, c.plan.Streams[m].Name)
		if slices.ContainsFunc(p.Streams, func(s align.PreparedStream) bool { return s.Name == name && s.Len() > 0 }) {
			continue
		}
		which, _ := c.from.place(i)
		list = append(list, Lacking{Dataset: which, Episode: about.Name, Stream: name, Reason: whyEmpty(e, about, p, from)})
	}
	return list
}

// noSamples is why an episode lacks a stream that others have.
const noSamples = "no samples"

// whyEmpty says why a recording has no samples of a stream.
func whyEmpty(e *dataset.Episode, about *Episode, p *align.Prepared, name string) string {
	for _, l := range about.LeftOut {
		if l.Name == name && l.Reason != "" {
			return l.Reason
		}
	}
	for _, l := range p.LeftOut {
		if l.Name == name && l.Reason != "" && l.Reason != noSamples {
			return l.Reason
		}
	}
	for _, l := range e.LeftOut {
		if l.Name == name && l.Reason != "" && l.Reason != noSamples {
			return l.Reason
		}
	}
	return "it has no such stream"
}
