package inspection

import (
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
)

// Report has the contents of a recording or dataset: its streams over all episodes, or those of the selected episode.
type Report struct {
	Path       string            `json:"path"`
	Name       string            `json:"name"`
	Format     string            `json:"format"`
	Version    string            `json:"version,omitempty"`
	Episodes   int               `json:"episodes"`
	Shortest   int               `json:"shortest,omitempty"` // frames of an episode
	Longest    int               `json:"longest,omitempty"`
	Frames     *int              `json:"frames"` // null for logs
	Rate       float64           `json:"rate_hz,omitempty"`
	RateFrom   string            `json:"rate_from,omitempty"`
	Clock      string            `json:"clock,omitempty"`
	Clocks     []string          `json:"clocks,omitempty"`
	Splits     []Split           `json:"splits"`
	Features   []Feature         `json:"features"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Episode    *Episode          `json:"episode,omitempty"` // the selected or only episode
	Streams    []Stream          `json:"streams"`
	Media      []Media           `json:"media"`
	Clouds     []Clouds          `json:"clouds"`
	Tasks      []string          `json:"tasks"`
	Problems   []Problem         `json:"problems"`
	LostBytes  int64             `json:"lost_bytes"` // of broken files that were read all the same
	Plot       string            `json:"plot,omitempty"`
	// Notes are damage, choices of readers, and data that no stream has. Package notetext has their sentences.
	Notes dataset.EpisodeNotes `json:"-"`
}

type Split struct {
	Name     string `json:"name"`
	Episodes int    `json:"episodes"`
}

type Feature struct {
	Name  string   `json:"name"`
	DType string   `json:"dtype"`
	Shape []int    `json:"shape"`
	Names []string `json:"names,omitempty"`
}

type Episode struct {
	Number     int               `json:"number"`
	Name       string            `json:"name"`
	Success    *bool             `json:"success,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

type Problem struct {
	Where string `json:"where"`
	What  string `json:"what"`
	notetext.Entry
}

type Stream struct {
	Name       string   `json:"name"`
	Type       string   `json:"type,omitempty"` // of a log's messages
	Episodes   int      `json:"episodes"`       // that have it
	Samples    int      `json:"samples"`
	Rate       float64  `json:"rate_hz,omitempty"`
	Lowest     float64  `json:"lowest_rate_hz,omitempty"` // of an episode
	Highest    float64  `json:"highest_rate_hz,omitempty"`
	ShortestNS int64    `json:"shortest_ns"` // from the first to the last sample of an episode
	LongestNS  int64    `json:"longest_ns"`
	FirstNS    int64    `json:"first_ns"`
	LastNS     int64    `json:"last_ns"`
	Gaps       int      `json:"gaps"`
	Duplicates int      `json:"duplicates"`
	BackSteps  int      `json:"back_steps"`
	Inexact    int      `json:"lossy_integers"` // that the dtype does not hold: they are rounded
	DType      string   `json:"dtype"`
	Columns    []Column `json:"columns"`
}

type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Integer  bool   `json:"integer,omitempty"`
	Rotation string `json:"rotation,omitempty"`
}

type Media struct {
	Name     string  `json:"name"`
	Type     string  `json:"type,omitempty"`
	Episodes int     `json:"episodes"` // that have it
	Frames   int     `json:"frames"`
	Rate     float64 `json:"rate_hz,omitempty"`
	Encoding string  `json:"encoding"`
	Width    int     `json:"width,omitempty"`
	Height   int     `json:"height,omitempty"`
	// Undecoded is true if there is no decoder of the encoding, so frames are read encoded.
	Undecoded bool `json:"undecoded,omitempty"`
	// DepthScale is the metres per unit of depth images; 0 for other images.
	DepthScale float64 `json:"depth_scale,omitempty"`
}

type Clouds struct {
	Name     string   `json:"name"`
	Type     string   `json:"type,omitempty"`
	Episodes int      `json:"episodes"` // that have it
	Clouds   int      `json:"clouds"`
	Rate     float64  `json:"rate_hz,omitempty"`
	Points   int      `json:"points"` // of the first
	Columns  []Column `json:"columns"`
}

// reportOf puts together what a dataset says of itself and what its episodes hold; firsts says what the first cloud of each series is.
func reportOf(path string, one bool, d dataset.Dataset, sum *dataset.Summary, firsts map[string]Clouds) *Report {
	info := d.Info()
	f := &Report{
		Path: path, Name: d.Name(), Format: d.Format(), Version: info.Version, Episodes: d.Len(), Rate: info.Rate, RateFrom: info.RateFrom,
		Clock: info.Clock, Clocks: info.Clocks, Attributes: info.Attributes, LostBytes: sum.LostBytes,
		Splits: []Split{}, Features: Features(&info), Streams: []Stream{}, Media: []Media{}, Clouds: []Clouds{}, Tasks: info.Tasks,
	}
	f.Shortest, f.Longest = sum.Shortest, sum.Longest
	switch {
	case info.Frames > 0:
		f.Frames = &info.Frames
	case sum.Frames > 0 && (!one || d.Len() == 1):
		f.Frames = &sum.Frames
	}
	if len(f.Tasks) == 0 {
		f.Tasks = append([]string{}, sum.Tasks...)
	}
	for _, s := range info.Splits {
		f.Splits = append(f.Splits, Split{s.Name, len(s.Episodes)})
	}
	for i := range sum.Streams {
		s := &sum.Streams[i]
		line := Stream{Name: s.Name, Type: s.Type, Episodes: s.Episodes, Samples: s.Samples, Rate: s.Rate(), ShortestNS: s.Shortest, LongestNS: s.Longest, FirstNS: s.First, LastNS: s.Last, Gaps: s.Gaps,
			Duplicates: s.Duplicates, BackSteps: s.BackSteps, Inexact: s.Inexact, DType: s.DType, Columns: Columns(s.Columns)}
		line.Lowest, line.Highest = s.Rates()
		f.Streams = append(f.Streams, line)
	}
	for i := range sum.Media {
		m := &sum.Media[i]
		f.Media = append(f.Media, Media{m.Name, m.Type, m.Episodes, m.Frames, m.Rate(), m.Encoding, m.Width, m.Height, m.Undecoded, m.DepthScale})
	}
	for i := range sum.Clouds {
		c := &sum.Clouds[i]
		line := firsts[c.Name]
		line.Name, line.Type, line.Episodes, line.Clouds, line.Rate = c.Name, c.Type, c.Episodes, c.Clouds, c.Rate()
		if line.Columns == nil {
			line.Columns = []Column{}
		}
		f.Clouds = append(f.Clouds, line)
	}
	f.Problems = Problems(append(info.Notes, sum.Notes...))
	return f
}

// Features returns the declared streams and media of a dataset, an empty list if there are none.
func Features(info *dataset.Info) []Feature {
	list := []Feature{}
	for _, x := range info.Features {
		list = append(list, Feature{x.Name, x.DType, append([]int{}, x.Shape...), x.Names})
	}
	return list
}

// Columns are those of a stream.
func Columns(columns []dataset.Column) []Column {
	list := []Column{}
	for _, c := range columns {
		list = append(list, Column{c.Name, c.Type, c.Integer, c.Rotation.String()})
	}
	return list
}

// Problems lists the problems and the damage of a dataset as a whole, an empty list if there are none.
func Problems(notes dataset.Notes) []Problem {
	list := []Problem{}
	for _, n := range notes.Of(dataset.ClassProblem, dataset.ClassDamage) {
		e := notetext.EntryOf(n)
		list = append(list, Problem{n.Subject, e.Text, e})
	}
	return list
}
