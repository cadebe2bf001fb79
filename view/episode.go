package view

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/robocache/robocache/align/suggest"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
)

// An episode's JSON. Times are seconds from its start.
type (
	episodeJSON struct {
		Number     int               `json:"number"`
		Name       string            `json:"name"`
		Start      string            `json:"start_ns"` // a string, because JavaScript numbers have 53 bits
		Seconds    float64           `json:"seconds"`
		Steps      bool              `json:"steps"`
		Frames     int               `json:"frames"`
		Task       string            `json:"task"`
		Success    *bool             `json:"success"`
		Attributes map[string]string `json:"attributes"`
		UTC        bool              `json:"utc"`     // Start is since 1970
		Streams    []streamJSON      `json:"streams"` // in the order of suggest.Rank
		Joints     []joint           `json:"joints"`
		Media      []mediaJSON       `json:"media"`
		Clouds     []mediaJSON       `json:"clouds"`
		Paths      []track           `json:"paths"`
		Findings   []findingJSON     `json:"findings"`
		Notes      []notetext.Entry  `json:"notes"` // all from the reader
	}
	streamJSON struct {
		Name    string       `json:"name"`
		Type    string       `json:"type"`
		Samples int          `json:"samples"`
		Rate    float64      `json:"rate"`
		From    float64      `json:"from"`
		To      float64      `json:"to"`
		Gaps    [][2]float64 `json:"gaps"` // those gaps that are visible if the whole episode is shown
		GapsAll int          `json:"gap_count"`
		Back    int          `json:"back_steps"`
		Lost    int          `json:"no_times"`
		Held    bool         `json:"held"` // it has samples only when a value changes
		Columns []columnJSON `json:"columns"`
		Units   []string     `json:"units,omitempty"` // of Columns; empty where the recording states none
	}
	columnJSON struct {
		Name    string `json:"name"`
		Integer bool   `json:"integer"`
		Hidden  bool   `json:"hidden"` // at first
	}
	mediaJSON struct {
		Name     string       `json:"name"`
		Type     string       `json:"type"`
		Encoding string       `json:"encoding,omitempty"`
		Width    int          `json:"width,omitempty"`
		Height   int          `json:"height,omitempty"`
		Frames   int          `json:"frames"`
		Video    string       `json:"video,omitempty"` // path to a file that a browser may play
		Depth    bool         `json:"depth,omitempty"` // the frames are depth in metres
		Rate     float64      `json:"rate"`            // 0 also for steps
		From     float64      `json:"from"`
		To       float64      `json:"to"`
		Gaps     [][2]float64 `json:"gaps"`
	}
	findingJSON struct {
		Kind     doctor.Kind     `json:"kind"`
		Severity doctor.Severity `json:"severity"`
		Streams  []string        `json:"streams"`
		Columns  []string        `json:"columns"`
		Count    int             `json:"count"`
		Ranges   [][2]float64    `json:"ranges"` // all places
		Why      string          `json:"why"`
		WhatToDo string          `json:"what_to_do"`
	}
)

// findings returns package doctor's findings about an episode. When all episodes are examined, these are also the findings from their comparison.
func (s *Server) findings(e *entry) []doctor.Finding {
	list, err := e.found.get(func() ([]doctor.Finding, error) {
		return doctor.Episode(e.recorded, e.number, &s.info, doctor.Options{}), nil
	})
	if err != nil { // a fault in the program, but the episode can be shown
		return []doctor.Finding{{Kind: doctor.Unreadable, Severity: doctor.Warning, Episode: e.number, Count: 1, Why: "could not be examined: " + err.Error()}}
	}
	return append(slices.Clip(list), s.list.of(e.number)...)
}

// newFinding returns a finding without its places.
func newFinding(f *doctor.Finding) findingJSON {
	j := findingJSON{Kind: f.Kind, Severity: f.Severity, Streams: append([]string{}, f.Streams...), Columns: f.Columns, Count: f.Count, Ranges: [][2]float64{}, Why: f.Why, WhatToDo: f.WhatToDo}
	if f.Note != nil {
		j.Why = notetext.Line(*f.Note)
	}
	return j
}

