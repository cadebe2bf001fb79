package suggest

import (
	"context"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
)

// Options are the settings of Plan.
type Options struct {
	// Episodes is the number of episodes to read, evenly spread, with the first and the last; 16 by default.
	Episodes int
	// Action is the stream that a policy predicts; the default is one with the name action or actions.
	Action string
	// Sentence returns the text of a note for the plan's comments, for example notetext.Text. The default is dataset.Note.Reason.
	Sentence func(dataset.Note) string
	// Progress is called after each episode with the number of episodes that were read.
	Progress func(done, of int)
}

// Plan reads some episodes and returns a first plan for a dataset: the clock's rate, the streams with the methods for their
// columns, gap limits, and, if there are states and actions, a policy's windows and normalisation. docs/plans.md lists the rules.
// If no stream can be put on a clock, the result is an error. It wraps ops.ErrMissing if the timestamps count steps, and
// dataset.ErrNotFound if Options.Action does not exist. An episode that cannot be read is a note, unless all are unreadable.
func Plan(ctx context.Context, d dataset.Dataset, opt Options) (*Suggestion, error) {
	look := opt.Episodes
	if look <= 0 {
		look = 16
	}
	g := &draft{action: opt.Action, sentence: opt.Sentence, info: d.Info(), at: map[string]int{}, out: &Suggestion{Episodes: d.Len()}, name: d.Name(), format: d.Format()}
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
		case dataset.IsFatal(err):
			return nil, err
		case err != nil:
			if failed == nil {
				failed = err
			}
			g.out.Notes = append(g.out.Notes, dataset.Note{Code: dataset.CodeSuggestedWithout, Row: dataset.At(g.info.Number(i)), Detail: dataset.Detail{Cause: err}})
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

// Rank returns the names of an episode's streams by their priority for a plan: the action, then streams that change, most samples first.
// Streams that a plan leaves out come last. If the episode is invalid, the order is the recorded one.
func Rank(e *dataset.Episode, info *dataset.Info) []string {
	g := &draft{info: *info, at: map[string]int{}, out: &Suggestion{}}
	var can []*candidate
	timed := *e
	timed.Steps = false // an order needs no rate
	if g.look(&timed) == nil {
		can, _ = g.roles(g.unlogged(g.usable())) // the error is about Options.Action
	}
	var names []string
	for _, s := range ranked(can) {
		names = append(names, s.from)
	}
	for i := range e.Streams {
		if !slices.Contains(names, e.Streams[i].Name) {
			names = append(names, e.Streams[i].Name)
		}
	}
	return names
}

// spread returns up to k of the numbers 0 to n-1, evenly spread, with the first and the last.
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

// suggest makes the plan from the episodes that were read.
func (g *draft) suggest() (*Suggestion, error) {
	for i := range g.summary.LeftOut {
		g.out.Notes.Add(g.summary.LeftOut[i].Note)
	}
	g.out.Notes.Join(g.summary.Notes)
	for i := range g.summary.Streams {
		s := &g.summary.Streams[i]
		if at, there := g.at[s.Name]; there {
			g.streams[at].rate = s.Rate()
		}
	}
	can := g.usable()
	if len(can) == 0 {
		return nil, &clocks.NoStreamsError{Notes: g.out.Notes.Of(dataset.ClassLeftOut)}
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
