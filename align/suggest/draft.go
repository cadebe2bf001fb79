package suggest

import (
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/recognise"
)

// Suggestion is a first plan for recordings, made from their content.
type Suggestion struct {
	// Text is the plan as a YAML file with comments that give reasons. Plan is the result of planfile.Parse on it.
	Text []byte
	Plan align.Plan
	// Policy is true if there are states and an action, so the plan is for training: it uses no sample later than a target.
	Policy  bool
	Reasons []Reason
	// Notes are about streams that the plan does not take (ClassLeftOut), streams that differ between episodes (ClassProblem),
	// episodes that cannot be read, and choices that a user may want to change (ClassRemark).
	Notes dataset.Notes
	// Episodes is the number of episodes in the dataset, and Looked the number that were read.
	Episodes, Looked int
}

// Reason explains a value in a plan.
type Reason struct {
	Key    string `json:"key"` // the key, as in PlanError: "rate", "streams[0].kind.q"
	Stream string `json:"stream,omitempty"`
	Why    string `json:"why"`
}

// draft is a plan in the making: the statistics of the recordings that were read, and the decisions that follow from them.
type draft struct {
	name, format string
	action       string // the option
	sentence     func(dataset.Note) string
	info         dataset.Info
	summary      dataset.Summary
	streams      []*candidate // in the order in which they came
	at           map[string]int
	lengths      []time.Duration      // of the episodes
	covers       []map[string]covered // of each, by stream
	good, bad    int                  // episodes with a known success, true or false
	custom       dataset.Rotation
	out          *Suggestion

	policy   bool
	own      bool // the defaults' limit of gaps is that of cameras, because each stream has its own
	rate     float64
	why      string // of the rate
	sort     bool   // streams' timestamps step back
	labelled bool   // columns are left out that are times or identifiers
}

// candidate is a stream of the recordings that were read, with its statistics and how the plan takes it.
type candidate struct {
	from, typ string
	see       recognise.Recogniser
	episodes  int // that have samples of it
	samples   int
	steps     int       // that are no gaps
	rates     []float64 // of the episodes: samples a second where there is no gap
	usual     int64     // the longest median of an episode, ns
	even      bool      // its samples come evenly, in each episode
	gaps      int
	longest   int64
	backs     int // steps back
	single    bool
	whole     bool // all of the columns that are taken are whole numbers
	seldom    bool // it speaks when something changes, in each episode

	name   string // in the plan
	role   role
	policy bool     // the plan is for one
	take   []int    // the columns that are taken; nil for all
	kinds  []string // of these
	causes []string // reasons for the methods, by column; empty for the default method
	notes  []string // of the stream
	period float64  // of its angles, where that is not 2 pi
	quat   string
	window bool // a column is the mean of a window
	silent bool // it has no limit of gaps
}

// role is the purpose of a stream.
type role uint8

const (
	sampled role = iota // measured
	command             // set, and held until it is set again
	action              // the prediction of a policy
)

func (s *candidate) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// rate is how many samples a second a stream has where it has no gap, in the middle one of the episodes.
func (s *candidate) rate() float64 {
	if len(s.rates) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s.rates))[(len(s.rates)-1)/2]
}

// constant reports whether nothing in a stream ever changes.
func (s *candidate) constant() bool { return len(s.see.Constant()) == len(s.see.Columns) }

func (g *draft) leave(name string, code dataset.Code, d dataset.Detail) {
	g.out.Notes.Add(dataset.Note{Code: code, Subject: name, Detail: d})
}

// covered is when a stream of an episode has samples, without stray ones.
type covered struct {
	cover.Cover
	even bool // its steps are about the same
}

// leastApart is the least number of samples that show when a stream was recorded.
const leastApart = 8

// even is how much of the usual step the others may differ from it for samples that come evenly.
const even = .1
