package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
)

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
	// Start is the time, in nanoseconds on the recording's clock, from which Plot counts seconds: the episode's beginning.
	Start int64 `json:"-"`
	// Plot is the picture of the finding; nil if it has none, or if a report has pictures of enough findings of its kind and stream.
	Plot *Plot `json:"-"`

	draw drawing // makes Plot; nil if the finding has no picture, or when Plot is made
}

// MostTimes is how many times a finding lists.
const MostTimes = 256

// firstOf returns as many times as a finding lists.
func firstOf(at []int64) []int64 { return at[:min(len(at), MostTimes)] }

// Whole is the Episode of findings about a dataset as a whole.
const Whole = -1

func newFinding(kind Kind, stream string, count int, why string) *Finding {
	a := advice[kind]
	return &Finding{Kind: kind, Severity: a.severity, Stream: stream, Count: count, Why: why, WhatToDo: a.what, Episode: Whole}
}

// findingOf returns the finding of a note.
func findingOf(kind Kind, n *dataset.Note) *Finding {
	f := newFinding(kind, n.Subject, max(n.Count, 1), n.String())
	f.Note = n
	return f
}

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
		// The keys of a note; row counts from 0.
		Code    dataset.Code `json:"code,omitempty"`
		Subject string       `json:"subject,omitempty"`
		Row     *int         `json:"row,omitempty"`
		Text    string       `json:"text,omitempty"`
	}{plain: plain(f), At: f.At}
	if f.Episode != Whole {
		out.Episode = &f.Episode
	}
	if n := f.Note; n != nil {
		out.Code, out.Subject, out.Text = n.Code, n.Subject, f.Why
		if i, ok := n.Row.Index(); ok {
			out.Row = &i
		}
	}
	if out.At == nil {
		out.At = []int64{}
	}
	return json.Marshal(out)
}

// sortFindings sorts by episode, those of the dataset first; then errors first, then by kind.
func sortFindings(list []Finding) {
	if len(list) < 2 {
		return
	}
	place := map[Kind]int{}
	for i, k := range Kinds() {
		place[k] = i
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(a.Episode-b.Episode, cmp.Compare(a.Severity, b.Severity), place[a.Kind]-place[b.Kind])
	})
}