// ranked returns the recorded streams' names in the order in which a plan takes them.
func (s *Server) ranked(e *entry) []string {
	order, _ := e.order.get(func() ([]string, error) { return suggest.Rank(e.recorded, &s.info), nil }) // without an order, the recorded one stays
	return order
}

// Timestamps between these are taken as nanoseconds since 1970.
var firstUTC, lastUTC = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// serveEpisode sends an episode's contents.
func (s *Server) serveEpisode(w http.ResponseWriter, r *http.Request, e *entry) error {
	order := s.ranked(e)
	out := episodeJSON{Number: e.number, Name: e.Name, Start: strconv.FormatInt(e.start, 10), Seconds: e.seconds(e.end), Steps: e.Steps, Frames: e.Frames,
		Task: e.Attributes.Task, Success: e.Attributes.Success, Attributes: e.Attributes.Other, Streams: []streamJSON{}, Media: []mediaJSON{}, Clouds: []mediaJSON{},
		Paths: e.tracks(), Joints: e.joints(order), UTC: !e.Steps && e.start > firstUTC && e.start < lastUTC, Findings: []findingJSON{}, Notes: notetext.Entries(e.Notes)}
	for i := range e.Streams {
		out.Streams = append(out.Streams, e.streamJSON(i))
	}
	slices.SortStableFunc(out.Streams[:len(e.recorded.Streams)], func(a, b streamJSON) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
	for i := range e.Media {
		m, c := &e.Media[i], &e.mediaOrder[i]
		j := e.mediaJSON(m.Name, m.Type, c)
		j.Encoding, j.Width, j.Height, j.Depth = m.Encoding, m.Width, m.Height, m.Depth != nil
		if v, ok := e.video(i); ok {
			j.Video = v.VideoPath()
		}
		out.Media = append(out.Media, j)
	}
	for i := range e.Clouds {
		out.Clouds = append(out.Clouds, e.mediaJSON(e.Clouds[i].Name, e.Clouds[i].Type, &e.cloudsOrder[i]))
	}
	for _, f := range s.findings(e) {
		j := newFinding(&f)
		for _, p := range f.Places() {
			j.Ranges = append(j.Ranges, [2]float64{e.seconds(p.From), e.seconds(p.To)})
		}
		out.Findings = append(out.Findings, j)
	}
	writeJSON(w, &out)
	return nil
}

func (e *entry) streamJSON(i int) streamJSON {
	s := &e.Streams[i]
	j := streamJSON{Name: s.Name, Type: s.Type, Samples: s.Len(), Gaps: [][2]float64{}, Units: units(s), Columns: make([]columnJSON, len(s.Columns))}
	for k, h := range hidden(s.Columns) {
		j.Columns[k] = columnJSON{s.Columns[k].Name, s.Columns[k].Integer, h}
	}
	if c := e.curves[i]; c != nil {
		j.Rate, j.From, j.To, j.GapsAll = c.stats.Rate, e.seconds(c.core.First), e.seconds(c.core.Last), len(c.gaps)
		j.Back, j.Lost, j.Held, j.Gaps = c.back, c.lost, c.held, e.pairs(c.gaps)
	}
	if e.Steps {
		j.Rate = 0
	}
	return j
}

func (e *entry) mediaJSON(name, kind string, c *clock) mediaJSON {
	j := mediaJSON{Name: name, Type: kind, Frames: len(c.times), Gaps: e.pairs(c.gaps)}
	if c.sound {
		j.From, j.To = e.seconds(c.core.First), e.seconds(c.core.Last)
	}
	if c.sound && !e.Steps {
		j.Rate = c.stats.Rate
	}
	return j
}

// pairs returns the gaps that are visible if the whole episode is shown, in seconds.
func (e *entry) pairs(gaps []dataset.Span) [][2]float64 {
	list := [][2]float64{}
	for _, g := range spans(gaps, e.start, e.end, 1000) {
		list = append(list, [2]float64{e.seconds(g.From), e.seconds(g.To)})
	}
	return list
}
