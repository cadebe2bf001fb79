package align

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// SuggestOptions say what Suggest looks at.
type SuggestOptions struct {
	// Episodes is how many episodes of a dataset are read, evenly over it, the first and the last among them; 16 unless given.
	Episodes int
	// Action is the stream that a policy predicts; one that is called action or actions unless given.
	Action string
	// Sentence returns the text of a note in the plan's comments: notetext.Text. It is dataset.Note.Reason unless given.
	Sentence func(dataset.Note) string
	// Progress is told how many are read, after each.
	Progress func(done, of int)
}

// Suggestion is a first plan for recordings, made by looking at them.
type Suggestion struct {
	// Text is the plan as a file, whose comments give reasons; Plan is what ParsePlan makes of it.
	Text []byte
	Plan Plan
	// Policy says that there are an action and states, so that the plan is one for training: it looks at no sample later than a target.
	Policy  bool
	Reasons []Reason
	// Notes are about streams that the plan does not take (ClassLeftOut), streams that differ between episodes (ClassProblem), episodes that cannot be
	// read, and what a user may want otherwise.
	Notes dataset.Notes
	// Episodes is how many the dataset has, Looked how many of them were read.
	Episodes, Looked int
}

// Reason says why a plan has a value.
type Reason struct {
	Key    string `json:"key"` // as a PlanError has it: "rate", "streams[0].kind.q"
	Stream string `json:"stream,omitempty"`
	Why    string `json:"why"`
}

// Suggest looks at a dataset and returns a first plan for it: the rate of the clock, the streams with what their columns are, gaps, and for a dataset
// of states and actions the windows and the normalisation of a policy. What it recognises is in docs/plans.md. A dataset without a stream that can be
// put on a clock is a *NoStreamsError, one that counts steps a *StepsError, one without the Action a *MissingError; an episode that cannot be read is
// a note, unless none can be.
func Suggest(ctx context.Context, d dataset.Dataset, opt SuggestOptions) (*Suggestion, error) {
	look := opt.Episodes
	if look <= 0 {
		look = 16
	}
	g := &suggesting{action: opt.Action, sentence: opt.Sentence, info: d.Info(), at: map[string]int{}, out: &Suggestion{Episodes: d.Len()}, name: d.Name(), format: d.Format()}
	if g.sentence == nil {
		g.sentence = dataset.Note.Reason
	}
	numbers := spread(d.Len(), look)
	var failed error
	for k, i := range numbers {
		e, err := d.Episode(ctx, i)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			if failed == nil {
				failed = err
			}
			g.out.Notes = append(g.out.Notes, dataset.Note{Code: dataset.CodeSuggestedWithout, Row: dataset.At(i), Detail: dataset.Detail{Cause: err}})
		default:
			if err := g.look(e); err != nil {
				return nil, err
			}
		}
		if opt.Progress != nil {
			opt.Progress(k+1, len(numbers))
		}
	}
	if g.out.Looked == 0 && failed != nil {
		return nil, failed
	}
	return g.suggest()
}

// spread returns up to k of n numbers, evenly, the first and the last among them.
func spread(n, k int) []int {
	list := make([]int, 0, min(n, k))
	for i := range min(n, k) {
		at := i
		if n > k {
			at = i * (n - 1) / max(k-1, 1)
		}
		list = append(list, at)
	}
	return list
}

// suggesting is a plan in the making.
type suggesting struct {
	name, format string
	action       string // that was asked for
	sentence     func(dataset.Note) string
	info         dataset.Info
	summary      dataset.Summary
	streams      []*suggested // in the order in which they came
	at           map[string]int
	lengths      []time.Duration      // of the episodes
	covers       []map[string]covered // of each, by stream
	good, bad    int                  // episodes that say whether they were a success
	custom       dataset.Rotation
	out          *Suggestion

	policy   bool
	rate     float64
	why      string // of the rate
	sort     bool   // streams' timestamps step back
	labelled bool   // columns are left out that are times or identifiers
}

// suggested is a stream, and how it is taken.
type suggested struct {
	from, typ string
	see       Recogniser
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
	causes []string // of the kinds, by column, in words; empty for what is plain
	notes  []string // of the stream
	period float64  // of its angles, where that is not 2 pi
	quat   string
	window bool // a column is the mean of a window
	silent bool // it has no limit of gaps
}

// role is what a stream is for.
type role uint8

const (
	sampled role = iota // measured
	command             // set, and held until it is set again
	action              // what a policy predicts
)

