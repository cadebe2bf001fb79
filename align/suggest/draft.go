package suggest

import (
	"fmt"
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

// draft is an unfinished plan: the statistics of the episodes that were read, and the choices made from them.
type draft struct {
	name, format string
	action       string // the option
	sentence     func(dataset.Note) string
	info         dataset.Info
	summary      dataset.Summary
	streams      []*candidate // in order of first appearance
	at           map[string]int
	lengths      []time.Duration      // of the episodes
	covers       []map[string]covered // for each episode: the time that each stream covers, by name
	good, bad    int                  // episodes with a known success, true or false
	custom       dataset.Rotation
	out          *Suggestion

	policy   bool
	own      bool // each stream has its own gap limit, and the defaults have the cameras' limit
	rate     float64
	why      string // the reason for the rate
	sort     bool   // some stream's timestamps step back, so the plan sorts samples
	labelled bool   // some columns are left out because they are times or identifiers
}

// candidate is a stream in the episodes that were read, with its statistics and its settings in the plan.
type candidate struct {
	from, typ string
	see       recognise.Recogniser
	episodes  int // number of episodes with samples of it
	samples   int
	steps     int     // number of steps that are no gaps
	stepped   float64 // their sum, in median steps of their episodes
	rate      float64 // see dataset.StreamSummary.Rate
	usual     int64   // the longest of the episodes' median steps, ns
	even      bool    // its steps are nearly equal in every episode
	gaps      int
	longest   int64
	backs     int // steps back in time
	single    bool
	whole     bool // all selected columns are whole numbers
	seldom    bool // it has less than one sample a second in every episode, as if published on change

	name   string // in the plan
	role   role
	policy bool     // the plan is for a policy
	take   []int    // indexes of the selected columns; nil for all
	kinds  []string // interpolation methods of the selected columns
	causes []string // reasons for the methods, by column; empty for the default method
	notes  []string // remarks for the plan's comments
	period float64  // the period of its angles, if it is not 2 pi
	quat   string
	window bool // some column is averaged over a window
	silent bool // it has no gap limit
}

// role is the purpose of a stream.
type role uint8

const (
	sampled role = iota // measured
	command             // a set value, which holds until the next
	action              // the prediction of a policy
)

func (s *candidate) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// clock returns the rate of a clock with a row for each sample, Hz. It differs from the rate if the timestamps are rounded: 30 Hz for
// steps of 33, 33 and 34 ms.
func (s *candidate) clock() float64 {
	if s.even && s.steps > 0 {
		return s.rate * float64(s.steps) / s.stepped
	}
	return s.rate
}

// constant reports whether no column of a stream ever changes.
func (s *candidate) constant() bool { return len(s.see.Constant()) == len(s.see.Columns) }

func (g *draft) leave(name string, code dataset.Code, d dataset.Detail) {
	g.out.Notes.Add(dataset.Note{Code: code, Subject: name, Detail: d})
}

// covered is the time in which a stream has samples in an episode, without stray ones.
type covered struct {
	cover.Cover
	even bool // its steps are nearly equal
}

// leastApart is the minimum number of samples that show in which time a stream was recorded.
const leastApart = 8

// even is the maximum jitter, as a share of the usual step, of a stream with nearly equal steps.
const even = .1
