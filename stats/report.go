package stats

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Report is the statistics of a dataset.
type Report struct {
	Dataset   string    `json:"dataset"`
	Format    string    `json:"format"`
	Episodes  int       `json:"episodes"` // of the dataset
	Read      int       `json:"read"`     // those that the statistics are of
	Filtered  int       `json:"filtered"` // those that the plan does not take
	Damaged   int       `json:"damaged"`  // of those read, of which something could not be read
	Skipped   []Skipped `json:"skipped"`  // those that could not be read
	Quantiles []float64 `json:"quantiles"`
	Known     bool      `json:"known"` // the quantiles are: no other pass is needed
	Streams   []Stream  `json:"streams"`
	// Notes are those of the readers about the episodes read. Package notetext has their sentences.
	Notes dataset.EpisodeNotes `json:"-"`
}

// Stream is the statistics of a stream. A dataset whose episodes have streams of one name with other columns, or of f64 and of less, has several.
type Stream struct {
	Name     string   `json:"name"`
	F64      bool     `json:"f64"` // values are of float64
	Episodes int      `json:"episodes"`
	Rows     int64    `json:"rows"`
	Columns  []Column `json:"columns"`
}

// Report returns the statistics as far as they are known.
func (s *State) Report() *Report {
	r := &Report{Dataset: s.Dataset, Format: s.Format, Episodes: s.Episodes, Read: s.Read, Filtered: s.Filtered, Damaged: s.Damaged, Skipped: append([]Skipped{}, s.Skipped...),
		Quantiles: s.Quantiles, Known: s.number < 0, Streams: []Stream{}, Notes: s.Notes}
	for _, own := range s.streams() {
		out := Stream{Name: own.Name, F64: own.F64, Episodes: own.Episodes, Rows: own.Rows, Columns: own.acc.Columns()}
		for i := range out.Columns {
			c := &out.Columns[i]
			if c.Name = own.Columns[i]; !r.Known {
				c.Quantiles = nil
			}
			c.Binned = own.Binned.column(i)
		}
		r.Streams = append(r.Streams, out)
	}
	return r
}

// Stream returns the statistics of the only stream of that name, nil if there is none or if there are several.
func (r *Report) Stream(name string) *Stream {
	var found *Stream
	for i := range r.Streams {
		if s := &r.Streams[i]; s.Name == name {
			if found != nil {
				return nil
			}
			found = s
		}
	}
	return found
}

// QuantileName returns what LeRobot calls a quantile: "q01", "q50", and "q99.9" of what is no whole percent.
func QuantileName(share float64) string {
	text := strconv.FormatFloat(math.Round(share*1e11)/1e9, 'f', -1, 64)
	if whole, _, _ := strings.Cut(text, "."); len(whole) < 2 {
		text = "0" + text
	}
	return "q" + text
}

// MarshalJSON writes NaN and infinities as null.
func (c Column) MarshalJSON() ([]byte, error) {
	known := func(v float64) *float64 {
		if v-v != 0 {
			return nil
		}
		return &v
	}
	out := struct {
		Name      string     `json:"name"`
		Count     int64      `json:"count"`
		NotFinite int64      `json:"not_finite"`
		Mean      *float64   `json:"mean"`
		Std       *float64   `json:"std"`
		Min       *float64   `json:"min"`
		Max       *float64   `json:"max"`
		Quantiles []*float64 `json:"quantiles"`
		Binned    []float64  `json:"lerobot_quantiles,omitempty"`
	}{c.Name, c.Count, c.NotFinite, known(c.Mean), known(c.Std), known(c.Min), known(c.Max), nil, c.Binned}
	for _, q := range c.Quantiles {
		out.Quantiles = append(out.Quantiles, known(q))
	}
	return json.Marshal(out)
}