// look takes an episode in.
func (g *suggesting) look(e *dataset.Episode) error {
	if e.Steps {
		return &StepsError{}
	}
	if err := uniqueNames(e); err != nil {
		return err
	}
	g.out.Looked++
	g.summary.Add(e)
	g.custom = e.Rotation
	if s := e.Attributes.Success; s != nil && *s {
		g.good++
	} else if s != nil {
		g.bad++
	}
	var all Cover
	covers := map[string]covered{}
	for i := range e.Streams {
		st := e.Streams[i].Stats()
		if st.Samples-st.Duplicates < 2 || st.BackSteps > 0 {
			continue
		}
		if _, core, err := CoversOf(&e.Streams[i]); err == nil {
			if all == (Cover{}) {
				all = core
			}
			all.First, all.Last = min(all.First, core.First), max(all.Last, core.Last)
			if st.Samples >= leastApart {
				covers[e.Streams[i].Name] = covered{core, float64(st.Jitter) < even*float64(st.Median)}
			}
		}
	}
	g.covers = append(g.covers, covers)
	g.lengths = append(g.lengths, time.Duration(all.length()))
	for i := range e.Streams {
		if err := g.stream(&e.Streams[i], time.Duration(all.length())); err != nil {
			return err
		}
	}
	return nil
}

// stream takes a stream of an episode in.
func (g *suggesting) stream(in *dataset.Stream, recording time.Duration) error {
	if err := in.Check(); err != nil {
		g.out.Notes.Add(dataset.Note{Code: dataset.CodeInvalidStream, Subject: in.Name, Count: in.Len(), Detail: dataset.Detail{Cause: err}})
		return nil
	}
	at, there := g.at[in.Name]
	if !there {
		at = len(g.streams)
		g.at[in.Name] = at
		g.streams = append(g.streams, &suggested{from: in.Name, typ: in.Type, seldom: true, single: true, even: true})
	}
	s, st := g.streams[at], in.Stats()
	if st.Samples == 0 {
		return nil
	}
	if !there {
		for _, n := range Units(in.Name, in.Times, st) {
			s.note("its timestamps are taken as nanoseconds, and are %s a second; as %s they would be %s", n.Got, n.Unit, n.Want)
			g.out.Notes.Add(n)
		}
	}
	s.episodes++
	s.samples += st.Samples
	s.backs += st.BackSteps
	s.seldom = s.seldom && float64(st.Samples) < recording.Seconds()
	if st.Samples-st.Duplicates >= 2 {
		s.single = false
	}
	limit := dataset.GapLimit(st.Median)
	s.usual = max(s.usual, st.Median)
	times := in.Nanoseconds()
	if all, core, lo, hi, err := coversOf(in); err == nil && st.BackSteps == 0 {
		g.out.Notes.Join(Strays(in.Name, all, core, dataset.CodeStrayUnset, 0))
		times = times[lo:hi]
	}
	steps, stepped := 0, 0.
	for i := 1; i < len(times); i++ {
		switch step := times[i] - times[i-1]; {
		case step > int64(limit):
			s.gaps++
			s.longest = max(s.longest, step)
		case step > 0:
			steps++
			stepped += float64(step)
		}
	}
	if s.steps += steps; steps > 0 {
		usual := stepped / float64(steps)
		s.rates = append(s.rates, 1e9/usual)
		s.even = s.even && float64(st.Jitter) < even*usual && math.Abs(usual-float64(st.Median)) < .02*usual
	}
	return s.see.Add(in)
}

func (s *suggested) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// rate is how many samples a second a stream has where it has no gap, in the middle one of the episodes.
func (s *suggested) rate() float64 {
	if len(s.rates) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s.rates))[(len(s.rates)-1)/2]
}

// constant reports whether nothing in a stream ever changes.
func (s *suggested) constant() bool { return len(s.see.Constant()) == len(s.see.columns) }

func (g *suggesting) leave(name string, code dataset.Code, d dataset.Detail) {
	g.out.Notes.Add(dataset.Note{Code: code, Subject: name, Detail: d})
}

// suggest makes the plan of what was seen.
func (g *suggesting) suggest() (*Suggestion, error) {
	for i := range g.summary.LeftOut {
		g.out.Notes.Add(g.summary.LeftOut[i].Note)
	}
	g.out.Notes.Join(g.summary.Notes)
	can := g.usable()
	if len(can) == 0 {
		return nil, &NoStreamsError{Notes: g.out.Notes.Of(dataset.ClassLeftOut)}
	}
	can, err := g.roles(g.unlogged(g.common(can)))
	if err != nil {
		return nil, err
	}
	chosen := g.some(can)
	g.rate, g.why = g.chooseRate(chosen)
	for _, s := range chosen {
		g.columns(s)
	}
	g.apart(chosen)
	return g.out, g.write(chosen)
}
