package doctor

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// Report contains the findings about datasets. For each dataset, findings about the whole come first, then those about each
// episode, errors first.
type Report struct {
	Findings []Finding `json:"findings"`
	Checked  Checked   `json:"checked"`
	// Notes are the readers' notes about the datasets and episodes. Notes about faults are also findings.
	Notes dataset.EpisodeNotes `json:"-"`

	together *schema // streams of the first dataset; nil if none was read
}

// Add appends the report on another dataset. If both datasets come from one robot, because half their stream names agree, Add also
// appends findings about differences from the first dataset: columns, rates, missing streams.
func (r *Report) Add(o *Report) {
	if o.together != nil && r.together != nil {
		r.Findings = append(r.Findings, grouped(o.together.compare(r.together))...)
	} else if r.together == nil {
		r.together = o.together
	}
	r.Findings = append(r.Findings, o.Findings...)
	r.Notes.JoinAll(o.Notes)
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

// Count returns the number of findings with at least a severity.
func (r *Report) Count(least Severity) (n int) {
	for i := range r.Findings {
		if r.Findings[i].Severity.AtLeast(least) {
			n++
		}
	}
	return n
}

// Number is how many findings have a severity.
type Number struct {
	Severity Severity
	Count    int
}

// String returns the number with its noun: "1 error", "2 warnings", "3 notes".
func (n Number) String() string { return text.Count(n.Count, n.Severity.Noun()) }

// Tally returns the numbers of errors, of warnings, and of notes if there are any.
func (r *Report) Tally() (list []Number) {
	before := 0
	for _, s := range Severities() {
		if n := r.Count(s) - before; n > 0 || s != Information {
			list = append(list, Number{s, n})
			before += n
		}
	}
	return list
}

// Of returns the findings about one episode, or about the dataset for Whole.
func (r *Report) Of(episode int) (list []Finding) {
	for _, f := range r.Findings {
		if f.Episode == episode {
			list = append(list, f)
		}
	}
	return list
}

// Refused returns the numbers of the episodes with errors, ascending.
func (r *Report) Refused() (list []int) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Episode != Whole && f.Severity == Error {
			list = append(list, f.Episode)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Checked counts the examined content.
type Checked struct {
	Paths    []Source `json:"paths"`
	Episodes int      `json:"episodes"` // episodes that were read
	Unread   int      `json:"unread"`   // episodes that cannot be read; each is a finding
	Streams  int      `json:"streams"`  // numeric streams, over all episodes
	Cameras  int      `json:"cameras"`  // media streams, over all episodes
	Clouds   int      `json:"clouds"`   // point cloud series, over all episodes
	Samples  int      `json:"samples"`  // in the streams
	Frames   int      `json:"frames"`   // in the cameras
	Values   int      `json:"values"`   // numbers that were examined
	Rates    []Rate   `json:"rates"`    // one per clock; streams with equal timestamps share one
	Kinds    []Kind   `json:"kinds"`    // faults that the examination looks for
	Unlisted int      `json:"unlisted"` // findings beyond MostOfKind for a kind and stream
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

// Rate is the range of a stream's rates over its episodes.
type Rate struct {
	Path     string  `json:"path,omitempty"`
	Stream   string  `json:"stream"` // the first stream on the clock
	Episodes int     `json:"episodes"`
	Lowest   float64 `json:"lowest_hz"`  // 1e9 divided by the median step in the slowest episode
	Highest  float64 `json:"highest_hz"` // 1e9 divided by the median step in the fastest episode
	Jitter   int64   `json:"jitter_ns"`  // 95th percentile of |step - median|, in the worst episode
}

// Source is one recording or dataset.
type Source struct {
	Path     string `json:"path"`
	Name     string `json:"name"`
	Format   string `json:"format"`
	Episodes int    `json:"episodes"`
}

// MostOfKind is the largest number of findings that a report lists for one kind in one stream. Checked.Unlisted counts the others.
const MostOfKind = 1000
