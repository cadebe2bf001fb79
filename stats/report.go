package stats

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Report contains the statistics of a dataset.
type Report struct {
	Dataset   string    `json:"dataset"`
	Format    string    `json:"format"`
	Episodes  int       `json:"episodes"` // in the dataset
	Read      int       `json:"read"`     // in the statistics
	Filtered  int       `json:"filtered"` // rejected by the plan's filter
	Damaged   int       `json:"damaged"`  // in Read, with parts that could not be read
	Skipped   []Skipped `json:"skipped"`  // episodes that could not be read
	Quantiles []float64 `json:"quantiles"`
	Known     bool      `json:"known"` // true if the quantiles need no further pass
	Streams   []Stream  `json:"streams"`
	// Notes are the readers' notes about the episodes. Package notetext has their sentences.
	Notes dataset.EpisodeNotes `json:"-"`
}

// Stream is the statistics of a stream. A name has several entries if its columns differ between episodes, or if some episodes have
// f64 values and others do not.
type Stream struct {
	Name     string   `json:"name"`
	F64      bool     `json:"f64"` // values are float64
	Episodes int      `json:"episodes"`
	Rows     int64    `json:"rows"`
	Columns  []Column `json:"columns"`
}

// Report returns the statistics that are known so far.
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

// Stream returns the statistics of the stream with a name; nil if there is none or if there are several.
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

// QuantileName returns LeRobot's name for a quantile: "q01", "q50", or "q99.9" for a fraction of a percent.
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
