package doctor

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
)

// Severity says how bad a finding is.
type Severity string

const (
	// Warning: what may be meant so, or can be put right while it is read.
	Warning Severity = "warning"
	// Error: what makes training learn something false, or a reader stop.
	Error Severity = "error"
)

// AtLeast reports whether a severity is another, or worse.
func (s Severity) AtLeast(o Severity) bool { return s == o || s == Error }

// Finding is one kind of fault in one stream of one episode, however often it is there.
type Finding struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Path is what was examined, as Options.Path named it.
	Path string `json:"path,omitempty"`
	// Episode is the episode's number in its dataset, -1 of what is about the dataset as a whole, which is null in JSON.
	Episode int `json:"episode"`
	// Source is the file or URL that the episode was read from, where that is another than Path: one of a folder.
	Source string `json:"source,omitempty"`
	// Stream is the stream, the camera or the file that it is about; empty where it is about the episode or the dataset.
	Stream string `json:"stream"`
	// Columns are those of the stream that it is about; nil where it is about its clock, or all of them.
	Columns []string `json:"columns,omitempty"`
	// Count is how often the fault is there: gaps, samples, frames, files; at least 1.
	Count int `json:"count"`
	// At is when, nanoseconds on the recording's clock: of each occurrence, the first MostTimes of them; empty where the fault has no time.
	At []int64 `json:"at_ns"`
	// Why says what was seen and how it was measured, WhatToDo how to put it right: a sentence or two for a person.
	Why      string `json:"why"`
	WhatToDo string `json:"what_to_do"`
	// Note is the note of a reader that the finding is about, nil if doctor found it in the samples. Why is then its String.
	Note *dataset.Note `json:"-"`

	zero  int64   // the time from which its picture counts
	plot  drawing // draws it; nil if there is nothing to draw, or it is drawn
	drawn *plot   // what the page draws of it; nil if nothing
}

// MostTimes is how many times a finding lists.
const MostTimes = 256

// Whole is the Episode of findings about a dataset as a whole.
const Whole = -1

// Where names the episode for a person: "episode 11 (stuck.bag)"; "the dataset" of what is about it as a whole.
func (f Finding) Where() string {
	switch {
	case f.Episode == Whole:
		return "the dataset"
	case f.Source != "":
		return fmt.Sprintf("episode %d (%s)", f.Episode, path.Base(filepath.ToSlash(f.Source)))
	}
	return fmt.Sprintf("episode %d", f.Episode)
}

// MarshalJSON writes null for the episode of a finding that is about the dataset, and a list where there are no times.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	out := struct {
		plain
		Episode *int    `json:"episode"`
		At      []int64 `json:"at_ns"`
		// The keys of a note; row counts from 0. What doctor found in the samples has its kind as the code.
		Code    dataset.Code `json:"code"`
		Subject string       `json:"subject"`
		Row     *int         `json:"row"`
		Text    string       `json:"text"`
	}{plain: plain(f), At: f.At, Code: dataset.Code(f.Kind), Subject: f.Stream, Text: f.Why}
	if f.Episode != Whole {
		out.Episode = &f.Episode
	}
	if n := f.Note; n != nil {
		out.Code, out.Subject = n.Code, n.Subject
		if i, ok := n.Row.Index(); ok {
			out.Row = &i
		}
	}
	if out.At == nil {
		out.At = []int64{}
	}
	return json.Marshal(out)
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
		r.Findings = append(r.Findings, o.together.beside(r.together)...)
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

// String returns the severity's name.
func (s Severity) String() string { return string(s) }
