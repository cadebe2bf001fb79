package align

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// SuggestOptions say what Suggest looks at.
type SuggestOptions struct {
	// Episodes is how many episodes of a dataset are read, evenly over it, the first and the last among them; 16 unless given.
	Episodes int
	// Action is the stream that a policy predicts; one that is called action or actions unless given.
	Action string
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
	// LeftOut are streams that the plan does not take, and why.
	LeftOut []LeftOut
	Remarks []string
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
// a remark, unless none can be.
func Suggest(ctx context.Context, d dataset.Dataset, opt SuggestOptions) (*Suggestion, error) {
	look := opt.Episodes
	if look <= 0 {
		look = 16
	}
	g := &suggesting{action: opt.Action, info: d.Info(), at: map[string]int{}, out: &Suggestion{Episodes: d.Len()}, name: d.Name(), format: d.Format()}
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
			g.remark("episode %d cannot be read: %v", i, err)
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
	info         dataset.Info
	summary      dataset.Summary
	streams      []*suggested // in the order in which they came
	at           map[string]int
	lengths      []time.Duration // of the episodes
	good, bad    int             // episodes that say whether they were a success
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

func (g *suggesting) remark(format string, args ...any) {
	g.out.Remarks = append(g.out.Remarks, fmt.Sprintf(format, args...))
}

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
	for i := range e.Streams {
		st := e.Streams[i].Stats()
		if st.Samples-st.Duplicates < 2 || st.BackSteps > 0 {
			continue
		}
		if all == (Cover{}) {
			all = Cover{First: st.First, Last: st.Last}
		}
		all.First, all.Last = min(all.First, st.First), max(all.Last, st.Last)
	}
	g.lengths = append(g.lengths, time.Duration(all.length()))
	for i := range e.Streams {
		if err := g.stream(&e.Streams[i], time.Duration(all.length())); err != nil {
			return err
		}
	}
	return nil
}

// leastGap is how long a gap is at least: a step that is longer than this and than three usual ones.
const leastGap = 20 * time.Millisecond

// stream takes a stream of an episode in.
func (g *suggesting) stream(in *dataset.Stream, recording time.Duration) error {
	if err := in.Check(); err != nil {
		g.leave(in.Name, err.Error())
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
		if text := Units(in.Times, st); text != "" {
			s.note("%s", text)
			g.remark("%s: %s", in.Name, text)
		}
	}
	s.episodes++
	s.samples += st.Samples
	s.backs += st.BackSteps
	s.seldom = s.seldom && float64(st.Samples) < recording.Seconds()
	if st.Samples-st.Duplicates >= 2 {
		s.single = false
	}
	limit := gapOf(st.Median)
	s.usual = max(s.usual, st.Median)
	times := in.Nanoseconds()
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

// gapOf is how long a step must be to be a gap, where the usual one is so long.
func gapOf(usual int64) time.Duration {
	return max(leastGap, time.Duration(min(usual, math.MaxInt64/dataset.GapFactor)*dataset.GapFactor))
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

func (g *suggesting) leave(name, reason string) {
	if l := (LeftOut{name, reason}); !slices.Contains(g.out.LeftOut, l) {
		g.out.LeftOut = append(g.out.LeftOut, l)
	}
}

// suggest makes the plan of what was seen.
func (g *suggesting) suggest() (*Suggestion, error) {
	for i := range g.summary.LeftOut {
		g.leave(g.summary.LeftOut[i].Name, g.summary.LeftOut[i].Reason)
	}
	can := g.usable()
	if len(can) == 0 {
		e := &NoStreamsError{}
		for _, l := range g.out.LeftOut {
			e.LeftOut = append(e.LeftOut, l.Name+" ("+l.Reason+")")
		}
		return nil, e
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
	return g.out, g.write(chosen)
}

// usable returns the streams that can be put on a clock, without those that only count time, and lists the others.
func (g *suggesting) usable() (list []*suggested) {
	for _, s := range g.streams {
		columns := s.see.columns
		labels := s.see.labels()
		_, never := s.see.NotFinite()
		rest := slices.DeleteFunc(indices(0, len(columns)), func(i int) bool { return slices.Contains(labels, i) || slices.Contains(never, i) })
		switch {
		case s.samples == 0:
			g.leave(s.from, noSamples)
			continue
		case len(columns) == 0:
			g.leave(s.from, "no columns")
			continue
		case s.single:
			g.leave(s.from, "a single timestamp: named in the plan, it holds its value")
			continue
		case len(rest) == 0 && len(never) > 0:
			g.leave(s.from, "never finite")
			continue
		case len(rest) == 0 && len(g.streams) > 1:
			g.leave(s.from, "times and identifiers alone")
			continue
		}
		if s.backs > 0 {
			g.sort = true
			s.note("its timestamps step back %s: unordered sorts its samples", counted(s.backs, "time"))
		}
		if len(rest) < len(columns) && len(rest) > 0 {
			if s.take = rest; !s.sayable() { // in a plan, for columns of one name
				s.take = nil
			} else {
				g.without(s, labels, never)
			}
		}
		s.name, s.whole = s.from, true
		for _, i := range s.taken() {
			s.whole = s.whole && columns[i].Integer
		}
		s.seldom = s.seldom && s.whole
		list = append(list, s)
	}
	return list
}

const noSamples = "no samples"

// common leaves out streams that fewer than half of the episodes have, unless all are such.
func (g *suggesting) common(can []*suggested) []*suggested {
	rest := slices.DeleteFunc(slices.Clone(can), func(s *suggested) bool { return 2*s.episodes < g.out.Looked })
	if len(rest) == 0 {
		g.remark("the recordings differ: no stream is in half of the %d that were looked at, so not every one fits the plan", g.out.Looked)
		return can
	}
	for _, s := range can {
		in := fmt.Sprintf("in %d of %s", s.episodes, counted(g.out.Looked, "episode"))
		switch {
		case 2*s.episodes < g.out.Looked:
			g.leave(s.from, in)
		case s.episodes < g.out.Looked:
			s.note("%s", in)
		}
	}
	return rest
}

// without notes the columns that are not taken.
func (g *suggesting) without(s *suggested, labels, never []int) {
	names := columnNames(s.see.columns)
	if len(labels) > 0 {
		g.labelled = true
		s.note("without %s", several(runs(names, labels)))
	}
	if len(never) > 0 {
		s.note("without %s, never finite", several(runs(names, never)))
	}
}

// unlogged leaves out what programs log, unless there is nothing else.
func (g *suggesting) unlogged(can []*suggested) []*suggested {
	rest := slices.DeleteFunc(slices.Clone(can), func(s *suggested) bool { return isLog(s.from) })
	if len(rest) == 0 {
		return can
	}
	for _, s := range can {
		if isLog(s.from) {
			g.leave(s.from, ofPrograms)
		}
	}
	return rest
}

const ofPrograms = "of the robot's software, by its name"

// taken are the numbers of the columns that are taken.
func (s *suggested) taken() []int {
	if s.take != nil {
		return s.take
	}
	return indices(0, len(s.see.columns))
}

// roles finds the action, and with it whether the plan is for a policy, which takes no stream that is no state.
func (g *suggesting) roles(can []*suggested) ([]*suggested, error) {
	at, err := g.actionOf(can)
	if err != nil {
		return nil, err
	}
	var states []*suggested
	for i, s := range can {
		if isCommand(s.from) {
			s.role = command
		}
		if i != at && NotState(s.from) == "" {
			states = append(states, s)
		}
	}
	if g.policy = at >= 0 && len(states) > 0; !g.policy {
		if g.action != "" {
			return nil, &StreamError{Stream: g.action, Got: "no stream of states beside it", Want: "one that a policy may see"}
		}
		return can, nil
	}
	g.out.Policy = true
	for i, s := range can {
		if reason := NotState(s.from); i != at && reason != "" {
			g.leave(s.from, "no state: "+reason)
		}
	}
	act := can[at]
	if act.role = action; !IsAction(act.from) {
		act.name = "action"
		act.note("called action, the name of what a policy predicts")
	}
	return append(states, act), nil
}

// actionOf returns which stream is the action, -1 for none.
func (g *suggesting) actionOf(can []*suggested) (at int, err error) {
	if g.action != "" {
		if at = slices.IndexFunc(can, func(s *suggested) bool { return s.from == g.action }); at >= 0 {
			return at, nil
		}
		var names []string
		for _, s := range can {
			names = append(names, s.from)
		}
		return -1, &MissingError{Stream: g.action, Near: meant(g.action, names), Names: names}
	}
	if at = slices.IndexFunc(can, func(s *suggested) bool { return IsAction(s.from) }); at >= 0 {
		return at, nil
	}
	for i, s := range can {
		switch {
		case !IsAction(path.Base(s.from)):
		case at >= 0: // which of them is a person's choice
			return -1, nil
		default:
			at = i
		}
	}
	return at, nil
}

// mostStates is how many streams of states a policy takes.
const mostStates = 14

// some returns the streams to take, in their order: as many as one Fuse, or a policy, takes. Those that say most come first: that change at all, and
// often.
func (g *suggesting) some(can []*suggested) []*suggested {
	most := ops.MaxStreams
	if g.policy {
		most = mostStates + 1
	}
	if len(can) <= most {
		return can
	}
	ranked := slices.Clone(can)
	rank := func(s *suggested) int {
		switch {
		case s.role == action:
			return math.MaxInt
		case s.constant():
			return s.samples - 1<<50
		case isInternal(s.from):
			return s.samples - 1<<49
		}
		return s.samples
	}
	slices.SortStableFunc(ranked, func(a, b *suggested) int { return cmp.Compare(rank(b), rank(a)) })
	var list []*suggested
	for _, s := range can {
		if slices.Contains(ranked[:most], s) {
			list = append(list, s)
			continue
		}
		why := "fewer samples than the others, of which one plan for fuse has 16"
		switch {
		case g.policy:
			why = fmt.Sprintf("fewer samples than the others, of which a policy takes %d", mostStates)
		case s.constant():
			why = "it never changes"
		case isInternal(s.from):
			why = ofPrograms
		}
		g.leave(s.from, why)
	}
	return list
}
