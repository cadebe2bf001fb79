package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// Finding is a fault with one cause in one episode: all its occurrences, in each stream that has it. Example: ten streams without
// samples while the recorder paused.
type Finding struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Path is Options.Path.
	Path string `json:"path,omitempty"`
	// Episode is the episode's number in its dataset, or Whole, which is null in JSON, if the finding concerns the dataset.
	Episode int `json:"episode"`
	// Source is the episode's file or URL if it differs from Path, for example one file in a folder.
	Source string `json:"source,omitempty"`
	// Streams are the streams, cameras or files with the fault; nil if the finding concerns the episode or the dataset.
	Streams []string `json:"streams"`
	// Columns are the columns with the fault, as "stream.column" if there are several streams; nil if it is in the clock or in all
	// columns.
	Columns []string `json:"columns,omitempty"`
	// Count is the number of occurrences (gaps, samples, frames or files), at least 1.
	Count int `json:"count"`
	// At has the times of the first MostTimes occurrences, nanoseconds on the recording's clock; empty if the fault has no time.
	// Places covers all.
	At []int64 `json:"at_ns"`
	// Why describes the fault with its measurement, and WhatToDo the correction, in a sentence or two.
	Why      string `json:"why"`
	WhatToDo string `json:"what_to_do"`
	// Note is the reader's note that the finding reports, with its String as Why; nil if doctor found the fault in the samples. If
	// there are several streams, its Subject names them, and its other fields are those of each.
	Note *dataset.Note `json:"-"`
	// Start is the beginning of the episode, in nanoseconds on the recording's clock. Plot counts seconds from it.
	Start int64 `json:"-"`
	// Plot is the picture of the finding; nil if it has none, or if the report already has enough pictures for its kind and stream.
	Plot *Plot `json:"-"`

	ranges []dataset.Span // all places; nil if they are At
	gap    *pause         // the measurements of the kind Gap

	throughout bool // the fault is in all samples of the clock, so that its time is no evidence of a cause

	draw drawing // makes Plot; nil if the finding has no picture, or when Plot is made
}

// MostTimes is the largest number of times in Finding.At.
const MostTimes = 256

// Whole is the Episode of a finding about the whole dataset.
const Whole = -1

// newFinding returns a finding with the severity and the advice of its kind.
func newFinding(kind Kind, stream string, count int, why string) *Finding {
	a := advice[kind]
	f := &Finding{Kind: kind, Severity: a.severity, Count: count, Why: why, WhatToDo: a.what, Episode: Whole}
	if stream != "" {
		f.Streams = []string{stream}
	}
	return f
}

// Subject returns the streams for a line of text: "imu", or "imu, joints, gripper, pose and 2 more"; empty if there are none.
func (f *Finding) Subject() string { return text.List(f.Streams, mostNames) }

// findingOf returns the finding of a note.
func findingOf(kind Kind, n *dataset.Note) *Finding {
	f := newFinding(kind, n.Subject, max(n.Count, 1), n.String())
	f.Note = n
	return f
}

// mostRanges is the most ranges of a finding. Places that lie nearer together than this part of their whole extent are one range.
const mostRanges = 1000

// Places returns time ranges that cover all occurrences, ascending and disjoint. If there are more than 1000, neighbours are
// merged. An occurrence in a single sample is a range with equal ends.
func (f *Finding) Places() []dataset.Span {
	if f.ranges == nil {
		for _, t := range f.At {
			f.ranges = append(f.ranges, dataset.Span{From: t, To: t})
		}
		f.ranges = disjoint(f.ranges)
	}
	return f.ranges
}

// mark sets the times and the ranges of a finding from rows in ascending order. Consecutive rows are one range.
func (f *Finding) mark(times []int64, rows []int) {
	for k, i := range rows {
		if i >= len(times) {
			break
		}
		t := times[i]
		if len(f.At) < MostTimes {
			f.At = append(f.At, t)
		}
		if k == 0 || i > rows[k-1]+1 {
			f.ranges = append(f.ranges, dataset.Span{From: t, To: t})
			continue
		}
		r := &f.ranges[len(f.ranges)-1]
		r.From, r.To = min(r.From, t), max(r.To, t)
	}
	f.ranges = disjoint(f.ranges)
}

// cover sets the times and the ranges of a finding from time spans.
func (f *Finding) cover(list ...dataset.Span) {
	f.ranges = disjoint(list)
	for _, s := range list[:min(len(list), MostTimes)] { // in ascending order now
		f.At = append(f.At, s.From)
	}
}

// whole sets a finding's range to the whole clock; At is the first timestamp.
func (f *Finding) whole(times []int64) {
	if f.throughout = true; len(times) > 0 {
		f.cover(dataset.Span{From: times[0], To: slices.Max(times)})
	}
}

// compareSpans orders spans by their starts, then by their ends.
func compareSpans(a, b dataset.Span) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// disjoint sorts ranges in place and returns a new list, where overlapping ranges are merged. If there are more than mostRanges, near
// ones are merged too.
func disjoint(list []dataset.Span) (out []dataset.Span) {
	slices.SortFunc(list, compareSpans)
	near := int64(0)
	if n := len(list); n > mostRanges {
		near = (list[n-1].From - list[0].From) / mostRanges
	}
	for _, s := range list {
		if n := len(out); n > 0 && (s == out[n-1] || s.From-out[n-1].To < near) {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Where names the episode for a person: "episode 11 (stuck.bag)", or "the dataset" for Whole.
func (f Finding) Where() string {
	switch {
	case f.Episode == Whole:
		return "the dataset"
	case f.Source != "":
		return fmt.Sprintf("episode %d (%s)", f.Episode, path.Base(filepath.ToSlash(f.Source)))
	}
	return fmt.Sprintf("episode %d", f.Episode)
}

// MarshalJSON writes the episode Whole as null, an empty list if there are no times or streams, the first stream, and the keys of the
// note.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	if f.Streams == nil {
		f.Streams = []string{}
	}
	out := struct {
		plain
		Episode *int    `json:"episode"`
		At      []int64 `json:"at_ns"`
		Stream  string  `json:"stream"` // the first
		// Ranges are Places as [from, to].
		Ranges [][2]int64 `json:"ranges_ns"`
		// The keys of a note; row counts from 0. What doctor found in the samples has its kind as the code.
		Code    dataset.Code `json:"code"`
		Subject string       `json:"subject"`
		Row     *int         `json:"row"`
		Text    string       `json:"text"`
	}{plain: plain(f), At: f.At, Ranges: [][2]int64{}, Code: dataset.Code(f.Kind), Subject: f.Subject(), Text: f.Why}
	if len(f.Streams) > 0 {
		out.Stream = f.Streams[0]
	}
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

// sortFindings sorts by episode, with the whole dataset first; then by severity, errors first; then by kind, in the order of Kinds.
func sortFindings(list []Finding) {
	if len(list) < 2 {
		return
	}
	place, rank := map[Kind]int{}, Severities()
	for i, k := range Kinds() {
		place[k] = i
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(a.Episode-b.Episode, slices.Index(rank, a.Severity)-slices.Index(rank, b.Severity), place[a.Kind]-place[b.Kind])
	})
}
