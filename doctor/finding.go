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

// Finding is one kind of fault in one stream of one episode, with all its occurrences.
type Finding struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Path is Options.Path.
	Path string `json:"path,omitempty"`
	// Episode is the episode's number in its dataset; Whole, which is null in JSON, if the finding is about the dataset.
	Episode int `json:"episode"`
	// Source is the file or URL of the episode if it differs from Path, for example one file of a folder.
	Source string `json:"source,omitempty"`
	// Stream is the name of the stream, the camera or the file; empty if the finding is about the episode or the dataset.
	Stream string `json:"stream"`
	// Columns are the columns with the fault; nil if it is in the clock or in all columns.
	Columns []string `json:"columns,omitempty"`
	// Count is the number of occurrences: gaps, samples, frames, files; at least 1.
	Count int `json:"count"`
	// At has the times of the first MostTimes occurrences, nanoseconds on the recording's clock; empty if the fault has no time. Places has all.
	At []int64 `json:"at_ns"`
	// Why describes the fault and its measurement, WhatToDo its correction, in a sentence or two.
	Why      string `json:"why"`
	WhatToDo string `json:"what_to_do"`
	// Note is the note of a reader that the finding reports, with its String as Why; nil if doctor found the fault in the samples.
	Note *dataset.Note `json:"-"`
	// Start is the time, in nanoseconds on the recording's clock, from which Plot counts seconds: the episode's beginning.
	Start int64 `json:"-"`
	// Plot is the picture of the finding; nil if it has none, or if a report has pictures of enough findings of its kind and stream.
	Plot *Plot `json:"-"`

	ranges []dataset.Span // all places; nil if they are At

	draw drawing // makes Plot; nil if the finding has no picture, or when Plot is made
}

// MostTimes is the most times that a finding lists.
const MostTimes = 256

// Whole is the Episode of a finding about a dataset as a whole.
const Whole = -1

// newFinding returns a finding with the severity and the advice of its kind.
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

// Where names the episode for a person: "episode 11 (stuck.bag)"; "the dataset" for Whole.
func (f Finding) Where() string {
	switch {
	case f.Episode == Whole:
		return "the dataset"
	case f.Source != "":
		return fmt.Sprintf("episode %d (%s)", f.Episode, path.Base(filepath.ToSlash(f.Source)))
	}
	return fmt.Sprintf("episode %d", f.Episode)
}

// MarshalJSON writes null as the episode Whole, an empty list if there are no times, and the keys of the note.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	out := struct {
		plain
		Episode *int    `json:"episode"`
		At      []int64 `json:"at_ns"`
		// Ranges are Places as [from, to].
		Ranges [][2]int64 `json:"ranges_ns"`
		// The keys of a note; row counts from 0. What doctor found in the samples has its kind as the code.
		Code    dataset.Code `json:"code"`
		Subject string       `json:"subject"`
		Row     *int         `json:"row"`
		Text    string       `json:"text"`
	}{plain: plain(f), At: f.At, Ranges: [][2]int64{}, Code: dataset.Code(f.Kind), Subject: f.Stream, Text: f.Why}
	if f.Episode != Whole {
		out.Episode = &f.Episode
	}
	if n := f.Note; n != nil {
		out.Code, out.Subject = n.Code, n.Subject
		if i, ok := n.Row.Index(); ok {
			out.Row = &i
		}
	}
	for _, s := range f.Places() {
		out.Ranges = append(out.Ranges, [2]int64{s.From, s.To})
	}
	if out.At == nil {
		out.At = []int64{}
	}
	return json.Marshal(out)
}

// sortFindings sorts by episode, with the dataset first; then errors first, then by kind.
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
