package store

import (
	"encoding/json"

	"github.com/robocache/robocache/dataset"
)

// indexKey is the metadata key that makes a safetensors file a store.
const indexKey = "robocache.store"

// version is the version of the store's format: 2 has checksums.
const version = 2

// index is the JSON in a store's metadata: all but the tensors. Its JSON names are a contract.
type index struct {
	Version  int               `json:"version"` // 2
	Name     string            `json:"name"`
	Format   string            `json:"format"`
	Data     string            `json:"data_version,omitempty"`
	Rate     float64           `json:"rate,omitempty"`
	RateFrom string            `json:"rate_from,omitempty"`
	Clock    string            `json:"clock,omitempty"`
	Clocks   []string          `json:"clocks,omitempty"`
	Features []dataset.Feature `json:"features,omitempty"`
	Facts    []dataset.Feature `json:"facts,omitempty"`
	Tasks    []string          `json:"tasks,omitempty"`
	Frames   int               `json:"frames,omitempty"`
	Splits   []dataset.Split   `json:"splits,omitempty"`
	Other    map[string]string `json:"attributes,omitempty"`
	Notes    dataset.Notes     `json:"notes,omitempty"`
	Streams  []indexStream     `json:"streams"`
	Media    []indexMedia      `json:"media,omitempty"`
	Episodes []Episode         `json:"episodes"`
	Skipped  dataset.Notes     `json:"unread,omitempty"`
	Sources  []Source          `json:"sources,omitempty"`
	Shard    *Shard            `json:"shard,omitempty"`
}

func (x *index) info() dataset.Info {
	declared := 0.0
	if x.RateFrom == "file" {
		declared = x.Rate
	}
	return dataset.Info{Version: x.Data, Rate: x.Rate, RateFrom: x.RateFrom, Declared: declared, Clock: x.Clock, Clocks: x.Clocks, Features: x.Features, Facts: x.Facts,
		Tasks: x.Tasks, Frames: x.Frames, Splits: x.Splits, Attributes: x.Other, Notes: x.Notes}
}

type indexStream struct {
	Name       string           `json:"name"`
	Columns    []dataset.Column `json:"columns"`
	Rounded    int              `json:"rounded,omitempty"`
	Overflowed int              `json:"overflowed,omitempty"`
	Lossy      int              `json:"lossy,omitempty"`
	Inexact    int              `json:"inexact,omitempty"` // the old name of lossy, which stores on disks have
}

type indexMedia struct {
	Name     string `json:"name"`
	Encoding string `json:"encoding"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	Resized  bool   `json:"resized,omitempty"`
}

func (s *Store) index() *index {
	i := &s.info
	x := &index{Version: version, Name: s.name, Format: s.format, Data: i.Version, Rate: i.Rate, RateFrom: i.RateFrom, Clock: i.Clock, Clocks: i.Clocks,
		Features: i.Features, Facts: i.Facts, Tasks: i.Tasks, Frames: i.Frames, Splits: i.Splits, Other: i.Attributes, Notes: i.Notes,
		Streams: []indexStream{}, Episodes: append([]Episode{}, s.Episodes...), Skipped: s.Skipped, Sources: s.Sources, Shard: s.Shard}
	for k := range s.Streams {
		p := &s.Streams[k]
		x.Streams = append(x.Streams, indexStream{p.Name, p.Columns, p.Rounded, p.Overflowed, p.Inexact, 0})
	}
	for k := range s.Media {
		m := &s.Media[k]
		x.Media = append(x.Media, indexMedia{m.Name, m.Encoding, m.Width, m.Height, m.Resized})
	}
	return x
}

// head returns the index without episodes, streams, media and sources. Stores that were packed alike have equal heads.
func (s *Store) head() string {
	x := s.index()
	x.Streams, x.Media, x.Episodes, x.Skipped, x.Sources = nil, nil, nil, nil, nil
	text, err := json.Marshal(x)
	if err != nil {
		return err.Error() // such an index cannot be written either
	}
	return string(text)
}
