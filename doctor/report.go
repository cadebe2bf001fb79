package doctor

import (
	"github.com/robocache/robocache/dataset"
)

// Report is what was found, and in what. Findings are in order: those of the dataset first, then by episode; within it errors first.
type Report struct {
	Findings []Finding `json:"findings"`
	Checked  Checked   `json:"checked"`

	together *schema // of the first dataset; nil if nothing was read
}

// Add appends the report on another dataset. Where both are of one robot, as the names of their streams say, what differs between them and the first is
// found, too: columns, rates, streams that one of them lacks.
func (r *Report) Add(o *Report) {
	if o.together != nil && r.together != nil {
		r.Findings = append(r.Findings, o.together.compare(r.together)...)
	} else if r.together == nil {
		r.together = o.together
	}
	r.Findings = append(r.Findings, o.Findings...)
	c, d := &r.Checked, &o.Checked
	c.Paths = append(c.Paths, d.Paths...)
	c.Episodes += d.Episodes
	c.Unread += d.Unread
	c.Streams += d.Streams
	c.Cameras += d.Cameras
	c.Clouds += d.Clouds
	c.Samples += d.Samples
	c.Frames += d.Frames
	c.Values += d.Values
	c.Unlisted += d.Unlisted
	c.Rates = append(c.Rates, d.Rates...)
	c.Kinds = d.Kinds
}

// Count returns how many findings are as bad as that, or worse.
func (r *Report) Count(least Severity) (n int) {
	for i := range r.Findings {
		if r.Findings[i].Severity.AtLeast(least) {
			n++
		}
	}
	return n
}

// Of returns the findings of one episode, or with Whole those of the dataset.
func (r *Report) Of(episode int) (list []Finding) {
	for _, f := range r.Findings {
		if f.Episode == episode {
			list = append(list, f)
		}
	}
	return list
}

// Checked is what a report is about.
type Checked struct {
	Paths    []Source `json:"paths"`
	Episodes int      `json:"episodes"` // that were read
	Unread   int      `json:"unread"`   // that could not be, each of which is a finding
	Streams  int      `json:"streams"`  // of numbers, over all episodes
	Cameras  int      `json:"cameras"`  // media streams, over all episodes
	Clouds   int      `json:"clouds"`   // series of point clouds, over all episodes
	Samples  int      `json:"samples"`  // of the streams
	Frames   int      `json:"frames"`   // of the cameras
	Values   int      `json:"values"`   // numbers that were looked at
	Rates    []Rate   `json:"rates"`    // of each clock, those that streams share once
	Kinds    []Kind   `json:"kinds"`    // that were looked for
	Unlisted int      `json:"unlisted"` // findings beyond MostOfKind of one kind and stream, which are counted only
}

func (c *Checked) add(e *dataset.Episode, values int) {
	c.Episodes++
	c.Streams += len(e.Streams)
	c.Cameras += len(e.Media)
	c.Clouds += len(e.Clouds)
	c.Values += values
	for i := range e.Streams {
		c.Samples += e.Streams[i].Len()
	}
	for i := range e.Media {
		c.Frames += e.Media[i].Len()
	}
}

// Rate is how fast a stream is, over its episodes.
type Rate struct {
	Path     string  `json:"path,omitempty"`
	Stream   string  `json:"stream"` // the first of those that share the clock
	Episodes int     `json:"episodes"`
	Lowest   float64 `json:"lowest_hz"`  // 1e9 by the median step of the slowest episode
	Highest  float64 `json:"highest_hz"` // and of the fastest
	Jitter   int64   `json:"jitter_ns"`  // the most of an episode: the 95th percentile of |step - median|
}

// Source is one recording or dataset.
type Source struct {
	Path     string `json:"path"`
	Name     string `json:"name"`
	Format   string `json:"format"`
	Episodes int    `json:"episodes"`
}

// MostOfKind is how many findings of one kind in one stream of a dataset are listed: of a dataset of a hundred thousand episodes that all have the
// same fault, one reads a few, and the number.
const MostOfKind = 1000
